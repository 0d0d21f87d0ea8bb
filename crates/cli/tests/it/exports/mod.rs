//! `--export`: what arrives at the other side is what the result says, and a receiver that is not there costs nothing
//! but what it does not get.

mod prometheus;
mod receivers;

use std::collections::HashMap;
use std::fs;
use std::net::TcpListener;

use hyperscale_export::encode::remote_write::WriteRequest;
use hyperscale_stats::result::{ExportResult, RunResult, StepResult};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use prost::Message;

use self::receivers::{Datagrams, Web, get};
use crate::support::{Outcome, Process, Target, free_address, hyperscale, run, start, wait_until};

/// Some two seconds of load on a target that fails now and then.
fn exported(target: &Target, urls: &[String]) -> Process {
    let mut args = vec!["run", &target.base, "-c", "2", "-d", "2500ms", "--json"];
    for url in urls {
        args.extend(["--export", url]);
    }
    start(&args)
}

fn failing_target() -> Target {
    Target::start(&["--error-rate", "10%", "--latency", "1ms"])
}

fn only_step(result: &RunResult) -> &StepResult {
    &result.workflows[0].steps[0]
}

fn export<'r>(result: &'r RunResult, kind: &str) -> &'r ExportResult {
    result
        .provenance
        .exports
        .iter()
        .find(|export| export.kind == kind)
        .expect("the exporter is in the result")
}

#[track_caller]
fn assert_delivered(result: &RunResult, kind: &str) {
    let export = export(result, kind);
    assert!(export.sent >= 3 && export.lost == 0 && export.error.is_none(), "{export:?}");
}

/// Requests, ok and failed calls as the result has them.
fn counts(result: &RunResult) -> [u64; 3] {
    let step = only_step(result);
    assert!(step.failed > 0 && step.ok > 0, "{step:?}");
    [step.requests, step.ok, step.failed]
}

#[test]
fn otlp_receives_the_numbers_of_the_result() {
    let (target, web) = (failing_target(), Web::start());
    let result = exported(&target, &[format!("otlp+http://secret@{}", web.address)]).wait().result(0);
    assert_delivered(&result, "otlp");
    let seen = web.seen();
    assert_eq!(seen.len() as u64, export(&result, "otlp").sent);
    let last = seen.last().unwrap();
    assert!(last.head.starts_with("post /v1/metrics http/1.1"), "{}", last.head);
    assert!(last.head.contains("authorization: bearer secret"), "{}", last.head);
    let request = ExportMetricsServiceRequest::decode(&*last.body).unwrap();
    let sum = |name: &str| {
        let mut metrics = request.resource_metrics[0].scope_metrics[0].metrics.iter();
        let metric = metrics.find(|metric| metric.name == name).unwrap();
        let Some(Data::Sum(sum)) = &metric.data else { panic!("{metric:?}") };
        let value = |value| if let Some(Value::AsInt(value)) = value { value as u64 } else { panic!() };
        sum.data_points.iter().map(|point| value(point.value)).collect::<Vec<_>>()
    };
    let [requests, ok, failed] = counts(&result);
    assert_eq!(sum("hyperscale_run_requests_total"), [requests]);
    assert_eq!(sum("hyperscale_run_calls_total"), [ok, failed]);
}

#[test]
fn remote_write_receives_the_numbers_of_the_result() {
    let (target, web) = (failing_target(), Web::start());
    let url = format!("prometheus+http://user:pass@{}/push?x=y#X-Scope-OrgID=team", web.address);
    let result = exported(&target, &[url]).wait().result(0);
    assert_delivered(&result, "prometheus_remote_write");
    let last = web.seen().pop().unwrap();
    for part in
        ["post /push?x=y http/1.1", "authorization: basic", "x-scope-orgid: team", "content-encoding: snappy"]
    {
        assert!(last.head.contains(part), "{part}: {}", last.head);
    }
    let bytes = snap::raw::Decoder::new().decompress_vec(&last.body).unwrap();
    let request = WriteRequest::decode(&*bytes).unwrap();
    let value = |wanted: &[(&str, &str)]| {
        let has = |labels: &[hyperscale_export::encode::remote_write::LabelPair]| {
            wanted
                .iter()
                .all(|(name, text)| labels.iter().any(|label| label.name == *name && label.value == *text))
        };
        let mut found = request.timeseries.iter().filter(|series| has(&series.labels));
        let series = found.next().unwrap_or_else(|| panic!("no {wanted:?}"));
        assert!(found.next().is_none(), "several {wanted:?}");
        series.samples[0].value as u64
    };
    let [requests, ok, failed] = counts(&result);
    let calls = |outcome| value(&[("__name__", "hyperscale_run_calls_total"), ("outcome", outcome)]);
    assert_eq!(value(&[("__name__", "hyperscale_run_requests_total"), ("step", "request")]), requests);
    assert_eq!([calls("ok"), calls("failed")], [ok, failed]);
    let count =
        |outcome| value(&[("__name__", "hyperscale_run_latency_seconds_count"), ("outcome", outcome)]);
    assert_eq!([count("ok"), count("failed")], [ok, failed]);
    assert_eq!(value(&[("__name__", "hyperscale_run_finished")]), 1);
}

/// The last value of every line `name…suffix value=NUMBERi …` by its beginning.
fn influx_value(text: &str, beginning: &str, part: &str) -> u64 {
    let line = text.lines().rfind(|line| line.starts_with(beginning) && line.contains(part));
    let line = line.unwrap_or_else(|| panic!("no {beginning} with {part}"));
    let value = line.split(" value=").nth(1).unwrap().split('i').next().unwrap();
    value.parse().unwrap()
}

#[test]
fn influx_receives_the_numbers_of_the_result_over_http_and_udp() {
    let (target, web, udp) = (failing_target(), Web::start(), Datagrams::start());
    let http = format!("influx+http://{}/write?db=load", web.address);
    let result = exported(&target, &[http, format!("influx+udp://{}", udp.address())]).wait().result(0);
    assert_delivered(&result, "influx");
    let last = web.seen().pop().unwrap();
    assert!(last.head.starts_with("post /write?db=load http/1.1"), "{}", last.head);
    let datagrams = udp.all();
    assert!(datagrams.iter().all(|datagram| datagram.len() <= 1_432));
    for text in [String::from_utf8(last.body).unwrap(), datagrams.concat()] {
        let [requests, ok, failed] = counts(&result);
        assert_eq!(influx_value(&text, "hyperscale_run_requests_total,", ""), requests);
        assert_eq!(influx_value(&text, "hyperscale_run_calls_total,", "outcome=ok"), ok);
        assert_eq!(influx_value(&text, "hyperscale_run_calls_total,", "outcome=failed"), failed);
    }
}

#[test]
fn statsd_receives_differences_that_add_up_to_the_result() {
    let (target, udp) = (failing_target(), Datagrams::start());
    let result = exported(&target, &[format!("statsd://{}", udp.address())]).wait().result(0);
    assert_delivered(&result, "statsd");
    let mut sums: HashMap<String, u64> = HashMap::new();
    for datagram in udp.all() {
        assert!(datagram.len() <= 1_432);
        for line in datagram.lines().filter(|line| line.ends_with("|c")) {
            let (name, value) = line.trim_end_matches("|c").split_once(':').unwrap();
            *sums.entry(name.to_owned()).or_default() += value.parse::<u64>().unwrap();
        }
    }
    let sum = |beginning: &str, end: &str| {
        let of = |(name, _): &(&String, &u64)| name.starts_with(beginning) && name.ends_with(end);
        sums.iter().filter(of).map(|(_, sum)| sum).sum::<u64>()
    };
    let [requests, ok, failed] = counts(&result);
    assert_eq!(sum("hyperscale_run_requests_total.", ".main.request.load"), requests);
    assert_eq!(sum("hyperscale_run_calls_total.", ".load.ok"), ok);
    assert_eq!(sum("hyperscale_run_calls_total.", ".load.failed"), failed);
}

/// The values of a metric in the rows of the final numbers.
fn csv_values(text: &str, metric: &str) -> Vec<u64> {
    let rows = text.lines().filter(|row| row.contains(",true,") && row.contains(&format!(",{metric},")));
    rows.map(|row| row.rsplit(',').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn csv_file_ends_with_the_numbers_of_the_result() {
    let (target, folder) = (failing_target(), tempfile::tempdir().unwrap());
    let file = folder.path().join("run.csv");
    let result = exported(&target, &[format!("csv:{}", file.display())]).wait().result(0);
    assert_delivered(&result, "csv");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("time,elapsed_s,final,metric,"), "{text:.200}");
    let [requests, ok, failed] = counts(&result);
    assert_eq!(csv_values(&text, "hyperscale_run_requests_total"), [requests]);
    assert_eq!(csv_values(&text, "hyperscale_run_calls_total"), [ok, failed]);
    assert_eq!(csv_values(&text, "hyperscale_run_vus"), [0]);
}

#[test]
fn replay_exports_the_recorded_run() {
    let (target, folder) = (failing_target(), tempfile::tempdir().unwrap());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let recorded =
        run(&["run", &target.base, "-d", "2500ms", "--json", "--record", &path("run.jsonl")]).result(0);
    let url = format!("csv:{}", path("run.csv"));
    let replayed =
        run(&["replay", &path("run.jsonl"), "--speed", "max", "--json", "--export", &url]).result(0);
    assert_delivered(&replayed, "csv");
    let text = fs::read_to_string(path("run.csv")).unwrap();
    assert_eq!(csv_values(&text, "hyperscale_run_requests_total"), [only_step(&recorded).requests]);
}

#[test]
fn dead_receivers_cost_the_run_nothing_but_what_they_do_not_get() {
    let target = failing_target();
    // Nobody listens there.
    let dead = free_address();
    // Listens and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let urls = [
        format!("otlp+http://hush-hush@{dead}"),
        format!(
            "prometheus+http://user:hush-hush@{}?token=hush-hush#X-Key=hush-hush",
            silent.local_addr().unwrap()
        ),
    ];
    let outcome = exported(&target, &urls).wait();
    let result = outcome.result(0);
    assert_eq!(result.totals.requests, target.seen().requests);
    for kind in ["otlp", "prometheus_remote_write"] {
        let export = export(&result, kind);
        assert!(export.sent == 0 && export.lost >= 3 && export.error.is_some(), "{export:?}");
        let warning =
            format!("warning: {kind} {}: {} states of the run were lost", export.target, export.lost);
        assert!(outcome.stderr.contains(&warning), "{outcome}");
    }
    assert!(!format!("{outcome}").contains("hush-hush"), "{outcome}");
    let text = run(&["run", &target.base, "-n", "1", "--export", &urls[0]]);
    assert!(text.stdout.contains("0 sent  1 lost"), "{text}");
    assert!(text.stdout.contains("1 states of the run were not exported to otlp"), "{text}");
}

#[test]
fn places_that_cannot_be_are_refused_before_the_run() {
    let target = Target::start(&[]);
    let refused = |url: &str| -> Outcome { run(&["run", &target.base, "-n", "1", "--export", url]) };
    refused("prometeus://127.0.0.1:1").assert_told(2, &["no kind of exporter", "did you mean `prometheus`?"]);
    refused("secret").assert_told(2, &["begin with one of prometheus, prometheus+http"]);
    refused("otlp+http://u:secret@host:99999").assert_told(2, &["bad port"]);
    refused("influx+http://127.0.0.1:8086").assert_told(2, &["/write?db=NAME"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("prometheus://{}", taken.local_addr().unwrap());
    refused(&url).assert_told(1, &["cannot be listened on", "port 0"]);
    refused("csv:nonexistent/run.csv").assert_told(1, &["nonexistent/run.csv cannot be written"]);
    assert_eq!(target.seen().requests, 0, "no load was made");
    for url in ["otlp+http://u:secret@host:99999", "statsd://secret@h:1", "influx+http://secret@h/?p=secret"]
    {
        assert!(!refused(url).stderr.contains("secret"), "{url}");
    }
}

#[test]
fn places_come_from_the_environment_and_the_settings_file_too() {
    let (target, folder) = (Target::start(&[]), tempfile::tempdir().unwrap());
    let csv = |name: &str| format!("csv:{}", folder.path().join(name).display());
    let settings = folder.path().join("settings.toml");
    fs::write(&settings, format!("export = [\"{}\", \"{}\"]\n", csv("a b.csv"), csv("c.csv"))).unwrap();
    let config = settings.to_str().unwrap();
    let kinds = |outcome: Outcome| {
        let names = outcome.result(0).provenance.exports.into_iter().map(|export| export.target);
        names.map(|target| target.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let args = ["run", &target.base, "-n", "1", "--json", "--config", config];
    assert_eq!(kinds(run(&args)), ["a b.csv", "c.csv"]);
    let two = format!("{} {}", csv("d.csv"), csv("e.csv"));
    let process = Process::spawn(hyperscale().args(args).env("HYPERSCALE_EXPORT", two));
    assert_eq!(kinds(process.wait()), ["d.csv", "e.csv"]);
    let flag = csv("f.csv");
    assert_eq!(kinds(run(&[&args[..], &["--export", &flag]].concat())), ["f.csv"]);
}

#[test]
fn scrape_endpoint_shows_the_run_and_finally_its_result() {
    let target = failing_target();
    let process = exported(&target, &["prometheus://127.0.0.1:0?linger=60s".to_owned()]);
    let note = process.wait_for_note("metrics at http://");
    let address = note.split("http://").nth(1).unwrap().trim_end_matches("/metrics").to_owned();
    let finished = |page: &String| {
        page.lines().any(|line| line.starts_with("hyperscale_run_finished{") && line.ends_with(" 1"))
    };
    let mut before = 0;
    let page = wait_until("the final page", || {
        let page = get(&address, "/metrics")?;
        before += u64::from(!finished(&page) && page.contains("hyperscale_run_requests_total{"));
        finished(&page).then_some(page)
    });
    assert!(before > 0, "it could be scraped while the run was going on");
    let result = process.wait().result(0);
    let export = export(&result, "prometheus");
    assert!(export.sent > before && export.lost == 0, "{export:?}");
    let value = |beginning: &str, part: &str| -> u64 {
        let line = page.lines().find(|line| line.starts_with(beginning) && line.contains(part)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let [requests, ok, failed] = counts(&result);
    assert_eq!(value("hyperscale_run_requests_total{", ""), requests);
    assert_eq!(value("hyperscale_run_calls_total{", "outcome=\"ok\""), ok);
    assert_eq!(value("hyperscale_run_calls_total{", "outcome=\"failed\""), failed);
    assert_eq!(value("hyperscale_run_latency_seconds_bucket{", "outcome=\"ok\",le=\"+Inf\""), ok);
}
