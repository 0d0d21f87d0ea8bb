//! What goes into the core and what comes out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hyperscale_plan::model::Workflow;
use hyperscale_stats::event::Event;
use hyperscale_stats::result::{Change, ChangedBy};
use hyperscale_stats::{Totals, Window};
use hyperscale_types::{Command, Span};

use crate::entry::{Entry, Refused, RequestId};
use crate::refusal::Refusal;
use crate::segment::{AttemptId, Directive, Report, SegmentOrder};

/// What becomes of a segment whose worker is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// Another attempt joins the load where the workflow is; what was measured is kept.
    #[default]
    Resume,
    /// Another attempt runs the segment's load from the beginning; what was measured is discarded.
    Restart,
    /// The workflow fails.
    Fail,
}

/// What becomes of segments whose workers are lost, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LossPolicy {
    /// What becomes of each of them.
    pub on_loss: OnLoss,
    /// Further attempts of one segment.
    pub max_retries: u32,
    /// Further attempts of all segments of the job.
    pub retry_budget: u32,
}

impl Default for LossPolicy {
    fn default() -> Self {
        Self { on_loss: OnLoss::Resume, max_retries: 3, retry_budget: 20 }
    }
}

/// What is known about a job beside its plan, and does not change.
#[derive(Clone, Debug, Default)]
pub struct JobFacts {
    /// Its id.
    pub id: String,
    /// When it was accepted, RFC 3339.
    pub started_at: String,
    /// Ends `timed_out` this long after it was accepted.
    pub timeout: Option<Span>,
    /// Whether it runs on workers that can be lost.
    pub is_distributed: bool,
    /// How long it waits while there is no worker that it could get cores of, now or later; `None`: for ever.
    pub queue_timeout: Option<Span>,
    /// Whether the cores of a workflow are spread over all workers; else over the fewest that have them.
    pub spreads: bool,
    /// What becomes of segments whose workers are lost.
    pub losses: LossPolicy,
    /// Facts about machine and program, for the result.
    pub environment: BTreeMap<String, String>,
    /// Options it was started with, for the result.
    pub options: BTreeMap<String, String>,
    /// Deliberate bugs.
    #[cfg(feature = "bugs")]
    pub bugs: JobBugs,
}

/// Deliberate bugs of the core, for the simulator.
#[cfg(feature = "bugs")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobBugs {
    /// Workers that lost a segment get it again.
    pub forgets_exclusion: bool,
    /// What was measured before a restart counts.
    pub keeps_discarded: bool,
    /// A segment that is resumed begins its load curve again.
    pub resumes_from_zero: bool,
}

#[cfg_attr(not(feature = "bugs"), expect(clippy::unused_self, reason = "holds the deliberate bugs"))]
impl JobFacts {
    pub(crate) fn forgets_exclusion(&self) -> bool {
        #[cfg(feature = "bugs")]
        return self.bugs.forgets_exclusion;
        #[cfg(not(feature = "bugs"))]
        false
    }

    pub(crate) fn keeps_discarded(&self) -> bool {
        #[cfg(feature = "bugs")]
        return self.bugs.keeps_discarded;
        #[cfg(not(feature = "bugs"))]
        false
    }

    pub(crate) fn resumes_from_zero(&self) -> bool {
        #[cfg(feature = "bugs")]
        return self.bugs.resumes_from_zero;
        #[cfg(not(feature = "bugs"))]
        false
    }
}

/// What the windows of a lost attempt say: all that is known of it.
#[derive(Clone, Copy, Debug)]
pub struct LostWindows<'a> {
    /// Everything they measured.
    pub totals: &'a Totals,
    /// Up to when they reach, on the job clock.
    pub to: Duration,
    /// Windows that are known to have been closed, and that no leader has.
    pub missing: u64,
}

/// The cores that a job may use. A new value replaces the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Workers that may be given something, in the order in which they are to be used.
    pub workers: Vec<PoolWorker>,
}

/// One worker of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolWorker {
    /// Its id.
    pub id: Arc<str>,
    /// Its cores.
    pub total: u32,
    /// Those that are promised to no group.
    pub free: u32,
    /// Whether it is under pressure: it gets what others have no cores for.
    pub is_degraded: bool,
    /// What it can beyond what every worker can.
    pub capabilities: Arc<BTreeSet<String>>,
}

impl PoolWorker {
    /// A healthy worker that can what every worker can.
    pub fn new(id: impl Into<Arc<str>>, total: u32, free: u32) -> Self {
        Self { id: id.into(), total, free, is_degraded: false, capabilities: Arc::default() }
    }

    /// Whether it can run a workflow.
    pub(crate) fn can_run(&self, workflow: &Workflow) -> bool {
        workflow.requires.is_subset(&self.capabilities)
    }
}

impl Pool {
    /// Cores of all workers, busy or not.
    pub fn total(&self) -> u32 {
        self.workers.iter().map(|worker| worker.total).sum()
    }

    /// Cores that are promised to nobody.
    pub fn free(&self) -> u32 {
        self.workers.iter().map(|worker| worker.free).sum()
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Input<'a> {
    /// The cores have changed.
    Pool(Pool),
    /// An entry of this job was applied or refused, whoever proposed it.
    Applied {
        /// The entry.
        entry: Box<Entry>,
        /// What became of it.
        outcome: Result<(), Refused>,
    },
    /// A worker says something about an attempt.
    Report {
        /// The attempt.
        attempt: AttemptId,
        /// What it says.
        report: Report,
    },
    /// Statistics of a core of an attempt.
    Window {
        /// The attempt.
        attempt: AttemptId,
        /// The statistics.
        window: &'a Window,
    },
    /// All statistics of an attempt that is over, said before its end is applied. Only where windows may be lost on their way:
    /// once all attempts of a workflow are over, these count and its windows do not.
    Left {
        /// The attempt.
        attempt: AttemptId,
        /// Everything it measured.
        totals: &'a Totals,
    },
    /// Somebody wants something.
    Request {
        /// For the reply.
        id: RequestId,
        /// Where it came from.
        by: ChangedBy,
        /// What is wanted.
        command: Command,
    },
    /// A second is over, and every window of it that comes in time is here.
    Second {
        /// What only the host knows about the machine that generates the load.
        memory_bytes: Option<u64>,
    },
    /// Nothing but time has passed: see [`crate::JobCore::next_timer`].
    Timer,
}

impl Input<'_> {
    /// Whether it only brings statistics or a sign of life. No decision depends on these, so none is looked for: a leader of a
    /// thousand workers takes ten thousand of them per second, and looking for decisions costs what the job has attempts.
    pub fn is_measurement(&self) -> bool {
        matches!(self, Input::Window { .. } | Input::Report { report: Report::Alive, .. })
    }
}

/// What the host is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Bring an entry into the log; its outcome comes back as [`Input::Applied`]. A local run applies at once.
    Propose(Box<Entry>),
    /// Give an attempt to its worker.
    Dispatch(Box<SegmentOrder>),
    /// Tell an attempt the newest directive.
    Direct {
        /// The attempt.
        attempt: AttemptId,
        /// What it is told.
        directive: Directive,
    },
    /// Reply to a request.
    Reply {
        /// The request.
        request: RequestId,
        /// The changes that were made, one per workflow, or why none was.
        answer: Answer,
    },
    /// Show something to whoever follows the job. Snapshots may be left out when nobody keeps up.
    Emit(Box<Event>),
    /// Another leader drives the job: stop driving it, and tell the workers nothing.
    Deposed,
}

/// What became of a request: the changes it made, one per workflow. None, where everything was as wanted before.
pub type Answer = Result<Vec<Change>, Refusal>;
