//! Every plan in `examples/` is valid and runs against the target as it is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::commands::measured;
use crate::support::{Target, assert_books, run};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let is_plan = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| ["yaml", "toml", "json"].iter().any(|known| extension == *known))
    };
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut plans: Vec<PathBuf> = files.filter(is_plan).collect();
    plans.sort();
    plans
}

#[test]
fn all_examples_are_valid() {
    let plans = examples();
    assert!(plans.len() >= 6);
    for plan in plans {
        let outcome = run(&["validate", plan.to_str().unwrap()]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{}: {outcome}", plan.display());
    }
}

#[test]
fn all_examples_run_and_are_witnessed() {
    for plan in examples() {
        let target = Target::start(&[]);
        let base = format!("base={}", target.base);
        let result = run(&["run", plan.to_str().unwrap(), "--json", "--var", &base]).result(0);
        assert_books(&result);
        assert_eq!(result.totals.failed, 0, "{}: {:?}", plan.display(), result.errors);
        let checks = result.workflows.iter().flat_map(|workflow| &workflow.checks);
        assert!(
            checks.map(|check| check.failed).sum::<u64>() == 0,
            "{}: {:?}",
            plan.display(),
            result.workflows
        );
        let steps = result.workflows.iter().flat_map(|w| w.steps.iter().chain(&w.setup_steps));
        assert_eq!(
            steps.map(|step| step.requests).sum::<u64>(),
            target.seen().requests,
            "{}",
            plan.display()
        );
    }
}

#[test]
fn local_demo_runs_on_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("demo.html");
    let outcome = run(&["demo", "--local", "--json", "--report", report.to_str().unwrap()]);
    let result = outcome.result(0);
    assert!(fs::read_to_string(report).unwrap().contains("<h1>"), "a page about the demo");
    let mut settings = measured();
    for (pattern, mask) in
        [(r"(?m)^(.*p99|warning:|Login:|Browse:|Order:).*\n", ""), (r"counted \d+", "counted N")]
    {
        settings.add_filter(pattern, mask);
    }
    settings.bind(|| insta::assert_snapshot!("demo", outcome.stderr));
    assert_books(&result);
    assert_eq!(result.totals.failed, 0, "{:?}", result.errors);
    assert!(result.thresholds_passed && result.thresholds.len() >= 3);
    assert!(result.workflows.len() == 3 && result.elapsed_s < 15.0);
    let steps = result.workflows.iter().flat_map(|w| w.steps.iter().chain(&w.setup_steps));
    let sent: u64 = steps.map(|step| step.requests).sum();
    outcome.assert_told(0, &[&format!("the target counted {sent} requests"), "Next:"]);
}

#[test]
fn demo_loses_a_worker_and_its_numbers_still_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("demo.html");
    let outcome = run(&["demo", "--json", "--report", report.to_str().unwrap()]);
    let result = outcome.result(0);
    assert!(fs::read_to_string(report).unwrap().contains("<h1>"), "a page about the demo");
    let loss = &result.validity.loss;
    assert_eq!((loss.workers_lost, loss.unreported.len()), (1, 2), "{loss:?}");
    assert!(result.elapsed_s >= 12.0, "what was lost is resumed and ends with the load curve");
    let sent: u64 = result.workflows.iter().flat_map(|w| &w.steps).map(|step| step.requests).sum();
    outcome.assert_told(0, &["was stopped after 3 s", &format!("the result has {sent}:"), "Next:"]);
    // What the target has counted beyond that was sent in the intervals that the result names, and little enough for them.
    let line = outcome.stderr.lines().find(|line| line.starts_with("the target counted")).unwrap();
    let seen: u64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!(sent > 1_000 && seen >= sent && seen - sent < sent / 2, "{line}");
    run(&["demo", "--cores", "2"]).assert_told(2, &["--cores cannot be used here", "demo --local"]);
}
