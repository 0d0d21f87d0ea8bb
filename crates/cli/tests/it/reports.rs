//! `--report`: every format from a real run, and what happens when a file cannot be written.

use std::path::Path;

use hyperscale_stats::result::RunResult;

use crate::support::{PlanFile, Target, hyperscale, start_file};

const PLAN: &str = r#"
name: reported
vars: { base: "" }
workflows:
  Main:
    vus: 2
    iterations: 40
    steps:
      page: { http: { url: "{{ base }}/json" }, check: { status: 200 } }
      missing: { http: { url: "{{ base }}/status/404" }, check: { status: 200 } }
thresholds: [ "Main.page.failed.rate < 1%", "Main.missing.failed.rate < 1%" ]
"#;

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn one_run_writes_every_format_and_they_tell_the_same() {
    let (target, file) = (Target::start(&[]), PlanFile::new(PLAN));
    let out = tempfile::tempdir().unwrap();
    let path = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let files = ["r.json", "r.html", "r.xml", "r.csv", "r.md", "r.txt"];
    let flags: Vec<String> = files.iter().flat_map(|name| ["--report".to_owned(), path(name)]).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let outcome = start_file(&file, &target.base, &flags).wait();
    let result = outcome.result(99);
    let mut sorted = files;
    sorted.sort_unstable();
    assert_eq!(names(out.path()), sorted, "nothing is left beside the reports");
    let written: RunResult = serde_json::from_str(&read(out.path(), "r.json")).unwrap();
    assert_eq!(written, result);
    assert!(read(out.path(), "r.xml").contains("tests=\"5\" failures=\"2\" errors=\"0\""));
    assert!(read(out.path(), "r.csv").contains("\nstep,,Main,missing,test,40,0,40,"));
    assert!(read(out.path(), "r.md").contains("| Main.missing | 40 | **40** |"));
    assert!(read(out.path(), "r.txt").contains("✗ failed  Main.missing.failed.rate < 1%"));
    let html = read(out.path(), "r.html");
    assert!(html.contains("✗ 1 of 2 thresholds failed") && html.contains("<svg class=\"chart\""));
    let plan = result.provenance.plan.expect("a plan from a file is in the result");
    assert_eq!(plan.text, PLAN);
}

#[test]
fn a_url_leaves_the_plan_it_stands_for_without_its_secrets() {
    let target = Target::start(&[]);
    let args = ["run", &target.base, "-n", "1", "-H", "authorization: Bearer s3cret", "--json"];
    let outcome = crate::support::run(&args);
    let plan = outcome.result(0).provenance.plan.unwrap().text;
    assert!(plan.contains("iterations: 1") && plan.contains("authorization: \"***\""), "{plan}");
    assert!(!outcome.stdout.contains("s3cret"), "{outcome}");
}

#[test]
fn wrong_report_files_are_refused_before_any_request() {
    let target = Target::start(&[]);
    for (report, code, told) in [
        ("out.pdf", 2, "one of .json, .html, .xml, .csv, .md, .txt"),
        ("missing/folder/out.json", 1, "its folder does not exist"),
        ("/proc/out.json", 1, "cannot be written"),
    ] {
        let args = ["run", &target.base, "-n", "1", "--report", "fine.md", "--report", report];
        let folder = tempfile::tempdir().unwrap();
        let outcome =
            crate::support::Process::spawn(hyperscale().current_dir(folder.path()).args(args)).wait();
        outcome.assert_told(code, &[told]);
        assert_eq!(names(folder.path()), [""; 0], "nothing is left behind");
    }
    assert_eq!(target.seen().requests, 0);
}

#[test]
fn a_report_that_cannot_be_written_costs_nobody_else_theirs() {
    let (target, file) = (Target::start(&["--latency", "100ms"]), PlanFile::new(PLAN));
    let out = tempfile::tempdir().unwrap();
    let gone = out.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let (lost, kept) = (gone.join("r.csv"), out.path().join("r.md"));
    let flags = ["--report", lost.to_str().unwrap(), "--report", kept.to_str().unwrap()];
    let running = start_file(&file, &target.base, &flags);
    target.wait_for_requests(1);
    std::fs::remove_dir_all(&gone).unwrap();
    let outcome = running.wait();
    assert_eq!(outcome.result(1).totals.requests, 80);
    outcome.assert_told(1, &["r.csv cannot be written"]);
    assert!(read(out.path(), "r.md").contains("80"));
}
