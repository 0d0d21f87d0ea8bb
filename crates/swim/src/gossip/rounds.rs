//! A queue of updates that hands out those first that were sent least often.
//!
//! Keys wait in one lane per number of transmissions. Taking one moves it to the next lane, so both taking and adding
//! cost O(1). A key that is added anew starts at zero again; its old entry stays behind and is recognised as stale by
//! whoever owns the count, when its turn comes. Updates themselves live with their owner: the queue never copies one, and
//! what is sent is always the newest that is known.

use std::collections::VecDeque;

/// What the owner says about a key whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// The count does not match: an entry left behind.
    Stale,
    /// Does not fit in what is left of the datagram.
    NoRoom,
    /// Not for this receiver: it waits on, as often sent as before.
    Passed,
    /// Put into the datagram.
    Taken,
}

#[derive(Clone, Debug)]
pub(crate) struct Rounds<K> {
    /// By number of transmissions.
    lanes: Vec<VecDeque<K>>,
    /// Entries in all lanes, stale ones included.
    entries: usize,
}

impl<K: Copy> Rounds<K> {
    pub(crate) fn new() -> Self {
        Self { lanes: Vec::new(), entries: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// Adds a key that was not sent yet.
    pub(crate) fn push(&mut self, key: K) {
        self.put(0, key);
    }

    /// Offers keys, least sent first and each at most once, until one does not fit. A key that was taken waits again,
    /// unless it has now been sent `times`.
    pub(crate) fn offer(&mut self, times: u8, mut take: impl FnMut(K, u8) -> Offer) {
        // Entries of the current lane that were moved there by this very call.
        let mut arrived = 0;
        for sent in 0..self.lanes.len() {
            let waiting = self.lanes[sent].len() - arrived;
            arrived = 0;
            for _ in 0..waiting {
                let Some(key) = self.lanes[sent].pop_front() else { break };
                self.entries -= 1;
                match take(key, sent as u8) {
                    Offer::Stale => {}
                    Offer::Passed => self.put(sent, key),
                    Offer::NoRoom => {
                        self.lanes[sent].push_front(key);
                        self.entries += 1;
                        return;
                    }
                    Offer::Taken if sent + 1 < usize::from(times) => {
                        self.put(sent + 1, key);
                        arrived += 1;
                    }
                    Offer::Taken => {}
                }
            }
        }
    }

    /// Takes out one of those that were sent most often, to make room.
    pub(crate) fn drop_most_sent(&mut self) -> Option<(K, u8)> {
        let (sent, lane) = self.lanes.iter_mut().enumerate().rev().find(|(_, lane)| !lane.is_empty())?;
        let key = lane.pop_front()?;
        self.entries -= 1;
        Some((key, sent as u8))
    }

    fn put(&mut self, sent: usize, key: K) {
        if self.lanes.len() <= sent {
            self.lanes.resize_with(sent + 1, VecDeque::new);
        }
        self.lanes[sent].push_back(key);
        self.entries += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(rounds: &mut Rounds<u32>, times: u8, room: usize) -> Vec<u32> {
        let mut drawn = Vec::new();
        rounds.offer(times, |key, _| {
            if drawn.len() == room {
                return Offer::NoRoom;
            }
            drawn.push(key);
            Offer::Taken
        });
        drawn
    }

    #[test]
    fn least_sent_go_first() {
        let mut rounds = Rounds::new();
        for key in [1, 2, 3] {
            rounds.push(key);
        }
        assert_eq!(draw(&mut rounds, 9, 2), [1, 2]);
        rounds.push(4);
        assert_eq!(draw(&mut rounds, 9, 3), [3, 4, 1]);
    }

    #[test]
    fn each_key_is_offered_once_per_datagram() {
        let mut rounds = Rounds::new();
        for key in [1, 2, 3] {
            rounds.push(key);
        }
        assert_eq!(draw(&mut rounds, 9, 100), [1, 2, 3]);
        assert_eq!(rounds.len(), 3);
    }

    #[test]
    fn key_is_gone_after_its_transmissions() {
        let mut rounds = Rounds::new();
        rounds.push(1);
        let sent: usize = (0..20).map(|_| draw(&mut rounds, 12, 5).len()).sum();
        assert_eq!(sent, 12);
        assert_eq!(rounds.len(), 0);
    }

    #[test]
    fn most_sent_is_dropped_first_to_make_room() {
        let mut rounds = Rounds::new();
        for key in [1, 2] {
            rounds.push(key);
        }
        assert_eq!(draw(&mut rounds, 9, 1), [1]);
        assert_eq!(rounds.drop_most_sent(), Some((1, 1)));
        assert_eq!(rounds.drop_most_sent(), Some((2, 0)));
        assert_eq!(rounds.drop_most_sent(), None);
    }

    #[test]
    fn stale_entries_vanish_when_their_turn_comes() {
        let mut rounds = Rounds::new();
        for key in [1, 2] {
            rounds.push(key);
        }
        rounds.offer(9, |key, _| if key == 1 { Offer::Stale } else { Offer::Taken });
        assert_eq!(rounds.len(), 1);
    }
}
