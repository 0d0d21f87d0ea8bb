//! Performs what the job core says: applies entries at once, starts segments, tells faces.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyperscale_clients::lease::LeaseDeadline;
use hyperscale_job::entry::{Entry, RequestId};
use hyperscale_job::{
    Action, Answer, AttemptId, Directive, Input, JobCore, Pool, PoolWorker, Refusal, Report, SegmentKind,
    SegmentOrder, SegmentResult,
};
use hyperscale_plan::model::{Plan, Workflow};
use hyperscale_stats::event::Event;
use hyperscale_stats::result::{ChangedBy, RunResult};
use hyperscale_types::Command;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time;

use super::cpus::Cpus;
use crate::control::Order;
use crate::data::Files;
use crate::machine;
use crate::segment::{CoreMessage, Identity, Segment, SegmentEvent, SegmentSpec, no_thread};

/// The only worker of a local run.
const WORKER: &str = "local";
/// Events that wait for faces which are too slow.
const EVENTS_WAITING_MAX: usize = 10_000;
/// At the end of a run a face has this long to take each event that waits.
const FAREWELL: Duration = Duration::from_secs(2);

/// A local run.
pub(crate) struct Host {
    core: JobCore,
    plan: Arc<Plan>,
    data: Files,
    identity: Arc<Identity>,
    segments: BTreeMap<AttemptId, Segment>,
    messages: mpsc::Sender<CoreMessage>,
    cpus: Cpus,
    faces: Faces,
    /// Who waits for a reply; without anybody, a refusal is told to the faces.
    waiting: BTreeMap<RequestId, Option<oneshot::Sender<Answer>>>,
    next_request: RequestId,
    result: Option<RunResult>,
}

/// The way to whoever watches.
struct Faces {
    events: mpsc::Sender<Event>,
    /// Events that found the way full. No snapshots: the next one says more.
    waiting: VecDeque<Event>,
    /// What was left out since the last snapshot that was taken.
    missed: u64,
}

impl Faces {
    fn new(events: mpsc::Sender<Event>) -> Self {
        Faces { events, waiting: VecDeque::new(), missed: 0 }
    }

    /// Who is too slow misses snapshots, and nothing else before [`EVENTS_WAITING_MAX`] events wait.
    fn show(&mut self, mut event: Event) {
        while let Some(first) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(first)) = self.events.try_send(first) {
                self.waiting.push_front(first);
                break;
            }
        }
        if let Event::Snapshot(snapshot) = &mut event {
            snapshot.missed = self.missed;
            let sent = self.waiting.is_empty() && self.events.try_send(event).is_ok();
            self.missed = if sent { 0 } else { self.missed + 1 };
        } else if self.waiting.len() == EVENTS_WAITING_MAX {
            self.missed += 1;
        } else if !self.waiting.is_empty() {
            self.waiting.push_back(event);
        } else if let Err(TrySendError::Full(event)) = self.events.try_send(event) {
            self.waiting.push_back(event);
        }
    }

    /// Shows the last event, after all that wait; gives up when nobody takes them.
    async fn show_last(mut self, last: Event) {
        self.waiting.push_back(last);
        for event in self.waiting {
            if time::timeout(FAREWELL, self.events.send(event)).await.is_err() {
                return;
            }
        }
    }
}

impl Host {
    pub(crate) fn new(
        core: JobCore,
        data: Files,
        identity: Identity,
        cores: u32,
        messages: mpsc::Sender<CoreMessage>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Host {
            plan: Arc::clone(core.plan()),
            core,
            data,
            identity: Arc::new(identity),
            segments: BTreeMap::new(),
            messages,
            cpus: Cpus::new(cores, &machine::cpus()),
            faces: Faces::new(events),
            waiting: BTreeMap::new(),
            next_request: 0,
            result: None,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.result.is_some()
    }

    pub(crate) fn start(&mut self) {
        let actions = self.core.start(self.now(), self.pool());
        self.perform(actions);
    }

    /// When [`Input::Timer`] is due.
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        self.core.next_timer().map(|at| self.identity.epoch + at)
    }

    pub(crate) fn input(&mut self, input: Input<'_>) {
        let actions = self.core.handle(self.now(), input);
        self.perform(actions);
    }

    /// A core said something.
    pub(crate) fn message(&mut self, message: CoreMessage) {
        let attempt = message.attempt;
        let Some(segment) = self.segments.get_mut(&attempt) else { return };
        for event in segment.take(message) {
            match event {
                SegmentEvent::Window(window) => {
                    self.input(Input::Window { attempt, window: &window });
                    if let Some(segment) = self.segments.get(&attempt) {
                        segment.recycle(window);
                    }
                }
                SegmentEvent::Report(report) => self.report(attempt, report),
            }
        }
    }

    fn report(&mut self, attempt: AttemptId, report: Report) {
        if let Report::CoreCompleted { core } = report
            && let Some(segment) = self.segments.get(&attempt)
        {
            let assignment = &segment.order().assignment;
            self.cpus.core_ended(assignment.group, assignment.offset + core - assignment.share.first_core);
            self.input(Input::Pool(self.pool()));
        }
        if let Report::Ended(_) = report
            && let Some(segment) = self.segments.remove(&attempt)
        {
            segment.join();
        }
        self.input(Input::Report { attempt, report });
    }

    /// Somebody wants something.
    pub(crate) fn order(&mut self, order: Order) {
        match order {
            // Whoever has stopped waiting needs no reply.
            Order::Look(answer) => {
                self.input(Input::Timer);
                drop(answer.send(self.core.view()));
            }
            Order::Do { command, by, answer } => self.request(command, by, answer),
        }
    }

    fn request(&mut self, command: Command, by: ChangedBy, answer: Option<oneshot::Sender<Answer>>) {
        let id = self.next_request;
        self.next_request += 1;
        self.waiting.insert(id, answer);
        self.input(Input::Request { id, by, command });
    }

    /// Nobody is left who could send an order.
    pub(crate) fn abandon(&mut self) {
        self.request(Command::Abort, ChangedBy::Screen, None);
    }

    fn now(&self) -> Duration {
        self.identity.epoch.elapsed()
    }

    fn pool(&self) -> Pool {
        let (total, free) = self.cpus.counts();
        Pool { workers: vec![PoolWorker::new(WORKER, total, free)] }
    }

    /// Performs actions and whatever follows from them, in order.
    fn perform(&mut self, actions: Vec<Action>) {
        let mut queue = VecDeque::from(actions);
        while let Some(action) = queue.pop_front() {
            match action {
                Action::Propose(entry) => {
                    if self.moves_cores(&entry) {
                        queue.extend(self.core.handle(self.now(), Input::Pool(self.pool())));
                    }
                    queue.extend(self.core.handle(self.now(), Input::Applied { entry, outcome: Ok(()) }));
                }
                Action::Dispatch(order) => {
                    if let Some(failed) = self.dispatch(*order) {
                        queue.extend(self.core.handle(self.now(), failed));
                    }
                }
                Action::Direct { attempt, directive } => self.direct(attempt, directive),
                Action::Reply { request, answer } => self.reply(request, answer),
                Action::Emit(event) => self.emit(*event),
                // Nobody else leads a local run.
                Action::Deposed => {}
            }
        }
    }

    /// Moves CPUs as an entry says. Returns whether it did.
    fn moves_cores(&mut self, entry: &Entry) -> bool {
        match entry {
            Entry::Assign(batch) => batch.groups.iter().for_each(|group| self.cpus.take(group)),
            Entry::WorkflowEnd { workflow, .. } => {
                let records = self.core.record().workflows();
                let group = records[*workflow].group().and_then(|group| self.core.record().group(group));
                let Some(group) = group else { return false };
                let others = group.members.iter().filter(|member| member.workflow != *workflow);
                if others.clone().any(|member| records[member.workflow].ended().is_none()) {
                    return false;
                }
                self.cpus.give_back(group.id);
            }
            _ => return false,
        }
        true
    }

    /// Starts a segment. Returns what to tell the core if that fails.
    fn dispatch(&mut self, order: SegmentOrder) -> Option<Input<'static>> {
        let assignment = order.assignment.clone();
        let attempt = assignment.attempt;
        let cpus = if attempt.segment.kind == SegmentKind::Load {
            let cores = assignment.offset..assignment.offset + assignment.share.cores;
            cores.map(|core| self.cpus.of_core(assignment.group, core)).collect()
        } else {
            vec![self.cpus.first(assignment.group)]
        };
        let spec = SegmentSpec {
            plan: Arc::clone(&self.plan),
            data: Arc::clone(&self.data),
            order,
            identity: Arc::clone(&self.identity),
            cpus,
            lease: LeaseDeadline::none(),
        };
        match Segment::start(&spec, &self.messages) {
            Ok(segment) => {
                self.segments.insert(attempt, segment);
                None
            }
            Err(error) => {
                let result = SegmentResult { failure: Some(no_thread(&error)), ..SegmentResult::default() };
                Some(Input::Report { attempt, report: Report::Ended(Box::new(result)) })
            }
        }
    }

    fn direct(&mut self, attempt: AttemptId, directive: Directive) {
        if let Some(segment) = self.segments.get(&attempt) {
            segment.direct(directive);
        }
        if let Some(vus) = directive.vus {
            self.make_room(attempt.segment.workflow, vus);
        }
    }

    /// More virtual users need more connections than the run was prepared for.
    fn make_room(&mut self, changed: usize, vus: u32) {
        let planned = |(at, workflow): (usize, &Workflow)| {
            let wanted = if at == changed { vus } else { 0 };
            u64::from(workflow.vus_max().max(wanted))
        };
        let all = self.plan.workflows.iter().enumerate().map(planned).sum();
        if let Some(warning) = machine::raise_file_limit(all) {
            self.faces.show(Event::Changed { what: warning, change: None });
        }
    }

    fn reply(&mut self, request: RequestId, answer: Answer) {
        match (self.waiting.remove(&request).flatten(), answer) {
            // Whoever has stopped waiting needs no reply.
            (Some(waiting), answer) => drop(waiting.send(answer)),
            (None, Err(Refusal::Over) | Ok(_)) => {}
            (None, Err(refusal)) => {
                self.faces.show(Event::Changed { what: refusal.to_string(), change: None });
            }
        }
    }

    fn emit(&mut self, event: Event) {
        if let Event::Finished(result) = event {
            self.result = Some(*result);
        } else {
            self.faces.show(event);
        }
    }

    /// The result of a run that is over. Attempts that did not obey in time are left behind.
    pub(crate) async fn finish(mut self) -> RunResult {
        let result = self.result.take().expect("a run is finished when it is over");
        self.faces.show_last(Event::Finished(Box::new(result.clone()))).await;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(number: usize) -> Event {
        Event::Changed { what: number.to_string(), change: None }
    }

    #[tokio::test]
    async fn events_wait_for_a_slow_face_in_their_order() {
        let (sender, mut events) = mpsc::channel(2);
        let mut faces = Faces::new(sender);
        (0..10).for_each(|number| faces.show(changed(number)));
        let mut reading = tokio::task::JoinSet::new();
        reading.spawn(async move {
            let mut seen = Vec::new();
            while let Some(event) = events.recv().await {
                let Event::Changed { what, .. } = event else { panic!("only changes") };
                seen.push(what);
            }
            seen
        });
        faces.show_last(changed(10)).await;
        let wanted: Vec<String> = (0..=10).map(|number| number.to_string()).collect();
        assert_eq!(reading.join_next().await.unwrap().unwrap(), wanted);
    }

    #[tokio::test(start_paused = true)]
    async fn a_face_that_is_stuck_does_not_hold_up_the_end() {
        let (sender, _events) = mpsc::channel(1);
        let mut faces = Faces::new(sender);
        (0..EVENTS_WAITING_MAX + 5).for_each(|number| faces.show(changed(number)));
        assert_eq!((faces.waiting.len(), faces.missed), (EVENTS_WAITING_MAX, 4));
        faces.show_last(changed(0)).await;
    }
}
