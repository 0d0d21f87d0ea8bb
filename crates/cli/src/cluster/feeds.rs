//! Events of the jobs that a manager leads, for those that follow them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyperscale_api::feed::{Feed, FollowError};
use hyperscale_api::{EventFrame, EventId};
use hyperscale_consensus::register::JobId;
use hyperscale_node::manager::{JobNews, ManagerHandle};
use hyperscale_stats::event::Event;
use hyperscale_stats::result::Status;
use hyperscale_types::Token;
use tokio::sync::mpsc;

/// Jobs whose events are kept after their end, for followers that come back late. Later ones are told the result.
const ENDED_MAX: usize = 64;

/// How often it is looked which jobs are led elsewhere.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// All feeds of a manager. Clones share them; the lock is held for a look-up, never across an `await`.
#[derive(Clone, Debug, Default)]
pub(super) struct Feeds(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    jobs: BTreeMap<JobId, (Token, Feed)>,
    /// Ended ones, oldest first.
    ended: VecDeque<JobId>,
}

impl Feeds {
    /// Publishes what the manager tells until it ends. Those who follow a job that is led elsewhere since are sent away.
    pub(super) async fn run(self, mut news: mpsc::Receiver<JobNews>, manager: ManagerHandle) {
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            tokio::select! {
                news = news.recv() => match news {
                    Some(news) => self.inner().publish(news),
                    None => return,
                },
                _ = look.tick() => {
                    let jobs = self.inner().open();
                    let led = manager.look(move |seen| {
                        jobs.into_iter().filter_map(|job| Some((job, seen.manager.leads(job)?))).collect()
                    });
                    match led.await {
                        Ok(led) => self.inner().settle(&led),
                        Err(_) => return,
                    }
                }
            }
        }
    }

    /// Follows a job; `led` is the token under which it is led here. Nothing, if this manager has no events of it.
    pub(super) fn follow(
        &self,
        job: JobId,
        after: Option<EventId>,
        led: Option<Token>,
    ) -> Option<Result<mpsc::Receiver<EventFrame>, FollowError>> {
        let mut inner = self.inner();
        if let Some(token) = led {
            let (kept, feed) =
                inner.jobs.entry(job).or_insert_with(|| (token, Feed::new(job.to_string(), token)));
            if *kept != token {
                (*kept, *feed) = (token, Feed::new(job.to_string(), token));
            }
            return Some(feed.follow(after));
        }
        let (_, feed) = inner.jobs.get_mut(&job).filter(|(_, feed)| feed.is_over())?;
        Some(feed.follow(after))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Nothing is left half done by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Jobs that have not ended here.
    fn open(&self) -> Vec<JobId> {
        self.jobs.iter().filter(|(_, (_, feed))| !feed.is_over()).map(|(job, _)| *job).collect()
    }

    /// Ends the streams of jobs that are not led here any more: their events come from another manager.
    fn settle(&mut self, led: &BTreeMap<JobId, Token>) {
        self.jobs.retain(|job, (token, feed)| feed.is_over() || led.get(job) == Some(token));
    }

    fn publish(&mut self, JobNews { job, token, event }: JobNews) {
        let is_last = matches!(*event, Event::Finished(_));
        let (kept, feed) = self.jobs.entry(job).or_insert_with(|| (token, Feed::new(job.to_string(), token)));
        if *kept != token {
            // Those who follow the former leadership come back, and are told that they missed something.
            (*kept, *feed) = (token, Feed::new(job.to_string(), token));
        }
        feed.publish(Status::Running, *event);
        if is_last {
            self.ended.push_back(job);
        }
        while self.ended.len() > ENDED_MAX {
            self.ended.pop_front().map(|oldest| self.jobs.remove(&oldest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn news(token: u64) -> JobNews {
        let event = Box::new(Event::Changed { what: "x".to_owned(), change: None });
        JobNews { job: JobId([1; 16]), token: Token(token), event }
    }

    #[test]
    fn follower_of_a_job_that_is_led_elsewhere_since_is_sent_away() {
        let feeds = Feeds::default();
        let job = JobId([1; 16]);
        let mut followed = feeds.follow(job, None, Some(Token(3))).unwrap().unwrap();
        feeds.inner().settle(&BTreeMap::from([(job, Token(3))]));
        assert_eq!(followed.try_recv().unwrap_err(), mpsc::error::TryRecvError::Empty, "it is led here");
        assert_eq!(feeds.inner().open(), [job]);
        feeds.inner().settle(&BTreeMap::new());
        assert_eq!(followed.try_recv().unwrap_err(), mpsc::error::TryRecvError::Disconnected);
    }

    #[test]
    fn job_that_is_led_elsewhere_has_no_events_here() {
        let feeds = Feeds::default();
        let job = JobId([1; 16]);
        feeds.inner().publish(news(3));
        assert!(feeds.follow(job, None, None).is_none());
        let mut followed = feeds.follow(job, None, Some(Token(3))).unwrap().unwrap();
        assert_eq!(followed.try_recv().unwrap().id, EventId { token: Token(3), sequence: 1 });
        // Led again under another token: the events of the former leadership are not told as its own.
        let mut followed = feeds.follow(job, None, Some(Token(5))).unwrap().unwrap();
        assert!(followed.try_recv().is_err());
    }
}
