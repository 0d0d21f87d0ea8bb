//! Workers that were asked to drain: they are told until their grant has ended, as a message may be lost. What is kept here is
//! lost with the manager; a worker that was told once drains all the same.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::{NodeId, Now, Token};

use super::io::{Output, Rejection, Response};
use super::{JobMachine, Manager};
use crate::message::ToWorker;

/// A worker that is still there is told again after this time.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// Workers that were asked to drain through this manager.
#[derive(Debug, Default)]
pub(super) struct Drains {
    workers: BTreeMap<NodeId, Told>,
}

#[derive(Debug)]
struct Told {
    /// The grant it had then: one that came back under another one was started again, to work.
    grant: Token,
    at: Option<Now>,
}

impl<M: JobMachine> Manager<M> {
    /// Whether a worker was asked to drain through this manager.
    pub fn is_draining(&self, worker: NodeId) -> bool {
        self.drains.workers.contains_key(&worker)
    }

    pub(super) fn drain(&mut self, now: Now, worker: NodeId, out: &mut Vec<Output>) -> Response {
        let Some(grant) = self.register().and_then(|it| it.worker(worker)).map(|known| known.grant) else {
            return Response::Rejected(Rejection::UnknownWorker);
        };
        let is_repeat = self.drains.workers.get(&worker).is_some_and(|told| told.grant == grant);
        if !is_repeat {
            self.drains.workers.insert(worker, Told { grant, at: None });
            // It is not given anything new by this manager; to others it refuses what is new.
            self.pool.change();
        }
        self.tell_drains(now, out);
        Response::Draining { is_repeat }
    }

    pub(super) fn tell_drains(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        let is_there = |worker: NodeId, grant| register.worker(worker).is_some_and(|it| it.grant == grant);
        self.drains.workers.retain(|worker, told| is_there(*worker, told.grant));
        for (worker, told) in &mut self.drains.workers {
            if told.at.is_none_or(|at| now.since(at) >= TELL_AGAIN) {
                told.at = Some(now);
                out.push(Output::SendWorker { to: *worker, message: ToWorker::Drain });
            }
        }
    }
}
