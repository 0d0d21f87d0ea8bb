//! Ctrl-C: once lets running iterations finish, twice cuts everything off; both report everything.

use std::process::Command;

use hyperscale_stats::result::Status;

use crate::support::{
    PlanFile, Process, Target, assert_witnessed, errors, hyperscale, run_plan, start, start_file, step,
    workflow,
};

/// Iterations of two calls, each 200 ms: whoever is interrupted is in the middle of something.
const SLOW: &str = r#"
vars: { base: "" }
workflows:
  Slow:
    vus: 6
    duration: 60s
    ramp: 100ms
    steps:
      first: { http: "{{ base }}/delay/200" }
      second: { http: "{{ base }}/delay/201" }
"#;

const STEPS: [(&str, &str); 2] = [("first", "/delay/200"), ("second", "/delay/201")];

#[test]
fn first_ctrl_c_lets_iterations_finish_and_reports() {
    for signal in ["INT", "TERM"] {
        let target = Target::start(&[]);
        let plan = PlanFile::new(SLOW);
        let process = start_file(&plan, &target.base, &[]);
        target.wait_for_requests(7);
        process.signal(signal);
        let outcome = process.wait();
        let result = outcome.result(97);
        outcome.assert_told(97, &["no new iterations", "Ctrl-C again"]);
        assert_eq!((result.status, result.reason.as_deref()), (Status::Cancelled, Some("interrupted")));
        assert_witnessed(&result, &target.seen(), &STEPS);
        let slow = workflow(&result, "Slow");
        assert_eq!(slow.iterations.interrupted, 0, "all iterations finished: {:?}", slow.iterations);
        assert_eq!(step(slow, "first").count, step(slow, "second").count, "all steps of all iterations ran");
        assert_eq!(result.totals.failed, 0);
    }
}

/// Starts the slow plan with SIGHUP as `how` says, which does not depend on who runs the tests.
fn start_minding_hangups(how: &str, plan: &PlanFile, base: &str, args: &[&str]) -> Process {
    let program = hyperscale();
    let mut command = Command::new("env");
    command.arg(how).arg(program.get_program()).env("NO_COLOR", "1");
    command.args(["run", &plan.path(), "--json", "--var", &format!("base={base}")]).args(args);
    Process::spawn(&mut command)
}

#[test]
fn a_closed_terminal_ends_the_run_gracefully_with_reports_and_recording() {
    let (target, plan) = (Target::start(&[]), PlanFile::new(SLOW));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let args = ["--report", &file("out.html"), "--record", &file("run.jsonl")];
    let process = start_minding_hangups("--default-signal=HUP", &plan, &target.base, &args);
    target.wait_for_requests(7);
    // The kernel says it, and the shell says it again.
    process.signal("HUP");
    process.wait_for_note("no new iterations");
    process.signal("HUP");
    let result = process.wait().result(97);
    assert_eq!((result.status, result.reason.as_deref()), (Status::Cancelled, Some("interrupted")));
    assert_eq!(workflow(&result, "Slow").iterations.interrupted, 0, "iterations could finish");
    assert_witnessed(&result, &target.seen(), &STEPS);
    let mut left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["out.html", "run.jsonl"], "no temporary file is left");
    assert!(std::fs::read_to_string(file("run.jsonl")).unwrap().contains("\"type\":\"finished\""));
}

#[test]
fn a_run_under_nohup_does_not_mind_a_closed_terminal() {
    let (target, plan) = (Target::start(&[]), PlanFile::new(SLOW));
    let process = start_minding_hangups("--ignore-signal=HUP", &plan, &target.base, &[]);
    target.wait_for_requests(7);
    process.signal("HUP");
    // Iterations of two calls: those that run may finish, later ones are new.
    target.wait_for_requests(target.seen().requests + 24);
    process.signal("INT");
    let result = process.wait().result(97);
    assert_eq!(workflow(&result, "Slow").iterations.interrupted, 0, "one wish to stop, not two");
}

#[test]
fn second_ctrl_c_cuts_everything_off_and_reports() {
    let target = Target::start(&[]);
    let plan = PlanFile::new(&SLOW.replace("/delay/200", "/delay/60000"));
    let process = start_file(&plan, &target.base, &[]);
    target.wait_for_requests(6);
    process.signal("INT");
    process.wait_for_note("no new iterations");
    process.signal("INT");
    let outcome = process.wait();
    let result = outcome.result(97);
    outcome.assert_told(97, &["stopping at once"]);
    assert_witnessed(&result, &target.seen(), &[("first", "/delay/60000"), ("second", "/delay/201")]);
    let slow = workflow(&result, "Slow");
    assert_eq!(slow.iterations.interrupted, 6, "{:?}", slow.iterations);
    assert_eq!(errors(step(slow, "first"), "cancelled"), 6);
    assert_eq!(step(slow, "second").count, 0);
}

#[test]
fn iterations_beyond_graceful_stop_are_interrupted() {
    let target = Target::start(&[]);
    let plan = r#"
vars: { base: "" }
workflows:
  Slow:
    vus: 3
    duration: 200ms
    graceful_stop: 100ms
    steps:
      hang: { http: "{{ base }}/delay/60000" }
"#;
    let result = run_plan(&target, plan, &[]).result(4);
    assert_witnessed(&result, &target.seen(), &[("hang", "/delay/60000")]);
    let slow = workflow(&result, "Slow");
    assert_eq!(slow.iterations.interrupted, 3);
    assert_eq!(errors(step(slow, "hang"), "cancelled"), 3);
    let told: Vec<_> = result.errors.iter().map(|error| (error.message.as_str(), error.count)).collect();
    assert_eq!(told, [("cut off by the end of the run", 3)]);
}

#[test]
fn a_rate_beyond_any_machine_can_be_interrupted() {
    let target = Target::start(&[]);
    let url = format!("{}/x", target.base);
    let process = start(&["run", &url, "--json", "-r", "20000000/s", "-d", "10m", "--cores", "1"]);
    target.wait_for_requests(1);
    process.signal("INT");
    let result = process.wait().result(97);
    assert_witnessed(&result, &target.seen(), &[("request", "/x")]);
    assert!(result.workflows[0].iterations.dropped > 0, "{:?}", result.workflows[0].iterations);
}

#[test]
fn nobody_waits_for_a_think_time_after_which_nothing_follows() {
    let target = Target::start(&[]);
    let plan = PlanFile::new(
        r#"
vars: { base: "" }
workflows:
  Idle:
    vus: 3
    duration: 100ms
    ramp: 0s
    graceful_stop: 60s
    steps:
      ok: { http: "{{ base }}/ok", think: 1h }
  Failing:
    vus: 3
    duration: 60s
    ramp: 0s
    graceful_stop: 60s
    steps:
      no: { http: "{{ base }}/status/500", think: 1h }
      after: { http: "{{ base }}/after" }
"#,
    );
    let process = start_file(&plan, &target.base, &["--cores", "2"]);
    target.wait_for_requests(6);
    process.signal("INT");
    let result = process.wait().result(97);
    assert_witnessed(&result, &target.seen(), &[("ok", "/ok"), ("no", "/status/500"), ("after", "/after")]);
    let (idle, failing) = (workflow(&result, "Idle").iterations, workflow(&result, "Failing").iterations);
    assert_eq!((idle.completed, idle.interrupted), (3, 0), "{idle:?}");
    assert_eq!((failing.failed, failing.interrupted), (3, 0), "{failing:?}");
    assert!(result.elapsed_s < 50.0, "it did not wait for graceful_stop");
}

#[test]
fn open_starts_in_the_queue_are_dropped_when_interrupted() {
    let target = Target::start(&[]);
    let plan = PlanFile::new(
        r#"
vars: { base: "" }
workflows:
  Open:
    load: { rate: 100/s, duration: 60s, max_vus: 2 }
    graceful_stop: 1s
    steps:
      slow: { http: "{{ base }}/delay/300" }
"#,
    );
    let process = start_file(&plan, &target.base, &[]);
    target.wait_for_requests(4);
    process.signal("INT");
    let result = process.wait().result(97);
    assert_witnessed(&result, &target.seen(), &[("slow", "/delay/300")]);
    let iterations = workflow(&result, "Open").iterations;
    assert!(iterations.dropped > 0, "{iterations:?}");
}

/// Interrupts a run whose only request so far hangs, twice, and returns what the process left behind.
fn interrupt_twice_while_hanging(workflow: &str) -> (hyperscale_stats::result::RunResult, u64) {
    let target = Target::start(&[]);
    let plan = PlanFile::new(&format!(
        "vars: {{ base: \"\" }}\nworkflows:\n  W:\n    vus: 1\n    iterations: 1\n{workflow}"
    ));
    let process = start_file(&plan, &target.base, &["--cores", "1"]);
    target.wait_for_requests(1);
    process.signal("INT");
    process.wait_for_note("no new iterations");
    process.signal("INT");
    let outcome = process.wait();
    let result = outcome.result(97);
    assert!(result.elapsed_s < 20.0, "at once, not after the time-out of the call: {outcome}");
    (result, target.seen().requests)
}

#[test]
fn a_set_up_that_hangs_can_be_interrupted() {
    let steps = r#"
    setup: { hang: { http: "{{ base }}/delay/60000" } }
    steps: { get: { http: "{{ base }}/x" } }
"#;
    let (result, seen) = interrupt_twice_while_hanging(steps);
    assert_eq!(seen, 1);
    let hang = step(workflow(&result, "W"), "hang");
    assert_eq!((hang.requests, errors(hang, "cancelled")), (1, 1));
}

#[test]
fn a_preparation_that_hangs_can_be_interrupted() {
    let steps = r#"
    steps:
      get:
        http:
          url: "{{ base }}/x"
          auth: { oauth2: { token_url: "{{ base }}/delay/60000", client_id: me, client_secret: secret } }
"#;
    let (result, seen) = interrupt_twice_while_hanging(steps);
    assert_eq!((seen, result.totals.requests), (1, 0));
}

#[test]
fn a_tear_down_that_hangs_can_be_cut_off() {
    let steps = r#"
    steps: { get: { http: "{{ base }}/x" } }
    teardown: { hang: { http: "{{ base }}/delay/60000" } }
"#;
    let target = Target::start(&[]);
    let plan = PlanFile::new(&format!(
        "vars: {{ base: \"\" }}\nworkflows:\n  W:\n    vus: 1\n    iterations: 1\n{steps}"
    ));
    let process = start_file(&plan, &target.base, &["--cores", "1"]);
    target.wait_for_requests(2);
    process.signal("INT");
    process.wait_for_note("no new iterations");
    process.signal("INT");
    let outcome = process.wait();
    let result = outcome.result(97);
    assert!(result.elapsed_s < 20.0, "{outcome}");
    assert_witnessed(&result, &target.seen(), &[("get", "/x"), ("hang", "/delay/60000")]);
    assert_eq!(errors(step(workflow(&result, "W"), "hang"), "cancelled"), 1);
}
