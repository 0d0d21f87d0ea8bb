//! Driving a job: what the log says goes into its core, what the core wants goes to the log, the workers and the clients.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::{AttemptState, JobId, Register, Values};
use hyperscale_job::{
    Action, Answer, AttemptId, Directive, Entry, Input, JobCore, Pool, PoolWorker, SegmentKind, StopPhase,
    WorkflowRecord,
};
use hyperscale_stats::result::ChangedBy;
use hyperscale_stats::wire::Codec;
use hyperscale_types::{Command, NodeId, Now};

use super::number_of;
use super::open::decode_totals;
use super::propose::leaves_something;
use crate::manager::{JobMachine, Manager, Output, Rejection, RequestNumber, Response};
use crate::message::{AttemptStatus, Dispatch, JobAttempt, ToWorker};
use crate::record::{self, AttemptLeft, Stored};

/// A dispatch or a directive that may be lost is sent again after this time.
const SEND_AGAIN: Duration = Duration::from_millis(600);
/// The newest directive is told again after this time, doubled with every time up to [`DIRECT_AGAIN_MAX`]: nobody says that it
/// arrived, and a load that hears of its beginning late is not the planned one.
const DIRECT_AGAIN: Duration = Duration::from_millis(300);
const DIRECT_AGAIN_MAX: Duration = Duration::from_secs(2);

/// A job whose core runs here.
#[derive(Debug)]
pub(super) struct Drive {
    pub(super) core: JobCore,
    pub(super) codecs: Vec<Codec>,
    /// What the job clock showed, and when.
    clock: (Duration, Now),
    /// Decisions of the log that the core knows.
    seen: usize,
    /// What attempts left whose end is not in the log yet.
    pub(super) lefts: BTreeMap<AttemptId, AttemptLeft>,
    pub(super) attempts: BTreeMap<AttemptId, Handling>,
    second_at: Duration,
    next_request: u64,
    /// Clients that wait for what their commands change.
    requests: BTreeMap<u64, RequestNumber>,
    /// When the core was last told of a cancel of the log that its record does not show.
    cancel_told: Option<Now>,
    /// The end that is on its way into the log.
    pub(super) ending: Option<Box<Entry>>,
}

/// An attempt that runs, as this leader sees it.
#[derive(Debug)]
pub(super) struct Handling {
    pub(super) worker: NodeId,
    pub(super) is_taken: bool,
    /// When it was last dispatched under this token; nothing: not yet, and it is to be.
    dispatched: Option<Now>,
    /// Its worker has said whether it knows it, or is to be told of it anyway.
    may_dispatch: bool,
    /// When its worker was last told who leads the job.
    greeted: Option<Now>,
    directive: Option<Told>,
    pub(super) status: Option<AttemptStatus>,
    /// The next window of each core.
    pub(super) windows: BTreeMap<u32, u64>,
    is_lost: bool,
}

/// The newest directive of an attempt.
#[derive(Debug)]
struct Told {
    directive: Directive,
    /// When it is to be told, again or for the first time.
    due: Now,
    pause: Duration,
}

/// How the statistics of each workflow are written.
pub(super) fn codecs(core: &JobCore, plan: BlobId) -> Vec<Codec> {
    let workflows = core.plan().workflows.iter().enumerate();
    workflows.map(|(at, workflow)| Codec::new(&plan.hash, &workflow.name, core.layout(at))).collect()
}

impl Drive {
    pub(super) fn new(now: Now, job_time: Duration, core: JobCore, codecs: Vec<Codec>, seen: usize) -> Self {
        let mut drive = Self {
            core,
            codecs,
            clock: (job_time, now),
            seen,
            lefts: BTreeMap::new(),
            attempts: BTreeMap::new(),
            second_at: job_time + Duration::from_secs(1),
            next_request: 0,
            requests: BTreeMap::new(),
            cancel_told: None,
            ending: None,
        };
        let running: Vec<(AttemptId, NodeId)> = drive.running().collect();
        for (attempt, worker) in running {
            // Its worker may run it already: it is asked first.
            drive.attempts.insert(attempt, Handling::new(worker, false));
        }
        drive
    }

    /// Attempts that were assigned and have not ended, as the core's record says.
    fn running(&self) -> impl Iterator<Item = (AttemptId, NodeId)> + '_ {
        let attempts = self.core.record().workflows().iter().flat_map(WorkflowRecord::attempts);
        let open = attempts.filter(|(_, attempt)| attempt.end.is_none());
        open.filter_map(|(id, attempt)| Some((*id, attempt.assignment.worker.parse().ok()?)))
    }

    pub(super) fn job_time(&self, now: Now) -> Duration {
        self.clock.0 + now.since(self.clock.1)
    }

    pub(super) fn next_timer(&self) -> Option<Now> {
        let due = self.core.next_timer()?;
        Some(self.clock.1.plus(due.saturating_sub(self.clock.0)))
    }

    pub(super) fn feed(&mut self, now: Now, input: Input<'_>) -> Vec<Action> {
        self.core.handle(self.job_time(now), input)
    }
}

impl Handling {
    fn new(worker: NodeId, may_dispatch: bool) -> Self {
        Self {
            worker,
            is_taken: false,
            dispatched: None,
            may_dispatch,
            greeted: None,
            directive: None,
            status: None,
            windows: BTreeMap::new(),
            is_lost: false,
        }
    }
}

impl<M: JobMachine> Manager<M> {
    /// Everything that can be done for a job now.
    pub(in crate::manager) fn drive(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        if !self.open_job(now, id, out) {
            return;
        }
        self.feed_decisions(now, id, out);
        if self.ended(now, id, out) {
            return;
        }
        self.feed_cancels(now, id, out);
        self.feed_losses(now, id, out);
        let pool = self.pool();
        self.with_core(now, id, Input::Pool(pool), out);
        self.feed_time(now, id, out);
        self.send_pending(now, id, out);
    }

    /// Hands an input to a core and does what it wants.
    pub(super) fn with_core(&mut self, now: Now, id: JobId, input: Input<'_>, out: &mut Vec<Output>) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let actions = drive.feed(now, input);
        self.perform(now, id, actions, out);
    }

    fn perform(&mut self, now: Now, id: JobId, actions: Vec<Action>, out: &mut Vec<Output>) {
        for action in actions {
            match action {
                Action::Propose(entry) => self.propose_entry(now, id, entry, out),
                Action::Dispatch(order) => {
                    let Ok(worker) = order.assignment.worker.parse() else { continue };
                    if let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) {
                        drive.attempts.insert(order.assignment.attempt, Handling::new(worker, true));
                    }
                }
                Action::Direct { attempt, directive } => {
                    if let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving())
                        && let Some(handling) = drive.attempts.get_mut(&attempt)
                    {
                        handling.directive = Some(Told { directive, due: Now::ZERO, pause: DIRECT_AGAIN });
                    }
                }
                Action::Reply { request, answer } => self.reply(id, request, answer, out),
                Action::Emit(event) => {
                    if let Some(led) = self.led.get(&id) {
                        out.push(Output::Emit { job: id, token: led.token(), event });
                    }
                }
                Action::Deposed => self.release(id, out),
            }
        }
    }

    /// Decisions that the log has and the core does not know.
    fn feed_decisions(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        loop {
            let Some(job) = self.replica.group().and_then(|group| group.machine().register().job(id)) else {
                return;
            };
            let Some(led) = self.led.get_mut(&id) else { return };
            let Some(drive) = led.driving() else { return };
            let Some(decision) = job.decisions().get(drive.seen) else { return };
            let stored = match decision {
                Values::Inline(bytes) => record::decode(bytes).ok(),
                // It is a blob: the job is opened again, which reads it.
                Values::Blob(_) => None,
            };
            let Some(stored) = stored.filter(|stored| drive.has_left(stored)) else {
                let token = led.token();
                self.release(id, out);
                self.led.insert(id, super::Led::new(token));
                self.news.insert(id);
                return;
            };
            drive.seen += 1;
            let ended = stored.ended();
            let left = ended.and_then(|attempt| Some((attempt, drive.lefts.remove(&attempt)?)));
            // Its statistics count once its end is decided, and not before.
            if let Some((attempt, left)) = &left
                && let Some(totals) = decode_totals(&drive.core, &drive.codecs, *attempt, &left.totals)
            {
                self.with_core(now, id, Input::Left { attempt: *attempt, totals: &totals }, out);
            }
            let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
            let left = left.map(|(_, left)| left).unwrap_or_default();
            let entry = Box::new(stored.with(left.result));
            let handled = ended.and_then(|attempt| drive.attempts.remove(&attempt).map(|it| (attempt, it)));
            self.with_core(now, id, Input::Applied { entry, outcome: Ok(()) }, out);
            if let Some((attempt, handling)) = handled {
                let message = ToWorker::Confirmed { attempt: JobAttempt { job: id, attempt } };
                out.push(Output::SendWorker { to: handling.worker, message });
            }
        }
    }

    /// The end of the job is in the log: the core shows the result, and nobody leads the job any more.
    fn ended(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) -> bool {
        let job = self.replica.group().and_then(|group| group.machine().register().job(id));
        if job.is_some_and(|job| job.end.is_none()) {
            return false;
        }
        let ending = self.led.get_mut(&id).and_then(|led| led.driving()?.ending.take());
        if let Some(entry) = ending {
            self.with_core(now, id, Input::Applied { entry, outcome: Ok(()) }, out);
        }
        self.release(id, out);
        true
    }

    /// The job is not led here any more, or is read again: clients that wait for a change are told to ask again.
    pub(in crate::manager) fn release(&mut self, id: JobId, out: &mut Vec<Output>) {
        let Some(mut led) = self.led.remove(&id) else { return };
        let requests = led.driving().map(|drive| std::mem::take(&mut drive.requests)).unwrap_or_default();
        for request in requests.into_values() {
            let message = "the job has ended or changed its leader; ask how it is, and try again".to_owned();
            let response = Response::Rejected(Rejection::Unavailable(message));
            out.push(Output::Respond { request, response });
        }
    }

    /// Cancels that the log has and the core was not told of.
    fn feed_cancels(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let Some(job) = self.replica.group().and_then(|group| group.machine().register().job(id)) else {
            return;
        };
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        // What was told and is not decided may have come to nothing: it is told again.
        if drive.cancel_told.is_some_and(|told| now.since(told) < SEND_AGAIN) {
            return;
        }
        let reason = job.cancels().last().map(|(_, request)| request.reason.clone()).unwrap_or_default();
        let record = drive.core.record();
        let mut commands = Vec::new();
        if job.is_wholly_cancelled() {
            if record.stop().is_none_or(|stop| stop.phase < StopPhase::Cancelling) {
                commands.push(Command::Cancel { reason });
            }
        } else {
            for (workflow, record) in drive.core.plan().workflows.iter().zip(record.workflows()) {
                let is_stopped = record.stop_of().is_some_and(|(phase, _)| *phase >= StopPhase::Cancelling);
                if job.is_cancelled(workflow.name.as_str()) && record.ended().is_none() && !is_stopped {
                    // The mark names the dependents too.
                    let (workflow, reason) = (workflow.name.clone(), reason.clone());
                    commands.push(Command::CancelWorkflow { workflow, dependents: false, reason });
                }
            }
        }
        if !commands.is_empty() {
            drive.cancel_told = Some(now);
        }
        for command in commands {
            self.command(now, id, None, command, out);
        }
    }

    /// Attempts that the log says are lost, and the core does not know of.
    fn feed_losses(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let Some(job) = self.replica.group().and_then(|group| group.machine().register().job(id)) else {
            return;
        };
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let mut lost = Vec::new();
        for (attempt, handling) in &mut drive.attempts {
            let Some(workflow) = drive.core.plan().workflows.get(attempt.segment.workflow) else { continue };
            let segment = job.segment(workflow.name.as_str(), number_of(attempt.segment));
            let known = segment.and_then(|it| it.attempts().iter().find(|it| it.number == attempt.number));
            let is_lost = known.is_some_and(|known| matches!(known.state, AttemptState::Lost { .. }));
            if is_lost && !std::mem::replace(&mut handling.is_lost, true) {
                lost.push(*attempt);
            }
        }
        for attempt in lost {
            self.with_core(now, id, Input::Report { attempt, report: hyperscale_job::Report::Lost }, out);
        }
    }

    fn feed_time(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let job_time = drive.job_time(now);
        let is_second = job_time >= drive.second_at;
        let is_due = drive.core.next_timer().is_some_and(|due| due <= job_time);
        if is_second {
            // Seconds that were slept through are not made up for.
            drive.second_at = Duration::from_secs(job_time.as_secs() + 1);
            self.with_core(now, id, Input::Second { memory_bytes: None }, out);
        } else if is_due {
            self.with_core(now, id, Input::Timer, out);
        }
    }

    /// Cores of workers that may be given something.
    fn pool(&self) -> Pool {
        let Some(register) = self.register() else { return Pool::default() };
        let mut workers: Vec<PoolWorker> = register
            .workers()
            .filter(|(id, worker)| {
                !self.is_dead(**id) && worker.owner.is_some_and(|(owner, _)| !self.is_dead(owner))
            })
            .map(|(id, worker)| PoolWorker {
                id: Arc::from(id.to_string()),
                total: worker.cores,
                free: worker.free(),
            })
            .collect();
        workers.sort_by_key(|worker| std::cmp::Reverse(worker.free));
        Pool { workers }
    }

    /// Dispatches and directives that were not sent yet, or may have been lost.
    fn send_pending(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        let Some(led) = self.led.get_mut(&id) else { return };
        let token = led.token();
        let Some(drive) = led.driving() else { return };
        let job_time = drive.job_time(now);
        let (mut orders, mut unheard) = (Vec::new(), BTreeSet::new());
        for (attempt, handling) in &mut drive.attempts {
            // Its worker was asked what it knows, and has not said so.
            let is_unheard = !handling.is_taken && !handling.may_dispatch;
            if is_unheard && handling.greeted.is_none_or(|at| now.since(at) >= SEND_AGAIN) {
                handling.greeted = Some(now);
                unheard.insert(handling.worker);
            }
            let is_stopped = |it: &Told| it.directive.phase >= StopPhase::Cancelling;
            // What its worker has not taken and is to stop is not dispatched any more: the worker confirms that it never runs.
            let never_runs = !handling.is_taken && handling.directive.as_ref().is_some_and(is_stopped);
            let is_old = handling.dispatched.is_none_or(|at| now.since(at) >= SEND_AGAIN);
            if !handling.is_taken && handling.may_dispatch && is_old && !never_runs {
                handling.dispatched = Some(now);
                orders.push(*attempt);
            }
            if let Some(told) = &mut handling.directive
                && (handling.is_taken || never_runs)
                && now >= told.due
            {
                (told.due, told.pause) = (now.plus(told.pause), (told.pause * 2).min(DIRECT_AGAIN_MAX));
                let attempt = JobAttempt { job: id, attempt: *attempt };
                let message = ToWorker::Direct { attempt, token, directive: told.directive };
                out.push(Output::SendWorker { to: handling.worker, message });
            }
        }
        for to in unheard {
            out.push(Output::SendWorker { to, message: ToWorker::LeaderChanged { job: id, token } });
        }
        for attempt in orders {
            let Some(dispatch) = dispatch(register, id, drive, attempt, job_time) else { continue };
            let worker = drive.attempts[&attempt].worker;
            let message = ToWorker::Dispatch(Box::new(Dispatch { token, ..dispatch }));
            out.push(Output::SendWorker { to: worker, message });
        }
    }

    /// Attempts that a worker does not know are dispatched again.
    pub(in crate::manager) fn dispatch_unknown(
        &mut self,
        id: JobId,
        worker: NodeId,
        known: &BTreeSet<JobAttempt>,
    ) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        for (attempt, handling) in drive.attempts.iter_mut().filter(|(_, it)| it.worker == worker) {
            if !known.contains(&JobAttempt { job: id, attempt: *attempt }) {
                handling.may_dispatch = true;
            }
        }
        self.news.insert(id);
    }

    /// A client changes the load of a job; false if its plan is not read yet.
    pub(in crate::manager) fn steer(
        &mut self,
        now: Now,
        id: JobId,
        request: RequestNumber,
        command: Command,
        out: &mut Vec<Output>,
    ) -> bool {
        let is_driving = self.led.get_mut(&id).is_some_and(|led| led.driving().is_some());
        if is_driving {
            self.command(now, id, Some(request), command, out);
        }
        is_driving
    }

    fn command(
        &mut self,
        now: Now,
        id: JobId,
        request: Option<RequestNumber>,
        command: Command,
        out: &mut Vec<Output>,
    ) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let number = drive.next_request;
        drive.next_request += 1;
        if let Some(request) = request {
            drive.requests.insert(number, request);
        }
        self.with_core(now, id, Input::Request { id: number, by: ChangedBy::Control, command }, out);
    }

    fn reply(&mut self, id: JobId, request: u64, answer: Answer, out: &mut Vec<Output>) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let Some(request) = drive.requests.remove(&request) else { return };
        let response = match answer {
            Ok(_) => Response::Controlled,
            Err(refusal) => Response::Rejected(Rejection::Refused(refusal.to_string())),
        };
        out.push(Output::Respond { request, response });
    }

    /// How a job is, if its core runs here.
    pub(in crate::manager) fn view(
        &mut self,
        now: Now,
        id: JobId,
        out: &mut Vec<Output>,
    ) -> Option<Response> {
        let led = self.led.get_mut(&id)?;
        let token = led.token();
        let drive = led.driving()?;
        let actions = drive.feed(now, Input::Timer);
        let result = Box::new(drive.core.view().result);
        self.perform(now, id, actions, out);
        Some(Response::Running { token, result })
    }
}

impl Drive {
    /// Whether a decision can be told to the core: what an ended attempt left is known.
    fn has_left(&self, stored: &Stored) -> bool {
        match stored {
            Stored::AttemptEnd { attempt, end, .. } => {
                !leaves_something(*end) || self.lefts.contains_key(attempt)
            }
            Stored::Whole(_) => true,
        }
    }
}

/// What a worker is told to run: the same for every leader of the job, but for the token and the time.
fn dispatch(
    register: &Register,
    id: JobId,
    drive: &Drive,
    attempt: AttemptId,
    job_time: Duration,
) -> Option<Dispatch> {
    let job = register.job(id)?;
    let order = drive.core.order_of(attempt)?;
    let workflow = drive.core.plan().workflows.get(attempt.segment.workflow)?;
    let segment = job.segment(workflow.name.as_str(), number_of(attempt.segment))?;
    let known = segment.attempts().iter().find(|known| known.number == attempt.number)?;
    // Nothing that was cancelled starts, also before the core has decided what follows from the cancel.
    let is_cancelled =
        job.is_cancelled(workflow.name.as_str()) && attempt.segment.kind != SegmentKind::Teardown;
    if known.state != AttemptState::Running || is_cancelled {
        return None;
    }
    Some(Dispatch {
        attempt: JobAttempt { job: id, attempt },
        token: job.token(),
        grant: known.grant,
        plan: job.plan,
        cores: known.cores,
        job_time,
        order,
        capabilities: BTreeSet::new(),
        on_isolation: job.options.on_isolation,
    })
}
