//! What the small commands print, whole and as snapshots: results that were made up, so that nothing has to be masked.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::commands::{shown, snapshot};
use crate::support::{Outcome, run};

fn timing(scale: f64) -> Value {
    let at = |us: f64| us * scale;
    json!({
        "count": 2000, "min": at(500.0), "mean": at(1000.0), "stdev": 100.0, "p50": at(1000.0), "p75": at(1100.0),
        "p90": at(1200.0), "p95": at(1300.0), "p99": at(1400.0), "p99_9": at(1500.0), "max": at(1600.0),
    })
}

/// A run of ten seconds whose latencies are so many times those of another.
fn result(job: &str, scale: f64) -> Value {
    let point = |t_s: u32| {
        json!({ "t_s": t_s, "rate": 200.0 + f64::from(t_s % 2), "failed": 0, "vus": 4,
            "p50_us": 1000.0 * scale, "p95_us": 1300.0 * scale, "p99_us": 1400.0 * scale })
    };
    let buckets: Vec<Value> =
        (5..16).map(|at| f64::from(at) * 100.0 * scale).map(|us| json!([us, us + 10.0, 200])).collect();
    let step = json!({
        "name": "page", "kind": "test", "protocol": "http", "count": 2000, "ok": 2000, "failed": 0, "skipped": 0,
        "requests": 2000, "rate": 200.5, "latency_us": timing(scale), "latency_buckets": buckets,
        "service_us": timing(scale), "bytes": { "sent": 1, "received": 2 }, "status": { "200": 2000 }, "errors": {},
        "phases_us": { "connect": timing(0.0), "tls": timing(0.0), "write": timing(0.0), "wait": timing(0.0), "read": timing(0.0) },
    });
    json!({
        "version": 1, "job": job, "name": "made up", "status": "completed", "final": true,
        "started_at": "2026-01-01T00:00:00Z", "elapsed_s": 10.0,
        "workflows": [{
            "name": "Main", "status": "completed", "elapsed_s": 10.0, "vus": 4, "cores": 1,
            "iterations": { "started": 2000, "completed": 2000, "failed": 0, "interrupted": 0, "dropped": 0, "late": 0 },
            "steps": [step], "checks": [], "metrics": [],
            "totals": { "requests": 2000, "ok": 2000, "failed": 0, "rate": 200.5, "latency_us": timing(scale) },
        }],
        "thresholds": [], "thresholds_passed": true,
        "totals": { "requests": 2000, "ok": 2000, "failed": 0, "rate": 200.5, "latency_us": timing(scale) },
        "errors": [], "generator_saturated": false,
        "loss": { "windows_late": 0, "windows_lost": 0, "samples_dropped": 0, "workers_lost": 0, "unreported": [] },
        "series": (0..10).map(point).collect::<Vec<_>>(),
        "options": { "cores": "1", "plan": "made-up.yaml" },
    })
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A page without scripts, styles, drawings and marks: what a person reads.
fn read(page: &str) -> String {
    let mut text = page.to_owned();
    for (open, close) in [("<style", "</style>"), ("<script", "</script>"), ("<svg", "</svg>")] {
        while let Some(from) = text.find(open) {
            let to = text[from..].find(close).unwrap() + from + close.len();
            text.replace_range(from..to, "");
        }
    }
    let text: String = text
        .split('<')
        .map(|part| part.split_once('>').map_or("", |(_, after)| after))
        .fold(String::new(), |all, part| all + if part.is_empty() { "" } else { "\n" } + part);
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn compare_prints_and_reports() {
    let folder = tempfile::tempdir().unwrap();
    let a = written(folder.path(), "a.json", &result("run-a", 1.0).to_string());
    let b = written(folder.path(), "b.json", &result("run-b", 1.5).to_string());
    let page = folder.path().join("out.html").to_str().unwrap().to_owned();
    let rules = ["--fail-on", "p95>5%", "--fail-on", "Main.page.rate<-5%"];
    snapshot!("compare", run(&[&["compare", &a, &b, "--report", &page], &rules[..]].concat()));
    crate::commands::masked().bind(|| {
        insta::assert_snapshot!("compare_html", read(&fs::read_to_string(&page).unwrap()));
    });
}

#[test]
fn replay_prints_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let header = json!({ "recording": 1, "events": 1, "name": "made up", "job": "run-a",
        "started_at": "2026-01-01T00:00:00Z", "environment": {} });
    let started = json!({ "type": "started", "job": "run-a", "name": "made up", "started_at": "2026-01-01T00:00:00Z",
        "workflows": [] });
    let mut finished = result("run-a", 1.0);
    finished["type"] = "finished".into();
    let lines = [
        header.to_string(),
        json!({ "t_s": 0.0, "event": started }).to_string(),
        json!({ "t_s": 0.1, "event": { "type": "changed", "what": "somebody pressed a key" } }).to_string(),
        json!({ "t_s": 0.2, "event": finished }).to_string(),
    ];
    let file = written(folder.path(), "run.jsonl", &(lines.join("\n") + "\n"));
    snapshot!("replay", run(&["replay", &file, "--speed", "max"]));
}

/// The first lines, and how many there are.
fn head(outcome: &Outcome) -> Outcome {
    let first: Vec<&str> = outcome.stdout.lines().take(12).collect();
    Outcome { code: outcome.code, stdout: first.join("\n") + "\n…\n", stderr: outcome.stderr.clone() }
}

#[test]
fn schemas_completions_and_manual_begin_as_they_are_written_down() {
    snapshot!("schema_plan", head(&run(&["schema"])));
    snapshot!("schema_result", head(&run(&["schema", "--result"])));
    snapshot!("schema_event", head(&run(&["schema", "--event"])));
    snapshot!("completions_fish", head(&run(&["completions", "fish"])));
    let mut manual = crate::commands::masked();
    manual.add_filter(r"hyperscale \d+\.\d+\.\d+", "hyperscale VERSION");
    manual.bind(|| insta::assert_snapshot!("man", shown(&head(&run(&["man"])))));
}
