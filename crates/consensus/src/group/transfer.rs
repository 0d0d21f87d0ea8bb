//! Handing over leadership: asked for, or because the leader is ill.

use hyperscale_types::Now;
use raft::ProgressState;

use super::RaftGroup;
use crate::action::{Event, TransferCause};
use crate::apply::Machine;
use crate::health::ILL_AT;
use crate::id::RaftId;

/// A voter this many entries behind is up to date enough to be handed leadership: a quarter of a second of the load a group
/// sustains, which is more than a round across regions. raft-rs refuses proposals and waits until it has them all.
const HEIR_LAG_MAX: u64 = 1_000;

/// Why leadership is not handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// Does not lead.
    #[error("not the leader")]
    NotLeader,
    /// Is not another voter.
    #[error("leadership goes to another voter")]
    NotVoter,
    /// Nobody is up to date and in reach.
    #[error("no other voter is up to date and in reach")]
    NoCandidate,
}

impl<M: Machine> RaftGroup<M> {
    pub(super) fn on_transfer(&mut self, now: Now, to: Option<RaftId>) -> Result<RaftId, TransferError> {
        if !self.is_leader() || self.state.halt.is_some() {
            return Err(TransferError::NotLeader);
        }
        let to = match to {
            Some(to) if to == self.id || !self.configuration.voters.contains(&to) => {
                return Err(TransferError::NotVoter);
            }
            Some(to) => to,
            None => self.heir(now).ok_or(TransferError::NoCandidate)?,
        };
        self.hand_over(now, to, TransferCause::Asked);
        Ok(to)
    }

    /// A leader that is ill for long hands over to a healthier voter that is up to date; if there is none it stays.
    pub(super) fn hand_over_if_ill(&mut self, now: Now) {
        let is_ill = self.health.is_ill_for(now, self.config.ill_leader_patience);
        if !is_ill || self.raft.raft.lead_transferee.is_some() {
            self.state.is_ill_reported &= is_ill;
            return;
        }
        let Some(to) = self.heir(now).filter(|heir| self.health.peer(*heir) < ILL_AT) else { return };
        if self.damper.allows(now) {
            self.damper.note(now);
            self.hand_over(now, to, TransferCause::Ill);
        } else if !self.state.is_ill_reported {
            self.state.is_ill_reported = true;
            self.events.push(Event::Flapping);
        }
    }

    fn hand_over(&mut self, now: Now, to: RaftId, cause: TransferCause) {
        self.raft.transfer_leader(to.get());
        self.settle(now);
        self.events.push(Event::Transferring { to, cause });
    }

    /// The healthiest voter that is up to date and was heard of lately; of equally healthy ones who has most of the log.
    fn heir(&self, now: Now) -> Option<RaftId> {
        let candidates = self.configuration.voters.iter().copied().filter(|id| *id != self.id);
        let fit = candidates.filter(|id| self.contacts.is_heard(*id, now, self.config.election_min));
        let up_to_date = fit.filter_map(|id| Some((self.health.peer(id), self.lag(id)?, id)));
        up_to_date.min().map(|(_, _, id)| id)
    }

    /// How far behind a voter is, if that is little enough to be called up to date: it has everything, or gets it in a stream
    /// and is a little behind, as everybody is while the leader is at work.
    fn lag(&self, id: RaftId) -> Option<u64> {
        let progress = self.raft.raft.prs().get(id.get())?;
        let lag = self.last_index().saturating_sub(progress.matched);
        let is_close = progress.state == ProgressState::Replicate && lag <= HEIR_LAG_MAX;
        (lag == 0 || is_close).then_some(lag)
    }
}
