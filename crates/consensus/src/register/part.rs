//! Parts of a job, one per datacenter and try: what the gates decide about them.
//!
//! ```text
//! ── DcAssign(n) (token) ──► running ── DcEnd ──► ended ── failed or refused: DcAssign(n + 1) ──► running …
//!                               └── DcEnd(lost) ──► lost ── DcAssign(n + 1) ──► running …
//!                                                    └── DcEnd(late) ──► lost, with a late result
//! ```
//!
//! A part is known by job, datacenter and token. Its token outlives the gate that assigned it: a new owner goes on with the
//! same one, and only another try gets another. What comes after a part was given up is kept beside it and never counted.

use hyperscale_types::Token;

use super::change::Change;
use super::command::{JobId, PartId};
use super::end::{End, EndStatus};
use super::job::Job;
use super::limits::{Limit, PARTS_MAX, Share};
use super::weight::part_weight;
use super::{CommandRefusal, Outcome, Register};

/// One try of one datacenter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Counts from 1.
    pub try_number: u32,
    /// Its share of users and rates, in millionths.
    pub share_ppm: u32,
    /// What became of it.
    pub state: PartState,
}

/// What became of a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PartState {
    /// Assigned and not heard of since, as far as the log goes.
    Running,
    /// It ended; this is what counts.
    Ended(End),
    /// Its datacenter's lease ran out.
    Lost {
        /// What the datacenter said when it came back: shown, not merged.
        late: Option<End>,
    },
}

impl PartState {
    /// Whether another try may follow: the datacenter failed, rather than the job.
    fn may_be_tried_again(&self) -> Result<(), CommandRefusal> {
        match self {
            Self::Running => Err(CommandRefusal::Running),
            Self::Lost { .. } => Ok(()),
            Self::Ended(end) => match end.status {
                EndStatus::Failed | EndStatus::Refused => Ok(()),
                _ => Err(CommandRefusal::AlreadyEnded),
            },
        }
    }

    /// The state after an end, or after one that comes too late; none if it was said before.
    fn after(&self, end: End, is_late: bool) -> Result<Option<Self>, CommandRefusal> {
        match (self, is_late) {
            (Self::Running, false) if end.status == EndStatus::Lost => Ok(Some(Self::Lost { late: None })),
            (Self::Running, false) => Ok(Some(Self::Ended(end))),
            (Self::Lost { .. }, false) if end.status == EndStatus::Lost => Ok(None),
            (Self::Lost { late: None }, true) => Ok(Some(Self::Lost { late: Some(end) })),
            (Self::Ended(known), false) | (Self::Lost { late: Some(known) }, true) if known.is_like(&end) => {
                Ok(None)
            }
            (Self::Running | Self::Ended(_), true) => Err(CommandRefusal::NotLost),
            (Self::Ended(_) | Self::Lost { .. }, _) => Err(CommandRefusal::AlreadyEnded),
        }
    }
}

impl Job {
    /// Every part with datacenter and token, older tries of a datacenter first.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = (&str, Token, &Part)> {
        self.parts.iter().map(|((datacenter, token), part)| (datacenter.as_str(), *token, part))
    }

    /// The newest part of a datacenter.
    pub fn part(&self, datacenter: &str) -> Option<(Token, &Part)> {
        let of = |token| (datacenter.to_owned(), Token(token));
        self.parts.range(of(0)..=of(u64::MAX)).next_back().map(|((_, token), part)| (*token, part))
    }
}

impl Register {
    pub(super) fn dc_assign(
        &mut self,
        index: u64,
        token: Token,
        id: JobId,
        datacenter: String,
        part: Part,
    ) -> Result<Outcome, CommandRefusal> {
        let room = self.account.room();
        let job = self.job_mut(id)?;
        job.fence(token)?;
        if job.is_wholly_cancelled() {
            return Err(CommandRefusal::Cancelled);
        }
        let last = job.part(&datacenter);
        if let Some((granted, known)) = last
            && *known == part
        {
            return Ok(Outcome::Granted(granted));
        }
        last.map_or(Ok(()), |(_, known)| known.state.may_be_tried_again())?;
        let next = last.map_or(1, |(_, known)| known.try_number.saturating_add(1));
        if part.try_number != next {
            return Err(CommandRefusal::WrongAttempt { next });
        }
        Limit::name(&datacenter)?;
        Limit::Parts.hold(job.parts.len() + 1, PARTS_MAX)?;
        room.check(job, part_weight(&datacenter), Share::Open)?;
        job.tally.weight += part_weight(&datacenter);
        job.tally.running += 1;
        job.parts.insert((datacenter.clone(), Token(index)), part);
        self.changes.push(Change::Part(id, datacenter, Token(index)));
        Ok(Outcome::Granted(Token(index)))
    }

    pub(super) fn dc_end(
        &mut self,
        token: Token,
        part: PartId,
        end: End,
        is_late: bool,
    ) -> Result<Outcome, CommandRefusal> {
        let room = self.account.room();
        let job = self.job_mut(part.job)?;
        // A datacenter may come back after its job has ended without it.
        if is_late { job.obey(token) } else { job.fence(token) }?;
        let key = (part.datacenter, part.token);
        let known = job.parts.get(&key).ok_or(CommandRefusal::Superseded)?;
        if known.state.after(end.clone(), is_late)?.is_none() {
            return Ok(Outcome::Repeated);
        }
        let end = job.keep_end(room, end);
        let known = job.parts.get_mut(&key).ok_or(CommandRefusal::Superseded)?;
        job.tally.running -= u32::from(known.state == PartState::Running);
        if let Some(next) = known.state.after(end, is_late)? {
            known.state = next;
        }
        self.changes.push(Change::Part(part.job, key.0, key.1));
        Ok(Outcome::Done)
    }
}
