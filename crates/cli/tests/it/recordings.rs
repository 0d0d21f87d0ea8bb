//! `--record` and `replay`: a recorded run shown again says what the run said.

use std::fs;
use std::io::Write;

use hyperscale_engine::Event;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Outcome, Target, run};

struct Recorded {
    folder: TempDir,
    outcome: Outcome,
}

/// A run of some two seconds, recorded, with its result as JSON.
fn record() -> Recorded {
    let target = Target::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let outcome =
        run(&["run", &target.base, "-c", "2", "-d", "2500ms", "--json", "--record", file.to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{outcome}");
    Recorded { folder, outcome }
}

impl Recorded {
    fn path(&self) -> String {
        self.folder.path().join("run.jsonl").to_str().unwrap().to_owned()
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.path()).unwrap().lines().map(str::to_owned).collect()
    }

    fn rewritten(&self, lines: &[String]) -> String {
        let path = self.folder.path().join("changed.jsonl");
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn recording_holds_every_second_and_the_result() {
    let recorded = record();
    let lines = recorded.lines();
    let header: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!((&header["recording"], &header["events"]), (&1.into(), &2.into()));
    assert!(header["environment"]["version"].is_string(), "{header}");
    let events: Vec<Event> = lines[1..]
        .iter()
        .map(|line| {
            serde_json::from_value(serde_json::from_str::<Value>(line).unwrap()["event"].clone()).unwrap()
        })
        .collect();
    assert!(matches!(events[0], Event::Started(_)));
    let snapshots: Vec<_> = events
        .iter()
        .filter_map(|event| if let Event::Snapshot(snapshot) = event { Some(snapshot) } else { None })
        .collect();
    assert!(snapshots.len() >= 2, "{}", snapshots.len());
    let (first, last) = (snapshots[0], snapshots[snapshots.len() - 1]);
    assert!(!first.result.is_final && first.result.totals.requests < last.result.totals.requests);
    assert!(first.result.series[0].t_s.abs() < f64::EPSILON);
    assert!(first.result.series[0].rate > 0.0, "the first second is full when it is shown");
    let step = &last.workflows[0].steps[0];
    assert_eq!(step.latency.count, last.result.workflows[0].steps[0].ok);
    assert!(last.generator.memory_bytes > Some(0) && last.generator.busiest_core.is_some());
    let Some(Event::Finished(result)) = events.last() else { panic!("no result at the end") };
    assert_eq!(**result, recorded.outcome.result(0));
}

#[test]
fn replay_gives_the_result_of_the_run_in_every_form() {
    let recorded = record();
    let again = run(&["replay", &recorded.path(), "--speed", "max", "--json"]);
    assert_eq!(again.result(0), recorded.outcome.result(0));
    let report = recorded.folder.path().join("again.json");
    let text = run(&["replay", &recorded.path(), "--speed", "1000", "--report", report.to_str().unwrap()]);
    assert_eq!(text.code, 0, "{text}");
    let requests = recorded.outcome.result(0).totals.requests;
    assert!(text.stderr.contains("completed") && text.stderr.contains("p99"), "{text}");
    let report: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report["totals"]["requests"], requests);
}

#[test]
fn a_cut_recording_is_shown_and_reported_up_to_its_last_second() {
    let recorded = record();
    let lines = recorded.lines();
    let is_snapshot = |line: &String| line.contains("\"type\":\"snapshot\"");
    let last = lines.iter().rposition(is_snapshot).unwrap();
    let cut = recorded.rewritten(&lines[..=last]);
    let mut file = fs::OpenOptions::new().append(true).open(&cut).unwrap();
    file.write_all(&lines[last + 1].as_bytes()[..20]).unwrap();
    let report = recorded.folder.path().join("cut.json");
    let outcome = run(&["replay", &cut, "--speed", "max", "--json", "--report", report.to_str().unwrap()]);
    outcome.assert_told(98, &["warning: the recording ends after line", "cut off", "last second"]);
    let result = outcome.result(98);
    assert!(!result.is_final && result.totals.requests > 0);
    let snapshot: Value = serde_json::from_str(&lines[last]).unwrap();
    assert_eq!(snapshot["event"]["result"]["totals"]["requests"], result.totals.requests);
    let written: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(written["final"], false);
}

#[test]
fn a_replay_waits_for_its_faces() {
    let recorded = record();
    let lines = recorded.lines();
    let snapshot = lines.iter().find(|line| line.contains("\"type\":\"snapshot\"")).unwrap().clone();
    let mut many = lines[..2].to_vec();
    many.extend(std::iter::repeat_n(snapshot, 300));
    many.push(lines[lines.len() - 1].clone());
    let outcome = run(&["replay", &recorded.rewritten(&many), "--speed", "max"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(!outcome.stderr.contains("too slow"), "{outcome}");
}

#[test]
fn recordings_that_cannot_be_shown_say_where_and_why() {
    let recorded = record();
    let lines = recorded.lines();
    let cut = recorded.rewritten(&lines[..2]);
    run(&["replay", &cut, "--speed", "max"])
        .assert_told(2, &["cannot be replayed", "after line 2", "cut off"]);
    let mut wrong = lines.clone();
    wrong[2] = "{\"t_s\":0.1,\"event\":{\"type\":\"exploded\"}}".to_owned();
    run(&["replay", &recorded.rewritten(&wrong), "--speed", "max"])
        .assert_told(2, &["line 3 is not an event", "exploded"]);
    let mut newer = lines.clone();
    newer[0] = newer[0].replace("\"recording\":1", "\"recording\":2");
    run(&["replay", &recorded.rewritten(&newer)]).assert_told(2, &["line 1", "version 2", "newer"]);
    run(&["replay", "examples/shop.yaml"]).assert_told(2, &["line 1 is not the header of a recording"]);
    run(&["replay", "nowhere.jsonl"]).assert_told(2, &["the recording nowhere.jsonl cannot be read"]);
}

#[test]
fn recording_that_cannot_be_written_is_told() {
    let target = Target::start(&[]);
    run(&["run", &target.base, "-n", "1", "--record", "/nonexistent/run.jsonl"])
        .assert_told(1, &["/nonexistent/run.jsonl cannot be written"]);
    let full = run(&["run", &target.base, "-n", "1", "--record", "/dev/full"]);
    full.assert_told(1, &["/dev/full cannot be written"]);
    assert!(full.stdout.contains("completed"), "the result is there all the same: {full}");
}
