//! Driving a job: what the log says goes into its core, what the core wants goes to the log, the workers and the clients.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::JobId;
use hyperscale_job::state::JobState;
use hyperscale_job::{
    Action, AttemptId, Directive, Entry, Input, JobCore, LostWindows, StopPhase, WorkflowRecord,
};
use hyperscale_stats::wire::Codec;
use hyperscale_types::{NodeId, Now};

use crate::manager::{JobMachine, Manager, Output, RequestNumber, TICK};
use crate::message::AttemptStatus;
use crate::record::{AttemptLeft, WindowsLeft};

/// A dispatch that was not answered is sent again after this time, doubled with every further one, up to eight times of it.
const DISPATCH_AGAIN: Duration = Duration::from_millis(300);
/// Repetitions after which a dispatch that is not answered is a failure of its worker.
pub(super) const RETRIES: u32 = 2;
/// What else may be lost is said again after this time.
pub(super) const SEND_AGAIN: Duration = Duration::from_millis(600);
/// The newest directive is told again after this time, doubled with every time up to [`DIRECT_AGAIN_MAX`]: nobody says that it
/// arrived, and a load that hears of its beginning late is not the planned one.
const DIRECT_AGAIN: Duration = Duration::from_millis(300);
pub(super) const DIRECT_AGAIN_MAX: Duration = Duration::from_secs(2);

/// A job whose core runs here.
#[derive(Debug)]
pub(super) struct Drive {
    pub(super) core: JobCore,
    pub(super) codecs: Vec<Codec>,
    /// What the job clock showed, and when.
    clock: (Duration, Now),
    /// Decisions of the log that the core knows.
    pub(super) seen: usize,
    /// What attempts left whose end is not in the log yet.
    pub(super) lefts: BTreeMap<AttemptId, AttemptLeft>,
    pub(super) attempts: BTreeMap<AttemptId, Handling>,
    /// Attempts that were lost: what this leader proposed as the blob of their windows, under its token and in this life.
    pub(super) lost: BTreeMap<AttemptId, Option<BlobId>>,
    /// Attempts whose loss is in the log, with what was handled of them before: their workers may still say something.
    pub(super) gone: BTreeMap<AttemptId, Handling>,
    pub(super) second_at: Duration,
    /// The pool that the core knows.
    pool_version: u64,
    /// What was refused is proposed again at this time.
    retry_at: Option<Now>,
    pub(super) next_request: u64,
    /// Clients that wait for what their commands change.
    pub(super) requests: BTreeMap<u64, RequestNumber>,
    /// When the core was last told of a cancel of the log that its record does not show.
    pub(super) cancel_told: Option<Now>,
    /// The end that is on its way into the log.
    pub(super) ending: Option<Box<Entry>>,
    /// Something was decided by another leader, or in another life.
    #[cfg(feature = "bugs")]
    pub(super) is_taken_over: bool,
}

/// An attempt that runs, as this leader sees it.
#[derive(Debug)]
pub(super) struct Handling {
    pub(super) worker: NodeId,
    pub(super) is_taken: bool,
    /// When it was last dispatched under this token, and how often; nothing: not yet, and it is to be.
    pub(super) dispatched: Option<(Now, u32)>,
    /// Its worker has said whether it knows it, or is to be told of it anyway.
    pub(super) may_dispatch: bool,
    /// When its worker was last told who leads the job.
    pub(super) greeted: Option<Now>,
    pub(super) directive: Option<Told>,
    pub(super) status: Option<AttemptStatus>,
    /// The next window of each core.
    pub(super) windows: BTreeMap<u32, u64>,
    /// Windows that its worker says it dropped.
    pub(super) dropped: u64,
    pub(super) is_lost: bool,
}

/// The newest directive of an attempt.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) directive: Directive,
    /// How many decisions of the log it follows from.
    pub(super) decisions: u64,
    /// When it is to be told, again or for the first time.
    pub(super) due: Now,
    pub(super) pause: Duration,
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
            lost: BTreeMap::new(),
            gone: BTreeMap::new(),
            second_at: job_time + Duration::from_secs(1),
            pool_version: 0,
            retry_at: None,
            next_request: 0,
            requests: BTreeMap::new(),
            cancel_told: None,
            ending: None,
            #[cfg(feature = "bugs")]
            is_taken_over: seen > 0,
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

    /// What the windows of a lost attempt said, if there were any.
    pub(super) fn windows_left(&self, attempt: AttemptId) -> Option<WindowsLeft> {
        let LostWindows { totals, to, missing } = self.core.windows_of(attempt)?;
        let totals = self.codecs.get(attempt.segment.workflow)?.encode_totals(totals).into();
        Some(WindowsLeft { totals, to, missing })
    }

    pub(super) fn job_time(&self, now: Now) -> Duration {
        self.clock.0 + now.since(self.clock.1)
    }

    /// When it has to be looked after at the latest, if nothing else happens.
    pub(super) fn next_due(&self) -> Option<Now> {
        let at = |due: Duration| self.clock.1.plus(due.saturating_sub(self.clock.0));
        let timer = self.core.next_timer().map(at);
        // A job that only waits has nothing to tell every second.
        let second = (self.core.record().state() > JobState::Queued).then(|| at(self.second_at));
        let cancel = self.cancel_told.map(|told| told.plus(SEND_AGAIN));
        let sends = self.attempts.values().filter_map(Handling::next_due);
        timer.into_iter().chain(second).chain(self.retry_at).chain(cancel).chain(sends).min()
    }

    pub(super) fn feed(&mut self, now: Now, input: Input<'_>) -> Vec<Action> {
        self.core.handle(self.job_time(now), input)
    }
}

impl Handling {
    /// When its worker is told something, again or for the first time.
    fn next_due(&self) -> Option<Now> {
        let again = |at: Option<Now>| at.map_or(Now::ZERO, |at| at.plus(SEND_AGAIN));
        if self.is_taken {
            return self.directive.as_ref().map(|told| told.due);
        }
        if !self.may_dispatch {
            return Some(again(self.greeted));
        }
        let stop = self.directive.as_ref().filter(|told| told.directive.phase >= StopPhase::Cancelling);
        Some(stop.map_or_else(|| self.dispatch_due(), |told| told.due))
    }

    /// When it is dispatched, again or for the first time. Two repetitions come soon; after that its worker does not answer.
    pub(super) fn dispatch_due(&self) -> Now {
        let pause = |tries: u32| DISPATCH_AGAIN * 2_u32.pow((tries - 1).min(RETRIES + 1));
        self.dispatched.map_or(Now::ZERO, |(at, tries)| at.plus(pause(tries)))
    }

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
            dropped: 0,
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
        self.feed_pool(now, id, out);
        self.feed_decisions(now, id, out);
        if self.ended(now, id, out) {
            return;
        }
        self.feed_cancels(now, id, out);
        self.feed_losses(now, id, out);
        self.feed_pool(now, id, out);
        self.feed_retry(now, id, out);
        self.feed_time(now, id, out);
        self.send_pending(now, id, out);
    }

    /// Hands an input to a core and does what it wants.
    pub(super) fn with_core(&mut self, now: Now, id: JobId, input: Input<'_>, out: &mut Vec<Output>) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        if matches!(input, Input::Applied { outcome: Err(_), .. }) {
            drive.retry_at = Some(now.plus(TICK));
        }
        // What was measured changes nothing that is due.
        if !input.is_measurement() {
            self.touched.insert(id);
        }
        let actions = drive.feed(now, input);
        self.perform(now, id, actions, out);
    }

    /// The cores, if they are others than the core of the job knows.
    fn feed_pool(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let version = self.pool.version;
        let drive = self.led.get_mut(&id).and_then(|led| led.driving());
        let Some(drive) = drive.filter(|drive| drive.pool_version != version) else { return };
        drive.pool_version = version;
        let pool = match self.pool.pool.take() {
            Some(pool) => pool,
            None => self.pool(),
        };
        self.pool.pool = Some(pool.clone());
        self.with_core(now, id, Input::Pool(pool), out);
    }

    /// What was refused a while ago is decided again.
    fn feed_retry(&mut self, now: Now, id: JobId, out: &mut Vec<Output>) {
        let drive = self.led.get_mut(&id).and_then(|led| led.driving());
        if drive.is_some_and(|drive| drive.retry_at.take_if(|at| now >= *at).is_some()) {
            self.with_core(now, id, Input::Timer, out);
        }
    }

    pub(super) fn perform(&mut self, now: Now, id: JobId, actions: Vec<Action>, out: &mut Vec<Output>) {
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
                        let (decisions, due, pause) = (drive.seen as u64, Now::ZERO, DIRECT_AGAIN);
                        handling.directive = Some(Told { directive, decisions, due, pause });
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
}
