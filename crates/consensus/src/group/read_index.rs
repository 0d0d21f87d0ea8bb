//! Reads that decide something: a round of heartbeats proves that this node led when the read was asked for. Never a lease
//! on a local clock.
//!
//! Every round has a context of its own (term and number), so that an answer to an older round or from an older term
//! cannot be taken for it. One round serves all reads that waited when it began.

use std::collections::VecDeque;

use bytes::{BufMut, BytesMut};
use hyperscale_types::Now;

use super::RaftGroup;
use crate::action::{Action, ProposeError};
use crate::apply::Machine;
use crate::id::ReadId;

#[derive(Debug, Default)]
pub(super) struct Reads {
    /// Asked for; no round began since.
    queued: Vec<(ReadId, Now)>,
    /// Rounds under way, oldest first.
    rounds: VecDeque<Round>,
    /// Proven; wait until the state is there.
    proven: VecDeque<(u64, Vec<(ReadId, Now)>)>,
    failed: Vec<(ReadId, ProposeError)>,
    last: u64,
}

#[derive(Debug)]
struct Round {
    context: Vec<u8>,
    reads: Vec<(ReadId, Now)>,
}

impl Reads {
    pub(super) fn len(&self) -> usize {
        let under_way: usize = self.rounds.iter().map(|round| round.reads.len()).sum();
        let proven: usize = self.proven.iter().map(|(_, reads)| reads.len()).sum();
        self.queued.len() + under_way + proven
    }

    fn begin(&mut self, term: u64) -> Option<Vec<u8>> {
        if self.queued.is_empty() {
            return None;
        }
        self.last += 1;
        let mut context = BytesMut::new();
        context.put_u64(term);
        context.put_u64(self.last);
        let context = context.to_vec();
        self.rounds.push_back(Round { context: context.clone(), reads: std::mem::take(&mut self.queued) });
        Some(context)
    }

    /// A round was answered by a majority; raft-rs answers the rounds before it too.
    pub(super) fn proven(&mut self, context: &[u8], index: u64) {
        if let Some(place) = self.rounds.iter().position(|round| round.context == context) {
            let reads = self.rounds.drain(..=place).flat_map(|round| round.reads).collect();
            self.proven.push_back((index, reads));
        }
    }

    /// Leadership is gone, or the replica has stopped: no read can be answered any more.
    pub(super) fn fail_all(&mut self, error: ProposeError) {
        let queued = std::mem::take(&mut self.queued);
        let under_way = self.rounds.drain(..).flat_map(|round| round.reads);
        let proven = self.proven.drain(..).flat_map(|(_, reads)| reads);
        self.failed.extend(queued.into_iter().chain(under_way).chain(proven).map(|(read, _)| (read, error)));
    }

    pub(super) fn expire(&mut self, error: ProposeError, is_due: impl Fn(Now) -> bool) -> usize {
        let before = self.failed.len();
        let failed = &mut self.failed;
        let mut sift = |reads: &mut Vec<(ReadId, Now)>| {
            reads.retain(|(read, since)| {
                let due = is_due(*since);
                if due {
                    failed.push((*read, error));
                }
                !due
            });
        };
        sift(&mut self.queued);
        self.rounds.iter_mut().for_each(|round| sift(&mut round.reads));
        self.proven.iter_mut().for_each(|(_, reads)| sift(reads));
        self.failed.len() - before
    }

    /// Hands out what the state is fresh enough for; returns whether a round was answered.
    pub(super) fn drain<O>(&mut self, applied: u64, out: &mut Vec<Action<O>>) -> bool {
        let before = out.len();
        while let Some((index, reads)) = self.proven.pop_front_if(|(index, _)| *index <= applied) {
            out.extend(reads.into_iter().map(|(read, _)| Action::ReadReady { read, index }));
        }
        let is_answered = out.len() > before;
        out.extend(self.failed.drain(..).map(|(read, error)| Action::ReadFailed { read, error }));
        is_answered
    }
}

impl<M: Machine> RaftGroup<M> {
    pub(super) fn on_read(&mut self, now: Now, read: ReadId) -> Result<(), ProposeError> {
        self.admit(now)?;
        if !self.may_read() {
            return Err(ProposeError::Overloaded);
        }
        if bug!(self.config.bugs, ReadWithoutReadIndex) {
            self.reads.proven.push_back((self.applier.applied(), vec![(read, now)]));
            return Ok(());
        }
        self.reads.queued.push((read, now));
        Ok(())
    }

    /// Begins a round for everything that waits. A leader that has not committed in its term does not know yet what was
    /// decided before it: its reads wait.
    pub(super) fn begin_reads(&mut self, now: Now) {
        if !self.is_leader() || !self.raft.raft.commit_to_current_term() {
            return;
        }
        if let Some(context) = self.reads.begin(self.raft.raft.term) {
            self.raft.read_index(context);
            self.settle(now);
        }
    }
}
