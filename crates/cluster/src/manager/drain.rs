//! Workers that were asked to drain. The log knows them, so that no manager gives them anything new, whichever one was asked; the
//! manager that owns a worker tells it until its grant has ended, as a message may be lost.
//!
//! A worker that has finished gives its grant back: it is entered as one that drains, what was assigned to it before is refused by
//! it, and once nothing is promised of its cores its grant ends. So nobody waits for the end of its lease, and nothing that it never
//! began counts as lost with it.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::lease::LeaseError;
use hyperscale_consensus::register::{Body, CommandRefusal, Outcome};
use hyperscale_consensus::replica::Reply;
use hyperscale_types::{NodeId, Now, Token};

use super::calls::Purpose;
use super::clients::rejection;
use super::io::{Output, Rejection, RequestNumber, Response};
use super::{JobMachine, Manager};
use crate::message::{CallNumber, ToWorker};

/// A worker that is still there is told again after this time.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// Workers that drain.
#[derive(Debug, Default)]
pub(super) struct Drains {
    /// When they were last told to.
    told: BTreeMap<NodeId, Now>,
    /// Those that have finished and gave their grant back here.
    given_back: BTreeMap<NodeId, GivenBack>,
}

/// A grant that its worker does not need any more.
#[derive(Clone, Copy, Debug)]
struct GivenBack {
    grant: Token,
    /// The question that is answered once it has ended.
    call: CallNumber,
    /// A proposal is under way.
    is_proposed: bool,
}

impl Drains {
    /// A proposal about a grant that was given back is decided, or failed: the log shows which.
    pub(super) fn proposed(&mut self, worker: NodeId) {
        if let Some(given) = self.given_back.get_mut(&worker) {
            given.is_proposed = false;
        }
    }
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

    /// A worker has finished what it had, and needs its grant no more.
    pub(super) fn give_back(
        &mut self,
        now: Now,
        worker: NodeId,
        grant: Token,
        call: CallNumber,
        out: &mut Vec<Output>,
    ) {
        let known = self.drains.given_back.get(&worker).filter(|given| given.grant == grant);
        let is_proposed = known.is_some_and(|given| given.is_proposed);
        self.drains.given_back.insert(worker, GivenBack { grant, call, is_proposed });
        self.take_back(now, out);
    }

    /// Does the next thing for every grant that was given back, and answers its worker once it has ended.
    pub(super) fn take_back(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(group) = self.replica.group() else { return };
        let (register, applied) = (group.machine().register(), group.applied().0);
        let mut next = Vec::new();
        self.drains.given_back.retain(|worker, given| {
            let GivenBack { grant, call, is_proposed } = *given;
            match register.worker(*worker).filter(|known| known.grant == grant) {
                // It has ended, unless this manager has not heard of it yet: the token is the index of its entry.
                None if applied >= grant.0 => {
                    let message = ToWorker::Renewed { call, grant, answer: Err(LeaseError::NotHeld) };
                    out.push(Output::SendWorker { to: *worker, message });
                    return false;
                }
                Some(known) if !is_proposed && !known.is_draining => {
                    next.push((*worker, Body::WorkerDrain { worker: *worker, grant }));
                }
                Some(known) if !is_proposed && known.promised().len() == 0 => {
                    let reason = "it was given back".to_owned();
                    next.push((*worker, Body::WorkerGone { worker: *worker, grant, reason }));
                }
                _ => return true,
            }
            given.is_proposed = true;
            true
        });
        for (worker, body) in next {
            self.propose(now, Purpose::GiveBack { worker }, Token(0), body);
        }
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
