//! Reports for other programs: every format of fixed results, also with hostile texts.

use hyperscale_report::ReportFormat;
use roxmltree::{Document, Node};

use crate::runs::{eventful, hostile, simple};

#[test]
fn junit_keeps_its_shape() {
    insta::assert_snapshot!("junit_eventful", ReportFormat::Junit.render(&eventful()));
    insta::assert_snapshot!("junit_hostile", ReportFormat::Junit.render(&hostile()));
}

#[test]
fn csv_keeps_its_shape() {
    insta::assert_snapshot!("csv_eventful", ReportFormat::Csv.render(&eventful()));
}

#[test]
fn markdown_keeps_its_shape() {
    insta::assert_snapshot!("markdown_simple", ReportFormat::Markdown.render(&simple()));
    insta::assert_snapshot!("markdown_eventful", ReportFormat::Markdown.render(&eventful()));
    insta::assert_snapshot!("markdown_hostile", ReportFormat::Markdown.render(&hostile()));
}

#[test]
fn junit_has_a_case_per_threshold_and_check_and_its_counts_add_up() {
    for result in [simple(), eventful(), hostile()] {
        let xml = ReportFormat::Junit.render(&result);
        let document = Document::parse(&xml).unwrap_or_else(|error| panic!("{error}:\n{xml}"));
        let root = document.root_element();
        assert!(root.has_tag_name("testsuites"));
        assert_eq!(root.attribute("name"), Some(result.identity.name.replace('\u{1b}', "\u{fffd}").as_str()));
        let checks: usize = result.workflows.iter().map(|workflow| workflow.checks.len()).sum();
        assert_eq!(cases(root).count(), 1 + result.thresholds.len() + checks);
        assert_counts(root);
        root.children().filter(Node::is_element).for_each(assert_counts);
    }
}

#[test]
fn junit_failures_carry_their_message_and_a_run_that_did_not_complete_is_an_error() {
    let xml = ReportFormat::Junit.render(&eventful());
    let document = Document::parse(&xml).unwrap();
    let case = |name: &str| cases(document.root_element()).find(|case| case.attribute("name") == Some(name));
    let problem = |name: &str, element: &str| {
        let found = case(name).unwrap().children().find(|child| child.has_tag_name(element))?;
        found.attribute("message").map(str::to_owned)
    };
    assert_eq!(problem("completed", "error").as_deref(), Some("partial"));
    let rule = "Browse.failed.rate < 1%";
    assert_eq!(problem(rule, "failure").as_deref(), Some("Browse.failed.rate < 1% is broken: 1.01 %"));
    assert_eq!(problem("Browse.order.latency.p99 < 300ms", "failure"), None);
    assert_eq!(problem("order.total", "failure").as_deref(), Some("held 960 of 969 times (99.07 %)"));
    assert_eq!(problem("order.never", "skipped").as_deref(), Some("never evaluated"));
}

/// What the Jenkins schema demands of suites: the attributes are there and equal what is inside.
fn assert_counts(suite: Node<'_, '_>) {
    let counted = |element: &str| {
        cases(suite).filter(|case| case.children().any(|child| child.has_tag_name(element))).count()
    };
    let said = |attribute: &str| suite.attribute(attribute).and_then(|count| count.parse::<usize>().ok());
    assert_eq!(said("tests"), Some(cases(suite).count()));
    assert_eq!(said("failures"), Some(counted("failure")));
    assert_eq!(said("errors"), Some(counted("error")));
    assert!(suite.attribute("time").unwrap().parse::<f64>().is_ok());
    if suite.has_tag_name("testsuite") {
        assert_eq!(said("skipped"), Some(counted("skipped")));
        assert_eq!(suite.attribute("timestamp"), Some("2025-01-01T00:00:00"));
    }
    for case in cases(suite) {
        assert!(case.has_attribute("name") && case.has_attribute("classname"));
    }
}

fn cases<'a, 'input>(node: Node<'a, 'input>) -> impl Iterator<Item = Node<'a, 'input>> {
    node.descendants().filter(|node| node.has_tag_name("testcase"))
}

#[test]
fn csv_rows_are_as_wide_as_the_header_and_agree_with_the_result() {
    let result = eventful();
    let csv = ReportFormat::Csv.render(&result);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    let column = |name: &str| rows[0].iter().position(|column| *column == name).unwrap();
    let of_record = |record: &str| rows.iter().filter(|row| row[0] == record).collect::<Vec<_>>();
    assert_eq!(of_record("total")[0][column("requests")], result.totals.requests.to_string());
    assert_eq!(of_record("series").len(), result.series.len());
    let order = of_record("step").into_iter().find(|row| row[column("step")] == "order").unwrap();
    assert_eq!(order[column("failed")], "21");
    assert_eq!(order[column("p99_us")], result.workflows[0].steps[1].times.latency_us.p99.to_string());
    assert_eq!(of_record("setup_step").len(), 1);
}

#[test]
fn nothing_of_a_hostile_text_is_markup() {
    let result = hostile();
    for format in [ReportFormat::Junit, ReportFormat::Markdown] {
        let text = format.render(&result);
        assert!(!text.contains("<script") && !text.contains('\x1b'), "{text}");
    }
    let markdown = ReportFormat::Markdown.render(&result);
    assert!(!markdown.contains("@everyone") && !markdown.contains("**bold**"), "{markdown}");
}
