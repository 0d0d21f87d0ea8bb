//! When an ended job is forgotten: the job's own `retain` after its end, by the leader's clock alone.
//!
//! The log has no time in it, so the leader proposes the forgetting. A new leader counts from when it began to lead: a job
//! may be kept longer than `retain`; shorter only if there is no room, see `limits`.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::Now;

use super::{JobId, Register};

/// The leader's clock of ended jobs.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    /// Since when an end is known, by the entry that decided it: a job that comes again ends again.
    ended: BTreeMap<(u64, JobId), Now>,
}

impl Retention {
    /// This node does not lead any more.
    pub fn follow(&mut self) {
        self.ended.clear();
    }

    /// Jobs that a leader proposes to forget, given what it has applied.
    pub fn due(&mut self, now: Now, register: &Register) -> Vec<JobId> {
        let known = std::mem::take(&mut self.ended);
        let mut due = Vec::new();
        for (id, job) in register.jobs() {
            let Some(end) = &job.end else { continue };
            let since = *known.get(&(end.index, *id)).unwrap_or(&now);
            self.ended.insert((end.index, *id), since);
            if now.since(since) >= Duration::from_millis(job.options.retain_ms) {
                due.push(*id);
            }
        }
        due
    }
}
