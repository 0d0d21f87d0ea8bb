//! Who leads the jobs that this worker runs attempts of.
//!
//! The highest token is obeyed, from any manager: only managers speak to workers. When a job's leader is gone its attempts are
//! orphaned; they run on, and the next leader of the job adopts them by saying so. Without one for [`ORPHAN_GRACE`] they are
//! cut off, though the lease is renewed: nobody would notice what they do.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_consensus::register::JobId;
use hyperscale_consensus::{Bearer, TokenBook};
use hyperscale_types::{NodeId, Now, Token};

use super::{Options, Output, Worker};
use crate::message::ToManager;

/// How long the token of a job and its settled attempts are remembered: a leader that was replaced may speak late.
pub(super) const REMEMBERED: Duration = Duration::from_mins(10);
/// How long attempts run without anybody who leads their job.
pub(super) const ORPHAN_GRACE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Leaders {
    tokens: TokenBook<(), JobId>,
    /// Who brought the highest token of a job, and when it last spoke about it.
    of: BTreeMap<JobId, (NodeId, Now)>,
    /// Since when jobs have nobody who leads them.
    orphaned: BTreeMap<JobId, Now>,
}

impl Leaders {
    #[cfg_attr(not(feature = "bugs"), expect(unused_variables, reason = "holds the deliberate bugs"))]
    pub(super) fn new(options: &Options) -> Self {
        #[cfg(feature = "bugs")]
        let tokens = TokenBook::with_bugs(options.bugs.consensus.clone());
        #[cfg(not(feature = "bugs"))]
        let tokens = TokenBook::default();
        Self { tokens, of: BTreeMap::new(), orphaned: BTreeMap::new() }
    }

    /// A manager is gone, and with it the leadership of its jobs.
    pub(super) fn gone(&mut self, now: Now, manager: NodeId) {
        let led = self.of.iter().filter(|(_, (leader, _))| *leader == manager);
        for (job, _) in led {
            self.orphaned.entry(*job).or_insert(now);
        }
    }

    /// A manager is there: a broken connection was no death. What was cut off meanwhile stays so.
    pub(super) fn seen(&mut self, manager: NodeId) {
        let of = &self.of;
        self.orphaned.retain(|job, since| {
            *since == Now::NEVER || of.get(job).is_none_or(|(leader, _)| *leader != manager)
        });
    }

    pub(super) fn is_orphaned(&self, job: JobId) -> bool {
        self.orphaned.contains_key(&job)
    }

    /// Who leads a job, unless that one is gone.
    pub(super) fn of(&self, job: JobId) -> Option<NodeId> {
        self.of.get(&job).filter(|_| !self.is_orphaned(job)).map(|(leader, _)| *leader)
    }

    pub(super) fn token(&self, job: JobId) -> Token {
        self.tokens.current((), job).unwrap_or_default()
    }

    pub(super) fn next_timer(&self) -> Option<Now> {
        self.orphaned.values().map(|since| since.plus(ORPHAN_GRACE)).min()
    }

    /// Jobs that nobody has spoken about for a long time, unless something of them is left here, are forgotten.
    pub(super) fn forget(&mut self, now: Now, is_left: impl Fn(JobId) -> bool) {
        let old =
            |(job, (_, spoke)): &(&JobId, &(NodeId, Now))| now.since(*spoke) >= REMEMBERED && !is_left(**job);
        let gone: Vec<JobId> = self.of.iter().filter(old).map(|(job, _)| *job).collect();
        for job in gone {
            self.of.remove(&job);
            self.orphaned.remove(&job);
            self.tokens.forget((), job);
        }
    }
}

impl Worker {
    /// Whether to obey; who does not is told.
    pub(super) fn obeys(
        &mut self,
        now: Now,
        (from, token): (NodeId, Token),
        job: JobId,
        out: &mut Vec<Output>,
    ) -> bool {
        let leaders = &mut self.leaders;
        let before = leaders.tokens.current((), job);
        if leaders.tokens.admit((), job, token, Bearer::Member).is_err() {
            self.counters.stale_tokens += 1;
            let message = ToManager::StaleToken { job, current: before.unwrap_or_default() };
            out.push(Output::Send { to: from, message });
            return false;
        }
        leaders.of.insert(job, (from, now));
        leaders.orphaned.remove(&job);
        true
    }

    /// Another manager leads a job: it is told all that this worker knows of it.
    pub(super) fn leader_changed(
        &mut self,
        now: Now,
        (from, token): (NodeId, Token),
        job: JobId,
        out: &mut Vec<Output>,
    ) {
        self.counters.transfers_received += 1;
        if !self.obeys(now, (from, token), job, out) {
            return;
        }
        self.counters.transfers_accepted += 1;
        let attempts = self.statuses(Some(job));
        self.tell_again(job);
        out.push(Output::Send { to: from, message: ToManager::LeaderAccepted { job, token, attempts } });
    }

    /// Attempts of jobs that nobody led for too long.
    pub(super) fn cut_off_orphans(&mut self, now: Now, out: &mut Vec<Output>) {
        let is_over = |since: &Now| now.since(*since) >= ORPHAN_GRACE;
        let jobs: Vec<JobId> =
            self.leaders.orphaned.iter().filter(|(_, since)| is_over(since)).map(|(job, _)| *job).collect();
        for job in jobs {
            // It has been without a leader for long enough; only a new one changes that.
            self.leaders.orphaned.insert(job, Now::NEVER);
            self.cut_off_job(job, out);
        }
    }
}
