//! No lease is outlived: a worker stops before the cluster leader may end it, sends nothing under a grant that ended, and no grant
//! ends that its worker may still use.
//!
//! A lease counts for the cluster leader from when the renewal arrived. A worker that never counts from later than when it asked
//! is on the safe side whatever way the renewal took, and nothing less is demanded of it.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_consensus::register::{Body, Outcome};
use hyperscale_types::Token;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};
use crate::moment::Moment;

/// Grants that ended, and until when the others are used, per group.
#[derive(Debug, Default)]
pub(in crate::invariants) struct LeaseNotOutlived {
    gone: BTreeSet<(u8, Token)>,
    used_until: BTreeMap<(u8, Token), (usize, Moment)>,
}

impl Invariant for LeaseNotOutlived {
    fn name(&self) -> &'static str {
        "lease_not_outlived"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let cluster = seen.cluster();
        match &seen.what {
            What::Log(Logged::Decided(written)) => {
                let (Body::WorkerGone { grant, .. }, Outcome::Done) =
                    (&written.command.body, &written.outcome)
                else {
                    return Ok(());
                };
                self.gone.insert((cluster, *grant));
                match self.used_until.remove(&(cluster, *grant)) {
                    Some((node, until)) if until > seen.at => {
                        Err(format!("grant {grant} ended, and node {node} uses its lease until {until}"))
                    }
                    _ => Ok(()),
                }
            }
            What::Log(Logged::Load { segment, grant, .. }) if self.gone.contains(&(cluster, *grant)) => {
                Err(format!("{segment:?}: sends load under grant {grant}, which has ended"))
            }
            What::Log(Logged::Renewed { grant, until, asked, lease }) => {
                let ends = asked.plus(*lease);
                if *until > ends {
                    return Err(format!("uses its lease until {until}; it asked for one until {ends}"));
                }
                self.used_until.insert((cluster, *grant), (seen.node, *until));
                Ok(())
            }
            What::Log(Logged::GivenBack { grant, until }) => {
                self.used_until.insert((cluster, *grant), (seen.node, *until));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
