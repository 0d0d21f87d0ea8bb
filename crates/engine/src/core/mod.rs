//! What runs on one core's thread: a runtime of its own, virtual users as local tasks, one recorder.
//!
//! ```text
//! thread ── prepare ──► pacing ──spawns──► VU tasks ──► step graph ──► clients
//!                          │                  │
//!               directive (watched)      window (swapped every 100 ms) ──► conductor
//! ```
//! Nothing is shared with other cores while it runs. What leaves the core goes through one bounded channel.

mod bounded;
pub(crate) mod examine;
pub(crate) mod flight;
mod forks;
pub(crate) mod graph;
pub(crate) mod pacing;
pub(crate) mod prepare;
pub(crate) mod provide;
pub(crate) mod scope;
pub(crate) mod seed;
pub(crate) mod step;
pub(crate) mod thread;
pub(crate) mod ticker;
pub(crate) mod values;
pub(crate) mod vu;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use hyperscale_clients::Clients;
use hyperscale_plan::load::Share;
use hyperscale_plan::model::{Plan, Workflow};
use hyperscale_stats::{Layout, Window};
use hyperscale_types::{ErrorKind, Name, Rate};
use minijinja::Value;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use crate::control::{Directive, StopPhase};
use crate::data::{Cursor, DataFile};
use crate::layout::{Base, Part};
use prepare::PreparedPart;
use provide::{Provided, Providing};
use seed::Stream;
use values::Builtins;

/// The part of a workflow that one core runs, and everything it needs for it.
pub(crate) struct Segment {
    pub(crate) plan: Arc<Plan>,
    /// Position of the workflow in the plan.
    pub(crate) workflow: usize,
    pub(crate) layout: Arc<Layout>,
    pub(crate) bases: [Base; Part::ALL.len()],
    /// Which share of the workflow.
    pub(crate) share: Share,
    /// The CPU to be pinned to.
    pub(crate) cpu: Option<usize>,
    /// VU numbers of this workflow begin after this one.
    pub(crate) vus_before: u32,
    pub(crate) job: Arc<JobFacts>,
    /// Values of used contexts, by position in the workflow's `uses`.
    pub(crate) context: Arc<[Value]>,
    /// Results of the set-up steps, by position.
    pub(crate) setup: Arc<[Value]>,
    /// Data files, by position in the plan; `None` where the workflow does not use it.
    pub(crate) data: Arc<[Option<Arc<DataFile>>]>,
    pub(crate) directive: watch::Receiver<Directive>,
    pub(crate) messages: mpsc::Sender<Message>,
    /// How often the window is swapped.
    pub(crate) tick: Duration,
    /// Cleared windows coming back from the conductor.
    pub(crate) spare: std::sync::mpsc::Receiver<Box<Window>>,
}

impl Segment {
    pub(crate) fn workflow(&self) -> &Workflow {
        &self.plan.workflows[self.workflow]
    }

    /// The seed of one of its streams.
    pub(crate) fn seed(&self, stream: Stream) -> u64 {
        seed::seed(self.job.seed, self.workflow, stream)
    }

    /// The number of a VU of this core in the whole job, from 1.
    pub(crate) fn vu_id(&self, slot: u32) -> u32 {
        self.vus_before + 1 + slot * self.share.cores + self.share.core
    }

    /// The number of a VU in its workflow, from 0.
    pub(crate) fn vu_number(&self, id: u32) -> u32 {
        id - 1 - self.vus_before
    }
}

/// What is the same for the whole job.
#[derive(Debug)]
pub(crate) struct JobFacts {
    pub(crate) id: String,
    pub(crate) worker: String,
    pub(crate) seed: u64,
    /// Zero of the run's clock.
    pub(crate) epoch: std::time::Instant,
}

/// What a core tells the conductor.
pub(crate) enum Message {
    /// Ready to go.
    Prepared { workflow: usize },
    /// It cannot run.
    Failed { workflow: usize, core: u32, failure: Failure },
    /// Statistics of an interval.
    Window { workflow: usize, core: u32, window: Box<Window> },
    /// A `stop: test` check fired. [`Message::Done`] says it again.
    StopTest { workflow: usize, failure: Failure },
    /// The planned load is over; running iterations finish.
    Finishing { workflow: usize },
    /// All its virtual users have ended and its last window is delivered.
    Done { workflow: usize, core: u32, ending: Ending },
    /// Set-up or tear-down ended.
    OnceDone { workflow: usize, part: Part, outcome: Result<Vec<Value>, Failure> },
}

/// What a core leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    pub(crate) provided: Vec<Provided>,
    pub(crate) vus: VuCounts,
    /// The `stop: test` check that fired.
    pub(crate) stopped: Option<Failure>,
}

/// What became of the virtual users of a core.
#[derive(Clone, Debug, Default)]
pub(crate) struct VuCounts {
    pub(crate) started: u32,
    /// Their `vu_setup` failed.
    pub(crate) failed: u32,
    /// They ended because a data file had no row for them, by position in the plan's data.
    pub(crate) out_of_rows: Vec<u32>,
}

/// Why a workflow cannot run or go on.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// A word for programs: `unreachable`, `setup`, ….
    pub(crate) reason: &'static str,
    /// A sentence for people.
    pub(crate) message: String,
    /// The step it happened in.
    pub(crate) step: Option<Name>,
}

/// One core while it runs. Owned by its thread; virtual users hold it through an `Rc`.
pub(crate) struct Core {
    pub(crate) segment: Segment,
    pub(crate) clients: Clients,
    /// Prepared graphs, indexed like [`Part::ALL`]; empty where this core does not need them.
    pub(crate) parts: [PreparedPart; Part::ALL.len()],
    /// What is recorded right now.
    pub(crate) window: RefCell<Box<Window>>,
    pub(crate) phase: Cell<StopPhase>,
    /// Since when it starts nothing, if it does not.
    pub(crate) paused_at: Cell<Option<Instant>>,
    pub(crate) vus_override: Cell<Option<u32>>,
    pub(crate) rate_override: Cell<Option<Rate>>,
    /// Woken when any of the four above changes.
    pub(crate) changed: Notify,
    /// What calls are recorded as that are cut off right now: `cancelled`, unless the time of their step is over.
    pub(crate) cut_as: Cell<ErrorKind>,
    /// Virtual users that are alive.
    pub(crate) vus: Cell<u32>,
    /// Virtual users whose `vu_setup` failed, and all that were started.
    pub(crate) vus_failed: Cell<u32>,
    pub(crate) vus_started: Cell<u32>,
    /// The first `stop: test` check that fired.
    pub(crate) stopped: RefCell<Option<Failure>>,
    /// Virtual users that a data file had no row for, by position in the plan's data.
    pub(crate) out_of_rows: RefCell<Vec<u32>>,
    pub(crate) builtins: Builtins,
    /// Rows, by position in the plan's data.
    pub(crate) cursors: RefCell<Vec<Option<Cursor>>>,
    pub(crate) providing: RefCell<Providing>,
    /// Reused text buffer for tag sets.
    pub(crate) scratch: RefCell<Vec<u8>>,
    /// The run's load clock: when the load began, and for how long it was paused before.
    pub(crate) began: Cell<Instant>,
    pub(crate) paused_for: Cell<Duration>,
    pub(crate) clocks: RefCell<thread::Clocks>,
}

impl Core {
    pub(crate) fn workflow(&self) -> &Workflow {
        self.segment.workflow()
    }

    /// Moves on towards the end, never back, and wakes whoever waits.
    pub(crate) fn advance(&self, phase: StopPhase) {
        if phase > self.phase.get() {
            self.phase.set(phase);
            self.changed.notify_waiters();
        }
    }

    /// Takes over what the conductor says.
    pub(crate) fn obey(&self, directive: &Directive) {
        self.pause(directive.paused);
        self.vus_override.set(directive.vus);
        self.rate_override.set(directive.rate);
        self.phase.set(self.phase.get().max(directive.phase));
        self.changed.notify_waiters();
    }

    /// Stands still, or goes on. The load clock knows at once how long that was, whoever is woken first.
    fn pause(&self, paused: bool) {
        match (paused, self.paused_at.get()) {
            (true, None) => self.paused_at.set(Some(Instant::now())),
            (false, Some(at)) => {
                let stood = at.max(self.began.get()).elapsed();
                self.paused_for.set(self.paused_for.get() + stood);
                self.paused_at.set(None);
            }
            _ => {}
        }
    }

    /// Whether it starts nothing.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused_at.get().is_some()
    }

    /// A check says that the test is over. The conductor, which stops the other cores, is told at once if its queue has
    /// room, and certainly at the end.
    #[cold]
    pub(crate) fn stop_test(&self, failure: Failure) {
        self.hint(Message::StopTest { workflow: self.segment.workflow, failure: failure.clone() });
        self.stopped.borrow_mut().get_or_insert(failure);
        self.advance(StopPhase::Cancelling);
    }

    /// The lease is over: nothing starts any more. What is in flight is cut off by who watches the lease.
    #[cold]
    pub(crate) fn isolate(&self) {
        self.advance(StopPhase::Cancelling);
    }

    /// What is left of it when all its virtual users have ended.
    pub(crate) fn ending(&self) -> Ending {
        Ending {
            provided: self.providing.borrow_mut().take(),
            vus: VuCounts {
                started: self.vus_started.get(),
                failed: self.vus_failed.get(),
                out_of_rows: self.out_of_rows.take(),
            },
            stopped: self.stopped.take(),
        }
    }

    /// Tells the conductor. If its queue is full the word is dropped: only for words that are repeated or implied.
    pub(crate) fn hint(&self, message: Message) {
        drop(self.segment.messages.try_send(message));
    }
}
