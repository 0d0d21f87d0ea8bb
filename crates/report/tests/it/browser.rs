//! The page in a real browser: a page of the tests shows the report in frames of several widths, lets scripts run, asks
//! it questions and writes the answers into its own document, which the browser prints.

use std::path::{Path, PathBuf};
use std::process::Command;

use hyperscale_report::{CompareFormat, Compared, ReportFormat, human};
use hyperscale_stats::compare::compare;
use hyperscale_stats::result::RunResult;
use serde_json::Value;

use crate::runs::{eventful, hostile, minute, simple};

/// Widths of a desktop and of a phone.
const WIDTHS: [u32; 2] = [1280, 390];
/// Width of a sheet of A4 between the margins that browsers leave.
const PAPER: u32 = 718;

/// What is asked in every frame. Sorts the table of steps by its second column, and moves the cursor of a chart.
const QUESTIONS: &str = include_str!("browser.js");

fn browser() -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = path.split(':').map(|folder| Path::new(folder).join("chromium")).find(|file| file.is_file());
    found.expect("chromium is installed; cargo xtask test does that")
}

/// Opens the page at every width and returns what it answered.
fn answers(result: &RunResult) -> Vec<Value> {
    answers_of(&ReportFormat::Html.render(result))
}

fn answers_of(page: &str) -> Vec<Value> {
    answers_at(page, &WIDTHS)
}

fn answers_at(page: &str, widths: &[u32]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let escape = |text: &str| text.replace('&', "&amp;").replace('"', "&quot;");
    // An alert would mean that a hostile text was run.
    let page = page.replace("<head>", "<head><script>alerts = 0; alert = () => { alerts += 1; };</script>");
    let frames: Vec<String> = widths
        .iter()
        .map(|width| {
            format!(
                "<iframe width=\"{width}\" height=\"900\" style=\"border:0\" srcdoc=\"{}\"></iframe>",
                escape(&page)
            )
        })
        .collect();
    let harness = folder.path().join("harness.html");
    std::fs::write(
        &harness,
        format!("<!doctype html><meta charset=utf-8><body>{}<script>{QUESTIONS}</script>", frames.concat()),
    )
    .unwrap();
    let output = Command::new(browser())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"])
        .args(["--virtual-time-budget=5000", "--window-size=1400,1000"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("file://{}", harness.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let from = dom.find("id=\"answers\">").unwrap_or_else(|| panic!("no answers: {dom:.2000}\n{errors}"));
    let text = dom[from..].split_once('>').unwrap().1.split("</pre>").next().unwrap();
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn charts_are_drawn_and_numbers_are_those_of_the_result() {
    let result = minute(1.0);
    for (answer, width) in answers(&result).iter().zip(WIDTHS) {
        assert_eq!(answer["width"], width);
        let tiles = &answer["tiles"];
        assert_eq!(tiles["requests"], human::count(result.totals.requests));
        assert_eq!(tiles["rate"], human::rate(result.totals.rate));
        assert_eq!(tiles["p50"], human::micros(result.totals.latency_us.p50));
        assert_eq!(tiles["p99"], human::micros(result.totals.latency_us.p99));
        let charts = answer["charts"].as_array().unwrap();
        let ids: Vec<&str> = charts.iter().map(|chart| chart["id"].as_str().unwrap()).collect();
        let wanted = ["rate", "latency", "failed", "vus", "histogram", "percentiles"];
        let wanted = wanted.map(|name| format!("chart-{name}"));
        assert_eq!(ids, wanted);
        for chart in charts {
            assert!(
                chart["width"].as_f64().unwrap() > 250.0 && chart["height"].as_f64().unwrap() > 90.0,
                "{chart}"
            );
            assert!(chart["fontPx"].as_f64().unwrap() >= 9.0, "labels can be read: {chart}");
        }
        assert_eq!(charts[0]["points"], serde_json::json!([60]), "one per second");
        assert_eq!(charts[1]["points"], serde_json::json!([60, 60, 60]));
        assert!(charts[4]["bars"].as_u64().unwrap() > 20);
        assert!(charts[5]["points"][0].as_u64().unwrap() > 50);
    }
}

#[test]
fn pointer_and_keyboard_tell_values_and_tables_are_sorted() {
    let result = minute(1.0);
    let last = result.series.last().unwrap();
    for answer in answers(&result) {
        let tip = answer["tip"].as_str().unwrap();
        let point = result.series.iter().find(|point| tip.starts_with(&format!("{}s\n", point.t_s)));
        let point = point.unwrap_or_else(|| panic!("a moment of the series: {tip}"));
        assert!(tip.contains(&human::rate(point.rate)), "{tip}");
        assert!(answer["tipRight"].as_f64().unwrap() <= answer["width"].as_f64().unwrap());
        let told = answer["lastTip"].as_str().unwrap();
        assert!(told.starts_with("59s\n") && told.contains(&human::rate(last.rate)), "{told}");
        assert_eq!(answer["sorted"], "descending");
        assert_eq!(answer["alerts"], 0);
    }
}

#[test]
fn no_page_is_wider_than_its_screen() {
    for result in [minute(1.0), eventful(), hostile()] {
        for answer in answers(&result) {
            assert!(answer["scrollWidth"].as_u64() <= answer["width"].as_u64(), "{answer}");
            assert_eq!(answer["alerts"], 0, "no hostile text was run");
        }
    }
}

#[test]
fn no_table_is_cut_on_a_desktop_and_rows_keep_their_names_on_a_phone() {
    for result in [minute(1.0), eventful()] {
        let answers = answers(&result);
        assert_eq!(answers[0]["cutTables"], serde_json::json!([]));
        assert_eq!(
            answers[1]["stuck"].as_f64().map(f64::round),
            Some(1.0),
            "beside the border: {}",
            answers[1]
        );
    }
}

#[test]
fn no_label_of_a_chart_is_cut() {
    let mut long = minute(1.0);
    long.series.iter_mut().for_each(|point| point.t_s *= 1.5);
    long.elapsed_s = 90.0;
    for result in [minute(1.0), long, eventful(), simple()] {
        for answer in answers(&result) {
            assert_eq!(answer["cutLabels"], serde_json::json!([]));
        }
    }
}

#[test]
fn pages_fit_on_paper() {
    for result in [minute(1.0), eventful(), hostile()] {
        let printed = ReportFormat::Html.render(&result).replace("@media print", "@media all");
        let answer = &answers_at(&printed, &[PAPER])[0];
        assert!(answer["scrollWidth"].as_u64() <= Some(PAPER.into()), "{answer}");
    }
}

#[test]
fn second_in_which_the_run_ended_is_not_drawn_as_a_whole_one() {
    let mut result = minute(1.0);
    result.elapsed_s = 59.4;
    for answer in answers(&result) {
        assert_eq!(answer["charts"][0]["points"], serde_json::json!([59]));
        assert!(answer["lastTip"].as_str().unwrap().starts_with("58s\n"), "{answer}");
    }
}

#[test]
fn two_runs_are_drawn_over_each_other() {
    let (a, b) = (minute(1.0), minute(1.2));
    let comparison = compare(&a, &b);
    let page = Compared { a: &a, b: &b, comparison: &comparison }.render(CompareFormat::Html);
    for answer in answers_of(&page) {
        assert!(answer["scrollWidth"].as_u64() <= answer["width"].as_u64(), "{answer}");
        let charts = answer["charts"].as_array().unwrap();
        assert_eq!(charts.len(), 5);
        assert_eq!(charts[0]["points"], serde_json::json!([60, 60]), "one line per run");
        let tip = answer["tip"].as_str().unwrap();
        assert!(tip.contains("A calls") && tip.contains("B calls"), "{tip}");
        assert_eq!(answer["tiles"]["p50"], "+20 %");
    }
}
