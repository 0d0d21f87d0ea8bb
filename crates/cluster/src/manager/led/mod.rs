//! Jobs that are led here.
//!
//! ```text
//! JobLeader(this manager) ──► opening: plan, what ended attempts left ──► driving: JobCore ──► ended, or another leader
//! ```
//! A core is built from what the log and its blobs say, and from nothing else; so it does not matter whether this manager accepted
//! the job, took it over, or was restarted. While it drives, the core learns every decision from the log, its own included.

mod dispatch;
mod drive;
mod feed;
mod open;
mod oversize;
mod propose;
mod status;
mod steer;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::JobId;
use hyperscale_job::{AttemptId, SegmentId, SegmentKind};
use hyperscale_types::{Now, Token};

use drive::Drive;
use open::Opening;

/// A job that is led here, under one token.
#[derive(Debug)]
pub(super) struct Led {
    token: Token,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Opening(Opening),
    Driving(Box<Drive>),
    /// Its plan or its record cannot be read by this build. Another manager may have a newer one.
    Unreadable {
        /// Since when.
        since: Now,
    },
}

impl Led {
    pub(super) fn new(token: Token) -> Self {
        Self { token, stage: Stage::Opening(Opening::default()) }
    }

    pub(super) fn token(&self) -> Token {
        self.token
    }

    /// When it has to be looked after at the latest, if nothing else happens.
    pub(super) fn next_due(&self) -> Option<Now> {
        match &self.stage {
            Stage::Driving(drive) => drive.next_due(),
            Stage::Opening(opening) => Some(opening.next_due()),
            Stage::Unreadable { since } => Some(since.plus(open::PASS_ON_AFTER)),
        }
    }

    /// Whether something of it may begin when there are other cores.
    pub(super) fn waits_for_cores(&self) -> bool {
        matches!(&self.stage, Stage::Driving(drive) if drive.core.waits_for_cores())
    }

    /// Names of the workflows that are meant.
    pub(super) fn named(&self, which: &Named) -> Result<Vec<String>, NotNamed> {
        let Stage::Driving(drive) = &self.stage else { return Err(NotNamed::Opening) };
        let plan = drive.core.plan();
        let (workflows, with_others) = match which {
            Named::WithDependents(workflows) => (workflows, true),
            Named::Alone(workflows) => (workflows, false),
        };
        let mut all_names = BTreeSet::new();
        for name in workflows {
            let place = plan.workflows.iter().position(|it| it.name.as_str() == name);
            let place = place.ok_or_else(|| NotNamed::Unknown(name.clone()))?;
            let all = if with_others { hyperscale_job::with_dependents(plan, place) } else { vec![place] };
            all_names.extend(all.into_iter().map(|at| plan.workflows[at].name.to_string()));
        }
        Ok(all_names.into_iter().collect())
    }

    fn driving(&mut self) -> Option<&mut Drive> {
        match &mut self.stage {
            Stage::Driving(drive) => Some(drive),
            Stage::Opening(_) | Stage::Unreadable { .. } => None,
        }
    }
}

/// Workflows that a client means; none: the whole job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// With all that depend on them.
    WithDependents(Vec<String>),
    /// Only these.
    Alone(Vec<String>),
}

impl Named {
    pub(super) fn is_whole_job(&self) -> bool {
        self.names().is_empty()
    }

    /// The workflows as they were named.
    pub(super) fn names(&self) -> &[String] {
        let (Named::WithDependents(workflows) | Named::Alone(workflows)) = self;
        workflows
    }
}

/// Why workflows cannot be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotNamed {
    /// The plan is not read yet.
    Opening,
    /// The plan has no such workflow.
    Unknown(String),
}

/// Blobs that are being read for a job.
type Contents = BTreeMap<BlobId, Bytes>;

/// The number of a segment in the log: unique in its workflow, whatever its kind.
pub fn number_of(segment: SegmentId) -> u32 {
    let kind = match segment.kind {
        SegmentKind::Load => 0,
        SegmentKind::Setup => 1,
        SegmentKind::Teardown => 2,
    };
    segment.index.saturating_mul(3).saturating_add(kind)
}

/// The name of an attempt's workflow; nothing while the plan is not read, or if it has no such workflow.
pub(super) fn workflow_name(led: &Led, attempt: AttemptId) -> Option<String> {
    let Stage::Driving(drive) = &led.stage else { return None };
    Some(drive.core.plan().workflows.get(attempt.segment.workflow)?.name.to_string())
}

/// How people and results name a job.
pub(super) fn text_of(job: JobId) -> String {
    job.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_all_kinds_have_numbers_of_their_own() {
        let kinds = [SegmentKind::Load, SegmentKind::Setup, SegmentKind::Teardown];
        let numbers: BTreeSet<u32> = kinds
            .into_iter()
            .flat_map(|kind| (0..4).map(move |index| number_of(SegmentId { workflow: 0, kind, index })))
            .collect();
        assert_eq!(numbers.len(), 12);
    }
}
