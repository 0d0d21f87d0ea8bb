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
use hyperscale_job::{Failure, FailureKind, SegmentResult, StopPhase};
use hyperscale_plan::model::Part;
use hyperscale_stats::Window;
use hyperscale_types::{ErrorKind, Now, Span, limits};
use tokio::runtime::{self, LocalOptions};
use tokio::time;

use super::graph::{self, GraphEnd};
use super::meter::Meter;
use super::prepare::{PreparedPart, prepare};
use super::provide::Providing;
use super::seed::Stream;
use super::time::LoadTime;
use super::values::{Builtins, plain};
use super::vu::Vu;
use super::{Core, Message, Slice, VuTally, pacing};
use crate::data::{Cursor, DataFile};

/// How often a core says that it is alive while it has no windows to send.
const ALIVE_EVERY: Duration = Duration::from_secs(10);

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
pub(crate) fn spawn(slice: Slice, work: Work) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(format!("core-{}", slice.share.core)).spawn(move || {
        if let Some(cpu) = slice.cpu {
            pin(cpu);
        }
        let (core, messages) = (slice.share.core, slice.messages.clone());
        // A panic must not leave the host waiting for a core that is gone.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let built =
                runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
            let runtime = built.map_err(|error| engine_failure(&error))?;
            runtime.block_on(run(slice, Network::System, work))
        }));
        if let Err(failure) = outcome.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))) {
            messages.blocking_send(Message::Failed { core, failure });
        }
    })
}

fn engine_failure(error: &io::Error) -> Failure {
    Failure::new(FailureKind::Engine, error.to_string())
}

fn panicked(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    Failure::new(FailureKind::Engine, format!("a core failed unexpectedly: {text}"))
}

/// Pins this thread. Where that is not allowed it runs unpinned, which costs speed and nothing else.
fn pin(cpu: usize) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    let _ = rustix::thread::sched_setaffinity(None, &set);
}

/// Prepares and works.
pub(crate) async fn run(slice: Slice, network: Network, work: Work) -> Result<(), Failure> {
    let seed = slice.seed(Stream::Clients { core: slice.share.core });
    let clients = Clients::new(network, ClientOptions { seed, lease: slice.lease.clone() });
    let alive = tokio::task::spawn_local(say_alive(slice.messages.clone()));
    let prepared = tokio::select! {
        biased;
        () = told_to_stop(&slice) => None,
        prepared = prepare_parts(&clients, &slice, work) => Some(prepared?),
    };
    let Some(parts) = prepared else {
        slice.messages.send(stopped_early(&slice, work)).await;
        return Ok(());
    };
    let core = Rc::new(new_core(slice, clients, parts));
    match work {
        Work::Load => load(&core, alive).await,
        Work::Once(part) => {
            once(&core, part).await;
            Ok(())
        }
    }
}

/// Says again and again that the core is alive, as long as the task is not ended.
async fn say_alive(messages: crate::segment::Messages) {
    loop {
        time::sleep(ALIVE_EVERY).await;
        messages.hint(Message::Alive);
    }
}

type Parts = [PreparedPart; Part::ALL.len()];

async fn prepare_parts(clients: &Clients, slice: &Slice, work: Work) -> Result<Parts, Failure> {
    let mut parts = Parts::default();
    for &part in work.parts() {
        parts[part as usize] = prepare(clients, slice, part).await?;
    }
    Ok(parts)
}

/// Preparing has nothing to finish: it ends as soon as the run is cancelled, whatever it waits for.
async fn told_to_stop(slice: &Slice) {
    // An error means that the host is gone, which is a reason to stop too.
    drop(slice.told.clone().wait_for(|now| now.phase >= StopPhase::Cancelling).await);
}

fn stopped_early(slice: &Slice, work: Work) -> Message {
    let failure = match work {
        Work::Load => None,
        Work::Once(part) => Some(once_failure(part)),
    };
    Message::Done { core: slice.share.core, result: SegmentResult { failure, ..SegmentResult::default() } }
}

fn new_core(slice: Slice, clients: Clients, parts: Parts) -> Core {
    Core {
        window: RefCell::new(Box::new(Window::new(&slice.layout))),
        cursors: RefCell::new(cursors(&slice)),
        clocks: RefCell::new(Clocks::new(&slice)),
        judge: RefCell::default(),
        clients,
        parts,
        phase: Cell::default(),
        wanted: Cell::default(),
        changed: tokio::sync::Notify::new(),
        cut_as: Cell::new(ErrorKind::Cancelled),
        vus: VuTally::default(),
        builtins: Builtins::new(),
        providing: RefCell::new(Providing::default()),
        scratch: RefCell::default(),
        time: LoadTime::new(slice.identity.epoch, slice.begin.offset),
        slice,
    }
}

fn cursors(slice: &Slice) -> Vec<Option<Cursor>> {
    let cursor = |(file, source): (&Option<Arc<DataFile>>, _)| {
        file.as_ref().map(|file| Cursor::new(file, source, slice.share))
    };
    slice.data.iter().zip(&slice.plan.data).map(cursor).collect()
}

async fn load(core: &Rc<Core>, alive: tokio::task::JoinHandle<()>) -> Result<(), Failure> {
    let slice = &core.slice;
    slice.messages.send(Message::Prepared).await;
    let mut told = slice.told.clone();
    // An error means that the host is gone; then there is nobody left to run for.
    // The value is copied out at once: as long as it is borrowed the host cannot change it.
    let begin = match told.wait_for(|now| now.go.is_some() || now.phase > StopPhase::Running).await {
        Ok(begin) => *begin,
        Err(_) => return Ok(()),
    };
    alive.abort();
    core.obey(&begin);
    if let Some(at) = begin.go {
        time::sleep_until(core.time.at(at)).await;
        core.time.begin(at, slice.begin.offset);
        *core.clocks.borrow_mut() = Clocks::new(slice);
    }
    let listening = tokio::task::spawn_local(listen(Rc::clone(core)));
    let isolating = tokio::task::spawn_local(end_with_lease(Rc::clone(core)));
    let ticking = tokio::task::spawn_local(tick(Rc::clone(core)));
    let outcome = pacing::run(core).await;
    listening.abort();
    isolating.abort();
    ticking.abort();
    flush(core).await;
    outcome.map_err(|error| engine_failure(&error))?;
    slice.messages.send(Message::Done { core: slice.share.core, result: core.result() }).await;
    Ok(())
}

/// Runs a graph once as virtual user 0 and sends its results.
async fn once(core: &Rc<Core>, part: Part) {
    let listening = tokio::task::spawn_local(listen(Rc::clone(core)));
    let isolating = tokio::task::spawn_local(end_with_lease(Rc::clone(core)));
    let vu = Vu::new(core, 0, Stream::Once(part));
    let limit = match part {
        Part::Teardown => core.workflow().timing.graceful_stop.to_duration().max(Duration::from_secs(30)),
        _ => Span::MAX.to_duration(),
    };
    let run = graph::run(core, &vu, part, None);
    let end = tokio::select! {
        biased;
        end = time::timeout(limit, run) => end.unwrap_or(GraphEnd::Cut),
        () = cut_off(core) => GraphEnd::Cut,
    };
    listening.abort();
    isolating.abort();
    flush(core).await;
    let mut result = core.result();
    match end {
        GraphEnd::Completed => {
            let values = vu.results.take();
            result.values = values.iter().map(|value| plain(value).unwrap_or_default()).collect();
        }
        GraphEnd::Failed | GraphEnd::Stop(_) | GraphEnd::Cut => {
            result.failure = Some(result.stopped.clone().unwrap_or_else(|| once_failure(part)));
        }
    }
    core.slice.messages.send(Message::Done { core: core.slice.share.core, result }).await;
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
    let (kind, what) = if part == Part::Setup {
        (FailureKind::Setup, "set-up")
    } else {
        (FailureKind::Teardown, "tear-down")
    };
    Failure::new(kind, format!("the {what} of the workflow failed"))
}

/// Follows what the segment is told.
async fn listen(core: Rc<Core>) {
    let mut told = core.slice.told.clone();
    while told.changed().await.is_ok() {
        let now = *told.borrow_and_update();
        core.obey(&now);
    }
    // The host is gone: nobody wants this load any more.
    core.advance(StopPhase::Aborted);
}

/// Cuts off what is in flight when the lease is over. That nothing leaves any more is seen to where requests are written.
async fn end_with_lease(core: Rc<Core>) {
    let lease = &core.slice.lease;
    if lease.moment() == Now::NEVER {
        return;
    }
    lease.over_for(limits::ISOLATION_GRACE.to_duration()).await;
    core.advance(StopPhase::Aborted);
}

/// Swaps the window again and again.
async fn tick(core: Rc<Core>) {
    let mut interval = time::interval(core.slice.windows.every);
    interval.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    interval.tick().await; // the first one is immediate
    loop {
        interval.tick().await;
        // A host that is behind gets a longer window instead of a lost one.
        core.slice.messages.send_if_room(|| close_window(&core, false));
    }
}

async fn flush(core: &Core) {
    let last = close_window(core, true);
    core.slice.messages.send(last).await;
}

/// Clock readings at the last swap of windows.
#[derive(Debug)]
pub(crate) struct Clocks {
    seq: u64,
    from_ns: u64,
    meter: Meter,
    busy_ns: u64,
    waited_ns: u64,
}

impl Clocks {
    fn new(slice: &Slice) -> Self {
        let mut clocks = Clocks { seq: 0, from_ns: 0, meter: Meter::new(), busy_ns: 0, waited_ns: 0 };
        clocks.read(slice);
        clocks
    }

    fn read(&mut self, slice: &Slice) {
        self.from_ns = slice.identity.epoch.elapsed().as_nanos() as u64;
        (self.busy_ns, self.waited_ns) = (Meter::busy_ns(), self.meter.waited_ns());
    }
}

/// Puts an empty window in the place of the present one, which is complete then.
fn close_window(core: &Core, is_last: bool) -> Message {
    let spare = core.slice.windows.spare.try_recv();
    let empty = spare.unwrap_or_else(|_| Box::new(Window::new(&core.slice.layout)));
    let mut window = core.window.replace(empty);
    let mut clocks = core.clocks.borrow_mut();
    window.seq = clocks.seq;
    window.core = core.slice.share.core;
    window.vus = core.vus.alive.get();
    let (busy_ns, waited_ns) = (clocks.busy_ns, clocks.waited_ns);
    window.from_ns = clocks.from_ns;
    clocks.seq += 1;
    clocks.read(&core.slice);
    window.to_ns = clocks.from_ns;
    window.busy_ns = clocks.busy_ns.saturating_sub(busy_ns);
    window.waited_ns = clocks.waited_ns.saturating_sub(waited_ns);
    core.judge.borrow_mut().window(&mut window, core.vus.queued.take(), is_last);
    Message::Window(window)
}
