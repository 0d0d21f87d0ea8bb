//! HOT: one call in flight, from its begin to its record.

use std::time::Instant;

use hyperscale_clients::http::{Network, Outcome, Progress};
use hyperscale_stats::{CallSample, Phases};
use hyperscale_types::ErrorKind;
use hyperscale_types::rule::Phase;

use super::Core;

/// A call that has begun. If it is dropped before it is landed, the call was cut off: it is recorded as `cancelled`
/// with what had happened so far, so that the books balance whatever ends a run.
pub(crate) struct Flight<'a, N: Network> {
    core: &'a Core<N>,
    step: usize,
    intended: Option<Instant>,
    pub(crate) progress: Progress,
    landed: bool,
}

impl<'a, N: Network> Flight<'a, N> {
    /// Begins a call of the step with this number.
    pub(crate) fn begin(core: &'a Core<N>, step: usize, intended: Option<Instant>) -> Self {
        Flight { core, step, intended, progress: Progress::default(), landed: false }
    }

    /// Records how the call ended; `error` wins over the outcome's own.
    pub(crate) fn land(mut self, outcome: &Outcome, error: Option<ErrorKind>) -> CallSample {
        self.landed = true;
        let intended = self.intended.unwrap_or(outcome.started);
        let sample = CallSample {
            latency_ns: nanos(intended, outcome.ended),
            service_ns: nanos(outcome.started, outcome.ended),
            phases: phases(outcome),
            error,
            status: outcome.status,
            requests: self.progress.requests(),
            bytes_sent: self.progress.bytes_sent(),
            bytes_received: self.progress.bytes_received(),
        };
        self.core.window.borrow_mut().call(self.step, &sample);
        sample
    }
}

impl<N: Network> Drop for Flight<'_, N> {
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        let now = Instant::now();
        let began = self.progress.started().unwrap_or(now);
        let sample = CallSample {
            latency_ns: nanos(self.intended.unwrap_or(began), now),
            service_ns: nanos(began, now),
            error: Some(ErrorKind::Cancelled),
            requests: self.progress.requests(),
            bytes_sent: self.progress.bytes_sent(),
            bytes_received: self.progress.bytes_received(),
            ..CallSample::default()
        };
        self.core.window.borrow_mut().call(self.step, &sample);
    }
}

fn phases(outcome: &Outcome) -> Phases {
    let took = &outcome.phases;
    let all = [took.connect, took.tls, took.write, took.wait, took.read];
    let mut phases = Phases::default();
    for (phase, time) in Phase::ALL.into_iter().zip(all) {
        if let Some(time) = time {
            phases.set(phase, time.as_nanos() as u64);
        }
    }
    phases
}

fn nanos(from: Instant, to: Instant) -> u64 {
    to.saturating_duration_since(from).as_nanos() as u64
}
