//! Tokens of a job strictly increase, and nothing about a job is done for anybody but the holder of the last one.

use std::collections::BTreeMap;

use hyperscale_consensus::register::{Body, JobId, Outcome};
use hyperscale_types::Token;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The last token granted, per group and job.
#[derive(Debug, Default)]
pub(in crate::invariants) struct TokensIncrease {
    granted: BTreeMap<(u8, JobId), Token>,
}

impl Invariant for TokensIncrease {
    fn name(&self) -> &'static str {
        "tokens_increase"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Decided(written)) = &seen.what else { return Ok(()) };
        let (cluster, token) = (seen.cluster(), written.command.token);
        match (&written.command.body, &written.outcome) {
            (Body::JobLeader { job, .. }, Outcome::Granted(granted)) => {
                let before = self.granted.insert((cluster, *job), *granted);
                if before.is_some_and(|before| *granted <= before) {
                    return Err(format!("granted token {granted} after {before:?}"));
                }
                Ok(())
            }
            (body, Outcome::Done) => {
                let last = fenced(body).and_then(|job| self.granted.get(&(cluster, job)).copied());
                if last.is_some_and(|last| token < last) {
                    return Err(format!(
                        "entry {} was done under token {token}, {last:?} was granted",
                        written.index
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The job whose leader alone may do this.
fn fenced(body: &Body) -> Option<JobId> {
    match body {
        Body::Assign(assign) => Some(assign.job),
        Body::AttemptEnd { segment, .. } => Some(segment.job),
        Body::Decide(decide) => Some(decide.job),
        Body::Context { job, .. } | Body::WorkflowEnd { job, .. } | Body::JobEnd { job, .. } => Some(*job),
        _ => None,
    }
}
