//! A key makes one job, an acknowledged job stays acknowledged, and it reaches exactly one terminal state: the one that
//! clients are told.
//!
//! That it reaches one at all is part of the liveness phase.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{Body, EndStatus, JobId, Outcome};

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// What the log decided and what clients were told, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct TerminalOnce {
    keys: BTreeMap<(u8, String), JobId>,
    ends: BTreeMap<(u8, JobId), (u64, EndStatus)>,
}

impl Invariant for TerminalOnce {
    fn name(&self) -> &'static str {
        "terminal_once"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let cluster = seen.cluster();
        match &seen.what {
            What::Log(Logged::Decided(written)) => match (&written.command.body, &written.outcome) {
                (Body::JobAccept(accept), Outcome::Accepted { job, .. }) => {
                    let key = &accept.key;
                    let first = *self.keys.entry((cluster, key.clone())).or_insert(*job);
                    agree(first == *job, || format!("key '{key}' made {job:?} and {first:?}"))
                }
                (Body::JobEnd { job, end, .. }, Outcome::Done) => {
                    let status = end.status;
                    let before = self.ends.insert((cluster, *job), (written.index, status));
                    agree(before.is_none(), || format!("{job:?} ended as {status:?} after {before:?}"))
                }
                _ => Ok(()),
            },
            What::Log(Logged::Acknowledged { key, job }) => {
                let known = self.keys.get(&(cluster, (*key).to_owned()));
                agree(known == Some(job), || format!("'{key}' was promised {job:?}, the log has {known:?}"))
            }
            What::Log(Logged::Told { job, end }) => {
                let known = self.ends.get(&(cluster, *job));
                let is_so = known == Some(&(end.index, end.how.status));
                agree(is_so, || format!("a client was told {end:?} about {job:?}, the log has {known:?}"))
            }
            _ => Ok(()),
        }
    }
}

fn agree(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}
