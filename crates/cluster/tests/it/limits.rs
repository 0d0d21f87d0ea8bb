//! Jobs that are larger than a cluster can decide about.

use std::fmt::Write as _;
use std::time::Duration;

use hyperscale_cluster::manager::{Rejection, Response};
use hyperscale_consensus::register::EndStatus;
use hyperscale_stats::result::Status;

use super::model::{Cluster, manager};

#[test]
fn workflows_of_a_job_that_outgrows_the_log_fail_with_that_reason_and_the_job_ends() {
    let mut plan = "workflows:\n".to_owned();
    for number in 0..40 {
        let set_up = "setup: [ { name: seed, http: 'http://x/' } ]";
        let steps = "steps: { a: { http: 'http://x/' } }";
        writeln!(plan, "  Big{number}: {{ vus: 1, duration: 1s, {set_up}, {steps} }}").unwrap();
    }
    let mut cluster = Cluster::ready(&[2]);
    let (job, _) = cluster.accepted(manager(1), "big", &plan);
    let end = cluster.end_of(job, Duration::from_mins(2));
    let result = cluster.result(&end);
    assert_eq!(end.how.status, EndStatus::Partial, "{:?}", result.reason);
    let (completed, failed): (Vec<_>, Vec<_>) =
        result.workflows.iter().partition(|workflow| workflow.status == Status::Completed);
    assert!(completed.len() > 20 && failed.len() > 5, "{} {}", completed.len(), failed.len());
    assert!(failed.iter().all(|workflow| workflow.reason.as_deref() == Some("limit")));
    let error = result.errors.iter().find(|error| error.kind == "limit").unwrap();
    assert!(error.message.contains("2 MiB in the log"), "{}", error.message);
    assert_eq!(result.totals.requests, cluster.seen[&job]);
}

#[test]
fn plan_beyond_its_limit_is_rejected_with_its_size() {
    let mut cluster = Cluster::ready(&[1]);
    let plan = format!("# {}\n", "x".repeat(1 << 20));
    let request = cluster.submit(manager(1), "long", &plan);
    let Response::Rejected(Rejection::Refused(message)) = cluster.response(request) else { panic!() };
    assert_eq!(message, "the plan has 1048579 bytes; at most 1048576 are allowed");
}
