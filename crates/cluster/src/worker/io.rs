//! What goes into a worker and what comes out of it.

use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::BlobId;
use hyperscale_job::{Directive, Report, SegmentOrder};
use hyperscale_swim::WorkerLoad;
use hyperscale_types::{NodeId, Now};

use super::fitness::Readings;
use crate::message::{JobAttempt, ToManager, ToWorker};
use crate::record::AttemptLeft;

/// Something that happened.
#[derive(Debug)]
pub enum Input {
    /// The time of the last [`Output::Timer`] has come.
    Timer,
    /// A manager can be asked: it is configured, or membership knows it as alive.
    ManagerSeen(NodeId),
    /// A manager is gone, says membership, or its connections broke.
    ManagerGone(NodeId),
    /// A manager says something.
    Message {
        /// As its connection authenticated it.
        from: NodeId,
        /// What it says.
        message: ToWorker,
    },
    /// An attempt says something about itself. Its end comes as [`Input::Ended`], with its statistics.
    Report {
        /// The attempt.
        attempt: JobAttempt,
        /// What it says.
        report: Report,
    },
    /// A window of an attempt's statistics was closed.
    Window {
        /// The attempt.
        attempt: JobAttempt,
        /// Encoded with the layout of its workflow.
        window: Bytes,
    },
    /// An attempt is over: nothing of it runs any more, and its threads are gone.
    Ended {
        /// The attempt.
        attempt: JobAttempt,
        /// What it leaves.
        left: AttemptLeft,
    },
    /// What the host reads of its machine, every second or so.
    Readings(Readings),
    /// Take nothing new, finish what runs, then [`Output::Offline`].
    Drain,
}

/// Something the host has to do, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send this. It may be lost, doubled or overtaken.
    Send {
        /// To this manager.
        to: NodeId,
        /// What is said.
        message: ToManager,
    },
    /// Run an attempt: get its plan, prepare it, start it when it is directed to. Whatever goes wrong is its result.
    Start(Box<Start>),
    /// Tell an attempt what to do from now on.
    Direct {
        /// The attempt.
        attempt: JobAttempt,
        /// All of it.
        directive: Directive,
    },
    /// Stop an attempt at once: nothing of it may be sent any more. Its end is reported as any other.
    CutOff {
        /// The attempt.
        attempt: JobAttempt,
    },
    /// No request of this worker may leave after this time, unless a later one is said.
    Lease {
        /// On the clock that `handle` is called with.
        until: Now,
    },
    /// What probes are to say of this worker from now on.
    Load(Box<WorkerLoad>),
    /// Say [`Input::Timer`] at this time. An earlier one that was asked for may still come.
    Timer(Now),
    /// Everything is finished and told: the process may end.
    Offline,
}

/// Everything that is needed to run an attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// The attempt.
    pub attempt: JobAttempt,
    /// The plan, with everything it names.
    pub plan: BlobId,
    /// Who dispatched it and has the plan.
    pub from: NodeId,
    /// Share, context and place on the load curve.
    pub order: SegmentOrder,
    /// Numbers of the worker's cores that its group has, in the order of the group.
    pub cores: Vec<u32>,
    /// What the job clock shows now.
    pub job_time: Duration,
    /// Whether it must stop before the lease ends; else it finishes without contact.
    pub is_bound_to_lease: bool,
}
