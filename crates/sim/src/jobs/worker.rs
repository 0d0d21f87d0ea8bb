//! A worker: holds a lease, runs attempts, reports their ends until somebody confirms.
//!
//! ```text
//! dispatch ──► running ── done, stopped, lease over ──► ended (repeated) ── confirmed ──► kept, so that it never starts again
//!      └─► refused: never starts here
//! ```
//!
//! Immediately before it sends load it compares its clock with its lease: a worker that wakes up sends nothing.

mod attempts;

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::TokenBook;
use hyperscale_consensus::bugs::Bugs;
use hyperscale_consensus::lease::{Holder, LeaseError};
use hyperscale_consensus::register::{EndStatus, JobId, Segment};
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::plan::CORES;
use crate::log::Letter;
use crate::moment::Moment;
use attempts::{State, Tried, ended};

/// A manager that does not answer within this time is left for the next one.
const PATIENCE: Duration = Duration::from_secs(1);
/// A manager is lost for a worker after so many requests without an answer.
const LOST_AFTER: u32 = 2;
/// The end of an attempt is told again after this time.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// What a worker did, for the world and for the judges.
#[derive(Debug)]
pub enum WorkerAction {
    /// It sends a letter.
    Send {
        /// The manager that gets it.
        to: NodeId,
        /// The message.
        letter: Letter,
    },
    /// It obeyed a job leader.
    Obeyed {
        /// Of which job.
        job: JobId,
        /// With which token.
        token: Token,
    },
    /// It sends load.
    Load {
        /// For which segment.
        segment: Segment,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Under which grant.
        grant: Token,
    },
    /// Its lease was renewed.
    Renewed {
        /// It uses it until then, on its clock.
        until: Now,
        /// How long the granter waits from when the renewal arrived.
        lease: Duration,
        /// When the renewal arrived, which only the judges may look at.
        arrived: Moment,
    },
}

/// One worker in one life.
#[derive(Debug)]
pub struct Worker {
    me: NodeId,
    boot: BootEpoch,
    lease: Option<Holder>,
    /// When, and whom, it last asked for a grant or a renewal that is not answered yet.
    asked: Option<(Now, NodeId)>,
    /// Which of the managers it talks to.
    turn: usize,
    /// The manager it registered with, which is to own it.
    registered: Option<NodeId>,
    /// Requests to that manager without an answer since its last one.
    silences: u32,
    tried: BTreeMap<Segment, Tried>,
    tokens: TokenBook<u8, JobId>,
    /// Who brought the highest token of a job.
    leaders: BTreeMap<JobId, NodeId>,
    bugs: Bugs,
}

impl Worker {
    /// A worker that starts.
    pub fn new(me: NodeId, boot: BootEpoch, turn: usize, bugs: Bugs) -> Self {
        Self {
            me,
            boot,
            lease: None,
            asked: None,
            turn,
            registered: None,
            silences: 0,
            tried: BTreeMap::new(),
            tokens: TokenBook::with_bugs(bugs.clone()),
            leaders: BTreeMap::new(),
            bugs,
        }
    }

    /// Whether it has a grant and may use it.
    pub fn is_usable(&self, now: Now) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_usable(now))
    }

    /// Whether it runs an attempt.
    pub fn has_load(&self) -> bool {
        self.tried.values().any(|it| matches!(it.state, State::Running { .. }))
    }

    /// What is to be done from time to time, load included. `managers` are those it knows of.
    pub fn duty(&mut self, now: Now, managers: &[NodeId], out: &mut Vec<WorkerAction>) {
        if managers.is_empty() {
            return;
        }
        self.keep_lease(now, managers, out);
        self.work(now, out);
        self.tell(now, managers, out);
    }

    fn keep_lease(&mut self, now: Now, managers: &[NodeId], out: &mut Vec<WorkerAction>) {
        let is_silent = self.asked.is_some_and(|(asked, _)| now.since(asked) >= PATIENCE);
        if self.asked.is_some() && !is_silent {
            return;
        }
        self.turn += usize::from(is_silent);
        let was_asked = self.asked.filter(|_| is_silent).map(|(_, manager)| manager);
        self.silences += u32::from(was_asked.is_some() && was_asked == self.registered);
        // Its own manager first, unless that one is silent or gone.
        let own =
            self.registered.filter(|own| !is_silent && self.silences < LOST_AFTER && managers.contains(own));
        let to = own.unwrap_or(managers[self.turn % managers.len()]);
        let renews = self.lease.as_ref().filter(|lease| now >= lease.renew_at());
        let renewal = renews.map(|lease| Letter::Renew { grant: lease.token(), sent: now });
        // A worker that lost its manager goes to another one under the grant it has. One late answer is no loss: managers
        // gather renewals for a second.
        let is_lost =
            self.silences >= LOST_AFTER || self.registered.is_none_or(|own| !managers.contains(&own));
        let moves = self.lease.is_none() || is_lost && self.registered != Some(to);
        let registration = moves.then_some(Letter::Register { boot: self.boot, cores: CORES, sent: now });
        for letter in renewal.into_iter().chain(registration) {
            self.asked = Some((now, to));
            out.push(WorkerAction::Send { to, letter });
        }
    }

    fn work(&mut self, now: Now, out: &mut Vec<WorkerAction>) {
        let is_usable = self.is_usable(now);
        for (segment, it) in &mut self.tried {
            let State::Running { ends } = it.state else { continue };
            if !is_usable {
                it.state = ended(EndStatus::Lost);
            } else if now >= ends {
                it.state = ended(EndStatus::Completed);
            } else {
                out.push(WorkerAction::Load {
                    segment: segment.clone(),
                    attempt: it.attempt,
                    grant: it.grant,
                });
            }
        }
    }

    /// Ends are told to the job's leader, or to whoever listens.
    fn tell(&mut self, now: Now, managers: &[NodeId], out: &mut Vec<WorkerAction>) {
        for (segment, it) in &mut self.tried {
            let State::Ended { status, told, confirmed: false } = &mut it.state else { continue };
            if now.since(*told) < TELL_AGAIN {
                continue;
            }
            let first = *told == Now::ZERO;
            *told = now;
            let leader = self.leaders.get(&segment.job).filter(|_| first).copied();
            self.turn += usize::from(!first);
            let to = leader.unwrap_or(managers[self.turn % managers.len()]);
            let (segment, attempt, status) = (segment.clone(), it.attempt, *status);
            out.push(WorkerAction::Send {
                to,
                letter: Letter::Ended { worker: self.me, segment, attempt, status },
            });
        }
    }

    /// A letter from a manager.
    pub fn letter(&mut self, now: Now, from: NodeId, letter: Letter, out: &mut Vec<WorkerAction>) {
        match letter {
            Letter::Registered { boot, grant, lease, sent } if boot == self.boot => {
                self.registered(now, from, grant, lease, sent);
            }
            Letter::Renewed { grant, sent, answer, arrived } if self.has_grant(grant) => {
                self.renewed(now, from, (sent, answer, arrived), out);
            }
            Letter::Dispatch(dispatch) => self.dispatch(now, from, dispatch, out),
            Letter::Stop { segment, attempt, token, grant } => {
                self.stop(from, segment, attempt, (token, grant), out);
            }
            Letter::Confirmed { segment, attempt } => self.confirmed(&segment, attempt),
            _ => {}
        }
    }

    fn has_grant(&self, grant: Token) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.token() == grant)
    }

    fn registered(&mut self, now: Now, from: NodeId, grant: Token, lease: Option<Duration>, sent: Now) {
        let held = self.lease.as_ref().map(Holder::token);
        if held.is_some_and(|held| held > grant) {
            return;
        }
        (self.asked, self.registered, self.silences) = (None, Some(from), 0);
        if held == Some(grant) {
            return;
        }
        self.stop_all();
        // Without a lease the grant was in force before: how long is known once it is renewed.
        let holder = Holder::new(grant, lease.unwrap_or_default(), sent.min(now));
        self.lease = Some(holder.with_bugs(self.bugs.clone()));
    }

    fn renewed(
        &mut self,
        now: Now,
        from: NodeId,
        (sent, answer, arrived): (Now, Result<Duration, LeaseError>, Moment),
        out: &mut Vec<WorkerAction>,
    ) {
        let Some(lease) = &mut self.lease else { return };
        self.asked = None;
        if self.registered == Some(from) {
            self.silences = 0;
        }
        match answer {
            Ok(ttl) => {
                let before = lease.usable_until();
                lease.renewed(sent, ttl, now);
                // A late answer to an older renewal changes nothing.
                if lease.usable_until() > before {
                    out.push(WorkerAction::Renewed { until: lease.usable_until(), lease: ttl, arrived });
                }
            }
            // The right is gone, or about to go: what runs stops, and a new grant is asked for.
            Err(LeaseError::NotHeld | LeaseError::Stale { .. } | LeaseError::Ending) => {
                self.stop_all();
                self.lease = None;
            }
            Err(LeaseError::NotLeader | LeaseError::Overloaded) => {}
        }
    }

    fn stop_all(&mut self) {
        for it in self.tried.values_mut().filter(|it| matches!(it.state, State::Running { .. })) {
            it.state = ended(EndStatus::Lost);
        }
    }

    /// Its process is one of two under one id now, the older one: it hears nothing any more and runs on until its lease ends.
    /// What it still does, and whether there will be more.
    pub fn outlive(&mut self, now: Now, managers: &[NodeId], out: &mut Vec<WorkerAction>) -> bool {
        let is_usable = self.is_usable(now);
        self.work(now, out);
        if !managers.is_empty() {
            self.tell(now, managers, out);
        }
        is_usable
    }

    fn busy(&self) -> u32 {
        let runs = |it: &&Tried| matches!(it.state, State::Running { .. });
        self.tried.values().filter(runs).map(|it| it.cores).sum()
    }
}

#[cfg(test)]
mod tests;
