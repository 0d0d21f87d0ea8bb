//! What runs on one core's thread: a runtime of its own, virtual users as local tasks, one recorder.
//!
//! ```text
//! thread ── prepare ──► pacing ──spawns──► VU tasks ──► step graph ──► clients
//!                          │                  │
//!               directive (watched)      window (swapped every 100 ms) ──► host
//! ```
//! Nothing is shared with other cores while it runs. What leaves the core goes through one bounded channel.

mod bounded;
pub(crate) mod examine;
pub(crate) mod flight;
mod forks;
pub(crate) mod graph;
mod meter;
pub(crate) mod pacing;
pub(crate) mod prepare;
pub(crate) mod provide;
pub(crate) mod scope;
pub(crate) mod seed;
pub(crate) mod step;
pub(crate) mod thread;
pub(crate) mod ticker;
pub(crate) mod time;
pub(crate) mod values;
pub(crate) mod vu;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use hyperscale_clients::Clients;
use hyperscale_clients::lease::LeaseDeadline;
use hyperscale_job::layout::Base;
use hyperscale_job::segment::{RateChange, VuCounts};
use hyperscale_job::{Directive, Failure, SegmentResult, StopPhase};
use hyperscale_plan::load::Share;
use hyperscale_plan::model::Part;
use hyperscale_plan::model::{Plan, Workflow};
use hyperscale_stats::saturation::Judge;
use hyperscale_stats::{Layout, Window};
use hyperscale_types::ErrorKind;
use minijinja::Value;
use tokio::sync::{Notify, watch};

use crate::data::{Cursor, Files};
use crate::segment::{Begin, Identity, Messages};
use prepare::PreparedPart;
use provide::Providing;
use seed::Stream;
use time::LoadTime;
use values::Builtins;

/// The part of a segment that one core runs, and everything it needs for it.
pub(crate) struct Slice {
    pub(crate) plan: Arc<Plan>,
    /// Position of the workflow in the plan.
    pub(crate) workflow: usize,
    pub(crate) layout: Arc<Layout>,
    pub(crate) bases: [Base; Part::ALL.len()],
    /// Which share of the workflow.
    pub(crate) share: Share,
    /// Where in the load it begins.
    pub(crate) begin: Begin,
    /// The CPU to be pinned to.
    pub(crate) cpu: Option<usize>,
    pub(crate) identity: Arc<Identity>,
    pub(crate) given: Arc<Given>,
    pub(crate) data: Files,
    pub(crate) told: watch::Receiver<Directive>,
    pub(crate) messages: Messages,
    pub(crate) windows: Windows,
    /// Until when requests may leave.
    pub(crate) lease: LeaseDeadline,
}

/// How windows are swapped.
pub(crate) struct Windows {
    /// How often.
    pub(crate) every: Duration,
    /// Cleared ones coming back from the host.
    pub(crate) spare: std::sync::mpsc::Receiver<Box<Window>>,
}

/// Values that are fixed before the load begins.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// Of other workflows, by position in the workflow's `uses`.
    pub(crate) context: Vec<Value>,
    /// Results of the set-up steps, by position.
    pub(crate) setup: Vec<Value>,
}

impl Slice {
    pub(crate) fn workflow(&self) -> &Workflow {
        &self.plan.workflows[self.workflow]
    }

    /// The seed of one of its streams.
    pub(crate) fn seed(&self, stream: Stream) -> u64 {
        seed::seed(self.identity.seed, self.workflow, stream)
    }

    /// The number of a VU of this core in its workflow, from 0.
    pub(crate) fn vu_number(&self, slot: u32) -> u32 {
        slot * self.share.cores + self.share.core
    }

    /// The number of a VU in the whole job, from 1: those of the plan one workflow after the other, then what was added
    /// while it ran, the workflows by turns.
    pub(crate) fn vu_id(&self, number: u32) -> u32 {
        let planned = |workflows: &[Workflow]| workflows.iter().map(Workflow::vus_max).sum::<u32>();
        let workflows = &self.plan.workflows;
        match number.checked_sub(self.workflow().vus_max()) {
            None => planned(&workflows[..self.workflow]) + 1 + number,
            Some(added) => planned(workflows) + 1 + added * workflows.len() as u32 + self.workflow as u32,
        }
    }
}

/// What a core tells its segment.
#[derive(Debug)]
pub(crate) enum Message {
    /// It is busy with something that has no windows: preparation, set-up, tear-down.
    Alive,
    /// Ready to begin.
    Prepared,
    /// It cannot run, or not to its end.
    Failed { core: u32, failure: Failure },
    /// Statistics of an interval.
    Window(Box<Window>),
    /// A `stop: test` check failed. [`Message::Done`] says it again.
    StopTest(Failure),
    /// The planned load is over; running iterations finish.
    Finishing,
    /// Everything of it has ended and its last window is delivered.
    Done { core: u32, result: SegmentResult },
}

/// One core while it runs. Owned by its thread; virtual users hold it through an `Rc`.
pub(crate) struct Core {
    pub(crate) slice: Slice,
    pub(crate) clients: Clients,
    /// Prepared graphs, indexed like [`Part::ALL`]; empty where this core does not need them.
    pub(crate) parts: [PreparedPart; Part::ALL.len()],
    /// What is recorded right now.
    pub(crate) window: RefCell<Box<Window>>,
    pub(crate) phase: Cell<StopPhase>,
    /// What the load is meant to be instead of the plan's.
    pub(crate) wanted: Cell<Wanted>,
    /// Woken when phase, pause or what is wanted changes.
    pub(crate) changed: Notify,
    /// What calls are recorded as that are cut off right now: `cancelled`, unless the time of their step is over.
    pub(crate) cut_as: Cell<ErrorKind>,
    pub(crate) vus: VuTally,
    pub(crate) builtins: Builtins,
    /// Rows, by position in the plan's data.
    pub(crate) cursors: RefCell<Vec<Option<Cursor>>>,
    pub(crate) providing: RefCell<Providing>,
    /// Reused text buffer for tag sets.
    pub(crate) scratch: RefCell<Vec<u8>>,
    pub(crate) time: LoadTime,
    pub(crate) clocks: RefCell<thread::Clocks>,
    pub(crate) judge: RefCell<Judge>,
}

/// What a directive puts in the place of the plan's numbers, of the whole workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    pub(crate) vus: Option<u32>,
    pub(crate) rate: Option<RateChange>,
}

/// What became of the virtual users of a core.
#[derive(Debug, Default)]
pub(crate) struct VuTally {
    pub(crate) alive: Cell<u32>,
    pub(crate) started: Cell<u32>,
    /// Starts since the last window that had to wait for a free one.
    pub(crate) queued: Cell<u64>,
    /// Their `vu_setup` failed.
    pub(crate) failed: Cell<u32>,
    /// A data file had no row for them, by position in the plan's data.
    pub(crate) out_of_rows: RefCell<Vec<u32>>,
    /// The first `stop: test` check that failed.
    pub(crate) stopped: RefCell<Option<Failure>>,
}

impl Core {
    pub(crate) fn workflow(&self) -> &Workflow {
        self.slice.workflow()
    }

    /// Moves on towards the end, never back, and wakes whoever waits.
    pub(crate) fn advance(&self, phase: StopPhase) {
        if phase > self.phase.get() {
            self.phase.set(phase);
            self.changed.notify_waiters();
        }
    }

    /// Takes over what the slice is told.
    pub(crate) fn obey(&self, told: &Directive) {
        self.time.pause(told.paused);
        self.wanted.set(Wanted { vus: told.vus, rate: told.rate });
        self.phase.set(self.phase.get().max(told.phase));
        self.changed.notify_waiters();
    }

    /// A check says that the test is over. The host, which stops the other cores, is told at once if its queue has
    /// room, and certainly at the end.
    #[cold]
    pub(crate) fn stop_test(&self, failure: Failure) {
        self.slice.messages.hint(Message::StopTest(failure.clone()));
        self.vus.stopped.borrow_mut().get_or_insert(failure);
        self.advance(StopPhase::Cancelling);
    }

    /// The lease is over: nothing starts any more. What is in flight is cut off by who watches the lease.
    #[cold]
    pub(crate) fn isolate(&self) {
        self.advance(StopPhase::Cancelling);
    }

    /// What is left of it when all its virtual users have ended.
    pub(crate) fn result(&self) -> SegmentResult {
        SegmentResult {
            provided: self.providing.borrow_mut().take(),
            vus: VuCounts {
                started: self.vus.started.get(),
                failed: self.vus.failed.get(),
                out_of_rows: self.vus.out_of_rows.take(),
            },
            stopped: self.vus.stopped.take(),
            ..SegmentResult::default()
        }
    }
}
