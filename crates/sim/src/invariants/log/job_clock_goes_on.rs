//! The clock of a job continues when its leader changes: a new leader never decides anything at a time well before a decision of
//! an earlier leader. Time limits, load curves and what is reported of lost attempts depend on it.
//!
//! Decisions of one leader may come in another order than they were made: a proposal that was given up may be on its way for long.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_cluster::record;
use hyperscale_consensus::register::{Body, JobId, Outcome, Values};
use hyperscale_types::Token;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// A load is started for a moment that is about to come, so that all its workers begin together.
const AHEAD_MAX: Duration = Duration::from_secs(2);

/// The latest time of a decision, per group and job.
#[derive(Debug, Default)]
pub(in crate::invariants) struct JobClockGoesOn {
    latest: BTreeMap<(u8, JobId), Latest>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    token: Token,
    /// Under that token.
    own: Duration,
    /// Under those before.
    others: Duration,
}

impl Invariant for JobClockGoesOn {
    fn name(&self) -> &'static str {
        "job_clock_goes_on"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Decided(written)) = &seen.what else { return Ok(()) };
        let Some(Values::Inline(bytes)) = &written.decision else { return Ok(()) };
        let (Some(job), Ok(stored)) = (job_of(&written.command.body), record::decode(bytes)) else {
            return Ok(());
        };
        let Some(at) = stored.at().filter(|_| written.outcome == Outcome::Done) else {
            return Ok(());
        };
        let latest = self.latest.entry((seen.cluster(), job)).or_default();
        if written.command.token > latest.token {
            let others = latest.others.max(latest.own);
            *latest = Latest { token: written.command.token, own: Duration::ZERO, others };
        }
        if at + AHEAD_MAX < latest.others {
            return Err(format!("{job:?}: decided {stored:?} at {at:?}, others did at {:?}", latest.others));
        }
        latest.own = at.max(latest.own);
        Ok(())
    }
}

fn job_of(body: &Body) -> Option<JobId> {
    match body {
        Body::Decide(decide) => Some(decide.job),
        Body::Assign(assign) => Some(assign.job),
        Body::AttemptEnd { segment, .. } => Some(segment.job),
        Body::Ready { job, .. } | Body::WorkflowEnd { job, .. } => Some(*job),
        _ => None,
    }
}
