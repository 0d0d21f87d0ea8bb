//! A target that misbehaves: every call is counted once, with the right kind, and never repeated silently.

use crate::support::{
    PlanFile, Seen, Target, assert_books, assert_witnessed, errors, run_plan, start_file, step, workflow,
};
use hyperscale_stats::result::{RunResult, StepResult};

/// 20 iterations of one step on this path, with `more` keys of `http`.
fn one_step(path: &str, more: &str) -> String {
    format!(
        r#"
vars: {{ base: "" }}
workflows:
  W:
    vus: 4
    iterations: 20
    steps:
      good: {{ http: "{{{{ base }}}}/good" }}
      bad: {{ http: {{ url: "{{{{ base }}}}{path}"{more} }} }}
"#
    )
}

/// Runs it; the good step succeeds every time, the bad one is what the test is about.
#[track_caller]
fn run_bad(path: &str, more: &str) -> (RunResult, Seen) {
    let target = Target::start(&[]);
    let result = run_plan(&target, &one_step(path, more), &["--cores", "1"]).result(0);
    let seen = target.seen();
    assert_books(&result);
    assert_eq!(step(workflow(&result, "W"), "good").ok, 20);
    assert_eq!(workflow(&result, "W").iterations.failed, 20);
    (result, seen)
}

fn bad(result: &RunResult) -> &StepResult {
    step(workflow(result, "W"), "bad")
}

/// All calls failed with this one kind, and every request was seen.
#[track_caller]
fn assert_all_failed(path: &str, more: &str, kind: &str) {
    let (result, seen) = run_bad(path, more);
    let bad = bad(&result);
    assert_eq!((bad.count, errors(bad, kind)), (20, 20), "{:?}", bad.errors);
    assert_eq!(bad.requests, seen.at(path.split('?').next().unwrap()));
    assert_eq!(bad.requests, 20, "a request is never repeated silently");
}

#[test]
fn reset_is_kind_reset() {
    assert_all_failed("/fault/reset", "", "reset");
}

#[test]
fn close_before_the_first_byte_is_kind_closed() {
    assert_all_failed("/fault/close", "", "closed");
}

#[test]
fn close_mid_body_is_kind_closed() {
    assert_all_failed("/fault/close-mid-body", "", "closed");
}

#[test]
fn garbage_is_kind_protocol() {
    assert_all_failed("/fault/garbage", "", "protocol");
}

#[test]
fn an_endless_head_is_kind_protocol() {
    assert_all_failed("/fault/huge-head", "", "protocol");
}

#[test]
fn a_stalled_answer_is_kind_timeout() {
    assert_all_failed("/fault/stall?ms=60000", ", timeout: 50ms", "timeout");
}

#[test]
fn a_head_that_comes_byte_by_byte_runs_into_the_timeout() {
    assert_all_failed("/fault/slow-head?ms=100", ", timeout: 150ms", "timeout");
}

#[test]
fn a_body_beyond_the_limit_is_kind_too_large() {
    assert_all_failed("/bytes/100000", ", max_body: 1KiB", "too_large");
}

#[test]
fn an_unexpected_status_is_kind_status() {
    assert_all_failed("/status/503", "", "status");
}

#[test]
fn bodies_that_end_with_the_connection_are_ok() {
    for path in ["/fault/no-length", "/early-hints"] {
        let target = Target::start(&[]);
        let result = run_plan(&target, &one_step(path, ""), &[]).result(0);
        assert_witnessed(&result, &target.seen(), &[("good", "/good"), ("bad", path)]);
        assert_eq!(result.totals.failed, 0, "{path}");
    }
}

#[test]
fn injected_errors_are_counted_as_the_target_sent_them() {
    let target = Target::start(&["--error-rate", "30%", "--seed", "3"]);
    let plan = r#"
vars: { base: "" }
workflows:
  W: { vus: 4, iterations: 200, steps: { get: { http: "{{ base }}/x" } } }
"#;
    let result = run_plan(&target, plan, &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("get", "/x")]);
    let get = step(workflow(&result, "W"), "get");
    assert!(errors(get, "status") > 0);
    assert_eq!(get.status["500"], errors(get, "status"));
    assert_eq!(get.status["200"], get.ok);
}

#[test]
fn connections_beyond_the_targets_limit_fail_as_reset_and_the_rest_goes_on() {
    let target = Target::start(&["--max-connections", "2"]);
    let plan = r#"
vars: { base: "" }
workflows:
  W: { vus: 6, duration: 400ms, ramp: 50ms, steps: { get: { http: "{{ base }}/x" } } }
"#;
    let result = run_plan(&target, plan, &["--cores", "1"]).result(0);
    assert_books(&result);
    let (seen, get) = (target.seen(), step(workflow(&result, "W"), "get"));
    assert!(seen.connections.refused > 0);
    assert_eq!(get.ok, seen.at("/x"), "every request that was let in was answered");
    assert!(seen.requests <= get.requests && get.requests <= get.count, "{seen:?} {get:?}");
    assert_eq!(get.failed, errors(get, "reset") + errors(get, "closed"), "{:?}", get.errors);
}

#[test]
fn a_target_that_dies_mid_run_is_reset_closed_or_refused_from_then_on() {
    let mut target = Target::start(&[]);
    let plan = PlanFile::new(
        r#"
vars: { base: "" }
workflows:
  W: { vus: 4, duration: 1500ms, steps: { get: { http: "{{ base }}/x", think: 2ms } } }
"#,
    );
    let process = start_file(&plan, &target.base, &[]);
    target.wait_for_requests(100);
    let seen_before = target.seen().requests;
    target.kill();
    let result = process.wait().result(0);
    assert_books(&result);
    let get = step(workflow(&result, "W"), "get");
    assert!(get.ok <= get.requests && seen_before <= get.requests && get.requests <= get.count);
    assert!(errors(get, "connect_refused") > 0, "{:?}", get.errors);
    let kinds = ["connect_refused", "reset", "closed"].map(|kind| errors(get, kind));
    assert_eq!(get.failed, kinds.iter().sum::<u64>(), "{:?}", get.errors);
}

#[test]
fn a_port_that_nobody_listens_on_is_unreachable() {
    let mut target = Target::start(&[]);
    target.kill();
    let outcome = run_plan(&target, &one_step("/x", ""), &[]);
    let result = outcome.result(4);
    assert_eq!(result.reason.as_deref(), Some("unreachable"));
    assert_books(&result);
    let good = step(workflow(&result, "W"), "good");
    assert_eq!((good.requests, errors(good, "connect_refused")), (0, good.count));
    assert_eq!(bad(&result).skipped, 20);
    assert!(result.errors.iter().any(|error| error.message.contains("refused")), "{:?}", result.errors);
}

#[test]
fn stalls_of_the_target_lose_no_request() {
    let target = Target::start(&["--stall", "300ms,100ms"]);
    let plan = r#"
vars: { base: "" }
workflows:
  Closed: { vus: 3, duration: 700ms, steps: { a: { http: "{{ base }}/a" } } }
  Open: { rate: 100/s, duration: 700ms, steps: { b: { http: "{{ base }}/b" } } }
"#;
    let result = run_plan(&target, plan, &[]).result(0);
    assert_witnessed(&result, &target.seen(), &[("a", "/a"), ("b", "/b")]);
    assert_eq!(result.totals.failed, 0);
}
