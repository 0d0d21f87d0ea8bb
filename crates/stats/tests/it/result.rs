//! Totals as a result, and the result as JSON.

use std::time::Duration;

use hyperscale_stats::result::{
    Provenance, RunIdentity, RunResult, SeriesPoint, Status, VERSION, Validity, WorkflowFacts, errors,
    load_result, workflow_result,
};
use hyperscale_stats::{StreamEvent, Totals, Window};
use hyperscale_types::{ErrorKind, Name};
use serde_json::{Value, json};

use crate::books::{failed, layout, ok};

const ELAPSED: Duration = Duration::from_secs(10);

fn totals() -> Totals {
    let mut window = Window::new(&layout());
    window.call(0, &ok(5_000));
    for ms in 1..=100 {
        window.call(1, &ok(ms * 1_000_000));
    }
    for number in 0..20 {
        window.call(2, &failed(5_000, ErrorKind::Timeout));
        window.error_message(2, ErrorKind::Timeout, &format!("after {number:02} s"));
    }
    window.call(2, &failed(5_000, ErrorKind::Reset));
    window.tagged(1, "region=eu", &ok(1_000_000));
    window.stream_event(1, StreamEvent::First(2_000));
    window.skipped(2, 3);
    window.retries(2, 4);
    window.check(0, true);
    window.metric(0, 4.5);
    (0..121).for_each(|_| window.started());
    (0..121).for_each(|_| window.completed());
    let mut totals = Totals::new(&layout());
    totals.add(&window);
    totals
}

fn facts() -> WorkflowFacts {
    WorkflowFacts {
        name: "Browse".parse().unwrap(),
        status: Status::Completed,
        reason: None,
        elapsed: ELAPSED,
        vus: 10,
        cores: 2,
    }
}

fn run_result() -> RunResult {
    let totals = totals();
    RunResult {
        identity: RunIdentity { version: VERSION, job: "local-1".into(), name: "checkout".into() },
        status: Status::Completed,
        reason: None,
        is_final: true,
        started_at: "2025-01-01T00:00:00Z".into(),
        elapsed_s: 10.0,
        workflows: vec![workflow_result(facts(), &totals)],
        thresholds: Vec::new(),
        thresholds_passed: true,
        totals: load_result(&totals.load(), ELAPSED),
        errors: errors(&"Browse".parse().unwrap(), &totals),
        validity: Validity::default(),
        series: vec![SeriesPoint {
            t_s: 0.0,
            rate: 1.0,
            failed: 0,
            vus: 1,
            p50_us: 1.0,
            p95_us: 1.0,
            p99_us: 1.0,
        }],
        provenance: Provenance::default(),
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn the_result_survives_being_written_and_read() {
    let result = run_result();
    let text = serde_json::to_string(&result).unwrap();
    assert_eq!(serde_json::from_str::<RunResult>(&text).unwrap(), result);
}

#[test]
fn every_documented_field_is_there() {
    let value = serde_json::to_value(run_result()).unwrap();
    for (place, fields) in [
        (
            &value,
            "version job name status final started_at elapsed_s workflows thresholds thresholds_passed totals errors generator_saturated saturation warnings loss series",
        ),
        (
            &value["workflows"][0],
            "name status elapsed_s vus cores iterations steps setup_steps checks metrics totals",
        ),
        (&value["workflows"][0]["iterations"], "started completed failed interrupted dropped late"),
        (
            &value["workflows"][0]["steps"][0],
            "name kind protocol count ok failed skipped requests rate latency_us service_us phases_us bytes status errors",
        ),
        (&value["workflows"][0]["steps"][0]["latency_us"], "min mean stdev p50 p75 p90 p95 p99 p99_9 max"),
        (&value["workflows"][0]["steps"][0]["phases_us"], "connect tls auth write wait read"),
        (&value["workflows"][0]["checks"][0], "name passed failed"),
        (&value["totals"], "requests ok failed rate latency_us"),
        (&value["errors"][0], "workflow step kind message count"),
        (&value["loss"], "windows_late windows_lost samples_dropped workers_lost unreported"),
        (&value["series"][0], "t_s rate failed vus p50_us p95_us p99_us"),
    ] {
        let there = keys(place);
        for field in fields.split(' ') {
            assert!(there.contains(&field), "{field} is missing among {there:?}");
        }
    }
}

#[test]
fn numbers_are_microseconds_and_set_up_stands_apart() {
    let value = serde_json::to_value(run_result()).unwrap();
    let workflow = &value["workflows"][0];
    let users = &workflow["steps"][0];
    assert_eq!(users["name"], "users");
    assert_eq!(users["rate"], json!(10.0));
    assert_eq!(users["latency_us"]["max"], json!(100_000.0));
    assert_eq!(users["latency_us"]["mean"], json!(50_500.0));
    assert_eq!(users["status"], json!({"200": 100}));
    assert_eq!(users["tags"][0]["tags"], "region=eu");
    assert_eq!(users["stream"]["first_event_us"]["max"], json!(2.0));
    assert_eq!(workflow["setup_steps"][0]["name"], "login");
    assert_eq!(workflow["totals"]["ok"], json!(100));
    assert_eq!(workflow["totals"]["requests"], json!(121));
    assert_eq!(workflow["steps"][1]["errors"], json!({"timeout": 20, "reset": 1}));
    assert_eq!(workflow["steps"][1]["skipped"], json!(3));
    assert_eq!(workflow["steps"][1]["retries"], json!(4));
    assert_eq!(workflow["totals"]["retries"], json!(4));
    assert_eq!(workflow["steps"][0].get("retries"), None, "absent where there are none");
    assert_eq!(workflow["metrics"][0]["values"]["p50"], json!(4.5));
    assert_eq!(workflow["iterations"].get("scheduled"), None);
}

#[test]
fn errors_add_up_to_the_failed_calls_of_a_kind() {
    let name: Name = "Browse".parse().unwrap();
    let all = errors(&name, &totals());
    let of = |kind: &str| all.iter().filter(|error| error.kind == kind).map(|error| error.count).sum::<u64>();
    assert_eq!((of("timeout"), of("reset")), (20, 1));
    let other = all.iter().find(|error| error.kind == "timeout" && error.message == "other").unwrap();
    assert_eq!(other.count, 4, "sixteen messages are kept");
}

#[test]
fn words_of_a_status_are_those_of_the_json() {
    for status in [Status::Completed, Status::TimedOut, Status::Skipped, Status::Partial, Status::Running] {
        assert_eq!(serde_json::to_value(status).unwrap(), json!(status.as_str()));
    }
}
