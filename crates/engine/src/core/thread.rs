//! The thread of a core: runtime, preparation, the load, the last window.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hyperscale_clients::network::Network;
use hyperscale_clients::{ClientOptions, Clients};
use hyperscale_stats::Window;
use hyperscale_types::{ErrorKind, Span, limits};
use tokio::runtime::{self, LocalOptions};
use tokio::time;

use super::graph::{self, GraphEnd};
use super::prepare::{PreparedPart, prepare};
use super::provide::Providing;
use super::seed::Stream;
use super::values::Builtins;
use super::vu::Vu;
use super::{Core, Ending, Failure, Message, Segment, pacing};
use crate::control::StopPhase;
use crate::data::Cursor;
use crate::layout::Part;

/// What a core thread is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The workflow's load.
    Load,
    /// Its set-up or tear-down, once.
    Once(Part),
}

impl Work {
    fn parts(self) -> &'static [Part] {
        match self {
            Work::Load => &[Part::Steps, Part::VuSetup, Part::VuTeardown],
            Work::Once(Part::Setup) => &[Part::Setup],
            Work::Once(_) => &[Part::Teardown],
        }
    }
}

/// Starts a core's thread. It ends by itself after its last message.
pub(crate) fn spawn(segment: Segment, work: Work) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(format!("core-{}", segment.share.core)).spawn(move || {
        if let Some(cpu) = segment.cpu {
            pin(cpu);
        }
        let (workflow, core, messages) = (segment.workflow, segment.share.core, segment.messages.clone());
        // A panic must not leave the conductor waiting for a core that is gone.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let built =
                runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            let runtime = built.map_err(|error| engine_failure(&error))?;
            runtime.block_on(run(segment, Network::System, work))
        }));
        if let Err(failure) = outcome.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))) {
            drop(messages.blocking_send(Message::Failed { workflow, core, failure }));
        }
    })
}

fn engine_failure(error: &io::Error) -> Failure {
    Failure { reason: "engine", message: error.to_string(), step: None }
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    Failure { reason: "engine", message: format!("a core failed unexpectedly: {text}"), step: None }
}

/// Pins this thread. Where that is not allowed it runs unpinned, which costs speed and nothing else.
fn pin(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// Prepares and works.
pub(crate) async fn run(segment: Segment, network: Network, work: Work) -> Result<(), Failure> {
    let seed = segment.seed(Stream::Clients { core: segment.share.core });
    let clients = Clients::new(network, ClientOptions { seed, ..ClientOptions::default() });
    let prepared = tokio::select! {
        biased;
        () = told_to_stop(&segment) => None,
        prepared = prepare_parts(&clients, &segment, work) => Some(prepared?),
    };
    let Some(parts) = prepared else {
        drop(segment.messages.send(stopped_early(&segment, work)).await);
        return Ok(());
    };
    let core = Rc::new(new_core(segment, clients, parts));
    match work {
        Work::Load => load(&core).await,
        Work::Once(part) => {
            once(&core, part).await;
            Ok(())
        }
    }
}

type Parts = [PreparedPart; Part::ALL.len()];

async fn prepare_parts(clients: &Clients, segment: &Segment, work: Work) -> Result<Parts, Failure> {
    let mut parts = Parts::default();
    for &part in work.parts() {
        parts[part as usize] = prepare(clients, segment, part).await?;
    }
    Ok(parts)
}

/// Preparing has nothing to finish: it ends as soon as the run is cancelled, whatever it waits for.
async fn told_to_stop(segment: &Segment) {
    // An error means that the conductor is gone, which is a reason to stop too.
    drop(segment.directive.clone().wait_for(|now| now.phase >= StopPhase::Cancelling).await);
}

fn stopped_early(segment: &Segment, work: Work) -> Message {
    let (workflow, core) = (segment.workflow, segment.share.core);
    match work {
        Work::Load => Message::Done { workflow, core, ending: Ending::default() },
        Work::Once(part) => Message::OnceDone { workflow, part, outcome: Err(once_failure(part)) },
    }
}

fn new_core(segment: Segment, clients: Clients, parts: Parts) -> Core {
    Core {
        window: RefCell::new(Box::new(Window::new(&segment.layout))),
        cursors: RefCell::new(cursors(&segment)),
        clocks: RefCell::new(Clocks::now(&segment, 0)),
        clients,
        parts,
        phase: Cell::default(),
        paused_at: Cell::default(),
        vus_override: Cell::default(),
        rate_override: Cell::default(),
        changed: tokio::sync::Notify::new(),
        cut_as: Cell::new(ErrorKind::Cancelled),
        vus: Cell::default(),
        vus_failed: Cell::default(),
        vus_started: Cell::default(),
        stopped: RefCell::default(),
        out_of_rows: RefCell::default(),
        builtins: Builtins::new(),
        providing: RefCell::new(Providing::default()),
        scratch: RefCell::default(),
        began: Cell::new(time::Instant::now()),
        paused_for: Cell::default(),
        segment,
    }
}

fn cursors(segment: &Segment) -> Vec<Option<Cursor>> {
    let cursor = |(file, source): (&Option<Arc<crate::data::DataFile>>, _)| {
        file.as_ref().map(|file| Cursor::new(file, source, segment.share))
    };
    segment.data.iter().zip(&segment.plan.data).map(cursor).collect()
}

async fn load(core: &Rc<Core>) -> Result<(), Failure> {
    let segment = &core.segment;
    let (workflow, number) = (segment.workflow, segment.share.core);
    send(core, Message::Prepared { workflow }).await;
    let mut directive = segment.directive.clone();
    // An error means that the conductor is gone; then there is nobody left to run for.
    // The value is copied out at once: as long as it is borrowed the conductor cannot change it.
    let go = match directive.wait_for(|now| now.go.is_some() || now.phase > StopPhase::Running).await {
        Ok(go) => *go,
        Err(_) => return Ok(()),
    };
    core.obey(&go);
    if let Some(at) = go.go {
        time::sleep_until(at.into()).await;
        core.began.set(at.into());
        *core.clocks.borrow_mut() = Clocks::now(segment, 0);
    }
    let listening = tokio::task::spawn_local(listen(Rc::clone(core)));
    let ticking = tokio::task::spawn_local(tick(Rc::clone(core)));
    let outcome = pacing::run(core).await;
    listening.abort();
    ticking.abort();
    flush(core).await;
    outcome.map_err(|error| engine_failure(&error))?;
    send(core, Message::Done { workflow, core: number, ending: core.ending() }).await;
    Ok(())
}

/// Runs a graph once as virtual user 0 and sends its results.
async fn once(core: &Rc<Core>, part: Part) {
    let listening = tokio::task::spawn_local(listen(Rc::clone(core)));
    let vu = Vu::new(core, 0, Stream::Once(part));
    let limit = match part {
        Part::Teardown => core.workflow().graceful_stop.to_duration().max(Duration::from_secs(30)),
        _ => Span::MAX.to_duration(),
    };
    let run = graph::run(core, &vu, part, None);
    let end = tokio::select! {
        biased;
        end = time::timeout(limit, run) => end.unwrap_or(GraphEnd::Cut),
        () = cut_off(core) => GraphEnd::Cut,
    };
    listening.abort();
    flush(core).await;
    let outcome = match end {
        GraphEnd::Completed => Ok(vu.results.take()),
        GraphEnd::Failed | GraphEnd::Stop(_) | GraphEnd::Cut => {
            Err(core.stopped.take().unwrap_or_else(|| once_failure(part)))
        }
    };
    send(core, Message::OnceDone { workflow: core.segment.workflow, part, outcome }).await;
}

/// Waits for the moment at which calls in flight are cut off: at once on an abort, after a grace on a cancel.
async fn cut_off(core: &Core) {
    loop {
        let changed = core.changed.notified();
        match core.phase.get() {
            StopPhase::Running | StopPhase::Finishing => changed.await,
            StopPhase::Cancelling => tokio::select! {
                () = time::sleep(limits::CANCEL_GRACE.to_duration()) => return,
                () = changed => {}
            },
            StopPhase::Aborted => return,
        }
    }
}

fn once_failure(part: Part) -> Failure {
    let (reason, what) = if part == Part::Setup { ("setup", "set-up") } else { ("teardown", "tear-down") };
    Failure { reason, message: format!("the {what} of the workflow failed"), step: None }
}

/// Follows the conductor's directive.
async fn listen(core: Rc<Core>) {
    let mut directive = core.segment.directive.clone();
    while directive.changed().await.is_ok() {
        let now = *directive.borrow_and_update();
        core.obey(&now);
    }
    // The conductor is gone: nobody wants this load any more.
    core.advance(StopPhase::Aborted);
}

/// Swaps the window again and again.
async fn tick(core: Rc<Core>) {
    let mut interval = time::interval(core.segment.tick);
    interval.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    interval.tick().await; // the first one is immediate
    loop {
        interval.tick().await;
        // A conductor that is behind gets a longer window instead of a lost one.
        if let Ok(permit) = core.segment.messages.clone().try_reserve_owned() {
            permit.send(close_window(&core));
        }
    }
}

async fn flush(core: &Core) {
    let last = close_window(core);
    send(core, last).await;
}

/// Sends a word that must not be lost. The conductor outlives its cores; if it is gone the process is ending.
async fn send(core: &Core, message: Message) {
    drop(core.segment.messages.send(message).await);
}

/// Clock readings at the last swap of windows.
#[derive(Debug)]
pub(crate) struct Clocks {
    seq: u64,
    from_ns: u64,
    cpu_ns: u64,
}

impl Clocks {
    fn now(segment: &Segment, seq: u64) -> Self {
        Clocks { seq, from_ns: segment.job.epoch.elapsed().as_nanos() as u64, cpu_ns: cpu_time() }
    }
}

fn close_window(core: &Core) -> Message {
    let spare = core.segment.spare.try_recv();
    let empty = spare.unwrap_or_else(|_| Box::new(Window::new(&core.segment.layout)));
    let mut window = core.window.replace(empty);
    let mut clocks = core.clocks.borrow_mut();
    let now = Clocks::now(&core.segment, clocks.seq + 1);
    window.seq = clocks.seq;
    window.core = core.segment.share.core;
    window.from_ns = clocks.from_ns;
    window.to_ns = now.from_ns;
    window.vus = core.vus.get();
    window.busy_ns = now.cpu_ns.saturating_sub(clocks.cpu_ns);
    *clocks = now;
    Message::Window { workflow: core.segment.workflow, core: core.segment.share.core, window }
}

/// CPU time of this thread.
fn cpu_time() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
