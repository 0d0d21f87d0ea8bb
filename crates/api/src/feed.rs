//! The events of one job for all that follow it: the newest are kept, so that a follower that reconnects gets what it
//! missed, or a snapshot marked `resync` where that is no longer kept.
//!
//! | a follower has seen | it gets |
//! | --- | --- |
//! | nothing, and everything is kept | everything |
//! | an event of this leader, and what follows is kept | what follows |
//! | less than is kept, or events of an older leader | the beginning, the latest snapshot as `resync`, what follows it |
//! | an event of a newer leader | [`FollowError::NewerLeader`]: this node no longer leads the job |
//!
//! Publishing never waits: a follower that does not keep up is dropped, and its client reconnects.

use std::collections::VecDeque;

use hyperscale_stats::event::Event;
use hyperscale_stats::result::Status;
use hyperscale_types::Token;
use tokio::sync::mpsc;

use crate::event::{EventFrame, EventId, EventKind, JobEvent};

/// Events that are kept: four minutes of snapshots, longer than a client takes to report a job as orphaned.
const KEPT_MAX: usize = 256;
/// Bytes of the events that are kept; a large plan has snapshots of some hundred kilobytes.
const KEPT_BYTES_MAX: usize = 8 << 20;
/// Events that wait for one follower: all that are kept, and as many more while it reads them.
const WAITING_MAX: usize = 2 * KEPT_MAX + 2;
/// Followers of one job.
const FOLLOWERS_MAX: usize = 256;

/// The events of one job under one leader.
#[derive(Debug)]
pub struct Feed {
    job: String,
    token: Token,
    sequence: u64,
    kept: VecDeque<EventFrame>,
    kept_bytes: usize,
    /// How the job began: what a screen needs before any snapshot.
    started: Option<EventFrame>,
    /// The latest event that stands for everything before it.
    latest: Option<JobEvent>,
    followers: Vec<mpsc::Sender<EventFrame>>,
    is_over: bool,
}

/// Why a job cannot be followed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError {
    /// The follower has seen events of a newer leader: this node no longer leads the job.
    #[error("events of a newer job leader were seen before")]
    NewerLeader,
    /// There are as many followers as there may be.
    #[error("the job has {FOLLOWERS_MAX} followers already")]
    TooMany,
}

impl Feed {
    /// The events that the leader with this token publishes.
    pub fn new(job: impl Into<String>, token: Token) -> Self {
        Self {
            job: job.into(),
            token,
            sequence: 0,
            kept: VecDeque::new(),
            kept_bytes: 0,
            started: None,
            latest: None,
            followers: Vec::new(),
            is_over: false,
        }
    }

    /// Publishes an event of the run, while the job is in this state.
    pub fn publish(&mut self, status: Status, event: Event) -> EventId {
        let id = self.next();
        self.push(JobEvent::of(&self.job, id, status, event))
    }

    /// Publishes an event that only says something.
    pub fn note(&mut self, kind: EventKind, status: Status, message: impl Into<String>) -> EventId {
        let id = self.next();
        self.push(JobEvent::note(&self.job, id, kind, status, message))
    }

    /// Follows the job after this event. The stream ends after the final event, or when the follower does not keep up.
    pub fn follow(&mut self, after: Option<EventId>) -> Result<mpsc::Receiver<EventFrame>, FollowError> {
        if after.is_some_and(|after| after.token > self.token) {
            return Err(FollowError::NewerLeader);
        }
        self.followers.retain(|follower| !follower.is_closed());
        if self.followers.len() >= FOLLOWERS_MAX {
            return Err(FollowError::TooMany);
        }
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        for frame in self.missed(after) {
            // There is room for everything that is kept.
            let _ = sender.try_send(frame);
        }
        if !self.is_over {
            self.followers.push(sender);
        }
        Ok(receiver)
    }

    /// Whether the final event was published.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Followers that have not left.
    pub fn followers(&self) -> usize {
        self.followers.iter().filter(|follower| !follower.is_closed()).count()
    }

    fn next(&mut self) -> EventId {
        self.sequence += 1;
        EventId { token: self.token, sequence: self.sequence }
    }

    fn push(&mut self, event: JobEvent) -> EventId {
        let frame = EventFrame::from(&event);
        self.is_over |= event.is_final;
        match event.event {
            EventKind::Started => self.started = Some(frame.clone()),
            EventKind::Snapshot | EventKind::Finished => self.latest = Some(event),
            _ => {}
        }
        self.followers.retain(|follower| follower.try_send(frame.clone()).is_ok());
        if self.is_over {
            self.followers.clear();
        }
        let id = frame.id;
        self.keep(frame);
        id
    }

    fn keep(&mut self, frame: EventFrame) {
        self.kept_bytes += frame.bytes.len();
        self.kept.push_back(frame);
        while self.kept.len() > KEPT_MAX || (self.kept_bytes > KEPT_BYTES_MAX && self.kept.len() > 1) {
            let oldest = self.kept.pop_front();
            self.kept_bytes -= oldest.map_or(0, |frame| frame.bytes.len());
        }
    }

    /// What a follower gets that has seen everything up to this event.
    fn missed(&self, after: Option<EventId>) -> Vec<EventFrame> {
        let seen = after.filter(|after| after.token == self.token).map_or(0, |after| after.sequence);
        let first_kept = self.kept.front().map_or(1, |frame| frame.id.sequence);
        let is_other_leader = after.is_some_and(|after| after.token < self.token);
        let is_complete = seen + 1 >= first_kept && !is_other_leader;
        match &self.latest {
            Some(latest) if !is_complete => {
                let resync = EventFrame::from(&JobEvent { resync: true, ..latest.clone() });
                let begin = self.started.iter().filter(|started| started.id < resync.id).cloned();
                let rest = self.kept.iter().filter(|frame| frame.id > resync.id).cloned();
                begin.chain([resync.clone()]).chain(rest).collect()
            }
            _ => self.kept.iter().filter(|frame| frame.id.sequence > seen).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_stats::event::Started;

    use super::*;

    fn id(token: u64, sequence: u64) -> EventId {
        EventId { token: Token(token), sequence }
    }

    fn all(receiver: &mut mpsc::Receiver<EventFrame>) -> Vec<u64> {
        std::iter::from_fn(|| receiver.try_recv().ok()).map(|frame| frame.id.sequence).collect()
    }

    /// A feed with this many events; the second stands for everything before it.
    fn feed(events: u64) -> Feed {
        let mut feed = Feed::new("j", Token(5));
        feed.publish(Status::Running, Event::Started(Box::<Started>::default()));
        feed.note(EventKind::Snapshot, Status::Running, "");
        for _ in 2..events {
            feed.note(EventKind::Changed, Status::Running, "");
        }
        feed
    }

    #[test]
    fn follower_gets_what_it_missed_and_then_what_happens() {
        let mut feed = feed(4);
        let (mut from_begin, mut resumed) =
            (feed.follow(None).unwrap(), feed.follow(Some(id(5, 3))).unwrap());
        assert_eq!((all(&mut from_begin), all(&mut resumed)), (vec![1, 2, 3, 4], vec![4]));
        feed.note(EventKind::Finished, Status::Completed, "");
        assert_eq!((all(&mut from_begin), all(&mut resumed)), (vec![5], vec![5]));
        assert!(resumed.is_closed() && feed.is_over());
        assert_eq!(all(&mut feed.follow(Some(id(5, 4))).unwrap()), [5], "the end can still be fetched");
    }

    #[test]
    fn follower_of_an_older_leader_gets_a_snapshot_marked_as_such() {
        let mut feed = feed(3);
        let mut receiver = feed.follow(Some(id(4, 90))).unwrap();
        let frames: Vec<EventFrame> = std::iter::from_fn(|| receiver.try_recv().ok()).collect();
        let text = |at: usize| String::from_utf8(frames[at].bytes.to_vec()).unwrap();
        assert_eq!(frames.iter().map(|frame| frame.id).collect::<Vec<_>>(), [id(5, 1), id(5, 2), id(5, 3)]);
        assert!(text(1).contains("\"resync\":true"), "{}", text(1));
        assert!(!text(0).contains("resync") && !text(2).contains("resync"));
    }

    #[test]
    fn follower_that_missed_more_than_is_kept_gets_begin_snapshot_and_rest() {
        let mut feed = feed(2 + 2 * KEPT_MAX as u64);
        assert_eq!(feed.kept.len(), KEPT_MAX);
        let seen = all(&mut feed.follow(None).unwrap());
        assert_eq!((seen[0], seen[1], seen.len()), (1, 2, KEPT_MAX + 2));
        assert_eq!(feed.kept_bytes, feed.kept.iter().map(|frame| frame.bytes.len()).sum::<usize>());
    }

    #[test]
    fn follower_of_a_newer_leader_is_refused() {
        assert_eq!(feed(2).follow(Some(id(6, 1))).unwrap_err(), FollowError::NewerLeader);
    }

    #[test]
    fn follower_that_does_not_keep_up_is_dropped_and_others_are_not() {
        let mut feed = feed(2);
        let (mut slow, mut quick) = (feed.follow(None).unwrap(), feed.follow(None).unwrap());
        for _ in 0..WAITING_MAX {
            feed.note(EventKind::Changed, Status::Running, "");
            all(&mut quick);
        }
        assert_eq!(feed.followers(), 1);
        assert_eq!(all(&mut slow).len(), WAITING_MAX, "what was sent is still there");
    }

    #[test]
    fn followers_are_limited_and_those_that_left_make_room() {
        let mut feed = feed(2);
        let all: Vec<_> = (0..FOLLOWERS_MAX).map(|_| feed.follow(None).unwrap()).collect();
        assert_eq!(feed.follow(None).unwrap_err(), FollowError::TooMany);
        drop(all);
        assert!(feed.follow(None).is_ok());
    }
}
