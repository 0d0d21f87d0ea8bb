//! The decisions of a job, as they stand in a log: everything that happens follows from these.
//!
//! | entry | decides |
//! | --- | --- |
//! | [`Entry::Ready`] | workflows want cores, from this moment on |
//! | [`Entry::Assign`] | core groups are promised, and attempts are given to workers: all or none |
//! | [`Entry::Context`] | values of a set-up, or for other workflows |
//! | [`Entry::Start`] | the load of a workflow begins, and when |
//! | [`Entry::Restart`] | an attempt runs the load of its segment from the beginning, and when |
//! | [`Entry::AttemptEnd`] | how an attempt ended and what it left |
//! | [`Entry::WorkflowEnd`] | how a workflow ended |
//! | [`Entry::Stop`] | a job or some workflows are on their way to the end |
//! | [`Entry::Control`] | the load is changed, paused or resumed |
//! | [`Entry::JobEnd`] | how the job ended |

use std::sync::Arc;
use std::time::Duration;

use hyperscale_plan::cores::Release;
use hyperscale_plan::load::SegmentShare;
use hyperscale_stats::event::Target;
use hyperscale_stats::result::ChangedBy;
use serde_json::Value as Json;

use crate::reason::{Failure, Reason};
use crate::segment::{AttemptId, SegmentResult, StopPhase};
use crate::state::{AttemptEnd, JobEnd, WorkflowEnd};

/// Identifies who asked for something, so that the reply finds them and repeating is harmless.
pub type RequestId = u64;

/// A decision. Times are those of the job clock.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Workflows have become ready and claim cores.
    Ready {
        /// Their positions in the plan.
        workflows: Vec<usize>,
        /// When it was decided.
        at: Duration,
    },
    /// Attempts are given to workers.
    Assign(Batch),
    /// Values are fixed.
    Context {
        /// Position of the workflow in the plan.
        workflow: usize,
        /// The values.
        values: ContextValues,
    },
    /// The load of a workflow begins.
    Start {
        /// Its position in the plan.
        workflow: usize,
        /// When it was decided, on the job clock.
        at: Duration,
    },
    /// The load of an attempt begins that runs its segment again, apart from the others of the workflow.
    Restart {
        /// The attempt.
        attempt: AttemptId,
        /// When it was decided, on the job clock.
        at: Duration,
    },
    /// An attempt is over.
    AttemptEnd {
        /// The attempt.
        attempt: AttemptId,
        /// How.
        end: AttemptEnd,
        /// What it left.
        result: Box<SegmentResult>,
        /// When that was learned.
        at: Duration,
    },
    /// A workflow is over.
    WorkflowEnd {
        /// Its position in the plan.
        workflow: usize,
        /// How.
        end: WorkflowEnd,
        /// Why, where the end does not say it.
        reason: Option<Reason>,
        /// What people must know, where no attempt has said it.
        failure: Option<Failure>,
        /// When it was decided, on the job clock.
        at: Duration,
    },
    /// Something is to stop. A stop only ever gets more urgent.
    Stop(Stop),
    /// The load is changed.
    Control {
        /// Who asked.
        request: RequestId,
        /// Where it came from.
        by: ChangedBy,
        /// What is changed.
        change: Change,
        /// When it was decided, on the job clock.
        at: Duration,
    },
    /// The job is over.
    JobEnd {
        /// How.
        end: JobEnd,
        /// Why, where the end does not say it.
        reason: Option<Reason>,
        /// When it was decided, on the job clock.
        at: Duration,
    },
}

impl Entry {
    /// When it was decided, on the job clock, as far as it says that.
    pub fn at(&self) -> Option<Duration> {
        match self {
            Entry::Ready { at, .. }
            | Entry::Start { at, .. }
            | Entry::Restart { at, .. }
            | Entry::AttemptEnd { at, .. }
            | Entry::WorkflowEnd { at, .. }
            | Entry::Control { at, .. }
            | Entry::JobEnd { at, .. } => Some(*at),
            Entry::Stop(stop) => Some(stop.at),
            Entry::Assign(_) | Entry::Context { .. } => None,
        }
    }
}

/// What starts together. It is applied as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Core groups that are promised now.
    pub groups: Vec<Group>,
    /// Attempts, in groups that are promised now or were before.
    pub assignments: Vec<Assignment>,
}

/// Cores that one workflow uses alone, or that several share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its number in the job.
    pub id: u32,
    /// Workflows that use it; at least one.
    pub members: Vec<GroupMember>,
    /// Cores of each worker that are promised.
    pub parts: Vec<GroupPart>,
    /// When the cores become free.
    pub release: Release,
}

/// A workflow in a core group: it runs on the cores `first .. first + cores` of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// Its position in the plan.
    pub workflow: usize,
    /// Position of its first core in the group.
    pub first: u32,
    /// Cores that its load runs on.
    pub cores: u32,
}

/// The cores `first .. first + cores` of a group, all on one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPart {
    /// The worker.
    pub worker: Arc<str>,
    /// Position of its first core in the group.
    pub first: u32,
    /// How many.
    pub cores: u32,
}

impl Group {
    /// Cores that are promised, over all workers.
    pub fn cores(&self) -> u32 {
        self.parts.iter().map(|part| part.cores).sum()
    }
}

/// An attempt that is given to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The attempt.
    pub attempt: AttemptId,
    /// The worker that runs it.
    pub worker: Arc<str>,
    /// The group whose cores it uses.
    pub group: u32,
    /// Position of its first core among those that the worker has given to the group.
    pub offset: u32,
    /// Which cores of the workflow these are, and what of its load belongs to them.
    pub share: SegmentShare,
    /// Where on the load clock it begins: not at zero if an earlier attempt was lost.
    pub joins_at: Duration,
    /// Iterations that earlier attempts are known to have started; only for counted iterations.
    pub iterations_done: u64,
}

/// Values that others rely on, in plain JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum ContextValues {
    /// Results of the set-up steps, by position.
    Setup(Arc<[Json]>),
    /// Values for other workflows, by position in `provides`; `None` where there is none.
    Provided(Arc<[Option<Json>]>),
}

/// A stop of a job or of some of its workflows.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Who asked; `None` if the job decided it.
    pub request: Option<RequestId>,
    /// What stops.
    pub scope: StopScope,
    /// How urgently.
    pub phase: StopPhase,
    /// Why.
    pub reason: Reason,
    /// The check or threshold behind it, for people.
    pub cause: Option<StopCause>,
    /// When it was decided, on the job clock.
    pub at: Duration,
}

/// What a stop is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopScope {
    /// Everything.
    Job,
    /// These workflows, with all that depend on them if that was asked for.
    Workflows(Vec<usize>),
}

/// What made the job stop itself.
#[derive(Clone, Debug, PartialEq)]
pub enum StopCause {
    /// A check of a workflow failed.
    Check {
        /// Its position in the plan.
        workflow: usize,
        /// What people need to know.
        failure: Failure,
    },
    /// A threshold failed.
    Threshold {
        /// The rule as it was written.
        rule: String,
    },
}

/// A change of the load.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing starts.
    Pause,
    /// The load is resumed.
    Resume,
    /// These workflows get another number of virtual users or another rate.
    Load {
        /// Their positions in the plan, what each gets, and what it had before.
        targets: Vec<Retarget>,
    },
}

/// A workflow's new load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retarget {
    /// Its position in the plan.
    pub workflow: usize,
    /// What its load was meant to be.
    pub from: Target,
    /// What it is meant to be.
    pub to: Target,
    /// From this moment of the workflow's load clock on.
    pub since: Duration,
    /// Starts that are due before that moment by the plan (open models).
    pub planned: f64,
}

/// Why an entry was not applied. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Somebody else leads the job. It must not be driven from here any more.
    #[error("another leader drives the job")]
    StaleToken,
    /// Cores that were to be promised are taken, or their worker is gone.
    #[error("the cores are not free")]
    CoresTaken,
    /// An older claim of high rank waits.
    #[error("an older claim waits")]
    Overtakes,
    /// It was decided otherwise before: cancelled, ended, superseded.
    #[error("it was decided otherwise before")]
    Decided,
    /// The log will never take it.
    #[error("{what}")]
    TooLarge {
        /// The limit it is beyond, for people.
        what: &'static str,
    },
    /// The log cannot take it now; it may be proposed again.
    #[error("the log is not available")]
    Unavailable,
}
