//! When which job has to be looked after: what a manager does in a moment is proportional to what has changed, and not to the
//! number of jobs it leads.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_consensus::register::JobId;
use hyperscale_types::Now;

/// One time per job at most.
#[derive(Debug, Default)]
pub(super) struct Wakeups {
    at: BTreeMap<JobId, Now>,
    queue: BTreeSet<(Now, JobId)>,
}

impl Wakeups {
    /// The job is due at this time and at no other; `None`: not because of the time.
    pub(super) fn set(&mut self, job: JobId, at: Option<Now>) {
        if let Some(before) = self.at.remove(&job) {
            self.queue.remove(&(before, job));
        }
        if let Some(at) = at {
            self.at.insert(job, at);
            self.queue.insert((at, job));
        }
    }

    /// Takes out the jobs that are due.
    pub(super) fn take_due(&mut self, now: Now) -> Vec<JobId> {
        let mut due = Vec::new();
        while let Some((at, job)) = self.queue.first().copied().filter(|(at, _)| *at <= now) {
            self.queue.remove(&(at, job));
            self.at.remove(&job);
            due.push(job);
        }
        due
    }

    pub(super) fn next(&self) -> Option<Now> {
        self.queue.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn job_is_due_once_and_at_the_last_time_that_was_set() {
        let (one, two) = (JobId([1; 16]), JobId([2; 16]));
        let at = |s| Now::after_start(Duration::from_secs(s));
        let mut wakeups = Wakeups::default();
        wakeups.set(one, Some(at(5)));
        wakeups.set(two, Some(at(3)));
        wakeups.set(one, Some(at(2)));
        assert_eq!((wakeups.next(), wakeups.take_due(at(1))), (Some(at(2)), vec![]));
        assert_eq!(wakeups.take_due(at(9)), [one, two]);
        assert_eq!(wakeups.take_due(at(9)), []);
        wakeups.set(one, Some(at(1)));
        wakeups.set(one, None);
        assert_eq!(wakeups.next(), None);
    }
}
