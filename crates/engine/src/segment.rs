//! The segment runner: one attempt at a segment, on cores of this machine.
//!
//! ```text
//! SegmentSpec ─► Segment::start ─► core threads ── CoreMessage ──► whoever hosts the segment
//!                    ▲                                                │
//!     Directive ─────┘          SegmentEvent ◄── Segment::take ◄──────┘
//! ```
//! A host (a local run, a worker) owns the channel of messages, hands each one to its segment, and gets what it means:
//! windows of statistics, and the reports that a job understands. The segment itself decides nothing about the job.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread::JoinHandle;
use std::time::Instant;

use hyperscale_clients::lease::LeaseDeadline;
use hyperscale_job::layout::layout;
use hyperscale_job::{
    AttemptId, Directive, Failure, FailureKind, Report, SegmentKind, SegmentOrder, SegmentResult, StopPhase,
};
use hyperscale_plan::model::Part;
use hyperscale_plan::model::Plan;
use hyperscale_stats::Window;
use hyperscale_types::limits;
use minijinja::Value;
use serde::Deserialize;
use tokio::sync::{mpsc, watch};

use crate::core::thread::{self, Work};
use crate::core::{Given, Message, Slice, Windows};
use crate::data::Files;

/// Everything that is needed to run an attempt.
#[derive(Clone, Debug)]
pub struct SegmentSpec {
    /// The validated plan.
    pub plan: Arc<Plan>,
    /// Its data files.
    pub data: Files,
    /// What is run: workflow, share, context, offset of the load clock.
    pub order: SegmentOrder,
    /// Who runs it, with which seed, and where the job clock began.
    pub identity: Arc<Identity>,
    /// The CPU of each of its cores; `None` for a core that is not pinned.
    pub cpus: Vec<Option<usize>>,
    /// Until when it may send. Renewing moves the deadline on all its cores at once, through any clone.
    pub lease: LeaseDeadline,
}

/// What is the same for all segments of a job on this machine.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The job's id, visible as `job.id`.
    pub job: String,
    /// This worker's id, visible as `worker.id`.
    pub worker: String,
    /// Decides everything random.
    pub seed: u64,
    /// Zero of the job clock on this machine's clock.
    pub epoch: Instant,
}

/// What a core of a segment says. Only its segment can tell what it means: [`Segment::take`].
#[derive(Debug)]
pub struct CoreMessage {
    /// The attempt that the core belongs to.
    pub attempt: AttemptId,
    pub(crate) message: Message,
}

/// What happened in a segment.
#[derive(Debug)]
pub enum SegmentEvent {
    /// Statistics of one core. Give the window back with [`Segment::recycle`].
    Window(Box<Window>),
    /// What the job must know. After [`Report::Ended`] nothing more comes.
    Report(Report),
}

/// An attempt that runs. Dropping it cuts it off.
#[derive(Debug)]
pub struct Segment {
    order: SegmentOrder,
    told: watch::Sender<Directive>,
    /// Where cleared windows go back to, by core of the workflow.
    spare: BTreeMap<u32, std_mpsc::Sender<Box<Window>>>,
    threads: Vec<JoinHandle<()>>,
    /// Cores that are not prepared yet.
    unprepared: u32,
    /// Cores that have not ended.
    running: u32,
    /// A core that failed stops the others: no directive leads back behind this.
    least_phase: StopPhase,
    result: SegmentResult,
}

impl Segment {
    /// Starts the threads of a segment. What they say goes into `messages`, which must be read until the segment ends.
    pub fn start(spec: &SegmentSpec, messages: &mpsc::Sender<CoreMessage>) -> io::Result<Segment> {
        let cores = spec.order.assignment.share.cores;
        let mut segment = Segment {
            order: spec.order.clone(),
            told: watch::Sender::new(Directive::default()),
            spare: BTreeMap::new(),
            threads: Vec::new(),
            unprepared: cores,
            running: cores,
            least_phase: StopPhase::Running,
            result: SegmentResult::default(),
        };
        let work = match spec.order.assignment.attempt.segment.kind {
            SegmentKind::Setup => Work::Once(Part::Setup),
            SegmentKind::Load => Work::Load,
            SegmentKind::Teardown => Work::Once(Part::Teardown),
        };
        for slice in segment.slices(spec, messages) {
            segment.threads.push(thread::spawn(slice, work)?);
        }
        Ok(segment)
    }

    /// The attempt that it runs.
    pub fn order(&self) -> &SegmentOrder {
        &self.order
    }

    /// Tells it the newest directive.
    pub fn direct(&self, directive: Directive) {
        let phase = directive.phase.max(self.least_phase);
        self.told.send_replace(Directive { phase, ..directive });
    }

    /// What a message of one of its cores means.
    pub fn take(&mut self, message: CoreMessage) -> Vec<SegmentEvent> {
        match message.message {
            Message::Window(window) => vec![SegmentEvent::Window(window)],
            Message::Alive => vec![report(Report::Alive)],
            Message::Prepared => {
                self.unprepared = self.unprepared.saturating_sub(1);
                if self.unprepared == 0 { vec![report(Report::Prepared)] } else { Vec::new() }
            }
            Message::Finishing => vec![report(Report::Finishing)],
            Message::StopTest(failure) => vec![report(Report::StopTest(failure))],
            Message::Failed { core, failure } => {
                self.result.failure.get_or_insert(failure);
                self.least_phase = StopPhase::Cancelling;
                self.told.send_modify(|told| told.phase = told.phase.max(StopPhase::Cancelling));
                self.core_ended(core)
            }
            Message::Done { core, result } => {
                self.result.provided.extend(result.provided);
                self.result.values.extend(result.values);
                self.result.vus.merge(&result.vus);
                self.result.failure = self.result.failure.take().or(result.failure);
                self.result.stopped = self.result.stopped.take().or(result.stopped);
                self.core_ended(core)
            }
        }
    }

    fn core_ended(&mut self, core: u32) -> Vec<SegmentEvent> {
        self.running = self.running.saturating_sub(1);
        let mut events = Vec::new();
        if self.order.assignment.attempt.segment.kind == SegmentKind::Load {
            events.push(report(Report::CoreCompleted { core }));
        }
        if self.running == 0 {
            events.push(report(Report::Ended(Box::new(std::mem::take(&mut self.result)))));
        }
        events
    }

    /// Gives a window back to the core that sent it, empty.
    pub fn recycle(&self, mut window: Box<Window>) {
        window.clear();
        if let Some(spare) = self.spare.get(&window.core) {
            // The core may have ended; then the window is simply freed.
            drop(spare.send(window));
        }
    }

    /// Waits for its threads. To be called after [`Report::Ended`]; a panic of a core was reported as its failure.
    pub fn join(self) {
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }

    /// The part of each of its cores.
    fn slices(&mut self, spec: &SegmentSpec, messages: &mpsc::Sender<CoreMessage>) -> Vec<Slice> {
        let assignment = &spec.order.assignment;
        let at = assignment.attempt.segment.workflow;
        let (layout, bases) = layout(&spec.plan.workflows[at]);
        let layout = Arc::new(layout);
        let value = |json: &serde_json::Value| Value::deserialize(json).unwrap_or(Value::UNDEFINED);
        let values = |values: &[serde_json::Value]| values.iter().map(value).collect();
        let given =
            Arc::new(Given { context: values(&spec.order.context), setup: values(&spec.order.setup) });
        let mut slices = Vec::new();
        for (number, share) in assignment.share.shares().enumerate() {
            let (sender, spare) = std_mpsc::channel();
            self.spare.insert(share.core, sender);
            slices.push(Slice {
                plan: Arc::clone(&spec.plan),
                workflow: at,
                layout: Arc::clone(&layout),
                bases,
                share,
                begin: Begin::of(&spec.order, number as u64, assignment.share.cores),
                cpu: spec.cpus.get(number).copied().flatten(),
                identity: Arc::clone(&spec.identity),
                given: Arc::clone(&given),
                data: Arc::clone(&spec.data),
                told: self.told.subscribe(),
                messages: Messages { attempt: assignment.attempt, sender: messages.clone() },
                windows: Windows { every: limits::WINDOW.to_duration(), spare },
                lease: spec.lease.clone(),
            });
        }
        slices
    }
}

fn report(report: Report) -> SegmentEvent {
    SegmentEvent::Report(report)
}

/// Where in the load a core begins: not at zero if an earlier attempt was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Begin {
    /// Time of the load clock.
    pub(crate) offset: std::time::Duration,
    /// Iterations of this core that were started before.
    pub(crate) iterations_done: u64,
}

impl Begin {
    /// Iterations that were started before are split evenly, the remainder to the first cores.
    fn of(order: &SegmentOrder, number: u64, cores: u32) -> Self {
        let (done, cores) = (order.iterations_done, u64::from(cores.max(1)));
        let iterations_done = done / cores + u64::from(number < done % cores);
        Begin { offset: order.offset, iterations_done }
    }
}

/// The way from a core to its host.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    pub(crate) attempt: AttemptId,
    pub(crate) sender: mpsc::Sender<CoreMessage>,
}

impl Messages {
    /// Sends what must not be lost. If the host is gone the process is ending.
    pub(crate) async fn send(&self, message: Message) {
        drop(self.sender.send(CoreMessage { attempt: self.attempt, message }).await);
    }

    /// The same from outside of a runtime.
    pub(crate) fn blocking_send(&self, message: Message) {
        drop(self.sender.blocking_send(CoreMessage { attempt: self.attempt, message }));
    }

    /// Sends if there is room: only for what is repeated or implied.
    pub(crate) fn hint(&self, message: Message) {
        drop(self.sender.try_send(CoreMessage { attempt: self.attempt, message }));
    }

    /// Sends what `make` makes, if there is room.
    pub(crate) fn send_if_room(&self, make: impl FnOnce() -> Message) {
        if let Ok(permit) = self.sender.try_reserve() {
            permit.send(CoreMessage { attempt: self.attempt, message: make() });
        }
    }
}

/// A thread that the system did not give.
pub(crate) fn no_thread(error: &io::Error) -> Failure {
    Failure::new(FailureKind::Engine, format!("no thread for a core: {error}"))
}
