//! Events of jobs that are led here, on their way to whoever shows them.

use std::collections::{BTreeMap, VecDeque};

use hyperscale_consensus::register::JobId;
use hyperscale_stats::event::Event;
use hyperscale_stats::result::RunResult;
use hyperscale_types::{NodeId, Token};
use tokio::sync::mpsc;

/// Events that were not taken yet. Beyond it snapshots are left out: the next one says more.
pub const NEWS_MAX: usize = 1_024;
/// Other events that wait beyond it. A job has a few per workflow.
const UNSENT_MAX: usize = 16_384;

/// Something happened to a job that is led here.
#[derive(Clone, Debug)]
pub struct JobNews {
    /// The job.
    pub job: JobId,
    /// The token of its leader.
    pub token: Token,
    /// What happened.
    pub event: Box<Event>,
}

/// Puts names of workers in the place of their ids, where they are known. Cores know nodes by their ids alone.
pub fn name_workers(result: &mut RunResult, names: &BTreeMap<NodeId, String>) {
    for attempt in &mut result.provenance.segments {
        let id = attempt.worker.parse::<NodeId>().ok();
        if let Some(name) = id.and_then(|id| names.get(&id)) {
            attempt.worker.clone_from(name);
        }
    }
}

/// The sending end. Never blocks.
#[derive(Debug)]
pub(super) struct Outlet {
    sender: mpsc::Sender<JobNews>,
    unsent: VecDeque<JobNews>,
}

impl Outlet {
    pub(super) fn new() -> (Self, mpsc::Receiver<JobNews>) {
        let (sender, receiver) = mpsc::channel(NEWS_MAX);
        (Self { sender, unsent: VecDeque::new() }, receiver)
    }

    pub(super) fn tell(&mut self, news: JobNews) {
        let is_snapshot = matches!(*news.event, Event::Snapshot(_));
        while let Some(first) = self.unsent.pop_front() {
            if let Err(mpsc::error::TrySendError::Full(first)) = self.sender.try_send(first) {
                self.unsent.push_front(first);
                break;
            }
        }
        if !self.unsent.is_empty() {
            if !is_snapshot && self.unsent.len() < UNSENT_MAX {
                self.unsent.push_back(news);
            }
        } else if let Err(mpsc::error::TrySendError::Full(news)) = self.sender.try_send(news)
            && !is_snapshot
        {
            self.unsent.push_back(news);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_nobody_takes_wait_in_their_order() {
        let (mut outlet, mut receiver) = Outlet::new();
        let news = |number: u64| JobNews {
            job: JobId([1; 16]),
            token: Token(number),
            event: Box::new(Event::Changed { what: String::new(), change: None }),
        };
        let all = NEWS_MAX as u64 + 10;
        (0..all).for_each(|number| outlet.tell(news(number)));
        let mut seen = Vec::new();
        while let Ok(news) = receiver.try_recv() {
            seen.push(news.token.0);
        }
        outlet.tell(news(all));
        while let Ok(news) = receiver.try_recv() {
            seen.push(news.token.0);
        }
        assert_eq!(seen, (0..=all).collect::<Vec<_>>());
    }
}
