//! `hyperscale schema` against what the same binary reads and writes.

use serde_json::Value;

use crate::support::{Target, run, run_plan};

fn schema(args: &[&str]) -> Value {
    let outcome = run(&[&["schema"], args].concat());
    assert_eq!(outcome.code, 0, "{outcome}");
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn the_result_of_a_real_run_is_valid() {
    let validator = jsonschema::draft202012::new(&schema(&["--result"])).unwrap();
    let target = Target::start(&["--error-rate", "20%"]);
    let plan = r#"
vars: { base: "" }
workflows:
  Main:
    rate: 100/s
    duration: 1s
    steps:
      page: { http: { url: "{{ base }}/json" }, tags: { area: shop }, check: { status: 200 } }
      total: { metric: { distribution: "{{ page.status }}" } }
thresholds: [ "Main.latency.p99 < 10s", { rule: "Main.latency.tls.p99 < 1s", allow_empty: true } ]
"#;
    let outcome = run_plan(&target, plan, &[]);
    let result: Value =
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome}"));
    let errors: Vec<String> =
        validator.iter_errors(&result).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_events_of_a_real_run_are_valid() {
    let validator = jsonschema::draft202012::new(&schema(&["--event"])).unwrap();
    let (target, folder) = (Target::start(&[]), tempfile::tempdir().unwrap());
    let record = folder.path().join("run.jsonl");
    let url = format!("{}/json", target.base);
    let outcome = run(&["run", &url, "-c", "2", "-d", "2s", "--record", record.to_str().unwrap()]);
    assert_eq!(outcome.code, 0, "{outcome}");
    let lines = std::fs::read_to_string(record).unwrap();
    let events: Vec<Value> = lines
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].take())
        .collect();
    assert!(events.len() > 3, "{lines}");
    for event in events {
        let errors: Vec<String> =
            validator.iter_errors(&event).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?} in {event}");
    }
}

#[test]
fn plans_are_the_default() {
    assert_eq!(schema(&[]), schema(&["--plan"]));
    assert_eq!(schema(&[])["title"], "Hyperscale plan");
    run(&["schema", "--plan", "--result"]).assert_told(2, &["cannot be used with"]);
}
