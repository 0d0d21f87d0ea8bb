//! A worker: the production core on a model of the engine.
//!
//! The host does what production's does: it starts, directs and cuts off attempts, and compares the clock with the lease
//! immediately before it sends load. What it does is told to the world as [`WorkerDeed`]s.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_cluster::bugs::Bugs;
use hyperscale_cluster::manager::number_of;
use hyperscale_cluster::message::{CallNumber, JobAttempt, ToManager, ToWorker};
use hyperscale_cluster::model::{Attempt, Step};
use hyperscale_cluster::worker::{Input, Options, Output, Readings, Start, Worker};
use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::{JobId, Segment};
use hyperscale_job::{Directive, Report, SegmentKind};
use hyperscale_swim::WorkerState;
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::plan::CORES;
use crate::moment::Moment;

/// What a worker did, for the world and for the judges.
#[derive(Debug)]
pub enum WorkerDeed {
    /// It says something to a manager.
    Send {
        /// The manager.
        to: NodeId,
        /// What is said.
        message: Box<ToManager>,
    },
    /// Wake it at this time.
    Timer(Now),
    /// Step this attempt after the time of a window.
    Step(JobAttempt),
    /// It obeyed a job leader.
    Obeyed {
        /// Of which job.
        job: JobId,
        /// With which token.
        token: Token,
    },
    /// It directs an attempt as it was told.
    Directed {
        /// The attempt.
        attempt: JobAttempt,
        /// How many decisions of the job the directive follows from.
        decisions: u64,
    },
    /// It does not obey a directive, as it was overtaken by a newer one.
    Overtaken,
    /// It starts an attempt.
    Starts {
        /// The attempt.
        attempt: JobAttempt,
    },
    /// It sends load.
    Load {
        /// For which segment.
        segment: Segment,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Under which grant.
        grant: Token,
        /// So many requests.
        requests: u64,
        /// What the job clock shows, as the worker knows it.
        job_time: Duration,
        /// How long the load of the workflow lasts, if that is planned.
        planned: Option<Duration>,
    },
    /// Its lease was renewed.
    Renewed {
        /// The grant.
        grant: Token,
        /// It uses it until then, on its clock.
        until: Now,
        /// How long the lease is.
        lease: Duration,
        /// When it asked, which only the judges may look at.
        asked: Moment,
    },
    /// It gives its lease back.
    GivenBack {
        /// The grant.
        grant: Token,
        /// Its host was told to use it until then.
        until: Now,
    },
    /// It has finished everything and told it.
    Offline,
}

/// An attempt on this worker.
#[derive(Debug)]
struct Tried {
    start: Start,
    grant: Token,
    /// Once its plan is here.
    engine: Option<Attempt>,
    /// What it was told before that.
    directive: Option<Directive>,
    is_cut_off: bool,
}

/// One worker in one life.
#[derive(Debug)]
pub struct WorkerHost {
    core: Worker,
    attempts: BTreeMap<JobAttempt, Tried>,
    lease: Now,
    /// When questions were asked, for the judges.
    asked: BTreeMap<CallNumber, Moment>,
    /// Grants that dispatches named.
    grants: BTreeMap<JobAttempt, Token>,
    deeds: Vec<WorkerDeed>,
}

impl WorkerHost {
    /// A worker that starts.
    pub fn new(boot: BootEpoch, seed: u64, bugs: Bugs) -> Self {
        let options = Options { bugs, ..Options::new(boot, CORES, seed) };
        Self {
            core: Worker::new(options),
            attempts: BTreeMap::new(),
            lease: Now::ZERO,
            asked: BTreeMap::new(),
            grants: BTreeMap::new(),
            deeds: Vec::new(),
        }
    }

    /// Whether it runs an attempt.
    pub fn has_load(&self) -> bool {
        !self.attempts.is_empty()
    }

    /// What it did since it was last asked.
    pub fn take(&mut self) -> Vec<WorkerDeed> {
        std::mem::take(&mut self.deeds)
    }

    /// The time of its timer has come.
    pub fn timer(&mut self, now: Now, at: Moment) {
        self.handle(now, at, Input::Timer);
    }

    /// A manager can be asked.
    pub fn manager_seen(&mut self, now: Now, at: Moment, manager: NodeId) {
        self.handle(now, at, Input::ManagerSeen(manager));
    }

    /// A manager is gone.
    pub fn manager_gone(&mut self, now: Now, at: Moment, manager: NodeId) {
        self.handle(now, at, Input::ManagerGone(manager));
    }

    /// It is to take nothing new.
    pub fn drain(&mut self, now: Now, at: Moment) {
        self.handle(now, at, Input::Drain);
    }

    /// Its machine shows this from now on.
    pub fn press(&mut self, now: Now, at: Moment, readings: Readings) {
        self.handle(now, at, Input::Readings(readings));
    }

    /// A manager says something.
    pub fn message(&mut self, now: Now, at: Moment, from: NodeId, message: ToWorker) {
        let renewal = match &message {
            ToWorker::Registered { call, grant, lease: Some(lease), .. }
            | ToWorker::Renewed { call, grant, answer: Ok(lease) } => Some((*call, *grant, *lease)),
            _ => None,
        };
        let leads = match &message {
            ToWorker::Dispatch(it) => {
                self.grants.insert(it.attempt, it.grant);
                Some((it.attempt.job, it.token))
            }
            ToWorker::Direct { attempt, token, .. } => Some((attempt.job, *token)),
            ToWorker::LeaderChanged { job, token } => Some((*job, *token)),
            _ => None,
        };
        let told = match &message {
            ToWorker::Direct { attempt, decisions, .. } => Some((*attempt, *decisions)),
            _ => None,
        };
        let mut outputs = Vec::new();
        self.core.handle(now, Input::Message { from, message }, &mut outputs);
        if let Some((attempt, decisions)) = told.filter(|(attempt, _)| self.attempts.contains_key(attempt)) {
            let is_obeyed = outputs.iter().any(|output| matches!(output, Output::Direct { .. }));
            let is_refused = outputs.iter().any(is_refusal);
            if is_obeyed {
                self.deeds.push(WorkerDeed::Directed { attempt, decisions });
            } else if !is_refused {
                self.deeds.push(WorkerDeed::Overtaken);
            }
        }
        for output in outputs {
            let obeys = matches!(
                output,
                Output::Start(_)
                    | Output::Direct { .. }
                    | Output::Send { message: ToManager::LeaderAccepted { .. }, .. }
            );
            if let Some((job, token)) = leads.filter(|_| obeys) {
                self.deeds.push(WorkerDeed::Obeyed { job, token });
            }
            if let (Output::Lease { until }, Some((call, grant, lease))) = (&output, renewal)
                && let Some(asked) = self.asked.get(&call)
            {
                let (until, asked) = (*until, *asked);
                self.deeds.push(WorkerDeed::Renewed { grant, until, lease, asked });
            }
            self.output(at, output);
        }
    }

    fn handle(&mut self, now: Now, at: Moment, input: Input) {
        let mut outputs = Vec::new();
        self.core.handle(now, input, &mut outputs);
        for output in outputs {
            self.output(at, output);
        }
    }

    fn output(&mut self, at: Moment, output: Output) {
        match output {
            Output::Send { to, message } => {
                if let ToManager::Register { call, .. } | ToManager::Renew { call, .. } = &message {
                    self.asked.insert(*call, at);
                }
                if let ToManager::Renew { grant, load, .. } = &message
                    && load.state == WorkerState::Offline
                {
                    self.deeds.push(WorkerDeed::GivenBack { grant: *grant, until: self.lease });
                }
                self.deeds.push(WorkerDeed::Send { to, message: Box::new(message) });
            }
            Output::Start(start) => {
                let attempt = start.attempt;
                let grant = self.grants.get(&attempt).copied().unwrap_or_default();
                let tried = Tried { start: *start, grant, engine: None, directive: None, is_cut_off: false };
                self.attempts.insert(attempt, tried);
                self.deeds.push(WorkerDeed::Starts { attempt });
                self.deeds.push(WorkerDeed::Step(attempt));
            }
            Output::Direct { attempt, directive } => {
                let Some(tried) = self.attempts.get_mut(&attempt) else { return };
                match &mut tried.engine {
                    Some(engine) => engine.direct(directive),
                    None => tried.directive = Some(directive),
                }
            }
            Output::CutOff { attempt } => {
                if let Some(tried) = self.attempts.get_mut(&attempt) {
                    tried.is_cut_off = true;
                }
            }
            // What nodes say about themselves in probes is drawn by the world.
            Output::Load(_) => {}
            Output::Lease { until } => self.lease = until,
            Output::Timer(at) => self.deeds.push(WorkerDeed::Timer(at)),
            Output::Offline => self.deeds.push(WorkerDeed::Offline),
        }
    }

    /// The plan of an attempt that has none yet.
    pub fn plan_wanted(&self, attempt: JobAttempt) -> Option<BlobId> {
        self.attempts.get(&attempt).filter(|tried| tried.engine.is_none()).map(|tried| tried.start.plan)
    }

    /// The time of a window has passed for an attempt; its plan, if that was wanted and is here.
    pub fn step(&mut self, now: Now, at: Moment, attempt: JobAttempt, plan: Option<&Bytes>) {
        let Some(tried) = self.attempts.get_mut(&attempt) else { return };
        if tried.engine.is_none()
            && let Some(plan) = plan
        {
            // A plan that was accepted can be read.
            tried.engine = Attempt::new(now, tried.start.clone(), plan).ok();
            if let (Some(engine), Some(directive)) = (&mut tried.engine, tried.directive.take()) {
                engine.direct(directive);
            }
            return self.prepared(now, at, attempt);
        }
        let Some(engine) = &mut tried.engine else {
            if tried.is_cut_off {
                self.attempts.remove(&attempt);
                let left = hyperscale_cluster::record::AttemptLeft::default();
                return self.handle(now, at, Input::Ended { attempt, left });
            }
            return self.deeds.push(WorkerDeed::Step(attempt));
        };
        if tried.is_cut_off {
            engine.cut_off();
        }
        // Every core compares the clock with the lease itself; the worker says the same at once.
        let is_over = engine.is_bound_to_lease() && now >= self.lease;
        let step = if is_over && !engine.is_cut_off() { Step::Waits } else { engine.step(now) };
        match step {
            Step::Waits => {}
            Step::Ran(windows, requests) => {
                let segment = attempt.attempt.segment;
                let (workflow, number) = (engine.workflow().to_owned(), number_of(segment));
                debug_assert_eq!(segment.kind, SegmentKind::Load);
                self.deeds.push(WorkerDeed::Load {
                    segment: Segment { job: attempt.job, workflow, number },
                    attempt: attempt.attempt.number,
                    grant: tried.grant,
                    requests,
                    job_time: engine.job_time(now),
                    planned: engine.planned(),
                });
                for window in windows {
                    self.handle(now, at, Input::Window { attempt, window });
                }
            }
            Step::Ended(left) => {
                self.attempts.remove(&attempt);
                return self.handle(now, at, Input::Ended { attempt, left });
            }
        }
        self.deeds.push(WorkerDeed::Step(attempt));
    }

    fn prepared(&mut self, now: Now, at: Moment, attempt: JobAttempt) {
        self.deeds.push(WorkerDeed::Step(attempt));
        self.handle(now, at, Input::Report { attempt, report: Report::Prepared });
    }
}

/// Whether a worker says that it does not obey its sender.
fn is_refusal(output: &Output) -> bool {
    matches!(output, Output::Send { message: ToManager::StaleToken { .. }, .. })
}
