//! `hyperscale compare` on results of real runs.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Outcome, PlanFile, Target, run, start_file};

const PLAN: &str = r#"
name: compared
vars: { base: "" }
workflows:
  Main:
    vus: 4
    duration: 2s
    steps:
      page: { http: { url: "{{ base }}/" } }
"#;

/// Runs against a target of this latency and keeps the result.
fn result_of(latency: &str, folder: &Path, name: &str) -> String {
    let target = Target::start(&["--latency", latency]);
    result_on(&target, folder, name)
}

fn result_on(target: &Target, folder: &Path, name: &str) -> String {
    let file = PlanFile::new(PLAN);
    let path = folder.join(name).to_str().unwrap().to_owned();
    start_file(&file, &target.base, &["--report", &path]).wait().result(0);
    // Whether this machine was busy meanwhile must not decide a test.
    rewritten(&path, |result| {
        result["generator_saturated"] = false.into();
        result["saturation"] = json!([]);
    });
    path
}

/// Changes a result.
fn rewritten(path: &str, change: impl FnOnce(&mut Value)) {
    let mut result: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    change(&mut result);
    fs::write(path, result.to_string()).unwrap();
}

fn compare(args: &[&str]) -> Outcome {
    run(&[&["compare"], args].concat())
}

#[test]
fn a_slower_run_is_worse_and_breaks_the_rule() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (result_of("5ms", folder.path(), "a.json"), result_of("40ms", folder.path(), "b.json"));
    let report = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [html, md, json] = ["cmp.html", "cmp.md", "cmp.json"].map(report);
    let rules = ["--fail-on", "p95>50%", "--fail-on", "Main.page.p50 > 1000%"];
    let reports = ["--report", &html, "--report", &md, "--report", &json];
    let outcome = compare(&[&[a.as_str(), b.as_str(), "--json"], &rules[..], &reports[..]].concat());
    assert_eq!(outcome.code, 99, "{outcome}");
    let said: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let differences = said["differences"].as_array().unwrap();
    let p95 = differences.iter().find(|one| one["place"] == "all" && one["quantity"] == "p95").unwrap();
    assert_eq!(p95["verdict"], "worse", "{p95}");
    assert!(p95["change"].as_f64().unwrap() > 1.0 && p95["interval"][0].as_f64().unwrap() > 0.5, "{p95}");
    assert_eq!((&said["rules"][0]["broken"], &said["rules"][1]["broken"]), (&true.into(), &false.into()));
    assert_eq!(said["same_plan"], false, "they had other values of a variable");
    let written: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(written, said);
    assert!(fs::read_to_string(html).unwrap().contains("✗ 1 of 2 rules broken"));
    assert!(fs::read_to_string(md).unwrap().contains("| ❌ broken | p95&gt;50% |"));
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let folder = tempfile::tempdir().unwrap();
    let a = result_of("5ms", folder.path(), "a.json");
    let outcome = compare(&[&a, &a, "--fail-on", "p99>0%", "--fail-on", "failed>0%"]);
    assert_eq!(outcome.code, 0, "{outcome}");
    assert!(!outcome.stdout.contains("better") && !outcome.stdout.contains("worse"), "{outcome}");
    assert!(outcome.stdout.contains("rules  ✓ all rules hold"), "{outcome}");
}

#[test]
fn wrong_files_and_rules_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let a = result_of("1ms", folder.path(), "a.json");
    let other = folder.path().join("other.json");
    fs::write(&other, "{}").unwrap();
    let other = other.to_str().unwrap();
    compare(&[&a, "missing.json"]).assert_told(2, &["the result missing.json cannot be read"]);
    compare(&[&a, other]).assert_told(1, &["is not a result of a run", "run --report"]);
    compare(&[&a, &a, "--fail-on", "p95"]).assert_told(2, &["compares nothing"]);
    compare(&[&a, &a, "--fail-on", "p42>1%"]).assert_told(2, &["choose one of rate, failed"]);
    compare(&[&a, &a, "--fail-on", "No.step.p95>1%"]).assert_told(2, &["no p95 of `No.step`"]);
    compare(&[&a, &a, "--report", "x.xml"]).assert_told(2, &["one of .html, .json, .md, .txt"]);
}

#[test]
fn runs_of_one_url_with_other_requests_are_other_tests() {
    let target = Target::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let result_with = |name: &str, args: &[&str]| {
        let path = folder.path().join(name).to_str().unwrap().to_owned();
        run(&[&["run", &target.base, "-c", "1", "-d", "100ms", "--report", &path], args].concat());
        path
    };
    let plain = result_with("plain.json", &[]);
    let same_plan = |other: &str| {
        let said: Value = serde_json::from_str(&compare(&[&plain, other, "--json"]).stdout).unwrap();
        (said["same_plan"].as_bool().unwrap(), said["warnings"].to_string())
    };
    assert!(same_plan(&result_with("same.json", &[])).0);
    for (name, args) in [
        ("method", &["-X", "PUT"][..]),
        ("body", &["-b", "hello"]),
        ("headers", &["-H", "x-a: 1"]),
        ("keepalive", &["--no-keepalive"]),
        ("timeout", &["-t", "3s"]),
    ] {
        let (same, warnings) = same_plan(&result_with("other.json", args));
        assert!(!same && warnings.contains(&format!("option {name}: ")), "{name}: {warnings}");
    }
    assert!(same_plan(&plain).1.contains("compared with itself"));
}

#[test]
fn a_saturated_run_is_not_judged() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::start(&[]);
    let (a, b) = (result_on(&target, folder.path(), "a.json"), result_on(&target, folder.path(), "b.json"));
    rewritten(&b, |result| result["generator_saturated"] = true.into());
    let judged = compare(&[&a, &b, "--fail-on", "p95>5%"]);
    judged.assert_told(1, &["no rule was judged", "run B was limited by the load generator", "more cores"]);
    assert!(judged.stdout.contains("! not judged"), "{judged}");
    assert_eq!(compare(&[&a, &b]).code, 0, "without a rule it is a warning");
}

#[test]
fn results_of_a_newer_version_ask_for_a_newer_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.json").to_str().unwrap().to_owned();
    fs::write(&path, r#"{"version":2}"#).unwrap();
    compare(&[&path, &path]).assert_told(1, &["version 2", "use a newer hyperscale"]);
}
