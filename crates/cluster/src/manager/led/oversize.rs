//! What is larger than the log or a blob takes: a job ends all the same, and says what is missing.

use bytes::Bytes;
use hyperscale_consensus::BLOB_BYTES_MAX;
use hyperscale_consensus::register::{EndStatus, JobId, Limit};
use hyperscale_job::entry::{Entry, Refused};
use hyperscale_job::state::AttemptEnd;
use hyperscale_job::{Failure, FailureKind, SegmentResult};
use hyperscale_stats::result::{RunResult, StepResult};
use hyperscale_types::{Now, Token};

use crate::manager::calls::Purpose;
use crate::manager::{JobMachine, Manager, Output};

impl<M: JobMachine> Manager<M> {
    /// Stores a result that was too large without what most of it is.
    pub(super) fn store_small_result(
        &mut self,
        now: Now,
        (id, token): (JobId, Token),
        entry: Box<Entry>,
        status: EndStatus,
    ) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let bytes = shrunk(drive.core.result_with(&entry));
        self.store(now, Purpose::StoreResult { job: id, token, entry, status }, bytes);
    }

    /// What an attempt left is too large: it failed, and its statistics are left out. Of one that was lost what its windows said is.
    pub(super) fn leave_out(&mut self, now: Now, id: JobId, entry: Box<Entry>, out: &mut Vec<Output>) {
        let Entry::AttemptEnd { attempt, at, end, .. } = *entry else { return };
        if end == AttemptEnd::Lost {
            if let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) {
                drive.core.forget_windows(attempt);
            }
            return self.propose_entry(now, id, entry, out);
        }
        let message = "what it left is larger than 64 MiB: its values or its statistics";
        let failure = Some(Failure::new(FailureKind::Limit, message));
        let result = Box::new(SegmentResult { failure, ..SegmentResult::default() });
        if let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) {
            drive.lefts.remove(&attempt);
        }
        let entry = Entry::AttemptEnd { attempt, end: AttemptEnd::Failed, result, at };
        self.propose_entry(now, id, Box::new(entry), out);
    }
}

/// The bytes of a result without its series, its histograms and its plan; without its workflows if that does not suffice.
fn shrunk(mut result: RunResult) -> Bytes {
    let left_out =
        "the result was larger than 64 MiB: its series, histograms and plan are left out".to_owned();
    result.validity.warnings.push(left_out);
    result.series.clear();
    result.provenance.plan = None;
    let shrink = |step: &mut StepResult| {
        step.times.latency_buckets.clear();
        (step.times.latency_bounds, step.times.latency_failed_bounds) = Default::default();
    };
    for workflow in &mut result.workflows {
        workflow.steps.iter_mut().chain(&mut workflow.setup_steps).for_each(shrink);
    }
    // A result that cannot be written is a bug; the job ends all the same.
    let bytes = serde_json::to_vec(&result).unwrap_or_default();
    if bytes.len() as u64 <= BLOB_BYTES_MAX {
        return bytes.into();
    }
    result.workflows.clear();
    result.errors.clear();
    result.validity.warnings.push("its workflows and errors are left out too".to_owned());
    serde_json::to_vec(&result).unwrap_or_default().into()
}

/// What a limit of the log means for a decision: some pass when other jobs end.
pub(super) fn beyond(limit: Limit) -> Refused {
    let what = match limit {
        Limit::JobsOpen
        | Limit::Workers
        | Limit::Datacenters
        | Limit::OpenBytes
        | Limit::EndedBytes
        | Limit::LogicalBytes => return Refused::Unavailable,
        Limit::Segments => "a job has at most 4096 segments",
        Limit::Workflows => "a job has at most 1000 workflows",
        Limit::Attempts => "a segment has at most 64 attempts",
        Limit::Controls => "the load of the job was changed too often",
        Limit::NameBytes => "the name of a workflow has at most 256 bytes",
        Limit::JobBytes => {
            "a job has at most 2 MiB in the log: it has too many workflows, segments or attempts"
        }
        Limit::Parts | Limit::KeyBytes | Limit::OptionsBytes | Limit::CapabilitiesBytes => {
            "it is larger than the log takes"
        }
    };
    Refused::TooLarge { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_that_pass_are_waited_for_and_others_are_final() {
        for limit in [Limit::OpenBytes, Limit::EndedBytes, Limit::JobsOpen] {
            assert_eq!(beyond(limit), Refused::Unavailable);
        }
        for limit in [Limit::Segments, Limit::Workflows, Limit::Attempts, Limit::JobBytes] {
            assert!(matches!(beyond(limit), Refused::TooLarge { .. }), "{limit:?}");
        }
    }

    #[test]
    fn result_that_is_too_large_is_stored_without_what_most_of_it_is() {
        let text = "workflows:\n  A: { vus: 1, duration: 1s, steps: { a: { http: 'http://x/' } } }\n";
        let bundle = crate::bundle::Bundle {
            name: "t.yaml".to_owned(),
            text: text.into(),
            ..crate::bundle::Bundle::default()
        };
        let plan = std::sync::Arc::new(bundle.load().unwrap().plan);
        let core = hyperscale_job::JobCore::new(plan, hyperscale_job::JobFacts::default());
        let mut result = core.view().result;
        // As many errors as no blob holds.
        let error = hyperscale_stats::result::ErrorResult {
            datacenter: None,
            workflow: "A".parse().unwrap(),
            step: None,
            kind: "engine".to_owned(),
            message: "x".repeat(1 << 20),
            count: 1,
        };
        result.errors = vec![error; 65];
        let bytes = shrunk(result);
        assert!(bytes.len() as u64 <= BLOB_BYTES_MAX);
        let read: RunResult = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((read.errors.len(), read.validity.warnings.len()), (0, 2));
    }
}
