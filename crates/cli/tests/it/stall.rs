//! Coordinated omission: an open model shows a stall of the target for every request that should have started in it;
//! a closed model, whose users wait, shows it for those in flight only.

use hyperscale_stats::result::StepResult;

use crate::support::{PlanFile, Target, assert_witnessed, start_file, step, workflow};

/// The target answers nothing for this long. It begins `BEFORE_S` after its counts were reset.
const STALL: &str = "1500ms,1s";
const STALL_US: f64 = 1_000_000.0;

/// Runs the load through exactly one stall and returns its step.
#[track_caller]
fn through_a_stall(load: &str) -> StepResult {
    let target = Target::start(&["--stall", STALL]);
    let plan = PlanFile::new(&format!(
        "vars: {{ base: \"\" }}\nworkflows:\n  W:\n    load: {load}\n    steps:\n      get: {{ http: \"{{{{ base }}}}/x\" }}\n"
    ));
    let process = start_file(&plan, &target.base, &["--cores", "1"]);
    // The clock of the stalls starts with the load: it begins 1.5 s later and the load ends before the next.
    process.wait_for_note("W: running");
    target.reset();
    let result = process.wait().result(0);
    let step = step(workflow(&result, "W"), "get").clone();
    assert_eq!(step.failed, 0);
    // The reset happened a moment after the first requests.
    assert!(target.seen().at("/x") <= step.requests);
    step
}

#[test]
fn an_open_model_shows_the_stall_for_all_requests_that_should_have_started_in_it() {
    // 200/s for 2.5 s: 500 starts, 200 of them while the target is silent, each waiting for the rest of the stall.
    let step = through_a_stall("{ rate: 200/s, duration: 2500ms, max_vus: 400 }");
    assert_eq!(step.count, 500);
    // The share of starts that waited longer than t is (1 s - t) / 2.5 s: 20 % longer than 0.5 s, 36 % than 0.1 s.
    assert!(step.times.latency_us.p75 > 0.2 * STALL_US, "{:?}", step.times.latency_us);
    assert!(step.times.latency_us.p90 > 0.6 * STALL_US, "{:?}", step.times.latency_us);
    assert!(step.times.latency_us.p99 > 0.9 * STALL_US, "{:?}", step.times.latency_us);
    assert!(
        step.times.latency_us.p50 < 0.1 * STALL_US,
        "half of the starts were outside of it: {:?}",
        step.times.latency_us
    );
}

#[test]
fn an_open_model_that_runs_out_of_virtual_users_shows_the_stall_in_latency_but_not_in_service_time() {
    let step = through_a_stall("{ rate: 200/s, duration: 2500ms, max_vus: 4 }");
    assert_eq!(step.count, 500);
    // Four calls hang in the stall; all others wait for a virtual user. That wait belongs to their latency.
    assert!(step.times.latency_us.p90 > 0.6 * STALL_US, "{:?}", step.times.latency_us);
    assert!(step.times.service_us.p90 < 0.1 * STALL_US, "{:?}", step.times.service_us);
    assert!(step.times.service_us.max > 0.9 * STALL_US, "{:?}", step.times.service_us);
}

#[test]
fn a_closed_model_shows_the_stall_only_for_the_calls_in_flight() {
    let step = through_a_stall("{ vus: 4, duration: 2500ms }");
    assert!(step.count > 400, "{}", step.count);
    assert!(step.times.latency_us.p90 < 0.1 * STALL_US, "{:?}", step.times.latency_us);
    assert!(step.times.latency_us.max > 0.9 * STALL_US, "{:?}", step.times.latency_us);
}

#[test]
fn requests_started_in_a_stall_are_all_seen() {
    let target = Target::start(&["--stall", "400ms,200ms"]);
    let plan = PlanFile::new(
        "vars: { base: \"\" }\nworkflows:\n  W: { rate: 300/s, duration: 1s, steps: { get: { http: \"{{ base }}/x\" } } }\n",
    );
    let result = start_file(&plan, &target.base, &[]).wait().result(0);
    assert_witnessed(&result, &target.seen(), &[("get", "/x")]);
    assert_eq!(step(workflow(&result, "W"), "get").ok, 300);
}
