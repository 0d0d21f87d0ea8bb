//! Two runs side by side, as people see them.

use hyperscale_report::{CompareFormat, Compared, Style, TextOptions};
use hyperscale_stats::compare::{ALL, Comparison, Quantity, Verdict, compare};
use hyperscale_stats::result::{RunResult, SaturationResult};
use hyperscale_stats::saturation::Measure;

use crate::runs::{eventful, hostile, minute, simple};

fn judged(a: &RunResult, b: &RunResult, rules: &[&str]) -> Comparison {
    let mut comparison = compare(a, b);
    let rules: Vec<_> = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    comparison.judge(&rules).unwrap();
    comparison
}

fn rendered(a: &RunResult, b: &RunResult, rules: &[&str], format: CompareFormat) -> String {
    let comparison = judged(a, b, rules);
    Compared { a, b, comparison: &comparison }.render(format)
}

fn verdict(comparison: &Comparison, quantity: Quantity) -> Verdict {
    let found = comparison.differences.iter().find(|one| one.place == ALL && one.quantity == quantity);
    found.unwrap().verdict
}

#[test]
fn a_slower_run_is_worse_and_the_interval_holds_the_truth() {
    let (a, b) = (minute(1.0), minute(1.2));
    let comparison = compare(&a, &b);
    for one in comparison.differences.iter().filter(|one| one.place == ALL && one.quantity == Quantity::P50) {
        assert_eq!(one.verdict, Verdict::Worse, "{one:?}");
        let (low, high) = one.interval.unwrap();
        assert!(0.0 < low && low < 0.2 && 0.2 < high && high < 0.4, "{one:?}");
    }
    assert_eq!(verdict(&compare(&b, &a), Quantity::P50), Verdict::Better);
    assert_eq!(verdict(&comparison, Quantity::Rate), Verdict::NoDifferenceShown);
}

#[test]
fn a_run_does_not_differ_from_itself() {
    for run in [simple(), eventful(), minute(1.0)] {
        for one in compare(&run, &run).differences {
            assert!(matches!(one.verdict, Verdict::NoDifferenceShown | Verdict::Unknown), "{one:?}");
        }
    }
}

#[test]
fn another_plan_is_warned_about() {
    let (a, mut b) = (minute(1.0), minute(1.0));
    assert!(compare(&a, &b).warnings[0].contains("compared with itself"));
    b.identity.job = "run-other".into();
    b.provenance.options.insert("seed".into(), "7".into());
    assert!(compare(&a, &b).warnings.is_empty(), "{:?}", compare(&a, &b).warnings);
    for (name, value) in [("cores", "1"), ("http2", "only"), ("body", "3 bytes #1"), ("vars", "a #1")] {
        let mut other = b.clone();
        other.provenance.options.insert(name.into(), value.into());
        assert!(compare(&b, &b).same_plan && !compare(&b, &other).same_plan, "{name}");
    }
    b.provenance.options.insert("vus".into(), "128".into());
    b.provenance.environment.insert("cpus".into(), "64".into());
    let comparison = compare(&a, &b);
    assert!(!comparison.same_plan);
    assert!(comparison.warnings.iter().any(|warning| warning == "option vus: not given in A, 128 in B"));
    assert!(comparison.warnings.iter().any(|warning| warning == "cpus: 2 in A, 64 in B"));
    assert!(
        compare(&a, &eventful()).warnings.iter().any(|warning| warning.contains("steps of one run only"))
    );
}

#[test]
fn saturated_runs_break_no_rule_and_hold_none() {
    let (a, mut b) = (minute(1.0), minute(1.5));
    b.validity.generator_saturated = true;
    for format in [CompareFormat::Text, CompareFormat::Markdown, CompareFormat::Html] {
        let text = rendered(&a, &b, &["p95>5%"], format);
        assert!(text.contains("not comparable: run B was limited by the load generator"), "{text}");
        assert!(["✓ holds", "✅", "✗ broken", "❌ broken"].iter().all(|sign| !text.contains(sign)), "{text}");
    }
}

#[test]
fn the_only_step_is_not_said_twice() {
    let (mut a, mut b) = (minute(1.0), minute(1.2));
    for run in [&mut a, &mut b] {
        run.workflows.truncate(1);
        run.workflows[0].steps.truncate(1);
    }
    let comparison = judged(&a, &b, &["Shop.catalog.mean>5%"]);
    assert!(comparison.differences.iter().all(|one| one.place == ALL), "{:?}", comparison.differences);
    assert!(comparison.is_broken());
}

#[test]
fn comparisons_keep_their_shape() {
    let (a, mut b) = (minute(1.0), minute(1.2));
    b.identity.job = "local-2".into();
    let rules = ["p95>5%", "Shop.order.p99>100%", "rate<-5%"];
    insta::assert_snapshot!("compare_text", rendered(&a, &b, &rules, CompareFormat::Text));
    insta::assert_snapshot!("compare_markdown", rendered(&a, &b, &rules, CompareFormat::Markdown));
    insta::assert_snapshot!("compare_json", rendered(&a, &b, &rules, CompareFormat::Json));
}

#[test]
fn eighty_columns_are_enough() {
    let (a, b) = (minute(1.0), minute(1.2));
    let comparison = judged(&a, &b, &["p95>5%"]);
    let text = Compared { a: &a, b: &b, comparison: &comparison }
        .text(TextOptions { style: Style::Plain, width: 80 });
    let table = text.lines().skip(2);
    assert!(table.into_iter().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn hostile_texts_stay_texts() {
    let page = rendered(&hostile(), &hostile(), &[], CompareFormat::Html);
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!rendered(&hostile(), &hostile(), &[], CompareFormat::Markdown).contains("<script"));
    assert!(!rendered(&hostile(), &hostile(), &[], CompareFormat::Text).contains('\x1b'));
}

#[test]
fn a_run_is_spoiled_by_more_than_a_bad_second_of_the_generator() {
    let interval = |result: &RunResult, measure, to_s| SaturationResult {
        from_s: 0,
        to_s,
        workflow: result.workflows[0].name.clone(),
        core: 0,
        measure,
    };
    for (measure, seconds, spoils) in [
        (Measure::RunQueue, 3, false),
        (Measure::RunQueue, 4, true),
        (Measure::LocalLimit, 4, true),
        (Measure::Vus, 60, false),
    ] {
        let (a, mut b) = (minute(1.0), minute(1.5));
        b.validity.generator_saturated = true;
        b.validity.saturation = vec![interval(&b, measure, seconds)];
        let text = rendered(&a, &b, &["p95>5%"], CompareFormat::Text);
        assert_eq!(text.contains("not comparable"), spoils, "{measure:?} for {seconds} s: {text}");
        assert!(text.contains("run B was limited by the load generator"), "a doubt in any case: {text}");
    }
    let (a, mut b) = (minute(1.0), minute(1.5));
    b.validity.generator_saturated = true;
    b.validity.saturation = vec![interval(&b, Measure::Cpu, 1)];
    b.workflows[0].generator.busiest_core = Some(0.96);
    assert!(rendered(&a, &b, &["p95>5%"], CompareFormat::Text).contains("not comparable"), "busy on average");
}
