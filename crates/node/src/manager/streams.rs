//! Events of jobs that are led here, for those that follow them.
//!
//! Events of one leadership of a job are numbered from 1; a [`Position`] names the leadership by its token. A follower that
//! comes back is told what it missed, as far as that is kept: everything but snapshots, of which the newest says all that
//! the ones before said. One that was away for too long, or comes from another leadership, is told so with the first event it gets.
//!
//! A follower that is slow misses snapshots. One that does not even take the rest is dropped, and comes back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hyperscale_consensus::register::JobId;
use hyperscale_stats::event::Event;
use hyperscale_types::Token;
use tokio::sync::mpsc;

/// Events that a follower has not taken yet.
pub const FOLLOWER_MAX: usize = 64;
/// Events of a job that are kept beside the newest snapshot. A job has a few per workflow.
const KEPT_MAX: usize = 1_024;
/// Jobs whose events are kept after their end, for followers that come back late. Later ones are told the result.
const ENDED_MAX: usize = 64;

/// Where in the events of a job somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Whose leadership.
    pub token: Token,
    /// The number of the last event that was seen.
    pub sequence: u64,
}

/// One event of a job.
#[derive(Clone, Debug)]
pub struct StreamEvent {
    /// Its position.
    pub at: Position,
    /// What happened.
    pub event: Arc<Event>,
}

/// Whether a follower has seen everything before the first event that it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// It has.
    Nothing,
    /// Events are not kept any more, or were told by another leader.
    Some,
}

/// The events of a job from a position on. Ends after the last event of the job, or when this manager does not lead it any more.
#[derive(Debug)]
pub struct Followed {
    /// Whether something between the position and the first event is missing.
    pub missed: Missed,
    /// The events.
    pub events: mpsc::Receiver<StreamEvent>,
}

/// All streams of a manager.
#[derive(Debug, Default)]
pub(super) struct Streams {
    jobs: BTreeMap<JobId, Stream>,
    /// Ended ones, oldest first.
    ended: VecDeque<JobId>,
}

#[derive(Debug)]
struct Stream {
    token: Token,
    last: u64,
    kept: VecDeque<StreamEvent>,
    snapshot: Option<StreamEvent>,
    followers: Vec<mpsc::Sender<StreamEvent>>,
    is_over: bool,
}

impl Stream {
    fn new(token: Token) -> Self {
        Self { token, last: 0, kept: VecDeque::new(), snapshot: None, followers: Vec::new(), is_over: false }
    }

    fn show(&mut self, event: Event) {
        self.last += 1;
        let is_snapshot = matches!(event, Event::Snapshot(_));
        let at = Position { token: self.token, sequence: self.last };
        let event = StreamEvent { at, event: Arc::new(event) };
        self.followers.retain(|follower| {
            let sent = follower.try_send(event.clone());
            sent.is_ok() || (is_snapshot && !follower.is_closed())
        });
        if is_snapshot {
            self.snapshot = Some(event);
        } else {
            if self.kept.len() == KEPT_MAX {
                self.kept.pop_front();
            }
            self.kept.push_back(event);
        }
    }

    fn follow(&mut self, after: Option<Position>) -> Followed {
        let of_this = after.filter(|after| after.token == self.token && after.sequence <= self.last);
        let seen = of_this.map_or(0, |after| after.sequence);
        let oldest = self.kept.front().map_or(self.last, |event| event.at.sequence);
        // Snapshots have numbers too, so that only a whole run of kept events shows that nothing is missing.
        let is_whole = self.kept.len() < KEPT_MAX || seen + 1 >= oldest;
        let missed = match after {
            None => Missed::Nothing,
            Some(_) if of_this.is_some() && is_whole => Missed::Nothing,
            Some(_) => Missed::Some,
        };
        let mut replayed: Vec<StreamEvent> = self
            .kept
            .iter()
            .chain(&self.snapshot)
            .filter(|event| event.at.sequence > seen)
            .cloned()
            .collect();
        replayed.sort_by_key(|event| event.at.sequence);
        let (sender, events) = mpsc::channel(FOLLOWER_MAX.max(replayed.len()));
        for event in replayed {
            // There is room for all of them.
            let _ = sender.try_send(event);
        }
        if !self.is_over {
            self.followers.push(sender);
        }
        Followed { missed, events }
    }
}

impl Streams {
    /// Something happened to a job that is led here under this token.
    pub(super) fn show(&mut self, job: JobId, token: Token, event: Event) {
        let stream = self.jobs.entry(job).or_insert_with(|| Stream::new(token));
        if stream.token != token {
            // Those who follow the former leadership come back, and are told that they missed something.
            *stream = Stream::new(token);
        }
        let is_last = matches!(event, Event::Finished(_));
        stream.show(event);
        if is_last && !stream.is_over {
            stream.is_over = true;
            stream.followers.clear();
            self.ended.push_back(job);
        }
        while self.ended.len() > ENDED_MAX {
            let oldest = self.ended.pop_front();
            oldest.map(|job| self.jobs.remove(&job));
        }
    }

    /// The job is led here from now on, or not any more.
    pub(super) fn settle(&mut self, mut is_led: impl FnMut(JobId) -> Option<Token>) {
        self.jobs.retain(|job, stream| stream.is_over || is_led(*job) == Some(stream.token));
    }

    /// The events of a job after a position; `led` is the token of a job that is led here.
    pub(super) fn follow(
        &mut self,
        job: JobId,
        after: Option<Position>,
        led: Option<Token>,
    ) -> Option<Followed> {
        let stream = match led {
            Some(token) => self.jobs.entry(job).or_insert_with(|| Stream::new(token)),
            None => self.jobs.get_mut(&job)?,
        };
        Some(stream.follow(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId([7; 16]);

    fn changed(number: u64) -> Event {
        Event::Changed { what: number.to_string(), change: None }
    }

    fn positions(mut followed: Followed) -> Vec<u64> {
        let mut all = Vec::new();
        while let Ok(event) = followed.events.try_recv() {
            all.push(event.at.sequence);
        }
        all
    }

    fn at(token: u64, sequence: u64) -> Option<Position> {
        Some(Position { token: Token(token), sequence })
    }

    #[test]
    fn follower_that_comes_back_gets_what_it_missed_and_nothing_twice() {
        let mut streams = Streams::default();
        (1..=5).for_each(|number| streams.show(JOB, Token(3), changed(number)));
        let led = Some(Token(3));
        let all = streams.follow(JOB, None, led).unwrap();
        assert_eq!((all.missed, positions(all)), (Missed::Nothing, vec![1, 2, 3, 4, 5]));
        let rest = streams.follow(JOB, at(3, 3), led).unwrap();
        assert_eq!((rest.missed, positions(rest)), (Missed::Nothing, vec![4, 5]));
        let foreign = streams.follow(JOB, at(2, 3), led).unwrap();
        assert_eq!((foreign.missed, positions(foreign)), (Missed::Some, vec![1, 2, 3, 4, 5]));
    }

    #[test]
    fn follower_that_was_away_for_too_long_is_told_so() {
        let mut streams = Streams::default();
        let all = KEPT_MAX as u64 + 10;
        (1..=all).for_each(|number| streams.show(JOB, Token(3), changed(number)));
        let led = Some(Token(3));
        assert_eq!(streams.follow(JOB, at(3, 5), led).unwrap().missed, Missed::Some);
        assert_eq!(streams.follow(JOB, at(3, 10), led).unwrap().missed, Missed::Nothing);
    }

    #[test]
    fn another_leadership_ends_the_streams_of_the_one_before() {
        let mut streams = Streams::default();
        streams.show(JOB, Token(3), changed(1));
        let mut followed = streams.follow(JOB, None, Some(Token(3))).unwrap();
        streams.settle(|_| None);
        assert_eq!(followed.events.try_recv().unwrap().at.sequence, 1);
        assert_eq!(followed.events.try_recv().unwrap_err(), mpsc::error::TryRecvError::Disconnected);
        assert!(streams.follow(JOB, None, None).is_none(), "it is not led here");
    }

    #[test]
    fn follower_that_takes_nothing_is_dropped() {
        let mut streams = Streams::default();
        streams.show(JOB, Token(3), changed(0));
        let followed = streams.follow(JOB, None, Some(Token(3))).unwrap();
        (0..FOLLOWER_MAX as u64).for_each(|number| streams.show(JOB, Token(3), changed(number)));
        assert!(streams.jobs[&JOB].followers.is_empty());
        assert_eq!(positions(followed).len(), FOLLOWER_MAX);
    }
}
