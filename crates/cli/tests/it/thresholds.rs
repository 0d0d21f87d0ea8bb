//! Thresholds: what they do to exit code, status and the run itself.

use hyperscale_stats::result::Status;

use crate::support::{PlanFile, Target, assert_witnessed, errors, run, run_plan, start_file, step, workflow};

fn plan(thresholds: &str) -> String {
    format!(
        r#"
vars: {{ base: "" }}
workflows:
  W:
    vus: 2
    iterations: 20
    steps:
      get: {{ http: "{{{{ base }}}}/x", check: {{ status: 200 }} }}
      no: {{ when: "false", http: "{{{{ base }}}}/no" }}
thresholds:
{thresholds}
"#
    )
}

#[test]
fn thresholds_that_hold_change_nothing() {
    let target = Target::start(&[]);
    let rules = "  - W.get.latency.p99 < 30s\n  - W.failed.rate < 1%\n  - W.completed == 20\n  - W.get.check.status.rate > 99%\n  - W.rate > 0/s\n";
    let result = run_plan(&target, &plan(rules), &[]).result(0);
    assert!(result.thresholds_passed);
    assert_eq!(result.thresholds.len(), 5);
    assert!(result.thresholds.iter().all(|threshold| threshold.passed), "{:?}", result.thresholds);
    assert_eq!(result.thresholds[2].value, Some(20.0));
}

#[test]
fn a_threshold_that_fails_is_exit_code_99_and_the_run_stays_completed() {
    let target = Target::start(&[]);
    let result = run_plan(&target, &plan("  - W.completed > 20\n  - W.failed.count == 0\n"), &[]).result(99);
    assert_eq!(result.status, Status::Completed);
    assert!(!result.thresholds_passed);
    assert_eq!(result.thresholds.iter().map(|t| t.passed).collect::<Vec<_>>(), [false, true]);
    assert_witnessed(&result, &target.seen(), &[("get", "/x"), ("no", "/no")]);
}

#[test]
fn a_threshold_without_samples_fails_unless_it_says_otherwise() {
    let target = Target::start(&[]);
    let result = run_plan(&target, &plan("  - W.no.latency.p99 < 1s\n"), &[]).result(99);
    let threshold = &result.thresholds[0];
    assert_eq!((threshold.value, threshold.reason.as_deref()), (None, Some("no_samples")));
    let rule = "  - { rule: \"W.no.latency.p99 < 1s\", allow_empty: true }\n";
    run_plan(&target, &plan(rule), &[]).result(0);
}

#[test]
fn a_threshold_that_aborts_cancels_the_run() {
    let target = Target::start(&["--error-rate", "100%"]);
    let plan = r#"
vars: { base: "" }
workflows:
  W: { vus: 2, duration: 60s, steps: { get: { http: "{{ base }}/x", think: 5ms } } }
  Later: { depends: [W], vus: 1, iterations: 1, steps: { later: { http: "{{ base }}/later" } } }
thresholds:
  - { rule: "W.failed.rate < 1%", abort: true, after: 500ms }
"#;
    let outcome = run_plan(&target, plan, &[]);
    let result = outcome.result(99);
    outcome.assert_told(99, &["threshold failed", "W.failed.rate < 1%"]);
    assert_eq!((result.status, result.reason.as_deref()), (Status::Cancelled, Some("threshold")));
    assert!(result.elapsed_s < 30.0, "it did not run to its end");
    assert_witnessed(&result, &target.seen(), &[("get", "/x"), ("later", "/later")]);
    assert_eq!(target.seen().at("/later"), 0);
}

#[test]
fn a_failed_threshold_wins_over_a_failed_and_over_an_interrupted_job() {
    let target = Target::start(&[]);
    let failed = r#"
vars: { base: "" }
workflows:
  W: { vus: 1, iterations: 1, setup: { s: { http: "{{ base }}/status/500" } }, steps: { a: { http: "{{ base }}/a" } } }
  Alone: { vus: 1, iterations: 1, steps: { b: { http: "{{ base }}/b" } } }
thresholds:
  - Alone.completed > 1
"#;
    assert_eq!(run_plan(&target, failed, &[]).result(99).status, Status::Partial);
    target.reset();
    let endless = PlanFile::new(
        r#"
vars: { base: "" }
workflows:
  W: { vus: 1, duration: 10m, steps: { a: { http: "{{ base }}/a", think: 10ms } } }
thresholds:
  - W.completed > 1000000
"#,
    );
    let process = start_file(&endless, &target.base, &[]);
    target.wait_for_requests(3);
    process.signal("INT");
    assert_eq!(process.wait().result(99).status, Status::Cancelled);
}

#[test]
fn calls_in_flight_get_five_seconds_when_a_threshold_aborts() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Slow:
    vus: 2
    iterations_per_vu: 1
    ramp: 0s
    steps:
      wait: { http: "{{ base }}/delay/{{ 3000 if vu.id == 1 else 60000 }}" }
      never: { http: "{{ base }}/never" }
  Bad: { vus: 1, duration: 60s, steps: { bad: { http: "{{ base }}/status/500", think: 20ms } } }
thresholds:
  - { rule: "Bad.failed.rate < 1%", abort: true, after: 1s }
"#;
    let result = run_plan(&target, plan, &["--cores", "2"]).result(99);
    let wait = step(workflow(&result, "Slow"), "wait");
    assert_eq!((wait.ok, errors(wait, "cancelled")), (1, 1), "one ended within five seconds");
    assert_eq!(target.seen().at("/never"), 0, "no further step starts");
    assert!(result.elapsed_s >= 6.0, "one second of load, five for the call in flight: {}", result.elapsed_s);
    assert!(result.elapsed_s < 50.0, "it did not wait for the call");
}

#[test]
fn a_threshold_does_not_abort_before_its_workflow_has_run_for_so_long() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  First: { vus: 1, duration: 1500ms, steps: { a: { http: "{{ base }}/a", think: 100ms } } }
  Bad:
    depends: [First]
    start_after: 500ms
    vus: 1
    duration: 60s
    steps: { b: { http: "{{ base }}/status/500", think: 20ms } }
thresholds:
  - { rule: "Bad.failed.rate < 1%", abort: true, after: 2s }
"#;
    let result = run_plan(&target, plan, &[]).result(99);
    assert_eq!((result.status, result.reason.as_deref()), (Status::Cancelled, Some("threshold")));
    let bad = workflow(&result, "Bad");
    assert!(bad.elapsed_s >= 2.0, "aborted after {} s of its load", bad.elapsed_s);
    assert!(bad.elapsed_s < 50.0, "it did not run to its end");
    assert!(result.elapsed_s >= 4.0, "`start_after` and the first workflow lie before: {}", result.elapsed_s);
}

#[test]
fn a_latency_that_holds_while_many_calls_failed_carries_a_note() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  W:
    vus: 1
    iterations: 20
    steps: { get: { http: "{{ base }}/{{ 'status/500' if vu.iteration % 2 == 0 else 'x' }}" } }
thresholds:
  - W.latency.p95 < 30s
  - W.latency.count == 10
  - W.latency_failed.count == 10
  - W.get.latency_all.count == 20
  - W.latency_all.p95 < 30s
"#;
    let outcome = run_plan(&target, plan, &[]);
    let result = outcome.result(0);
    let notes: Vec<bool> = result.thresholds.iter().map(|threshold| threshold.note.is_some()).collect();
    assert_eq!(notes, [true, true, false, false, false]);
    let note = result.thresholds[0].note.as_deref().unwrap_or_default();
    assert!(note.starts_with("50 % of the calls failed"), "{note}");
    let step = step(workflow(&result, "W"), "get");
    let counts =
        [step.times.latency_us, step.times.latency_failed_us, step.times.latency_all_us].map(|t| t.count);
    assert_eq!(counts, [10, 10, 20]);
}

#[test]
fn rules_of_the_command_line_join_those_of_the_plan() {
    let target = Target::start(&[]);
    let rules = ["--threshold", "W.get.latency.p99 < 30s", "--threshold", "failed.count > 0"];
    let result = run_plan(&target, &plan("  - W.completed == 20\n"), &rules).result(99);
    let passed: Vec<(&str, bool)> =
        result.thresholds.iter().map(|threshold| (threshold.rule.as_str(), threshold.passed)).collect();
    let wanted =
        [("W.completed == 20", true), ("W.get.latency.p99 < 30s", true), ("failed.count > 0", false)];
    assert_eq!(passed, wanted);
    let url = run(&["run", &target.base, "-n", "1", "--json", "--threshold", "latency.p99 < 30s"]).result(0);
    assert_eq!(url.thresholds.len(), 1);
}

#[test]
fn rule_of_the_command_line_that_is_wrong_is_named_and_nothing_runs() {
    let target = Target::start(&[]);
    let outcome =
        run_plan(&target, &plan(""), &["--threshold", "V.latency.p99 < 1s", "--threshold", "nonsense"]);
    outcome.assert_told(
        2,
        &["--threshold `V.latency.p99 < 1s`: there is no workflow `V`", "--threshold `nonsense`"],
    );
    assert_eq!(target.seen().requests, 0);
}
