//! Attempts of a worker: taken, refused, stopped, confirmed.

use hyperscale_consensus::Bearer;
use hyperscale_consensus::register::{EndStatus, JobId, Segment};
use hyperscale_types::{NodeId, Now, Token};

use super::{Worker, WorkerAction};
use crate::jobs::plan::CORES;
use crate::log::Letter;
use crate::log::letter::Dispatch;

/// The last attempt of a segment that this worker saw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    pub(super) attempt: u32,
    pub(super) grant: Token,
    pub(super) cores: u32,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Running { ends: Now },
    Ended { status: EndStatus, told: Now, confirmed: bool },
    Refused,
}

impl Worker {
    pub(super) fn dispatch(&mut self, now: Now, from: NodeId, it: Dispatch, out: &mut Vec<WorkerAction>) {
        if !self.obeys(from, it.segment.job, it.token, out) {
            return;
        }
        let known = self.tried.get(&it.segment).copied().filter(|known| known.attempt >= it.attempt);
        let is_granted = self.has_grant(it.grant);
        if known.is_none() && !is_granted {
            // Of a former process under this id, which may still run it, or of a grant that is on its way here: not this
            // process' to refuse. What it does not take in time ends with its lease.
            return;
        }
        let taken = match known {
            Some(known) if known.attempt > it.attempt => return,
            Some(known) => !matches!(known.state, State::Refused),
            None => self.take_up(now, &it),
        };
        if let Some(Tried { state: State::Ended { told, confirmed, .. }, .. }) =
            self.tried.get_mut(&it.segment)
        {
            // The new job leader has not heard of it: told again, at once.
            (*told, *confirmed) = (Now::ZERO, false);
        }
        let letter = Letter::Dispatched { segment: it.segment, attempt: it.attempt, taken };
        out.push(WorkerAction::Send { to: from, letter });
    }

    /// Starts an attempt, or decides never to.
    fn take_up(&mut self, now: Now, it: &Dispatch) -> bool {
        let takes = self.is_usable(now) && self.busy() + it.cores <= CORES;
        let state = if takes { State::Running { ends: now.plus(it.length) } } else { State::Refused };
        let tried = Tried { attempt: it.attempt, grant: it.grant, cores: it.cores, state };
        self.tried.insert(it.segment.clone(), tried);
        takes
    }

    pub(super) fn stop(
        &mut self,
        from: NodeId,
        segment: Segment,
        attempt: u32,
        (token, grant): (Token, Token),
        out: &mut Vec<WorkerAction>,
    ) {
        if !self.obeys(from, segment.job, token, out) {
            return;
        }
        let is_granted = self.has_grant(grant);
        let is_known = self.tried.get(&segment).is_some_and(|tried| tried.attempt >= attempt);
        if !is_granted && !is_known {
            // Another process under this id may run it: only that one, or the end of its lease, stops it.
            return;
        }
        let tried = self.tried.entry(segment).or_insert(Tried {
            attempt,
            grant: Token(0),
            cores: 0,
            state: ended(EndStatus::Cancelled),
        });
        match tried.state {
            State::Running { .. } if tried.attempt == attempt => tried.state = ended(EndStatus::Cancelled),
            State::Ended { status, .. } if tried.attempt == attempt => tried.state = ended(status),
            State::Refused if tried.attempt == attempt => tried.state = ended(EndStatus::Refused),
            _ if tried.attempt < attempt => {
                *tried = Tried { attempt, grant: Token(0), cores: 0, state: ended(EndStatus::Cancelled) };
            }
            _ => {}
        }
    }

    fn obeys(&mut self, from: NodeId, job: JobId, token: Token, out: &mut Vec<WorkerAction>) -> bool {
        let obeys = self.tokens.admit(0, job, token, Bearer::Member).is_ok();
        if obeys {
            self.leaders.insert(job, from);
            out.push(WorkerAction::Obeyed { job, token });
        }
        obeys
    }

    pub(super) fn confirmed(&mut self, segment: &Segment, number: u32) {
        if let Some(it) = self.tried.get_mut(segment).filter(|it| it.attempt == number)
            && let State::Ended { confirmed, .. } = &mut it.state
        {
            *confirmed = true;
        }
    }
}

/// An end that nobody was told yet.
pub(super) fn ended(status: EndStatus) -> State {
    State::Ended { status, told: Now::ZERO, confirmed: false }
}
