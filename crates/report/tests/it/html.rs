//! The page as it is written, without a browser.

use hyperscale_report::ReportFormat;
use hyperscale_stats::result::{LoadResult, RunResult};

use crate::runs::{eventful, hostile, minute, simple};

fn page(result: &RunResult) -> String {
    ReportFormat::Html.render(result)
}

/// The page without style, script, data and the points of its charts: what is said, and in which order.
fn said(page: &str) -> String {
    let mut text = page.to_owned();
    for (open, close) in [("<style>", "</style>"), ("<script>", "</script>"), ("id=\"data\">", "</script>")] {
        let from = text.find(open).unwrap() + open.len();
        let to = from + text[from..].find(close).unwrap();
        text.replace_range(from..to, "…");
    }
    while let Some(from) = text.find("<g class=\"grid\">") {
        let to = from + text[from..].find("</svg>").unwrap();
        text.replace_range(from..to, "…");
    }
    text
}

#[test]
fn pages_keep_their_shape() {
    insta::assert_snapshot!("html_simple", said(&page(&simple())));
    insta::assert_snapshot!("html_eventful", said(&page(&eventful())));
    insta::assert_snapshot!("html_hostile", said(&page(&hostile())));
}

#[test]
fn charts_keep_their_shape() {
    let page = page(&minute(1.0));
    let charts: Vec<&str> =
        page.split("<svg").skip(1).map(|rest| rest.split("</svg>").next().unwrap()).collect();
    assert_eq!(charts.len(), 6);
    insta::assert_snapshot!("html_chart_rate", charts[0]);
    insta::assert_snapshot!("html_chart_percentiles", charts[5]);
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    for result in [simple(), eventful(), hostile(), minute(1.0)] {
        let page = page(&result);
        let body = said(&page);
        for loads in ["src=", "@import", "url(", "<link", "<img", "<iframe", "http-equiv=\"refresh\""] {
            assert!(!body.contains(loads), "{loads} in {body}");
        }
        assert!(!include_str!("../../assets/report.css").contains("url("));
        assert!(!include_str!("../../assets/report.js").contains("fetch("));
    }
}

#[test]
fn hostile_texts_stay_texts() {
    let page = page(&hostile());
    assert_eq!(page.matches("<script").count(), 2, "one for the data, one for the page");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<b>|"));
}

#[test]
fn the_result_can_be_taken_out_of_the_page_again() {
    for result in [eventful(), hostile()] {
        let page = page(&result);
        let from = page.find("id=\"data\">").unwrap() + "id=\"data\">".len();
        let data = page[from..].split("</script>").next().unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(serde_json::from_value::<RunResult>(data["runs"][0].clone()).unwrap(), result);
    }
}

#[test]
fn a_run_that_never_began_is_still_a_page() {
    let mut result = simple();
    result.workflows.clear();
    result.series.clear();
    result.totals = LoadResult::default();
    let page = page(&result);
    assert!(!page.contains("<svg") && !page.contains("NaN"), "{}", said(&page));
}

/// A place in a chart.
type Place = (f64, f64);

/// Numbers of a path of `M` and `L`, and of the dots of the same class, in the chart of percentiles.
fn line_and_dots(page: &str) -> (Vec<Place>, Vec<Place>) {
    let chart = page.split("id=\"chart-percentiles\"").nth(1).unwrap().split("</svg>").next().unwrap();
    let path = chart.split("class=\"line s0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    let pair = |text: &str| {
        let (x, y) = text.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    let line = path.split(['M', 'L']).filter(|text| !text.is_empty()).map(pair).collect();
    let attribute = |dot: &str, name: &str| -> f64 {
        dot.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let dots = chart.split("<circle ").skip(1);
    (line, dots.map(|dot| (attribute(dot, "cx"), attribute(dot, "cy"))).collect())
}

#[test]
fn every_percentile_with_a_dot_lies_on_its_line() {
    for result in [minute(1.0), eventful(), simple()] {
        let (line, dots) = line_and_dots(&page(&result));
        assert!(dots.len() >= 3);
        for (x, y) in dots {
            // Places are rounded to a tenth.
            let on = |from: f64, to: f64, at: f64| from.min(to) - 0.11 <= at && at <= from.max(to) + 0.11;
            let straight =
                |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).abs() < 0.11 || (a.1 - b.1).abs() < 0.11;
            let on_some = line.windows(2).any(|pair| {
                straight(pair[0], pair[1]) && on(pair[0].0, pair[1].0, x) && on(pair[0].1, pair[1].1, y)
            });
            assert!(on_some, "({x}, {y}) lies on no step of {line:?}");
        }
    }
}
