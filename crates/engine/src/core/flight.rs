//! HOT: one call in flight, from its begin to its record.

use hyperscale_clients::clock;
use hyperscale_clients::{Outcome, Progress};
use hyperscale_stats::CallSample;
use hyperscale_types::{ErrorKind, Now};

use super::Core;

/// What people are told about calls that were cut off by the end; who cuts them off for another reason says so itself.
const CUT_OFF: &str = "cut off by the end of the run";

/// A call that has begun. If it is dropped before it is landed, the call was cut off: it is recorded with what had
/// happened so far, so that the books balance whatever ends a run: as `cancelled`, or as [`Core::cut_as`] says.
pub(crate) struct Flight<'a> {
    core: &'a Core,
    step: usize,
    intended: Option<Now>,
    pub(crate) progress: Progress,
    landed: bool,
}

impl<'a> Flight<'a> {
    /// Begins a call of the step with this number.
    pub(crate) fn begin(core: &'a Core, step: usize, intended: Option<Now>) -> Self {
        Flight { core, step, intended, progress: Progress::default(), landed: false }
    }

    /// Records how the call ended; `error` wins over the outcome's own.
    pub(crate) fn land(mut self, outcome: &Outcome, error: Option<ErrorKind>) -> CallSample {
        self.landed = true;
        let intended = self.intended.unwrap_or(outcome.started);
        let sample = CallSample {
            latency_ns: outcome.ended.nanos_since(intended),
            service_ns: outcome.ended.nanos_since(outcome.started),
            phases: outcome.phases,
            error,
            answered: outcome.answered,
            status: outcome.status.unwrap_or_default(),
            requests: self.progress.requests(),
            bytes_sent: self.progress.bytes_sent(),
            bytes_received: self.progress.bytes_received(),
        };
        let mut window = self.core.window.borrow_mut();
        window.call(self.step, &sample);
        if self.progress.retries() > 0 {
            window.retries(self.step, self.progress.retries());
        }
        sample
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        if self.landed {
            return;
        }
        let now = clock::now();
        let began = self.progress.started().unwrap_or(now);
        let error = self.core.cut_as.get();
        let sample = CallSample {
            latency_ns: now.nanos_since(self.intended.unwrap_or(began)),
            service_ns: now.nanos_since(began),
            error: Some(error),
            requests: self.progress.requests(),
            bytes_sent: self.progress.bytes_sent(),
            bytes_received: self.progress.bytes_received(),
            ..CallSample::default()
        };
        let mut window = self.core.window.borrow_mut();
        window.call(self.step, &sample);
        if self.progress.retries() > 0 {
            window.retries(self.step, self.progress.retries());
        }
        if error == ErrorKind::Cancelled {
            window.error_message(self.step, error, CUT_OFF);
        }
    }
}
