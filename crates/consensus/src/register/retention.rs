//! When an ended job is forgotten: `retain` after its end, by the leader's clock alone.
//!
//! The log has no time in it, so the leader proposes the forgetting. A new leader counts from when it began to lead: a job
//! may be kept longer than `retain`, never shorter.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::Now;

use super::{JobId, Register};

/// How long an ended job is kept.
pub const RETAIN: Duration = Duration::from_hours(1);

/// The leader's clock of ended jobs.
#[derive(Clone, Debug)]
pub struct Retention {
    retain: Duration,
    ended: BTreeMap<JobId, Now>,
}

impl Default for Retention {
    fn default() -> Self {
        Self::new(RETAIN)
    }
}

impl Retention {
    /// With another time.
    pub fn new(retain: Duration) -> Self {
        Self { retain, ended: BTreeMap::new() }
    }

    /// This node does not lead any more.
    pub fn follow(&mut self) {
        self.ended.clear();
    }

    /// Jobs that a leader proposes to forget, given what it has applied.
    pub fn due(&mut self, now: Now, register: &Register) -> Vec<JobId> {
        let is_ended = |id: &JobId| register.job(*id).is_some_and(|job| job.end.is_some());
        self.ended.retain(|id, _| is_ended(id));
        for (id, _) in register.jobs().filter(|(_, job)| job.end.is_some()) {
            self.ended.entry(*id).or_insert(now);
        }
        self.ended.iter().filter(|(_, since)| now.since(**since) >= self.retain).map(|(id, _)| *id).collect()
    }
}
