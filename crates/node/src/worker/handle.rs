//! What happens to a worker, told to its core; and what the core wants, done in its order.

use hyperscale_cluster::encoding::{to_manager_out, to_worker_in};
use hyperscale_cluster::message::JobAttempt;
use hyperscale_cluster::record::AttemptLeft;
use hyperscale_cluster::worker::{Input, Output, Start};
use hyperscale_codec::log;
use hyperscale_job::{Failure, FailureKind, SegmentResult, StopPhase};
use hyperscale_swim::{Command, EmbeddedState};
use hyperscale_types::{NodeId, Role};
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::Incoming;
use hyperscale_wire::messages::{Bulk, Control, bulk, control};

use super::attempt::{AttemptEvent, Running, Seat};
use super::plans::{Found, PlanLoaded};
use super::{Call, Happening, WorkerError, WorkerLoop, WorkerStatus};
use crate::{clock, membership, transport};

impl WorkerLoop {
    pub(super) fn handle(&mut self, happening: Happening) -> Result<(), WorkerError> {
        match happening {
            Happening::Transport(event) => self.transport_event(event),
            Happening::Membership(event) => self.membership_event(event)?,
            Happening::Attempt(attempt, event) => self.attempt_event(attempt, event),
            Happening::Plan(loaded) => self.plan_loaded(loaded),
            Happening::Call(Call::Drain) => self.input(Input::Drain),
            Happening::Call(Call::Status(caller)) => {
                let is_registered = self.core.is_usable(clock::now());
                let (cores_free, attempts) = (self.core.cores_free(), self.attempts.len());
                // Nobody may wait for it any more.
                let _ = caller.send(WorkerStatus {
                    is_registered,
                    cores_free,
                    attempts,
                    load: self.core.load(),
                    orphans: self.core.orphans(),
                    counters: self.core.counters().clone(),
                });
            }
            Happening::Timer => self.tick(),
        }
        while !self.outputs.is_empty() {
            for output in std::mem::take(&mut self.outputs) {
                self.output(output);
            }
        }
        Ok(())
    }

    /// The runtime's timer may be early, and it rings for contacts, plans and the machine too.
    fn tick(&mut self) {
        let now = clock::now();
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            self.input(Input::Timer);
        }
        self.plans.ask(now, &self.hands.transport);
        let lhm = self.hands.membership.view().lhm;
        if let Some(readings) = self.machine.read(now, lhm) {
            self.input(Input::Readings(readings));
        }
    }

    fn transport_event(&mut self, event: transport::Event) {
        use transport::Event;
        match event {
            Event::PeerUp { peer, address, is_dialled, .. } if peer.role == Role::Manager => {
                if is_dialled {
                    self.contacts.reached(address);
                }
                self.manager_seen(peer.node);
            }
            Event::PeerUp { .. } | Event::Undelivered { .. } => {}
            Event::PeerDown { node, lane: Lane::Control, is_last: true, .. } => self.manager_gone(node),
            Event::PeerDown { .. } => {}
            Event::ConnectionFailed { node, boot } => {
                self.order(Command::ConnectionFailed { node, boot });
                self.manager_gone(node);
            }
            Event::Incoming { from, message, .. } => self.incoming(from, message),
        }
    }

    fn incoming(&mut self, from: NodeId, message: Incoming) {
        match message {
            Incoming::Control(Control { body: Some(control::Body::Membership(message)), .. }) => {
                // A detector that is behind misses it, as it would miss a datagram.
                let _ = self.hands.membership.stream(from, message);
            }
            Incoming::Transfer(Bulk { body: Some(bulk::Body::BlobData(head)), .. }, bytes) => {
                match log::blob_in(head.blob) {
                    Ok(blob) => {
                        let load = self.plans.arrived(blob, bytes);
                        if let Some(load) = load {
                            self.loads.spawn_blocking(load);
                        }
                    }
                    Err(error) => tracing::warn!(node = %from, %error, "a message cannot be read"),
                }
            }
            message => match to_worker_in(message) {
                Ok(Some(message)) => self.input(Input::Message { from, message }),
                Ok(None) => {}
                Err(error) => tracing::warn!(node = %from, %error, "a message cannot be read"),
            },
        }
    }

    fn membership_event(&mut self, event: membership::Event) -> Result<(), WorkerError> {
        use hyperscale_swim::Event as Swim;
        let event = match event {
            membership::Event::Swim(event) => event,
            membership::Event::Cross(..) => return Ok(()),
            membership::Event::Failed(error) => return Err(WorkerError::Membership(error)),
        };
        match event {
            Swim::Joined { peer, .. } => {
                self.hands.transport.know(peer.node, peer.addr);
                if peer.role == Role::Manager {
                    self.manager_seen(peer.node);
                }
            }
            Swim::Refuted { node } if self.plans.is_manager(node) => self.manager_seen(node),
            Swim::Died { node, .. } | Swim::Left { node } => self.manager_gone(node),
            Swim::Superseded { .. } => return Err(WorkerError::Superseded),
            _ => {}
        }
        Ok(())
    }

    fn attempt_event(&mut self, attempt: JobAttempt, event: AttemptEvent) {
        match event {
            AttemptEvent::Report(report) => self.input(Input::Report { attempt, report }),
            AttemptEvent::Window(window) => self.input(Input::Window { attempt, window }),
            AttemptEvent::Ended(left) => self.ended(attempt, *left),
        }
    }

    fn ended(&mut self, attempt: JobAttempt, left: AttemptLeft) {
        self.attempts.remove(&attempt);
        self.input(Input::Ended { attempt, left });
    }

    fn output(&mut self, output: Output) {
        match output {
            Output::Send { to, message } => {
                if let Err(error) = self.hands.transport.send(to, to_manager_out(message)) {
                    tracing::debug!(node = %to, %error, "a message was not sent");
                }
            }
            Output::Start(start) => self.start(*start),
            Output::Direct { attempt, directive } => {
                if let Some(running) = self.attempts.get_mut(&attempt) {
                    running.direct(directive);
                }
                self.give_up_unprepared(attempt);
            }
            Output::CutOff { attempt } => {
                if let Some(running) = self.attempts.get_mut(&attempt) {
                    running.cut_off();
                }
                self.give_up_unprepared(attempt);
            }
            Output::Load(load) => self.order(Command::SetState(EmbeddedState::Worker(*load))),
            Output::Lease { until } => self.lease.set(until),
            Output::Timer(at) => self.timer = Some(self.timer.map_or(at, |timer| timer.min(at))),
            Output::Offline => {
                self.order(Command::Leave);
                self.is_offline = true;
            }
        }
    }

    fn start(&mut self, start: Start) {
        let attempt = start.attempt;
        let found = self.plans.find(clock::now(), &start, &self.hands.transport);
        self.attempts.insert(attempt, Running::new(start));
        if let Found::Ready(plan) = found {
            self.run_attempt(attempt, &plan);
        }
    }

    /// An attempt whose plan has not come has nothing to finish.
    fn give_up_unprepared(&mut self, attempt: JobAttempt) {
        let is_given_up =
            self.attempts.get(&attempt).is_some_and(|it| !it.is_started() && it.phase() > StopPhase::Running);
        if is_given_up {
            self.ended(attempt, AttemptLeft::default());
        }
    }

    fn plan_loaded(&mut self, PlanLoaded { blob, plan }: PlanLoaded) {
        let waiting: Vec<JobAttempt> = self
            .attempts
            .iter()
            .filter(|(_, running)| !running.is_started() && running.plan() == blob)
            .map(|(attempt, _)| *attempt)
            .collect();
        for attempt in waiting {
            match &plan {
                Ok(plan) => self.run_attempt(attempt, plan),
                Err(message) => {
                    let failure = Failure::new(FailureKind::Prepare, message.clone());
                    let result = SegmentResult { failure: Some(failure), ..SegmentResult::default() };
                    self.ended(attempt, AttemptLeft { result, ..AttemptLeft::default() });
                }
            }
        }
        self.plans.keep(blob, plan.ok());
    }

    fn run_attempt(&mut self, attempt: JobAttempt, plan: &super::plans::ReadyPlan) {
        let seat = Seat {
            name: std::sync::Arc::clone(&self.name),
            cpus: &self.cpus,
            lease: &self.lease,
            events: &self.say,
        };
        let Some(running) = self.attempts.get_mut(&attempt) else { return };
        match running.run(plan, &seat, &mut self.tasks) {
            Ok(()) => {}
            Err(left) => self.ended(attempt, *left),
        }
    }

    fn order(&mut self, command: Command) {
        if let Err(error) = self.hands.membership.command(command) {
            tracing::warn!(%error, "the failure detector did not take a command");
        }
    }
}
