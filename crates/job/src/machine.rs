//! The core: inputs in, actions out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_plan::model::{Plan, Workflow};
use hyperscale_stats::event::{Event, WorkflowState as ShownState};
use hyperscale_stats::{Layout, Series};

use crate::command;
use crate::directive;
use crate::entry::{Assignment, Batch, Entry, Refused, RequestId, Stop, StopCause, StopScope};
use crate::io::{Action, Input, JobFacts, OnLoss, Pool};
use crate::live::{AttemptLive, WorkflowLive};
use crate::record::{AttemptRecord, Record};
use crate::result;
use crate::segment::{AttemptId, Report, SegmentKind, SegmentOrder};
use crate::started::started;
use crate::state::{AttemptState, IllegalTransition, WorkflowState};
use crate::{context, decide, second};

/// How long nothing is decided after the log has decided otherwise: what that was is learned from the log, which is not asked again
/// and again for the same meanwhile.
const HOLD: Duration = Duration::from_millis(50);

/// Drives one job. See the crate's documentation for the contract.
#[derive(Debug)]
pub struct JobCore {
    pub(crate) plan: Arc<Plan>,
    pub(crate) facts: JobFacts,
    pub(crate) record: Record,
    pub(crate) live: Vec<WorkflowLive>,
    pub(crate) series: Series,
    pub(crate) pool: Pool,
    /// When there was a worker for the last time, as far as this leader saw.
    pub(crate) workers_seen: Duration,
    /// Nothing is decided before.
    pub(crate) held_until: Duration,
    pub(crate) proposed: BTreeSet<Pending>,
    pub(crate) now: Duration,
    /// When decisions were last looked for: what fell due since then has not been decided.
    pub(crate) decided: Duration,
    actions: Vec<Action>,
    is_deposed: bool,
    illegal: u64,
}

/// An entry that is under way, about the whole job unless it names a workflow. There is never more than one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pending {
    Ready,
    Batch,
    Stop,
    /// Of this workflow, because of its time.
    StopOf(usize),
    End,
}

impl JobCore {
    /// A job that was just accepted. Call [`JobCore::start`] next.
    pub fn new(plan: Arc<Plan>, facts: JobFacts) -> Self {
        let record = Record::new(plan.workflows.iter().map(|workflow| workflow.name.clone()));
        JobCore::rebuild(plan, facts, record)
    }

    /// A job that another leader has driven so far. What its workers report next completes the picture: each attempt
    /// that runs reports how far it is, as if it had just got there.
    pub fn rebuild(plan: Arc<Plan>, facts: JobFacts, record: Record) -> Self {
        let mut live: Vec<WorkflowLive> = plan.workflows.iter().map(WorkflowLive::new).collect();
        for (live, record) in live.iter_mut().zip(record.workflows()) {
            for (id, attempt) in record.attempts() {
                let state =
                    attempt.end.as_ref().map_or(AttemptState::Assigned, |(end, _)| AttemptState::Ended(*end));
                live.attempts.insert(*id, AttemptLive { state, ..AttemptLive::default() });
            }
        }
        JobCore {
            plan,
            facts,
            record,
            live,
            series: Series::new(),
            pool: Pool::default(),
            workers_seen: Duration::ZERO,
            held_until: Duration::ZERO,
            proposed: BTreeSet::new(),
            now: Duration::ZERO,
            decided: Duration::ZERO,
            actions: Vec::new(),
            is_deposed: false,
            illegal: 0,
        }
    }

    /// Tells whoever follows what will be run, and begins.
    pub fn start(&mut self, now: Duration, pool: Pool) -> Vec<Action> {
        let started = self.introduction();
        self.emit(started);
        self.handle(now, Input::Pool(pool))
    }

    /// The first thing that followers of the job need: its plan and workflows.
    pub fn introduction(&self) -> Event {
        Event::Started(Box::new(started(&self.plan, &self.facts)))
    }

    /// Takes an input at a time of the job clock.
    pub fn handle(&mut self, now: Duration, input: Input<'_>) -> Vec<Action> {
        self.now = self.now.max(now);
        if self.is_deposed {
            return Vec::new();
        }
        let mut was_refused = false;
        let is_measurement = input.is_measurement();
        match input {
            Input::Pool(pool) => {
                if !pool.workers.is_empty() || !self.pool.workers.is_empty() {
                    self.workers_seen = self.now;
                }
                self.pool = pool;
            }
            Input::Applied { entry, outcome: Ok(()) } => self.applied(&entry),
            Input::Applied { entry, outcome: Err(refused) } => {
                self.refused(&entry, refused);
                was_refused = true;
            }
            Input::Report { attempt, report } => self.report(attempt, report),
            Input::Window { attempt, window } => self.window(attempt, window),
            Input::Left { attempt, totals } => self.left(attempt, totals),
            Input::Request { id, by, command } => command::request(self, id, by, command),
            Input::Second { memory_bytes } => second::second(self, memory_bytes),
            Input::Timer => {}
        }
        if !self.is_deposed && !is_measurement {
            self.decided = self.now;
            // What was refused is not proposed again before something else has happened.
            if !was_refused && self.now >= self.held_until {
                decide::decide(self);
            }
            directive::reconcile(self);
        }
        std::mem::take(&mut self.actions)
    }

    /// When [`Input::Timer`] is due at the latest, on the job clock.
    pub fn next_timer(&self) -> Option<Duration> {
        decide::next_timer(self)
    }

    /// Whether something of the job may begin when there are other cores.
    pub fn waits_for_cores(&self) -> bool {
        decide::waits_for_cores(self)
    }

    /// What was decided so far.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The plan it drives.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Entries and reports that a transition table refused. Anything but zero is a bug of somebody.
    pub fn illegal_transitions(&self) -> u64 {
        self.illegal
    }

    /// The statistics layout of a workflow.
    pub fn layout(&self, workflow: usize) -> &Arc<Layout> {
        self.live[workflow].totals.layout()
    }

    pub(crate) fn workflow(&self, at: usize) -> &Workflow {
        &self.plan.workflows[at]
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.actions.push(Action::Emit(Box::new(event)));
    }

    pub(crate) fn emit_state(&mut self, at: usize, state: ShownState) {
        let name = self.workflow(at).name.clone();
        self.emit(Event::Workflow { name, state });
    }

    pub(crate) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(crate) fn propose(&mut self, entry: Entry) {
        self.actions.push(Action::Propose(Box::new(entry)));
    }

    /// Proposes an entry about the whole job.
    pub(crate) fn propose_once(&mut self, pending: Pending, entry: Entry) {
        self.proposed.insert(pending);
        self.propose(entry);
    }

    /// Proposes an entry about one workflow; there is never more than one under way.
    pub(crate) fn propose_for(&mut self, at: usize, entry: Entry) {
        self.live[at].proposed = true;
        self.propose(entry);
    }

    fn applied(&mut self, entry: &Entry) {
        self.settle(entry);
        let changes = match self.record.apply(entry) {
            Ok(changes) => changes,
            Err(illegal) => return self.count_illegal(illegal),
        };
        match entry {
            Entry::Assign(batch) => self.dispatch(batch),
            Entry::Start { workflow, .. } => self.emit_state(*workflow, ShownState::Running),
            Entry::AttemptEnd { attempt, end, .. } => {
                self.advance(*attempt, AttemptState::Ended(*end));
                self.discard(*attempt);
                self.count_left(attempt.segment.workflow);
            }
            Entry::WorkflowEnd { workflow, end, reason, .. } => {
                let reason = reason.as_ref().map(ToString::to_string);
                self.emit_state(*workflow, ShownState::Ended { status: end.status(), reason });
            }
            Entry::Stop(stop) => self.stopped(stop),
            Entry::Control { request, .. } => {
                for change in &changes {
                    self.emit(Event::Changed { what: change.to_string(), change: Some(change.clone()) });
                }
                self.reply(*request, changes);
            }
            Entry::JobEnd { .. } => {
                let result = result::build(self);
                self.emit(Event::Finished(Box::new(result)));
            }
            Entry::Ready { .. } | Entry::Context { .. } | Entry::Restart { .. } => {}
        }
    }

    fn reply(&mut self, request: RequestId, changes: Vec<hyperscale_stats::result::Change>) {
        self.act(Action::Reply { request, answer: Ok(changes) });
    }

    fn stopped(&mut self, stop: &Stop) {
        if let Some(StopCause::Threshold { rule }) = &stop.cause {
            self.emit(Event::Abort { rule: rule.clone() });
        }
        if let Some(request) = stop.request {
            self.reply(request, Vec::new());
        }
    }

    fn refused(&mut self, entry: &Entry, refused: Refused) {
        self.settle(entry);
        if refused == Refused::Decided {
            self.held_until = self.now + HOLD;
        }
        if refused == Refused::StaleToken {
            self.is_deposed = true;
            self.act(Action::Deposed);
        }
        if let Refused::TooLarge { what } = refused {
            decide::too_large(self, entry, what);
        }
        let request = match entry {
            Entry::Control { request, .. } => Some(*request),
            Entry::Stop(stop) => stop.request,
            _ => None,
        };
        if let Some(request) = request {
            self.act(Action::Reply { request, answer: Err(crate::Refusal::Busy) });
        }
    }

    /// An entry is no longer under way.
    fn settle(&mut self, entry: &Entry) {
        match entry {
            Entry::Ready { .. } => {
                self.proposed.remove(&Pending::Ready);
            }
            Entry::Assign(batch) => {
                let is_teardown = |it: &Assignment| it.attempt.segment.kind == SegmentKind::Teardown;
                let tears_down = !batch.assignments.is_empty() && batch.assignments.iter().all(is_teardown);
                if !batch.groups.is_empty() && !tears_down {
                    self.proposed.remove(&Pending::Batch);
                    return;
                }
                for assignment in &batch.assignments {
                    self.settle_workflow(assignment.attempt.segment.workflow);
                }
            }
            Entry::Context { workflow, .. }
            | Entry::Start { workflow, .. }
            | Entry::WorkflowEnd { workflow, .. } => self.settle_workflow(*workflow),
            Entry::Restart { attempt, .. } => self.settle_workflow(attempt.segment.workflow),
            Entry::AttemptEnd { attempt, .. } => {
                if let Some(live) = self.attempt_mut(*attempt) {
                    live.proposed = false;
                }
            }
            Entry::Stop(stop) => {
                self.proposed.remove(&Pending::Stop);
                if let StopScope::Workflows(workflows) = &stop.scope {
                    for at in workflows {
                        self.proposed.remove(&Pending::StopOf(*at));
                    }
                }
            }
            Entry::JobEnd { .. } => {
                self.proposed.remove(&Pending::End);
            }
            Entry::Control { .. } => {}
        }
    }

    fn settle_workflow(&mut self, at: usize) {
        if let Some(live) = self.live.get_mut(at) {
            live.proposed = false;
        }
    }

    /// A batch was applied: its attempts are given to their workers.
    fn dispatch(&mut self, batch: &Batch) {
        let begins = batch.assignments.iter().all(|assignment| assignment.attempt.number == 1);
        for member in batch.groups.iter().filter(|_| begins).flat_map(|group| &group.members) {
            self.emit_state(member.workflow, ShownState::Preparing { cores: member.cores });
        }
        for assignment in &batch.assignments {
            let workflow = assignment.attempt.segment.workflow;
            self.live[workflow].attempts.insert(assignment.attempt, AttemptLive::default());
            if self.facts.losses.on_loss == OnLoss::Restart && assignment.attempt.number > 1 {
                self.live[workflow].finishing = false;
            }
            let order = self.order(assignment);
            self.act(Action::Dispatch(Box::new(order)));
        }
    }

    /// What the worker of an attempt was told to run: the same decisions give the same order under every leader.
    pub fn order_of(&self, attempt: AttemptId) -> Option<SegmentOrder> {
        let record = self.record.workflows().get(attempt.segment.workflow)?.attempt(attempt)?;
        Some(self.order(&record.assignment))
    }

    fn order(&self, assignment: &Assignment) -> SegmentOrder {
        let workflow = assignment.attempt.segment.workflow;
        SegmentOrder {
            assignment: assignment.clone(),
            context: context::gathered(self, workflow),
            setup: self.record.workflows()[workflow].setup().cloned().unwrap_or_default(),
            offset: if self.facts.resumes_from_zero() { Duration::ZERO } else { assignment.joins_at },
            iterations_done: assignment.iterations_done,
        }
    }

    pub(crate) fn attempt_mut(&mut self, id: AttemptId) -> Option<&mut AttemptLive> {
        self.live.get_mut(id.segment.workflow)?.attempts.get_mut(&id)
    }

    fn report(&mut self, id: AttemptId, report: Report) {
        let Some(live) = self.attempt_mut(id) else {
            return self.count_illegal(IllegalTransition::Unknown("such attempt"));
        };
        live.silent_s = 0;
        match report {
            Report::Alive => {}
            Report::Accepted => self.advance(id, AttemptState::Accepted),
            Report::Prepared => {
                live.prepared = true;
                self.advance(id, AttemptState::Running);
            }
            Report::Finishing => self.finishing(id),
            Report::CoreCompleted { .. } => live.cores_completed += 1,
            Report::StopTest(failure) => decide::stop_test(self, id.segment.workflow, failure),
            Report::Ended(result) => {
                if !live.state.is_over() {
                    live.result.get_or_insert(result);
                }
            }
            Report::Refused { why } => {
                // What was taken runs: a refusal of it is of another dispatch.
                if live.state == AttemptState::Assigned {
                    live.refused.get_or_insert(why);
                }
            }
            Report::Lost => live.is_lost = true,
        }
    }

    /// Every core says so; people are told once. A segment that runs again ends after the others.
    fn finishing(&mut self, id: AttemptId) {
        let workflow = id.segment.workflow;
        self.live[workflow].attempts_finishing.insert(id);
        let record = &self.record.workflows()[workflow];
        let is_running = record.state() == WorkflowState::Running;
        let live = &self.live[workflow];
        let runs_on = |(id, attempt): (&AttemptId, &AttemptRecord)| {
            attempt.end.is_none() && self.restarts(attempt) && !live.attempts_finishing.contains(id)
        };
        let runs_on = record.attempts_of(SegmentKind::Load).any(runs_on);
        if is_running && id.segment.kind == SegmentKind::Load && !live.finishing && !runs_on {
            self.live[workflow].finishing = true;
            self.emit_state(workflow, ShownState::Finishing);
        }
    }

    fn advance(&mut self, attempt: AttemptId, to: AttemptState) {
        let Some(live) = self.attempt_mut(attempt) else {
            return self.count_illegal(IllegalTransition::Unknown("such attempt"));
        };
        let from = live.state;
        if from.allows(to) {
            live.state = to;
        } else if from != to {
            self.count_illegal(IllegalTransition::Attempt { attempt, from, to });
        }
    }

    pub(crate) fn count_illegal(&mut self, _refused: IllegalTransition) {
        self.illegal += 1;
    }
}
