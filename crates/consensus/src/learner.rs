//! When a learner may vote: close to the end of the log, with all blobs that its state names, and heard of, for long enough
//! without a break.
//!
//! Time alone never promotes: a learner that is silent or behind starts to count anew.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::Now;

use crate::id::RaftId;

/// What a leader sees of a learner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub(crate) id: RaftId,
    /// Entries it is behind. `None` if what it lacks is no longer in the log: then it waits for a snapshot, and may have nothing
    /// at all, however short the log is.
    pub(crate) lag: Option<u64>,
    /// Whether it answered lately.
    pub(crate) is_heard: bool,
    /// Whether it says that it holds all blobs that its state names: as a voter it counts for those that are to survive.
    pub(crate) has_blobs: bool,
}

/// Since when each learner is close. Kept by the leader only, and begun anew by the next one.
#[derive(Debug, Default)]
pub(crate) struct Promotions {
    close_since: BTreeMap<RaftId, Now>,
}

impl Promotions {
    /// Looks at all learners; returns one that may vote, the first by id.
    pub(crate) fn observe(
        &mut self,
        now: Now,
        learners: impl Iterator<Item = Standing>,
        lag_max: u64,
        stable: Duration,
    ) -> Option<RaftId> {
        let before = std::mem::take(&mut self.close_since);
        let is_close = |learner: &Standing| learner.lag.is_some_and(|lag| lag <= lag_max);
        let is_ready = |learner: &Standing| learner.is_heard && learner.has_blobs && is_close(learner);
        for learner in learners.filter(is_ready) {
            let since = before.get(&learner.id).copied().unwrap_or(now);
            self.close_since.insert(learner.id, since);
        }
        self.close_since.iter().find(|(_, since)| now.since(**since) >= stable).map(|(id, _)| *id)
    }

    pub(crate) fn clear(&mut self) {
        self.close_since.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(promotions: &mut Promotions, second: u64, lag: u64, is_heard: bool) -> Option<RaftId> {
        let learner = Standing { id: RaftId::FIRST, lag: Some(lag), is_heard, has_blobs: true };
        let now = Now::after_start(Duration::from_secs(second));
        promotions.observe(now, std::iter::once(learner), 250, Duration::from_secs(10))
    }

    #[test]
    fn learner_that_is_close_for_ten_seconds_is_promoted() {
        let mut promotions = Promotions::default();
        assert_eq!(observe(&mut promotions, 0, 250, true), None);
        assert_eq!(observe(&mut promotions, 9, 0, true), None);
        assert_eq!(observe(&mut promotions, 10, 17, true), Some(RaftId::FIRST));
    }

    #[test]
    fn learner_that_falls_behind_counts_anew() {
        let mut promotions = Promotions::default();
        observe(&mut promotions, 0, 0, true);
        observe(&mut promotions, 5, 251, true);
        observe(&mut promotions, 6, 0, true);
        assert_eq!(observe(&mut promotions, 12, 0, true), None);
        assert_eq!(observe(&mut promotions, 16, 0, true), Some(RaftId::FIRST));
    }

    #[test]
    fn learner_that_needs_a_snapshot_or_lacks_blobs_is_not_promoted() {
        let mut promotions = Promotions::default();
        let needs_snapshot = Standing { id: RaftId::FIRST, lag: None, is_heard: true, has_blobs: true };
        let lacks_blobs = Standing { lag: Some(0), has_blobs: false, ..needs_snapshot };
        for second in 0..100 {
            let now = Now::after_start(Duration::from_secs(second));
            for learner in [needs_snapshot, lacks_blobs] {
                assert_eq!(promotions.observe(now, std::iter::once(learner), 250, Duration::ZERO), None);
            }
        }
    }

    #[test]
    fn time_never_promotes_a_silent_learner() {
        let mut promotions = Promotions::default();
        for second in 0..1000 {
            assert_eq!(observe(&mut promotions, second, 0, false), None);
        }
    }
}
