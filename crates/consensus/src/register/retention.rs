//! When an ended job is forgotten: the job's own `retain` after its end, by the leader's clock alone.
//!
//! The log has no time in it, so the leader proposes the forgetting, as ranges of ends. A new leader counts from when it began
//! to lead, and a chunk of sealed jobs is kept as long as its job that is retained longest: a job may be kept longer than
//! `retain`, never shorter.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::Now;

use super::Register;

/// The leader's clock of ended jobs.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    /// Since when an end is known, by the entry that decided it; of a chunk the last one.
    ended: BTreeMap<u64, Now>,
}

impl Retention {
    /// This node does not lead any more.
    pub fn follow(&mut self) {
        self.ended.clear();
    }

    /// Ranges of ends that a leader proposes to forget, given what it has applied.
    pub fn due(&mut self, now: Now, register: &Register) -> Vec<(u64, u64)> {
        let known = std::mem::take(&mut self.ended);
        let mut spans: Vec<Span> = Vec::new();
        for (first, last, retain_ms) in ends(register) {
            let since = *known.get(&last).unwrap_or(&now);
            self.ended.insert(last, since);
            let is_due = now.since(since) >= Duration::from_millis(retain_ms);
            match spans.last_mut() {
                Some(span) if first <= span.last => span.join(last, is_due),
                _ => spans.push(Span { first, last, is_due }),
            }
        }
        let both = |a: &Span, b: &Span| a.is_due && b.is_due;
        let due = spans.chunk_by(both).filter(|run| run[0].is_due);
        due.map(|run| (run[0].first, run[run.len() - 1].last)).collect()
    }
}

/// Ends that overlap: a job that is not sealed may have ended between those of a chunk. They are forgotten together.
struct Span {
    first: u64,
    last: u64,
    is_due: bool,
}

impl Span {
    fn join(&mut self, last: u64, is_due: bool) {
        (self.last, self.is_due) = (self.last.max(last), self.is_due && is_due);
    }
}

/// First and last end, and how long they are retained: of chunks, and of jobs that are not sealed. In the order of the log.
fn ends(register: &Register) -> Vec<(u64, u64, u64)> {
    let chunks = register.chunk_contents().map(|chunk| (chunk.first, chunk.last, chunk.retain_ms));
    let whole = register.ended_jobs().map(|(index, job)| (index, index, job.options.retain_ms));
    let mut ends: Vec<_> = chunks.chain(whole).collect();
    ends.sort_unstable();
    ends
}
