//! The worker's registration and its lease.
//!
//! One question is under way at a time. A manager that does not answer within a second is left for the next one at once:
//! any manager takes a renewal to the cluster leader, so a worker whose manager died keeps its lease. It registers with another
//! manager, under the same grant, once its own is gone or has been silent [`LOST_AFTER`] times.
//!
//! A late answer counts like any other, from when its question was sent: managers gather renewals for a second before they take
//! them to the cluster leader.
//!
//! Registrations that fail are tried again after a back-off with full jitter; [`FAILURES_MAX`] of them within
//! [`FAILURES_WITHIN`] open the circuit for [`HALF_OPEN_AFTER`]. Renewals are never held back: they are all that keeps load running.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use fastrand::Rng;
use hyperscale_consensus::lease::{Holder, LeaseError};
use hyperscale_swim::{WorkerLoad, WorkerState};
use hyperscale_types::{NodeId, Now, Token};

use super::{Options, Output};
use crate::message::{CallNumber, ToManager};

/// A manager that does not answer within this time is left for the next one; sooner under a short lease, which has to last until the
/// next ones were asked.
const PATIENCE: Duration = Duration::from_secs(1);
/// So often a manager can be silent within a lease.
const PATIENCES: u32 = 15;
/// A manager is lost for a worker after this number of questions without a response.
const LOST_AFTER: u32 = 2;
/// First pause after a registration that failed; doubles with each further one.
const BACK_OFF: Duration = Duration::from_millis(500);
/// So often it doubles.
const BACK_OFF_DOUBLINGS: u32 = 3;
/// Failures that open the circuit.
const FAILURES_MAX: usize = 3;
/// Within this time.
const FAILURES_WITHIN: Duration = Duration::from_secs(30);
/// After this time one registration is tried again.
const HALF_OPEN_AFTER: Duration = Duration::from_secs(10);
/// A lease that is not renewed is asked for again after this time, however short it is.
const RENEW_AGAIN: Duration = Duration::from_millis(200);
/// How long a worker with the deliberate bug `OutliveLease` sends load after its lease.
const OUTLIVED: Duration = Duration::from_secs(10);

/// Questions whose answers still count. The oldest is forgotten: its lease would be over anyway.
const QUESTIONS_MAX: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Question {
    call: CallNumber,
    sent: Now,
    to: NodeId,
    registers: bool,
}

#[derive(Debug)]
pub(super) struct Registration {
    #[cfg(feature = "bugs")]
    bugs: crate::bugs::Bugs,
    rng: Rng,
    /// Managers that can be asked: the next one first, the one that was silent last at the end.
    managers: Vec<NodeId>,
    /// Managers that are gone, as far as this worker knows: another manager that names them may know less.
    gone: BTreeSet<NodeId>,
    calls: u64,
    /// The question that is waited for.
    asked: Option<Question>,
    /// The newest questions, that one included, which were not answered.
    open: VecDeque<Question>,
    /// The manager that is to own this worker.
    owner: Option<NodeId>,
    /// Questions to it without an answer since its last one.
    silences: u32,
    lease: Option<Holder>,
    /// The grant was in force before this worker knew of it: how long its lease is is known once it is renewed.
    is_new_to_grant: bool,
    /// What the host was told last.
    until: Option<Now>,
    /// It is given back, and was not used after this time.
    given_back: Option<Now>,
    /// The lease was over at the last look.
    lapsed: bool,
    /// The newest failures of registrations.
    failures: VecDeque<Now>,
    /// No registration before this time.
    register_at: Now,
    renew_at: Now,
    /// What the last renewal said that it is fit for, under its grant. Another state is told at once.
    said: Option<(Token, WorkerState)>,
}

impl Registration {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            #[cfg(feature = "bugs")]
            bugs: options.bugs.clone(),
            rng: Rng::with_seed(options.seed),
            managers: Vec::new(),
            gone: BTreeSet::new(),
            calls: 0,
            asked: None,
            open: VecDeque::new(),
            owner: None,
            silences: 0,
            lease: None,
            is_new_to_grant: false,
            until: None,
            given_back: None,
            lapsed: false,
            failures: VecDeque::new(),
            register_at: Now::ZERO,
            renew_at: Now::ZERO,
            said: None,
        }
    }

    pub(super) fn seen(&mut self, manager: NodeId) {
        self.gone.remove(&manager);
        self.named(manager);
    }

    /// A manager says that there is this one too.
    pub(super) fn named(&mut self, manager: NodeId) {
        if !self.gone.contains(&manager) && !self.managers.contains(&manager) {
            let place = self.rng.usize(..=self.managers.len());
            self.managers.insert(place, manager);
        }
    }

    pub(super) fn gone(&mut self, manager: NodeId) {
        self.gone.insert(manager);
        self.managers.retain(|known| *known != manager);
        self.asked.take_if(|asked| asked.to == manager);
    }

    pub(super) fn is_usable(&self, now: Now) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_usable(now))
    }

    pub(super) fn is_granted(&self) -> bool {
        self.lease.is_some()
    }

    pub(super) fn has_grant(&self, grant: Token) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.token() == grant)
    }

    /// Whether it is not known yet how long the lease of the grant is.
    pub(super) fn is_new_to_grant(&self) -> bool {
        self.is_new_to_grant
    }

    /// A manager knows of a grant that this worker does not: the response to a registration was lost.
    pub(super) fn ask_soon(&mut self, now: Now) {
        if self.lease.is_none() {
            self.register_at = self.register_at.min(now);
        }
    }

    /// Whom to tell something, if nobody in particular is to be told.
    pub(super) fn some_manager(&mut self) -> Option<NodeId> {
        let next = *self.managers.first()?;
        self.move_back(next);
        Some(next)
    }

    fn move_back(&mut self, manager: NodeId) {
        let others = self.managers.iter().copied().filter(|known| *known != manager);
        self.managers = others.chain(self.managers.contains(&manager).then_some(manager)).collect();
    }

    /// A manager registered this worker. True if the grant is another one than before.
    pub(super) fn registered(
        &mut self,
        from: NodeId,
        call: CallNumber,
        grant: Token,
        lease: Option<Duration>,
    ) -> bool {
        let Some(question) = self.answered(call).filter(|question| question.registers) else { return false };
        let held = self.lease.as_ref().map(Holder::token);
        if held.is_some_and(|held| held > grant) {
            return false;
        }
        (self.owner, self.silences) = (Some(from), 0);
        self.failures.clear();
        if held == Some(grant) {
            return false;
        }
        // Without a lease the grant was in force before: how long is known once it is renewed.
        let holder = Holder::new(grant, lease.unwrap_or_default(), question.sent);
        #[cfg(feature = "bugs")]
        let holder = holder.with_bugs(self.bugs.consensus.clone());
        self.lease = Some(holder);
        (self.lapsed, self.renew_at) = (lease.is_none(), Now::ZERO);
        self.is_new_to_grant = lease.is_none();
        true
    }

    /// The cluster leader's answer to a renewal. True if the grant is gone: what runs under it must stop.
    pub(super) fn renewed(
        &mut self,
        now: Now,
        from: NodeId,
        call: CallNumber,
        grant: Token,
        answer: Result<Duration, LeaseError>,
    ) -> bool {
        if self.owner == Some(from) {
            self.silences = 0;
        }
        let Some(question) = self.answered(call) else { return false };
        let Some(lease) = self.lease.as_mut().filter(|lease| lease.token() == grant) else { return false };
        match answer {
            Ok(ttl) => {
                lease.renewed(question.sent, ttl, now);
                self.is_new_to_grant = false;
                self.lapsed &= !lease.is_usable(now);
                false
            }
            // The right is gone, or about to go: another grant is asked for.
            Err(LeaseError::NotHeld | LeaseError::Stale { .. } | LeaseError::Ending) => {
                // A renewal that is under way is as good as answered.
                (self.lease, self.until, self.asked) = (None, None, None);
                true
            }
            Err(LeaseError::NotLeader | LeaseError::Overloaded) => false,
        }
    }

    /// True once when the lease is over.
    pub(super) fn has_lapsed(&mut self, now: Now) -> bool {
        let is_over = self.lease.as_ref().is_some_and(|lease| !lease.is_usable(now));
        is_over && !std::mem::replace(&mut self.lapsed, true)
    }

    /// Asks what has to be asked, and tells the host how long the lease is.
    pub(super) fn keep(
        &mut self,
        now: Now,
        registers: impl Fn(CallNumber, Option<Token>) -> ToManager,
        load: &WorkerLoad,
        out: &mut Vec<Output>,
    ) {
        self.tell_lease(out);
        let patience = self.patience();
        let unanswered = self.asked.take_if(|asked| now.since(asked.sent) >= patience);
        if let Some(question) = unanswered {
            self.unanswered(now, question);
        }
        let Some(next) = self.managers.first().copied().filter(|_| self.asked.is_none()) else { return };
        let own = self.owner.filter(|own| self.managers.contains(own) && self.silences == 0);
        let to = own.unwrap_or(next);
        let grant = self.lease.as_ref().map(Holder::token);
        if let Some(grant) = grant
            && (now >= self.renewal_due() || self.is_news(grant, load.state))
        {
            (self.renew_at, self.said) = (now.plus(RENEW_AGAIN), Some((grant, load.state)));
            let call = self.ask(now, to, false);
            let load = Box::new(load.clone());
            out.push(Output::Send { to, message: ToManager::Renew { call, grant, load } });
        } else if self.is_lost() && now >= self.register_at && (grant.is_none() || self.owner != Some(to)) {
            let call = self.ask(now, to, true);
            out.push(Output::Send { to, message: registers(call, grant) });
        }
    }

    pub(super) fn next_timer(&self, now: Now) -> Option<Now> {
        let lapses = self.lease.as_ref().map(Holder::usable_until).filter(|until| *until > now);
        let asks = match &self.asked {
            Some(asked) => Some(asked.sent.plus(self.patience())),
            None if self.managers.is_empty() => None,
            None => {
                let registers = self.is_lost().then_some(self.register_at);
                registers.into_iter().chain(self.lease.as_ref().map(|_| self.renewal_due())).min()
            }
        };
        lapses.into_iter().chain(asks).min()
    }

    fn patience(&self) -> Duration {
        let lease = self.lease.as_ref().map(Holder::ttl).filter(|ttl| !ttl.is_zero());
        lease.map_or(PATIENCE, |ttl| PATIENCE.min(ttl / PATIENCES))
    }

    fn tell_lease(&mut self, out: &mut Vec<Output>) {
        let until = self.lease.as_ref().map(Holder::usable_until);
        let until = until.map(|it| self.given_back.map_or(it, |at| it.min(at)));
        let until = until.map(|it| if bug!(self, OutliveLease) { it.plus(OUTLIVED) } else { it });
        if let Some(until) = until.filter(|until| Some(*until) != self.until) {
            self.until = Some(until);
            out.push(Output::Lease { until });
        }
    }

    /// The lease is not used from now on, however long it lasts, and the next question is one to give it back, whatever is waited
    /// for.
    pub(super) fn give_back(&mut self, now: Now) {
        (self.given_back, self.asked, self.renew_at) = (Some(now), None, Now::ZERO);
    }

    /// Whether managers take it for something else: they take a worker that they have not heard of for healthy. One that gives its
    /// lease back says so until it is taken.
    fn is_news(&self, grant: Token, state: WorkerState) -> bool {
        if state == WorkerState::Offline {
            return true;
        }
        let said = self.said.filter(|(said, _)| *said == grant).map(|(_, state)| state);
        said.unwrap_or(WorkerState::Healthy) != state
    }

    fn renewal_due(&self) -> Now {
        self.lease.as_ref().map_or(Now::NEVER, |lease| lease.renew_at().max(self.renew_at))
    }

    /// Whether another manager has to own this worker.
    fn is_lost(&self) -> bool {
        let is_gone = self.owner.is_none_or(|owner| !self.managers.contains(&owner));
        self.lease.is_none() || is_gone || self.silences >= LOST_AFTER
    }

    fn ask(&mut self, now: Now, to: NodeId, registers: bool) -> CallNumber {
        self.calls += 1;
        let question = Question { call: CallNumber(self.calls), sent: now, to, registers };
        self.asked = Some(question);
        self.open.push_back(question);
        if self.open.len() > QUESTIONS_MAX {
            self.open.pop_front();
        }
        question.call
    }

    /// The question that was answered; nothing if it was before, or is forgotten.
    fn answered(&mut self, call: CallNumber) -> Option<Question> {
        self.asked.take_if(|asked| asked.call == call);
        let place = self.open.iter().position(|question| question.call == call)?;
        self.open.remove(place)
    }

    fn unanswered(&mut self, now: Now, question: Question) {
        self.move_back(question.to);
        self.silences += u32::from(self.owner == Some(question.to));
        if !question.registers {
            return;
        }
        self.failures.push_back(now);
        while self.failures.front().is_some_and(|at| now.since(*at) > FAILURES_WITHIN) {
            self.failures.pop_front();
        }
        let pause = if self.failures.len() >= FAILURES_MAX {
            HALF_OPEN_AFTER
        } else {
            let doublings = (self.failures.len() as u32 - 1).min(BACK_OFF_DOUBLINGS);
            (BACK_OFF * 2_u32.pow(doublings)).mul_f64(self.rng.f64())
        };
        self.register_at = now.plus(pause);
    }
}
