//! One attempt on this machine: a segment of the engine, and the task that carries what it says to the loop.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyperscale_clients::lease::LeaseDeadline;
use hyperscale_cluster::message::JobAttempt;
use hyperscale_cluster::record::AttemptLeft;
use hyperscale_cluster::worker::Start;
use hyperscale_consensus::BlobId;
use hyperscale_engine::{CoreMessage, Identity, Segment, SegmentEvent, SegmentSpec, raise_file_limit};
use hyperscale_job::layout::layout;
use hyperscale_job::{
    Directive, Failure, FailureKind, Report, SegmentKind, SegmentOrder, SegmentResult, StopPhase,
};
use hyperscale_stats::Totals;
use hyperscale_stats::wire::Codec;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::plans::ReadyPlan;

/// Messages of cores that wait for the task. Cores that find it full keep longer windows.
const MESSAGES_MAX: usize = 256;

/// What an attempt says.
#[derive(Debug)]
pub(super) enum AttemptEvent {
    Report(Report),
    /// A closed window, encoded.
    Window(Bytes),
    /// Nothing of it runs any more.
    Ended(Box<AttemptLeft>),
}

/// What the worker gives to every attempt.
pub(super) struct Seat<'a> {
    pub(super) name: Arc<str>,
    pub(super) cpus: &'a [usize],
    pub(super) lease: &'a LeaseDeadline,
    pub(super) events: &'a mpsc::Sender<(JobAttempt, AttemptEvent)>,
}

/// An attempt that was taken and is not over.
#[derive(Debug)]
pub(super) struct Running {
    start: Start,
    taken: Instant,
    told: watch::Sender<Directive>,
    is_started: bool,
    is_cut_off: bool,
}

impl Running {
    pub(super) fn new(start: Start) -> Self {
        Self {
            start,
            taken: Instant::now(),
            told: watch::Sender::new(Directive::default()),
            is_started: false,
            is_cut_off: false,
        }
    }

    pub(super) fn is_started(&self) -> bool {
        self.is_started
    }

    pub(super) fn plan(&self) -> BlobId {
        self.start.plan
    }

    pub(super) fn phase(&self) -> StopPhase {
        self.told.borrow().phase
    }

    pub(super) fn direct(&mut self, directive: Directive) {
        let phase = if self.is_cut_off { StopPhase::Aborted } else { directive.phase };
        self.told.send_replace(Directive { phase, ..directive });
    }

    /// Whatever it is told later, it does not begin again.
    pub(super) fn cut_off(&mut self) {
        self.is_cut_off = true;
        self.told.send_modify(|told| told.phase = StopPhase::Aborted);
    }

    /// Starts the threads of the segment and the task that speaks for them. What could not start leaves its reason.
    pub(super) fn run(
        &mut self,
        plan: &ReadyPlan,
        seat: &Seat<'_>,
        tasks: &mut JoinSet<()>,
    ) -> Result<(), Box<AttemptLeft>> {
        self.is_started = true;
        let workflow = self.start.order.assignment.attempt.segment.workflow;
        let Some(workflow) = plan.plan.workflows.get(workflow) else {
            return Err(failed("the plan has no such workflow".to_owned()));
        };
        if let Some(warning) = raise_file_limit(u64::from(workflow.vus_max())) {
            tracing::warn!("{warning}");
        }
        let (layout, _) = layout(workflow);
        let layout = Arc::new(layout);
        let codec = Codec::new(&self.start.plan.hash, &workflow.name, &layout);
        let spec = self.spec(plan, seat);
        let (messages, received) = mpsc::channel(MESSAGES_MAX);
        let segment = Segment::start(&spec, &messages)
            .map_err(|error| failed(format!("no thread for a core: {error}")))?;
        let task = Task {
            attempt: self.start.attempt,
            segment,
            codec,
            totals: Totals::new(&layout),
            told: self.told.subscribe(),
            events: seat.events.clone(),
        };
        tasks.spawn(task.run(received));
        Ok(())
    }

    fn spec(&self, plan: &ReadyPlan, seat: &Seat<'_>) -> SegmentSpec {
        let identity = Identity {
            job: self.start.attempt.job.to_string(),
            worker: seat.name.to_string(),
            seed: seed_of(self.start.attempt),
            epoch: self.taken.checked_sub(self.start.job_time).unwrap_or(self.taken),
        };
        SegmentSpec {
            plan: Arc::clone(&plan.plan),
            data: Arc::clone(&plan.data),
            order: self.start.order.clone(),
            identity: Arc::new(identity),
            cpus: cpus_of(&self.start.order, &self.start.cores, seat.cpus),
            lease: if self.start.is_bound_to_lease { seat.lease.clone() } else { LeaseDeadline::none() },
        }
    }
}

/// The same for all attempts of a job, whoever runs them.
fn seed_of(attempt: JobAttempt) -> u64 {
    let (first, _) = attempt.job.0.split_at(size_of::<u64>());
    u64::from_be_bytes(first.try_into().expect("the first eight bytes of sixteen are eight"))
}

/// The CPU of each core of an attempt; `given` are the cores of its group.
fn cpus_of(order: &SegmentOrder, given: &[u32], cpus: &[usize]) -> Vec<Option<usize>> {
    let cpu = |core: Option<&u32>| core.and_then(|core| cpus.get(*core as usize).copied());
    let assignment = &order.assignment;
    if assignment.attempt.segment.kind != SegmentKind::Load {
        return vec![cpu(given.first())];
    }
    let cores = assignment.offset..assignment.offset.saturating_add(assignment.share.cores);
    cores.map(|at| cpu(given.get(at as usize))).collect()
}

fn failed(message: String) -> Box<AttemptLeft> {
    let failure = Some(Failure::new(FailureKind::Engine, message));
    let result = SegmentResult { failure, ..SegmentResult::default() };
    Box::new(AttemptLeft { result, ..AttemptLeft::default() })
}

/// Carries directives to a segment, and windows and reports from it.
struct Task {
    attempt: JobAttempt,
    segment: Segment,
    codec: Codec,
    totals: Totals,
    told: watch::Receiver<Directive>,
    events: mpsc::Sender<(JobAttempt, AttemptEvent)>,
}

impl Task {
    async fn run(mut self, mut messages: mpsc::Receiver<CoreMessage>) {
        let told = *self.told.borrow_and_update();
        self.segment.direct(told);
        loop {
            tokio::select! {
                biased;
                Ok(()) = self.told.changed() => {
                    let told = *self.told.borrow_and_update();
                    self.segment.direct(told);
                }
                message = messages.recv() => {
                    let Some(message) = message else { return };
                    for event in self.segment.take(message) {
                        match event {
                            SegmentEvent::Window(window) => {
                                self.totals.add(&window);
                                let bytes = self.codec.encode_window(&window);
                                self.segment.recycle(window);
                                self.tell(AttemptEvent::Window(bytes.into())).await;
                            }
                            SegmentEvent::Report(Report::Ended(result)) => return self.end(*result).await,
                            SegmentEvent::Report(report) => self.tell(AttemptEvent::Report(report)).await,
                        }
                    }
                }
            }
        }
    }

    async fn end(self, result: SegmentResult) {
        let totals = self.codec.encode_totals(&self.totals).into();
        let left = Box::new(AttemptLeft { result, totals });
        // Its threads have sent their last message.
        self.segment.join();
        let _ = self.events.send((self.attempt, AttemptEvent::Ended(left))).await;
    }

    /// The loop may have ended; then nobody wants to know.
    async fn tell(&self, event: AttemptEvent) {
        let _ = self.events.send((self.attempt, event)).await;
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_job::entry::Assignment;
    use hyperscale_job::{AttemptId, SegmentId};
    use hyperscale_plan::load::SegmentShare;

    use super::*;

    fn order(kind: SegmentKind, offset: u32, cores: u32) -> SegmentOrder {
        let assignment = Assignment {
            attempt: AttemptId { segment: SegmentId { workflow: 0, kind, index: 0 }, number: 1 },
            worker: "1".into(),
            group: 1,
            offset,
            share: SegmentShare { first_core: 0, cores, cores_total: cores, vus: 1 },
            joins_at: std::time::Duration::ZERO,
            iterations_done: 0,
        };
        SegmentOrder {
            assignment,
            context: [].into(),
            setup: [].into(),
            offset: std::time::Duration::ZERO,
            iterations_done: 0,
        }
    }

    #[test]
    fn cores_of_an_attempt_have_the_cpus_of_their_group() {
        let load = order(SegmentKind::Load, 1, 2);
        assert_eq!(cpus_of(&load, &[4, 2, 0], &[10, 11, 12, 13, 14]), [Some(12), Some(10)]);
        assert_eq!(cpus_of(&load, &[4, 2, 0], &[]), [None, None], "not pinned");
        let setup = order(SegmentKind::Setup, 1, 1);
        assert_eq!(cpus_of(&setup, &[4, 2], &[10, 11, 12, 13, 14]), [Some(14)]);
    }
}
