//! How the space of a datagram is shared between the classes of gossip.
//!
//! In order: what concerns the receiver (buddy), membership, worker state, embedded state. No class takes more than half
//! of the datagram while another waits. The embedded state is small and known beforehand, so its place is kept free;
//! worker state gets what membership's half leaves, up to its own limit; membership gets all the rest once nobody else
//! waits.

/// Which classes have something to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) members: bool,
    pub(crate) workers: bool,
    /// Size of the embedded state; 0 without one.
    pub(crate) embedded_len: usize,
}

/// Space of one datagram.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quota {
    /// Of the whole datagram.
    half: usize,
    left: usize,
    worker_bytes_max: usize,
}

impl Quota {
    /// `space` is the whole datagram, of which `used` bytes are taken by head and buddy.
    pub(crate) fn new(space: usize, used: usize, worker_bytes_max: usize) -> Self {
        Self { half: space / 2, left: space.saturating_sub(used), worker_bytes_max }
    }

    /// Whether the embedded state gets a place. Only one that is larger than its share is left out.
    pub(crate) fn takes_embedded(&mut self, embedded_len: usize) -> bool {
        let fits = embedded_len > 0 && embedded_len <= self.half.min(self.left);
        if fits {
            self.left -= embedded_len;
        }
        fits
    }

    /// Space for worker state.
    pub(crate) fn workers(&self, waiting: Waiting) -> usize {
        if !waiting.workers {
            return 0;
        }
        let kept = if waiting.members { self.half } else { 0 };
        self.left.saturating_sub(kept).min(self.worker_bytes_max).min(self.half)
    }

    /// Space for membership, after workers took `worker_bytes` and either all were served or some still wait.
    pub(crate) fn members(&self, worker_bytes: usize, workers_wait: bool) -> usize {
        let rest = self.left.saturating_sub(worker_bytes);
        if workers_wait { rest.min(self.half) } else { rest }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: usize = 100;
    const EVERYONE: Waiting = Waiting { members: true, workers: true, embedded_len: 100 };

    #[test]
    fn no_class_takes_more_than_half_while_another_waits() {
        let mut quota = Quota::new(1400, HEAD, 600);
        assert!(quota.takes_embedded(100));
        let workers = quota.workers(EVERYONE);
        assert_eq!(workers, 500);
        assert_eq!(quota.members(workers, true), 700);
    }

    #[test]
    fn embedded_state_is_not_starved_by_the_other_two() {
        let mut quota = Quota::new(1400, HEAD, 600);
        assert!(quota.takes_embedded(200));
        assert!(quota.workers(EVERYONE) + quota.members(quota.workers(EVERYONE), true) <= 1400 - HEAD - 200);
    }

    #[test]
    fn lone_class_may_use_the_whole_datagram() {
        let quota = Quota::new(1400, HEAD, 600);
        assert_eq!(quota.members(0, false), 1300);
    }

    #[test]
    fn worker_state_stays_within_its_own_limit() {
        let quota = Quota::new(1400, HEAD, 600);
        let alone = Waiting { workers: true, ..Waiting::default() };
        assert_eq!(quota.workers(alone), 600);
        assert_eq!(quota.workers(Waiting::default()), 0);
    }

    #[test]
    fn membership_takes_the_rest_once_workers_are_served() {
        let quota = Quota::new(1400, HEAD, 600);
        assert_eq!(quota.members(200, false), 1100);
    }

    #[test]
    fn oversized_embedded_state_is_left_out() {
        assert!(!Quota::new(1400, HEAD, 600).takes_embedded(701));
        assert!(!Quota::new(1400, HEAD, 600).takes_embedded(0));
    }
}
