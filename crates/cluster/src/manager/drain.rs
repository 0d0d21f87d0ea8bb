//! Workers that were asked to drain. The log knows them, so that no manager gives them anything new, whichever one was asked; the
//! manager that owns a worker tells it until its grant has ended, as a message may be lost.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::register::{Body, CommandRefusal, Outcome};
use hyperscale_consensus::replica::Reply;
use hyperscale_types::{NodeId, Now, Token};

use super::calls::Purpose;
use super::clients::rejection;
use super::io::{Output, Rejection, RequestNumber, Response};
use super::{JobMachine, Manager};
use crate::message::ToWorker;

/// A worker that is still there is told again after this time.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// When workers were last told to drain.
#[derive(Debug, Default)]
pub(super) struct Drains {
    told: BTreeMap<NodeId, Now>,
}

impl<M: JobMachine> Manager<M> {
    pub(super) fn drain(&mut self, now: Now, request: RequestNumber, worker: NodeId) -> Option<Response> {
        let Some(grant) = self.register().and_then(|it| it.worker(worker)).map(|known| known.grant) else {
            return Some(Response::Rejected(Rejection::UnknownWorker));
        };
        self.propose(now, Purpose::Drain { request }, Token(0), Body::WorkerDrain { worker, grant });
        None
    }

    pub(super) fn drain_replied(
        &mut self,
        now: Now,
        request: RequestNumber,
        reply: &Reply<Outcome>,
        out: &mut Vec<Output>,
    ) {
        let response = match reply {
            Reply::Applied { outcome: Some(Outcome::Done), .. } => Response::Draining { is_repeat: false },
            Reply::Applied { outcome: Some(Outcome::Repeated), .. } => Response::Draining { is_repeat: true },
            Reply::Applied { outcome: Some(Outcome::Refused(CommandRefusal::StaleGrant { .. })), .. } => {
                Response::Rejected(Rejection::UnknownWorker)
            }
            reply => Response::Rejected(rejection(reply)),
        };
        out.push(Output::Respond { request, response });
        self.tell_drains(now, out);
    }

    /// Tells the workers that drain and that this manager owns, or that nobody does.
    pub(super) fn tell_drains(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        let told = &mut self.drains.told;
        told.retain(|worker, _| register.worker(*worker).is_some_and(|known| known.is_draining));
        for (worker, known) in register.workers().filter(|(_, known)| known.is_draining) {
            let owner = known.owner.map(|(owner, _)| owner).filter(|owner| !self.dead.contains(owner));
            let is_mine = owner.is_none_or(|owner| owner == self.options.node);
            if is_mine && told.get(worker).is_none_or(|at| now.since(*at) >= TELL_AGAIN) {
                told.insert(*worker, now);
                let message = ToWorker::Drain { grant: known.grant };
                out.push(Output::SendWorker { to: *worker, message });
            }
        }
    }
}
