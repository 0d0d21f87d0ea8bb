//! HOT: a virtual user and its loop. Per iteration: no lock, no allocation, no log line, no boxed call, no channel send
//! in the steady state.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use hyperscale_clients::Session;
use hyperscale_clients::clock;
use hyperscale_job::StopPhase;
use hyperscale_plan::model::Part;
use hyperscale_plan::model::step::{Stop, Think};
use hyperscale_types::{Now, limits, split_mix};
use minijinja::Value;
use tokio::task::coop;
use tokio::time;

use super::Core;
use super::graph::{self, GraphEnd};
use super::pacing::Feed;
use super::scope::VuScope;
use super::seed::Stream;

/// One looping executor of a workflow's step graph, with its own context.
pub(crate) struct Vu {
    /// Unique in the job, from 1.
    pub(crate) id: u32,
    /// Number in its workflow, from 0.
    number: u32,
    pub(crate) iteration: Cell<u64>,
    random: Cell<u64>,
    /// Connections and cookies.
    pub(crate) session: Session,
    /// Rows of this iteration, by position in the plan's data.
    pub(crate) rows: RefCell<Vec<Value>>,
    /// Results of vu_setup, by position.
    pub(crate) setup: RefCell<Vec<Value>>,
    /// Results of the running graph, by position; only of steps that somebody refers to.
    pub(crate) results: RefCell<Vec<Value>>,
    /// Kept values, by position in the workflow's `keep`.
    pub(crate) kept: RefCell<Vec<Value>>,
}

/// When an iteration was to start: `None` means when it does (closed models).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Start {
    pub(crate) intended: Option<Now>,
    /// It had to wait for a free virtual user.
    pub(crate) queued: bool,
}

/// Why a virtual user ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VuEnd {
    /// There was no further start for it; it may be started again.
    NoStart,
    /// It is not to come back: a check stopped it, its rows ran out, or its set-up failed.
    ForGood,
}

impl Vu {
    pub(crate) fn new(core: &Core, id: u32, draws: Stream) -> Self {
        Vu {
            id,
            number: 0,
            iteration: Cell::new(0),
            random: Cell::new(core.slice.seed(draws)),
            session: Session::default(),
            rows: RefCell::default(),
            setup: RefCell::default(),
            results: RefCell::default(),
            kept: RefCell::new(core.workflow().keep.iter().map(|keep| keep.initial.clone()).collect()),
        }
    }

    /// The next number of this virtual user's generator.
    pub(crate) fn random(&self) -> u64 {
        let (next, value) = split_mix::step(self.random.get());
        self.random.set(next);
        value
    }

    /// Keeps the result of a step for those that refer to it.
    pub(crate) fn keep_result(&self, at: usize, value: Value) {
        let mut results = self.results.borrow_mut();
        if results.len() <= at {
            results.resize(at + 1, Value::UNDEFINED);
        }
        results[at] = value;
    }
}

/// The life of a virtual user: set-up, iterations as long as `feed` gives starts, tear-down. `lives` says how often one
/// has lived in this slot before.
pub(crate) async fn live(core: Rc<Core>, slot: u32, lives: u32, mut feed: impl Feed) -> VuEnd {
    let _alive = Alive::new(&core);
    let number = core.slice.vu_number(slot);
    let id = core.slice.vu_id(number);
    let vu = Vu { number, ..Vu::new(&core, id, Stream::Vu { id, lives }) };
    let has = |part: Part| !part.graph(core.workflow()).is_empty();
    if has(Part::VuSetup) {
        match Box::pin(graph::run(&core, &vu, Part::VuSetup, None)).await {
            GraphEnd::Completed => {}
            GraphEnd::Cut => return VuEnd::NoStart,
            GraphEnd::Failed | GraphEnd::Stop(_) => {
                core.vus.failed.set(core.vus.failed.get() + 1);
                return VuEnd::ForGood;
            }
        }
        *vu.setup.borrow_mut() = vu.results.take();
    }
    let end = iterate(&core, &vu, &mut feed).await;
    if has(Part::VuTeardown) && core.phase.get() < StopPhase::Aborted {
        Box::pin(graph::run(&core, &vu, Part::VuTeardown, None)).await;
    }
    end
}

async fn iterate(core: &Core, vu: &Vu, feed: &mut impl Feed) -> VuEnd {
    let workflow = core.workflow();
    let has_data = !workflow.data.is_empty();
    let leaves_values = !workflow.keep.is_empty() || !workflow.provides.is_empty();
    loop {
        // Before a start is taken, so that it goes to a virtual user that has a row for it.
        if has_data && let Some(at) = without_row(core, vu) {
            return out_of_rows(core, at);
        }
        let Some(start) = feed.next(core).await else { return VuEnd::NoStart };
        if has_data && let Err(at) = take_rows(core, vu) {
            feed.give_back(core, start);
            return out_of_rows(core, at);
        }
        let running = Running::begin(core, vu, start);
        let end = graph::run(core, vu, Part::Steps, start.intended).await;
        running.end(end);
        if leaves_values && end == GraphEnd::Completed {
            keep_and_provide(core, vu);
        }
        vu.iteration.set(vu.iteration.get() + 1);
        vu.session.end_iteration();
        // An iteration that never had to wait (no call, or one that failed at once) must not keep the core to itself.
        coop::consume_budget().await;
        match end {
            GraphEnd::Completed | GraphEnd::Failed | GraphEnd::Stop(Stop::Iteration) => {}
            GraphEnd::Stop(Stop::Vu | Stop::Test) => return VuEnd::ForGood,
            GraphEnd::Cut => return VuEnd::NoStart,
        }
    }
}

/// The data file that has no row for this virtual user any more.
fn without_row(core: &Core, vu: &Vu) -> Option<usize> {
    let used = &core.workflow().data;
    let cursors = core.cursors.borrow();
    let has_row = |at: usize| cursors[at].as_ref().is_none_or(|cursor| cursor.has_next(vu.number));
    used.iter().copied().find(|at| !has_row(*at))
}

/// Takes a row of every data file the workflow uses; the error says which has run out.
fn take_rows(core: &Core, vu: &Vu) -> Result<(), usize> {
    let used = &core.workflow().data;
    let (mut cursors, mut rows) = (core.cursors.borrow_mut(), vu.rows.borrow_mut());
    rows.resize(core.slice.data.len(), Value::UNDEFINED);
    for &at in used {
        let Some(cursor) = &mut cursors[at] else { continue };
        rows[at] = cursor.next(vu.number, vu.random()).ok_or(at)?;
    }
    Ok(())
}

/// A virtual user ends because a data file has no row for it; the result will say so.
#[cold]
fn out_of_rows(core: &Core, at: usize) -> VuEnd {
    let mut counts = core.vus.out_of_rows.borrow_mut();
    counts.resize(core.slice.data.len(), 0);
    counts[at] += 1;
    VuEnd::ForGood
}

/// What follows a completed iteration: kept state and provided values.
fn keep_and_provide(core: &Core, vu: &Vu) {
    let workflow = core.workflow();
    for (at, keep) in workflow.keep.iter().enumerate() {
        // A value that is not there this time leaves the kept one as it was.
        if let Ok(value) = keep.value.value(&VuScope { core, vu }) {
            vu.kept.borrow_mut()[at] = value;
        }
    }
    if !workflow.provides.is_empty() {
        core.providing.borrow_mut().iteration_ends(core, vu);
    }
}

/// Waits for a think time; ends early when the run has come to the phase `until`. Returns whether it waited to the end.
pub(crate) async fn think(core: &Core, vu: &Vu, think: Think, until: StopPhase) -> bool {
    let (min, max) = (think.min.as_nanos(), think.max.as_nanos());
    let extra = (u128::from(vu.random()) * u128::from(max - min + 1)) >> 64;
    let wait = std::time::Duration::from_nanos(min + extra as u64);
    let sleep = time::sleep(wait);
    tokio::pin!(sleep);
    loop {
        let changed = core.changed.notified();
        if core.phase.get() >= until {
            return false;
        }
        tokio::select! {
            () = &mut sleep => return true,
            () = changed => {}
        }
    }
}

/// Counts a virtual user while it is alive.
struct Alive<'a>(&'a Core);

impl<'a> Alive<'a> {
    fn new(core: &'a Core) -> Self {
        core.vus.alive.set(core.vus.alive.get() + 1);
        core.vus.started.set(core.vus.started.get() + 1);
        Alive(core)
    }
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.vus.alive.set(self.0.vus.alive.get() - 1);
    }
}

/// An iteration that has begun. If it is dropped before its end it was interrupted.
struct Running<'a> {
    core: &'a Core,
    ended: bool,
}

impl<'a> Running<'a> {
    fn begin(core: &'a Core, vu: &Vu, start: Start) -> Self {
        let mut window = core.window.borrow_mut();
        window.started();
        if let Some(intended) = start.intended {
            let now = clock::now();
            let lag = now.nanos_since(intended);
            window.lag(lag);
            // One that had to wait was counted as late when it began to.
            if !start.queued && lag > limits::LATE_AFTER.as_nanos() {
                window.late(1);
            }
            let had_setup = vu.iteration.get() == 0 && !Part::VuSetup.graph(core.workflow()).is_empty();
            if start.queued || had_setup {
                core.vus.queued.set(core.vus.queued.get() + 1);
            }
        }
        Running { core, ended: false }
    }

    fn end(mut self, end: GraphEnd) {
        self.ended = true;
        let mut window = self.core.window.borrow_mut();
        match end {
            GraphEnd::Completed => window.completed(),
            GraphEnd::Failed | GraphEnd::Stop(_) => window.failed(),
            GraphEnd::Cut => window.interrupted(),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.core.window.borrow_mut().interrupted();
        }
    }
}
