//! The worker, rule by rule: what goes in, what comes out.

mod attempts;
mod leases;
mod outbox;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::lease::LeaseError;
use hyperscale_consensus::register::{JobId, OnIsolation};
use hyperscale_job::entry::Assignment;
use hyperscale_job::{
    AttemptId, Directive, Failure, FailureKind, Report, SegmentId, SegmentKind, SegmentOrder, StopPhase,
};
use hyperscale_plan::load::SegmentShare;
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::*;
use crate::message::{AttemptPhase, Backpressure, CallNumber, Dispatch, DispatchRefusal, HowEnded};
use crate::record::AttemptLeft;

const LEASE: Duration = Duration::from_secs(15);
const GRANT: Token = Token(10);
const TOKEN: Token = Token(20);

struct Rig {
    worker: Worker,
    now: Now,
    out: Vec<Output>,
}

fn manager(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn job(number: u8) -> JobId {
    JobId([number; 16])
}

fn attempt(number: u8, index: u32, attempt: u32) -> JobAttempt {
    let segment = SegmentId { workflow: 0, kind: SegmentKind::Load, index };
    JobAttempt { job: job(number), attempt: AttemptId { segment, number: attempt } }
}

fn order(attempt: JobAttempt, cores: u32) -> SegmentOrder {
    SegmentOrder {
        assignment: Assignment {
            attempt: attempt.attempt,
            worker: "0000000000000009".into(),
            group: attempt.attempt.segment.index,
            offset: 0,
            share: SegmentShare { first_core: 0, cores, cores_total: cores, vus: 10 },
            joins_at: Duration::ZERO,
            iterations_done: 0,
        },
        context: Arc::new([]),
        setup: Arc::new([]),
        offset: Duration::ZERO,
        iterations_done: 0,
    }
}

fn dispatch(attempt: JobAttempt, cores: u32) -> Dispatch {
    Dispatch {
        attempt,
        token: TOKEN,
        grant: GRANT,
        plan: BlobId::of(b"plan"),
        cores,
        job_time: Duration::from_secs(3),
        order: order(attempt, cores),
        capabilities: BTreeSet::new(),
        on_isolation: OnIsolation::Stop,
    }
}

impl Rig {
    /// A worker with four cores that nobody has heard of.
    fn new() -> Self {
        let capabilities = BTreeSet::from(["native:hash".to_owned()]);
        let options = Options { capabilities, ..Options::new(BootEpoch(1), 4, 7) };
        Rig { worker: Worker::new(options), now: Now::after_start(Duration::from_secs(100)), out: Vec::new() }
    }

    /// The same with these managers, registered with the first that it asked.
    fn registered(managers: &[u64]) -> (Self, NodeId) {
        let mut rig = Rig::new();
        let mut asked = Vec::new();
        for number in managers {
            asked.extend(sent(&rig.input(Input::ManagerSeen(manager(*number)))));
        }
        let (to, ToManager::Register { call, .. }) = asked.remove(0) else { panic!("{asked:?}") };
        let message = ToWorker::Registered { call, grant: GRANT, lease: Some(LEASE), managers: Vec::new() };
        rig.from(to, message);
        (rig, to)
    }

    fn input(&mut self, input: Input) -> Vec<Output> {
        self.worker.handle(self.now, input, &mut self.out);
        std::mem::take(&mut self.out)
    }

    fn from(&mut self, from: NodeId, message: ToWorker) -> Vec<Output> {
        self.input(Input::Message { from, message })
    }

    fn dispatch(&mut self, from: NodeId, dispatch: Dispatch) -> Vec<Output> {
        self.from(from, ToWorker::Dispatch(Box::new(dispatch)))
    }

    /// Lets time pass, with a timer every 50 ms at most.
    fn advance(&mut self, by: Duration) -> Vec<Output> {
        let (end, mut all) = (self.now.plus(by), Vec::new());
        while self.now < end {
            self.now = self.now.plus(Duration::from_millis(50)).min(end);
            all.extend(self.input(Input::Timer));
        }
        all
    }

    /// Lets time pass and answers renewals at once.
    fn advance_renewing(&mut self, by: Duration) -> Vec<Output> {
        let (end, mut all) = (self.now.plus(by), Vec::new());
        while self.now < end {
            let out = self.advance(Duration::from_millis(50));
            for (to, message) in sent(&out) {
                if let ToManager::Renew { call, grant, .. } = message {
                    all.extend(self.from(to, ToWorker::Renewed { call, grant, answer: Ok(LEASE) }));
                }
            }
            all.extend(out);
        }
        all
    }

    fn seconds(&mut self, seconds: u64) -> Vec<Output> {
        self.advance(Duration::from_secs(seconds))
    }
}

fn sent(out: &[Output]) -> Vec<(NodeId, ToManager)> {
    let send = |output: &Output| match output {
        Output::Send { to, message } => Some((*to, message.clone())),
        _ => None,
    };
    out.iter().filter_map(send).collect()
}

fn registrations(out: &[Output]) -> Vec<NodeId> {
    let is_one = |(_, message): &(NodeId, ToManager)| matches!(message, ToManager::Register { .. });
    sent(out).into_iter().filter(is_one).map(|(to, _)| to).collect()
}

fn renewals(out: &[Output]) -> Vec<(NodeId, CallNumber)> {
    let renewal = |(to, message): (NodeId, ToManager)| match message {
        ToManager::Renew { call, grant: GRANT, .. } => Some((to, call)),
        _ => None,
    };
    sent(out).into_iter().filter_map(renewal).collect()
}

fn ends(out: &[Output]) -> Vec<(NodeId, JobAttempt, HowEnded)> {
    let end = |(to, message): (NodeId, ToManager)| match message {
        ToManager::Ended { attempt, how, .. } => Some((to, attempt, how)),
        _ => None,
    };
    sent(out).into_iter().filter_map(end).collect()
}

fn refusals(out: &[Output]) -> Vec<DispatchRefusal> {
    let refusal = |(_, message): (NodeId, ToManager)| match message {
        ToManager::Refused { refusal, .. } => Some(refusal),
        _ => None,
    };
    sent(out).into_iter().filter_map(refusal).collect()
}

fn starts(out: &[Output]) -> usize {
    out.iter().filter(|output| matches!(output, Output::Start(_))).count()
}

fn cut_off(out: &[Output]) -> Vec<JobAttempt> {
    let attempt = |output: &Output| match output {
        Output::CutOff { attempt } => Some(*attempt),
        _ => None,
    };
    out.iter().filter_map(attempt).collect()
}

fn lease(out: &[Output]) -> Option<Now> {
    let until = |output: &Output| match output {
        Output::Lease { until } => Some(*until),
        _ => None,
    };
    out.iter().rev().find_map(until)
}
