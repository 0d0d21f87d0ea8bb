//! Worker updates that wait to be gossiped between managers.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use crate::gossip::{Offer, Rounds};

/// Updates that may wait at most. Beyond the limit the most transmitted is dropped and counted.
pub const WORKER_UPDATES_MAX: usize = 500;
/// How long an update may wait; after that it is dropped and counted, anti-entropy carries it.
pub const WORKER_UPDATE_STALE_AFTER: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug)]
struct Queued {
    sent: u8,
    since: Now,
}

/// Dropped on the way, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) crowded: u64,
    pub(crate) stale: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct WorkerQueue {
    rounds: Rounds<NodeId>,
    waiting: BTreeMap<NodeId, Queued>,
    dropped: Dropped,
    /// How many may wait.
    most: usize,
}

impl WorkerQueue {
    pub(crate) fn new(most: usize) -> Self {
        Self { rounds: Rounds::new(), waiting: BTreeMap::new(), dropped: Dropped::default(), most }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// Puts the newest update about a worker up for gossip.
    pub(crate) fn push(&mut self, worker: NodeId, now: Now) {
        let before = self.waiting.insert(worker, Queued { sent: 0, since: now });
        if before.is_none_or(|before| before.sent > 0) {
            self.rounds.push(worker);
        }
        while self.rounds.len() > self.most {
            let Some((worker, sent)) = self.rounds.drop_most_sent() else { break };
            if self.waiting.get(&worker).is_some_and(|queued| queued.sent == sent) {
                self.waiting.remove(&worker);
                self.dropped.crowded += 1;
            }
        }
    }

    /// Offers workers, least sent first; `take` answers whether the update was put into the datagram.
    pub(crate) fn offer(&mut self, now: Now, times: u8, mut take: impl FnMut(NodeId) -> bool) {
        let (waiting, dropped) = (&mut self.waiting, &mut self.dropped);
        self.rounds.offer(times, |worker, sent| {
            let Some(queued) = waiting.get_mut(&worker).filter(|queued| queued.sent == sent) else {
                return Offer::Stale;
            };
            if now.since(queued.since) > WORKER_UPDATE_STALE_AFTER {
                waiting.remove(&worker);
                dropped.stale += 1;
                return Offer::Stale;
            }
            if !take(worker) {
                return Offer::NoRoom;
            }
            queued.sent += 1;
            if queued.sent >= times {
                waiting.remove(&worker);
            }
            Offer::Taken
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    fn draw(queue: &mut WorkerQueue, now: Now) -> usize {
        let mut count = 0;
        queue.offer(now, 12, |_| {
            count += 1;
            true
        });
        count
    }

    #[test]
    fn five_hundred_updates_are_kept_and_the_rest_is_counted() {
        let mut queue = WorkerQueue::new(WORKER_UPDATES_MAX);
        for number in 1..=510 {
            queue.push(node(number), Now::ZERO);
        }
        assert_eq!(queue.len(), 500);
        assert_eq!(queue.dropped().crowded, 10);
        assert_eq!(draw(&mut queue, Now::ZERO), 500);
    }

    #[test]
    fn update_that_waited_a_minute_is_stale() {
        let mut queue = WorkerQueue::new(WORKER_UPDATES_MAX);
        queue.push(node(1), Now::ZERO);
        assert_eq!(draw(&mut queue, Now::after_start(Duration::from_mins(1))), 1);
        assert_eq!(draw(&mut queue, Now::after_start(Duration::from_secs(61))), 0);
        assert_eq!((queue.dropped().stale, queue.is_empty()), (1, true));
    }

    #[test]
    fn newer_update_about_the_same_worker_starts_over() {
        let mut queue = WorkerQueue::new(WORKER_UPDATES_MAX);
        queue.push(node(1), Now::ZERO);
        for _ in 0..11 {
            assert_eq!(draw(&mut queue, Now::ZERO), 1);
        }
        queue.push(node(1), Now::ZERO);
        let again = (0..99).take_while(|_| draw(&mut queue, Now::ZERO) == 1).count();
        assert_eq!(again, 12);
    }
}
