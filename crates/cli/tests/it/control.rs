//! `control`, `jobs` and `status`: a run is changed from outside while it runs, and the witness sees it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use hyperscale_engine::Event;
use hyperscale_stats::result::{Changed, ChangedBy, RunResult, Status};
use serde_json::Value;

use crate::commands::{measured, shown, snapshot};
use crate::home::Home;
use crate::support::{Outcome, PlanFile, Target, assert_books, assert_witnessed, wait_until};

fn status(home: &Home) -> RunResult {
    home.run(&["status", "--json"]).result(0)
}

/// Waits for a full second that began after `after_s` and in which nothing ended; returns when it was asked.
fn wait_for_silence(home: &Home, after_s: f64) -> f64 {
    wait_until("a second without calls", || {
        let result = status(home);
        let point = result.series.last()?;
        (point.t_s >= after_s && point.rate == 0.0).then_some(result.elapsed_s)
    })
}

fn only_job(home: &Home) -> Value {
    let jobs: Value = serde_json::from_str(&home.run(&["jobs", "--json"]).stdout).unwrap();
    assert_eq!(jobs["next"], Value::Null);
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "{jobs}");
    jobs["jobs"][0].clone()
}

#[track_caller]
fn assert_done(outcome: &Outcome, said: &str) {
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(outcome.stdout.contains(said), "no {said:?}: {outcome}");
}

#[test]
fn pause_stops_requests_resume_goes_on_and_cancel_ends_with_full_books() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let run = home.start(&["run", &target.base, "-c", "4", "-d", "90s", "--json"]);
    target.wait_for_requests(50);
    assert_done(&home.run(&["control", "--pause"]), "paused");
    assert_eq!(only_job(&home)["paused"], true);
    let paused_s = status(&home).elapsed_s;
    let silent_s = wait_for_silence(&home, paused_s);
    let seen = target.seen().requests;
    wait_for_silence(&home, silent_s);
    assert_eq!(target.seen().requests, seen, "nothing was sent while the run was paused");
    assert_done(&home.run(&["control", "--pause"]), "it was so already");
    assert_done(&home.run(&["control", "--resume"]), "resumed");
    target.wait_for_requests(seen + 50);
    assert_done(&home.run(&["control", "--cancel"]), "stopping");
    let outcome = run.wait();
    let result = outcome.result(97);
    outcome.assert_told(97, &["job run-", "paused", "resumed", "no new iterations"]);
    assert_eq!((result.status, result.reason.as_deref()), (Status::Cancelled, Some("interrupted")));
    let changes: Vec<_> = result.provenance.changes.iter().map(|change| (change.by, change.what)).collect();
    let by = ChangedBy::Control;
    assert_eq!(changes, [(by, Changed::Paused), (by, Changed::Resumed)]);
    assert_witnessed(&result, &target.seen(), &[]);
    assert_eq!(result.totals.failed, 0);
}

#[test]
fn changed_rate_is_what_the_witness_sees() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let run = home.start(&["run", &target.base, "-r", "20/s", "-d", "6s", "--json"]);
    target.wait_for_requests(5);
    assert_done(&home.run(&["control", "--rate", "400/s"]), "rate 20/s → 400/s");
    let result = run.wait().result(0);
    let change = &result.provenance.changes[0];
    assert_eq!(change.what, Changed::Rate { from: 20.0, to: 400.0 });
    // On the clock of the load, whose begin is a little later than that of the run.
    let expected = 20.0 * change.t_s + 400.0 * (6.0 - change.t_s);
    let scheduled = result.workflows[0].iterations.scheduled.unwrap();
    let begin_s = result.elapsed_s - result.workflows[0].elapsed_s;
    let more = scheduled as f64 - expected;
    assert!((-1.5..=1.5 + 380.0 * begin_s).contains(&more), "{scheduled}, not {expected} + 380 × {begin_s}");
    assert_witnessed(&result, &target.seen(), &[]);
}

#[test]
fn rate_of_zero_can_be_raised_again_before_the_end() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let run = home.start(&["run", &target.base, "-r", "50/s", "-d", "90s", "--json"]);
    target.wait_for_requests(5);
    assert_done(&home.run(&["control", "--rate", "0/s"]), "rate 50/s → 0/s");
    let zero_s = status(&home).elapsed_s;
    wait_for_silence(&home, zero_s);
    let seen = target.seen().requests;
    assert_done(&home.run(&["control", "--rate", "100"]), "rate 0/s → 100/s");
    target.wait_for_requests(seen + 20);
    assert_done(&home.run(&["control", "--cancel"]), "stopping");
    assert_witnessed(&run.wait().result(97), &target.seen(), &[]);
}

#[test]
fn virtual_users_come_and_go() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let url = format!("{}/delay/10", target.base);
    let run = home.start(&["run", &url, "-c", "2", "-d", "90s", "--json"]);
    target.wait_for_requests(5);
    assert_done(&home.run(&["control", "--vus", "40"]), "2 → 40 virtual users");
    // Every virtual user has a connection of its own.
    wait_until("40 connections", || (target.seen().connections.opened >= 40).then_some(()));
    assert_eq!(only_job(&home)["workflows"][0]["target"]["vus"], 40);
    assert_done(&home.run(&["control", "--vus", "1", "--json"]), r#""what":"vus","from":40,"to":1"#);
    wait_until("a second with one virtual user", || {
        status(&home).series.last().filter(|point| point.vus == 1).map(|_| ())
    });
    assert_done(&home.run(&["control", "--cancel"]), "stopping");
    let result = run.wait().result(97);
    assert_eq!(target.seen().connections.opened, 40, "nobody else connected");
    assert_books(&result);
}

#[test]
fn virtual_users_beyond_the_plan_have_numbers_of_their_own() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let plan = PlanFile::new(
        r#"
vars: { base: "" }
workflows:
  First: { vus: 2, duration: 90s, ramp: 0s, steps: { get: { http: "{{ base }}/first/{{ vu.id }}", think: 5ms } } }
  Second: { vus: 2, duration: 90s, ramp: 0s, steps: { get: { http: "{{ base }}/second/{{ vu.id }}", think: 5ms } } }
"#,
    );
    let base = format!("base={}", target.base);
    let run = home.start(&["run", &plan.path(), "--var", &base, "--cores", "2", "--json"]);
    let paths = |of: &str| -> Vec<u32> {
        let seen = target.seen();
        let mut ids: Vec<u32> =
            seen.by_path.keys().filter_map(|path| path.strip_prefix(of)?.parse().ok()).collect();
        ids.sort_unstable();
        ids
    };
    wait_until("all planned ones", || (paths("/first/").len() + paths("/second/").len() == 4).then_some(()));
    assert_done(&home.run(&["control", "--workflow", "First", "--vus", "5"]), "2 → 5 virtual users");
    assert_done(&home.run(&["control", "--workflow", "Second", "--vus", "3"]), "2 → 3 virtual users");
    wait_until("all of them", || (paths("/first/").len() + paths("/second/").len() == 8).then_some(()));
    assert_eq!((paths("/first/"), paths("/second/")), (vec![1, 2, 5, 7, 9], vec![3, 4, 6]));
    assert_done(&home.run(&["control", "--cancel"]), "stopping");
    assert_books(&run.wait().result(97));
}

#[test]
fn virtual_users_for_whom_there_are_no_rows_are_refused() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let plan = PlanFile::new(
        r#"
vars: { base: "" }
data: { users: { file: users.csv, order: unique, on_end: recycle } }
workflows:
  W: { vus: 2, duration: 90s, ramp: 0s, steps: { get: { http: "{{ base }}/{{ data.users.name }}", think: 5ms } } }
"#,
    )
    .with("users.csv", "name\na\nb\nc\nd\n");
    let base = format!("base={}", target.base);
    let run = home.start(&["run", &plan.path(), "--var", &base, "--cores", "1", "--json"]);
    target.wait_for_requests(8);
    snapshot!("control_no_rows", home.run(&["control", "--vus", "3"]));
    assert_done(&home.run(&["control", "--vus", "1"]), "2 → 1 virtual users");
    assert_done(&home.run(&["control", "--cancel"]), "stopping");
    let result = run.wait().result(97);
    assert_eq!(result.totals.failed, 0, "{:?}", result.errors);
}

#[test]
fn counted_iterations_are_all_made_whoever_makes_them() {
    let (home, target) = (Home::new(), Target::start(&[]));
    for flag in ["iterations: 2000", "iterations_per_vu: 200"] {
        target.reset();
        let plan = PlanFile::new(&format!(
            "vars: {{ base: '' }}\nworkflows:\n  W:\n    vus: 10\n    {flag}\n    ramp: 0s\n    steps:\n      get: {{ http: '{{{{ base }}}}/delay/40' }}\n"
        ));
        let base = format!("base={}", target.base);
        let run = home.start(&["run", &plan.path(), "--var", &base, "--cores", "2", "--json"]);
        target.wait_for_requests(20);
        assert_done(&home.run(&["control", "--vus", "2"]), "10 → 2 virtual users");
        target.wait_for_requests(60);
        assert_done(&home.run(&["control", "--vus", "10"]), "2 → 10 virtual users");
        let result = run.wait().result(0);
        assert_eq!(result.workflows[0].iterations.completed, 2_000, "{flag}");
        assert_eq!(target.seen().requests, 2_000, "{flag}");
    }
}

const SEVERAL: &str = r#"
name: several
vars: { base: "" }
workflows:
  Browse: { vus: 2, duration: 90s, steps: { get: { http: "{{ base }}/delay/10" } } }
  Buy: { rate: 20/s, duration: 90s, steps: { get: { http: "{{ base }}/x" } } }
  Count: { vus: 8, iterations: 100000, steps: { get: { http: "{{ base }}/delay/50" } } }
  Later: { depends: [Browse], vus: 1, duration: 1s, steps: { get: { http: "{{ base }}/y" } } }
"#;

#[test]
fn refusals_say_what_fits() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let (plan, base) = (PlanFile::new(SEVERAL), format!("base={}", target.base));
    let run = home.start(&["run", &plan.path(), "--var", &base, "--json", "--cores", "4"]);
    wait_until("three workflows with load", || {
        let seen = target.seen();
        ["/delay/10", "/x", "/delay/50"].iter().all(|path| seen.at(path) > 0).then_some(())
    });
    snapshot!("control_unknown_workflow", home.run(&["control", "--workflow", "Brose", "--vus", "3"]));
    snapshot!("control_rate_of_closed", home.run(&["control", "--workflow", "Browse", "--rate", "3/s"]));
    snapshot!("control_vus_of_open", home.run(&["control", "--workflow", "Buy", "--vus", "3"]));
    snapshot!("control_not_running", home.run(&["control", "--workflow", "Later", "--vus", "3"]));
    snapshot!("control_too_few", home.run(&["control", "--workflow", "Count", "--vus", "0"]));
    snapshot!("control_too_many", home.run(&["control", "--vus", "1000001"]));
    snapshot!("control_nothing", home.run(&["control"]));
    snapshot!("control_both", home.run(&["control", "--pause", "--workflow", "Browse"]));
    snapshot!("control_all_that_fit", home.run(&["control", "--rate", "30/s"]));
    measured().bind(|| insta::assert_snapshot!("jobs", shown(&home.run(&["jobs"]))));
    assert_done(&home.run(&["control", "--cancel"]), "stopping");
    assert_eq!(run.wait().result(97).provenance.changes.len(), 1, "refused changes are none");
}

#[test]
fn two_runs_are_told_apart_by_the_beginning_of_their_ids() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let args = ["run", &target.base, "-c", "1", "-d", "90s", "--json"];
    let runs = [home.start(&args), home.start(&args)];
    let jobs = wait_until("two runs", || {
        let jobs: Value = serde_json::from_str(&home.run(&["jobs", "--json"]).stdout).unwrap();
        let jobs = jobs["jobs"].as_array().unwrap().clone();
        (jobs.len() == 2).then_some(jobs)
    });
    let ids: Vec<&str> = jobs.iter().map(|job| job["job"].as_str().unwrap()).collect();
    home.run(&["control", "--pause"]).assert_told(2, &["there are 2 runs", ids[0], ids[1]]);
    home.run(&["status", "run-"]).assert_told(2, &["`run-` could be 2 runs", ids[0], ids[1]]);
    // The last digits are random; all but the last of them are enough.
    assert_done(&home.run(&["control", &ids[1][..ids[1].len() - 1], "--pause"]), ids[1]);
    let jobs: Value = serde_json::from_str(&home.run(&["jobs", "--json"]).stdout).unwrap();
    assert_eq!((&jobs["jobs"][0]["paused"], &jobs["jobs"][1]["paused"]), (&false.into(), &true.into()));
    for id in ids {
        assert_done(&home.run(&["control", id, "--cancel"]), "stopping");
    }
    for run in runs {
        assert_books(&run.wait().result(97));
    }
}

#[test]
fn nothing_to_control_is_told() {
    let home = Home::new();
    snapshot!("control_no_run", home.run(&["control", "--pause"]));
    snapshot!("control_unknown_job", home.run(&["control", "run-2020", "--pause"]));
    snapshot!("status_no_run", home.run(&["status"]));
    snapshot!("jobs_none", home.run(&["jobs"]));
    snapshot!("jobs_none_json", home.run(&["jobs", "--json"]));
}

#[test]
fn help_says_what_can_be_changed() {
    let home = Home::new();
    snapshot!("help_control", home.run(&["control", "--help"]));
    snapshot!("help_jobs", home.run(&["jobs", "--help"]));
    snapshot!("help_status", home.run(&["status", "--help"]));
}

#[test]
fn folder_and_socket_are_private_and_the_socket_goes_with_the_run() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let run = home.start(&["run", &target.base, "-c", "1", "-d", "90s", "--json"]);
    target.wait_for_requests(1);
    let sockets = home.sockets();
    assert_eq!(sockets.len(), 1, "{sockets:?}");
    assert_eq!(fs::metadata(home.folder()).unwrap().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&sockets[0]).unwrap().mode() & 0o777, 0o600);
    run.signal("INT");
    assert_eq!(run.wait().code, 97);
    assert_eq!(home.sockets().len(), 0);
}

#[test]
fn folder_that_others_can_enter_is_not_used_and_the_run_goes_on() {
    let (home, target) = (Home::new(), Target::start(&[]));
    fs::create_dir(home.folder()).unwrap();
    fs::set_permissions(home.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let run = home.run(&["run", &target.base, "-n", "3", "--json"]);
    run.assert_told(0, &["warning: the run cannot be controlled from outside", "can be entered by others"]);
    assert_eq!(run.result(0).totals.requests, 3);
    home.run(&["control", "--pause"]).assert_told(1, &["cannot be looked for", "can be entered by others"]);
}

#[test]
fn socket_of_a_killed_run_is_removed_by_whoever_finds_it() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let run = home.start(&["run", &target.base, "-c", "1", "-d", "90s"]);
    target.wait_for_requests(1);
    run.signal("KILL");
    run.wait();
    assert_eq!(home.sockets().len(), 1, "nobody could tidy up");
    home.run(&["control", "--pause"]).assert_told(4, &["there is no run"]);
    assert_eq!(home.sockets().len(), 0);
}

#[test]
fn run_that_nobody_may_control_does_not_listen() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let run = home.start(&["run", &target.base, "-c", "1", "-d", "90s", "--no-control"]);
    target.wait_for_requests(1);
    assert!(!home.folder().exists());
    run.signal("INT");
    assert_eq!(run.wait().code, 97);
}

#[test]
fn changes_are_in_the_recording_and_in_every_report() {
    let (home, target) = (Home::new(), Target::start(&[]));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (recording, page, text) = (file("run.jsonl"), file("run.html"), file("run.md"));
    let run = home.start(&[
        "run",
        &target.base,
        "-c",
        "2",
        "-d",
        "90s",
        "--record",
        &recording,
        "--report",
        &page,
        "--report",
        &text,
    ]);
    target.wait_for_requests(5);
    assert_done(&home.run(&["control", "--vus", "3"]), "2 → 3 virtual users");
    assert_done(&home.run(&["control", "--cancel"]), "stopping");
    let outcome = run.wait();
    assert_eq!(outcome.code, 97, "{outcome}");
    for shown in [outcome.stdout, fs::read_to_string(page).unwrap(), fs::read_to_string(text).unwrap()] {
        assert!(shown.contains("2 → 3 virtual users"), "{shown}");
    }
    let lines = fs::read_to_string(recording).unwrap();
    let event =
        |line| serde_json::from_value::<Event>(serde_json::from_str::<Value>(line).unwrap()["event"].clone());
    let changes = lines.lines().skip(1).filter_map(|line| match event(line).unwrap() {
        Event::Changed { change: Some(change), .. } => Some(change.what),
        _ => None,
    });
    assert_eq!(changes.collect::<Vec<_>>(), [Changed::Vus { from: 2, to: 3 }]);
}
