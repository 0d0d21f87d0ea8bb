//! A log that applies at once and workers that only report: the core sees what it would see of a cluster.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hyperscale_job::entry::{Batch, Entry};
use hyperscale_job::state::{AttemptEnd, WorkflowState};
use hyperscale_job::{
    Action, Answer, AttemptId, Directive, Failure, FailureKind, Input, JobCore, JobFacts, Pool, PoolWorker,
    Refused, Report, SegmentKind, SegmentOrder, SegmentResult, StopPhase,
};
use hyperscale_plan::model::Plan;
use hyperscale_plan::read::{Given, Source, load};
use hyperscale_stats::event::Event;
use hyperscale_stats::result::{ChangedBy, RunResult};
use hyperscale_stats::{CallSample, Window};
use hyperscale_types::{Command, Name};

/// A job, the log behind it, and what its workers were told.
pub(crate) struct Model {
    pub(crate) core: JobCore,
    pub(crate) now: Duration,
    /// Applied entries, in order.
    pub(crate) log: Vec<Entry>,
    pub(crate) orders: BTreeMap<AttemptId, SegmentOrder>,
    pub(crate) told: BTreeMap<AttemptId, Directive>,
    pub(crate) replies: Vec<Answer>,
    pub(crate) events: Vec<Event>,
    pub(crate) result: Option<RunResult>,
    /// Cores of each worker, and those that are promised.
    pub(crate) workers: Vec<(Arc<str>, u32, u32)>,
    /// The next proposal is refused with this.
    pub(crate) refuse: Option<Refused>,
    pub(crate) is_deposed: bool,
    pub(crate) facts: JobFacts,
}

pub(crate) fn plan(text: &str) -> Arc<Plan> {
    let source = Source { name: "t.yaml", bytes: text.as_bytes(), format: None, folder: "".as_ref() };
    Arc::new(load(&source, &Given::default()).expect("the plan is valid").plan)
}

/// Workflows of one call each; `more` are further keys of each.
pub(crate) fn workflows(names: &[(&str, &str)]) -> String {
    let one = |(name, more): &(&str, &str)| {
        format!("  {name}: {{ vus: 4, duration: 10s, steps: {{ a: {{ http: 'http://x/' }} }}{more} }}\n")
    };
    format!("name: t\nworkflows:\n{}", names.iter().map(one).collect::<String>())
}

pub(crate) fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

impl Model {
    /// A job on one worker.
    pub(crate) fn new(text: &str, cores: u32) -> Self {
        Model::on(text, &[cores])
    }

    /// A job on several workers.
    pub(crate) fn on(text: &str, workers: &[u32]) -> Self {
        Model::with(text, workers, JobFacts { id: "j".into(), ..JobFacts::default() })
    }

    pub(crate) fn with(text: &str, workers: &[u32], facts: JobFacts) -> Self {
        let mut model = Model {
            core: JobCore::new(plan(text), facts.clone()),
            now: Duration::ZERO,
            log: Vec::new(),
            orders: BTreeMap::new(),
            told: BTreeMap::new(),
            replies: Vec::new(),
            events: Vec::new(),
            result: None,
            workers: (0..).zip(workers).map(|(n, cores)| (format!("w{n}").into(), *cores, 0)).collect(),
            refuse: None,
            is_deposed: false,
            facts,
        };
        let actions = model.core.start(model.now, model.pool());
        model.perform(actions);
        model
    }

    pub(crate) fn pool(&self) -> Pool {
        let worker = |(id, total, taken): &(Arc<str>, u32, u32)| {
            PoolWorker::new(Arc::clone(id), *total, total - taken)
        };
        Pool { workers: self.workers.iter().map(worker).collect() }
    }

    pub(crate) fn input(&mut self, input: Input<'_>) {
        let actions = self.core.handle(self.now, input);
        self.perform(actions);
    }

    /// Time passes; timers fire when they are due.
    pub(crate) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.core.next_timer().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.input(Input::Timer);
        }
        self.now = end;
        self.input(Input::Timer);
    }

    pub(crate) fn seconds(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.pass(Duration::from_secs(1));
            self.input(Input::Second { memory_bytes: None });
        }
    }

    fn perform(&mut self, actions: Vec<Action>) {
        let mut queue = VecDeque::from(actions);
        while let Some(action) = queue.pop_front() {
            match action {
                Action::Propose(entry) => {
                    let outcome = self.refuse.take().map_or(Ok(()), Err);
                    if outcome.is_ok() {
                        self.log.push((*entry).clone());
                        self.move_cores(&entry);
                        queue.extend(self.core.handle(self.now, Input::Pool(self.pool())));
                    }
                    queue.extend(self.core.handle(self.now, Input::Applied { entry, outcome }));
                }
                Action::Dispatch(order) => drop(self.orders.insert(order.assignment.attempt, *order)),
                Action::Direct { attempt, directive } => drop(self.told.insert(attempt, directive)),
                Action::Reply { answer, .. } => self.replies.push(answer),
                Action::Emit(event) => match *event {
                    Event::Finished(result) => self.result = Some(*result),
                    event => self.events.push(event),
                },
                Action::Deposed => self.is_deposed = true,
            }
        }
    }

    fn move_cores(&mut self, entry: &Entry) {
        let mut change = |worker: &Arc<str>, cores: i64| {
            // Cores of a worker that is gone are gone with it.
            let Some(of) = self.workers.iter_mut().find(|(id, ..)| id == worker) else { return };
            of.2 = u32::try_from((i64::from(of.2) + cores).max(0)).expect("few cores");
            assert!(of.2 <= of.1, "more cores are promised than {worker} has");
        };
        match entry {
            Entry::Assign(Batch { groups, assignments }) => {
                let record = self.core.record();
                // The cores of a group are free between its set-up and its load.
                let loads = assignments.iter().filter(|it| it.attempt.segment.kind == SegmentKind::Load);
                let is_set_up = |at: usize| record.workflows()[at].state() == WorkflowState::Setup;
                let mut again = loads.filter(|it| is_set_up(it.attempt.segment.workflow));
                let again = again.next().and_then(|it| record.group(it.group));
                for part in groups.iter().chain(again).flat_map(|group| &group.parts) {
                    change(&part.worker, i64::from(part.cores));
                }
            }
            Entry::AttemptEnd { attempt, end, .. }
                if attempt.segment.kind == SegmentKind::Setup && *end != AttemptEnd::Failed =>
            {
                let record = self.core.record();
                let group = record.workflows()[attempt.segment.workflow].group();
                for part in group.and_then(|group| record.group(group)).iter().flat_map(|it| &it.parts) {
                    change(&part.worker, -i64::from(part.cores));
                }
            }
            Entry::WorkflowEnd { workflow, .. } => {
                let record = self.core.record();
                let group = record.workflows()[*workflow].group().and_then(|group| record.group(group));
                let Some(group) = group else { return };
                let mut others = group.members.iter().filter(|member| member.workflow != *workflow);
                if others.all(|member| record.workflows()[member.workflow].ended().is_some()) {
                    for part in &group.parts {
                        change(&part.worker, -i64::from(part.cores));
                    }
                }
            }
            _ => {}
        }
    }

    /// Attempts of a workflow that were given to workers and have not ended.
    pub(crate) fn open(&self, workflow: usize) -> Vec<AttemptId> {
        let record = &self.core.record().workflows()[workflow];
        let open = record.attempts().filter(|(_, attempt)| attempt.end.is_none());
        open.map(|(id, _)| *id).collect()
    }

    pub(crate) fn report(&mut self, attempt: AttemptId, report: Report) {
        self.input(Input::Report { attempt, report });
    }

    /// Every attempt of a workflow's load is prepared, so that it runs.
    pub(crate) fn prepare(&mut self, workflow: usize) {
        for attempt in self.open(workflow) {
            if attempt.segment.kind == SegmentKind::Load {
                self.report(attempt, Report::Prepared);
            }
        }
    }

    /// One successful call in every load attempt, and what the books need around it.
    pub(crate) fn call(&mut self, workflow: usize, error: Option<hyperscale_types::ErrorKind>) {
        for attempt in self.open(workflow) {
            let mut window = Window::new(self.core.layout(workflow));
            window.started();
            let status = if error.is_none() { 200 } else { 0 };
            window.call(
                0,
                &CallSample { status, error, answered: status != 0, requests: 1, ..CallSample::default() },
            );
            if error.is_none() {
                window.completed();
            } else {
                window.failed();
            }
            self.input(Input::Window { attempt, window: &window });
        }
    }

    /// All open attempts of a workflow end with this result.
    pub(crate) fn end(&mut self, workflow: usize, result: &SegmentResult) {
        for attempt in self.open(workflow) {
            self.report(attempt, Report::Ended(Box::new(result.clone())));
        }
    }

    /// A workflow runs from prepared to its planned end.
    pub(crate) fn run(&mut self, workflow: usize) {
        self.prepare(workflow);
        self.call(workflow, None);
        self.end(workflow, &SegmentResult::default());
    }

    pub(crate) fn request(&mut self, command: Command) -> Answer {
        self.input(Input::Request { id: 1, by: ChangedBy::Control, command });
        self.replies.pop().expect("every request gets a reply")
    }

    /// The words of the applied entries.
    pub(crate) fn words(&self) -> Vec<String> {
        self.log.iter().map(word).collect()
    }

    /// Status and reason of a workflow in the result.
    pub(crate) fn ended(&self, workflow: usize) -> (&'static str, Option<String>) {
        let result = &self.result.as_ref().expect("the job has ended").workflows[workflow];
        (result.status.as_str(), result.reason.clone())
    }

    /// Status and reason of the job.
    pub(crate) fn job(&self) -> (&'static str, Option<&str>) {
        let result = self.result.as_ref().expect("the job has ended");
        (result.status.as_str(), result.reason.as_deref())
    }

    pub(crate) fn phase(&self, attempt: AttemptId) -> StopPhase {
        self.told.get(&attempt).copied().unwrap_or_default().phase
    }
}

/// An entry in a word or two.
pub(crate) fn word(entry: &Entry) -> String {
    match entry {
        Entry::Ready { workflows, .. } => format!("ready {workflows:?}"),
        Entry::Assign(batch) => {
            let one = |assignment: &hyperscale_job::entry::Assignment| {
                let id = assignment.attempt;
                let share = assignment.share;
                format!(
                    "{:?} {} on {} x{}",
                    id.segment.kind, id.segment.workflow, assignment.worker, share.cores
                )
            };
            format!("assign {}", batch.assignments.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        Entry::Context { workflow, .. } => format!("context {workflow}"),
        Entry::Start { workflow, .. } => format!("start {workflow}"),
        Entry::Restart { attempt, .. } => {
            format!("restart {} attempt {}", attempt.segment.workflow, attempt.number)
        }
        Entry::AttemptEnd { attempt, end, .. } => {
            format!("attempt end {:?} {} {end:?}", attempt.segment.kind, attempt.segment.workflow)
        }
        Entry::WorkflowEnd { workflow, end, .. } => format!("workflow end {workflow} {end:?}"),
        Entry::Stop(stop) => format!("stop {:?} {}", stop.phase, stop.reason),
        Entry::Control { .. } => "control".to_owned(),
        Entry::JobEnd { end, .. } => format!("job end {end:?}"),
    }
}

pub(crate) fn failed(kind: FailureKind) -> SegmentResult {
    SegmentResult { failure: Some(Failure::new(kind, "as the test says")), ..SegmentResult::default() }
}
