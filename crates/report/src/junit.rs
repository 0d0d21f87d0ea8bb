//! The result for test dashboards: JUnit XML as Jenkins, GitLab and GitHub read it.
//!
//! | suite | test cases |
//! | --- | --- |
//! | `run` | one: that the run completed; an *error* if it did not |
//! | `thresholds` | one per threshold; a *failure* with the value if it does not hold |
//! | `WORKFLOW.checks` | one per check; a *failure* with the share if it did not hold once, *skipped* if never evaluated |
//!
//! Suites without test cases are left out.

use std::fmt::Write as _;

use hyperscale_stats::result::{CheckResult, RunResult, Status, ThresholdResult};

use crate::escape::markup;
use crate::human;
use crate::words::{self, Outcome};

/// The result as JUnit XML.
pub fn to_junit(result: &RunResult) -> String {
    let suites = suites(result);
    let count = |wanted: fn(&Verdict) -> bool| suites.iter().map(|suite| suite.count(wanted)).sum::<usize>();
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(
        xml,
        "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3}\">",
        markup(&result.identity.name),
        count(|_| true),
        count(Verdict::is_failure),
        count(Verdict::is_error),
        result.elapsed_s,
    );
    for suite in &suites {
        suite.write(result, &mut xml);
    }
    xml.push_str("</testsuites>\n");
    xml
}

struct Suite {
    name: String,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    verdict: Verdict,
}

enum Verdict {
    Passed,
    Skipped(String),
    Failure { kind: &'static str, message: String },
    Error { kind: &'static str, message: String },
}

impl Verdict {
    fn is_failure(&self) -> bool {
        matches!(self, Verdict::Failure { .. })
    }

    fn is_error(&self) -> bool {
        matches!(self, Verdict::Error { .. })
    }

    fn is_skipped(&self) -> bool {
        matches!(self, Verdict::Skipped(_))
    }
}

fn suites(result: &RunResult) -> Vec<Suite> {
    let run = Suite { name: "run".to_owned(), cases: vec![run_case(result)] };
    let thresholds = Suite {
        name: "thresholds".to_owned(),
        cases: result.thresholds.iter().map(threshold_case).collect(),
    };
    let checks = result.workflows.iter().map(|workflow| Suite {
        name: format!("{}.checks", workflow.name),
        cases: workflow.checks.iter().map(check_case).collect(),
    });
    [run, thresholds].into_iter().chain(checks).filter(|suite| !suite.cases.is_empty()).collect()
}

fn run_case(result: &RunResult) -> Case {
    let verdict = match result.status {
        Status::Completed => Verdict::Passed,
        status => Verdict::Error { kind: "run", message: words::status(status, result.reason.as_deref()) },
    };
    Case { name: "completed".to_owned(), verdict }
}

fn threshold_case(threshold: &ThresholdResult) -> Case {
    let verdict = if threshold.passed {
        Verdict::Passed
    } else {
        let message = format!("{} is broken: {}", threshold.rule, words::threshold_value(threshold));
        Verdict::Failure { kind: "threshold", message }
    };
    Case { name: threshold.rule.clone(), verdict }
}

fn check_case(check: &CheckResult) -> Case {
    let verdict = match words::check_outcome(check) {
        (Outcome::Passed, _) => Verdict::Passed,
        (Outcome::NotEvaluated, _) => Verdict::Skipped("never evaluated".to_owned()),
        (Outcome::Failed, share) => Verdict::Failure {
            kind: "check",
            message: format!(
                "held {} of {} times ({share})",
                human::count(check.passed),
                human::count(check.passed.saturating_add(check.failed)),
            ),
        },
    };
    Case { name: words::check_name(check), verdict }
}

impl Suite {
    fn count(&self, wanted: fn(&Verdict) -> bool) -> usize {
        self.cases.iter().filter(|case| wanted(&case.verdict)).count()
    }

    fn write(&self, result: &RunResult, xml: &mut String) {
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\" timestamp=\"{}\">",
            markup(&self.name),
            self.cases.len(),
            self.count(Verdict::is_failure),
            self.count(Verdict::is_error),
            self.count(Verdict::is_skipped),
            result.elapsed_s,
            markup(timestamp(&result.started_at)),
        );
        for case in &self.cases {
            case.write(&result.identity.name, &self.name, xml);
        }
        xml.push_str("  </testsuite>\n");
    }
}

impl Case {
    fn write(&self, plan: &str, suite: &str, xml: &mut String) {
        let class = format!("{plan}.{suite}");
        let _ = write!(
            xml,
            "    <testcase name=\"{}\" classname=\"{}\" time=\"0\"",
            markup(&self.name),
            markup(&class)
        );
        match &self.verdict {
            Verdict::Passed => xml.push_str("/>\n"),
            Verdict::Skipped(why) => {
                let _ = write!(xml, ">\n      <skipped message=\"{}\"/>\n    </testcase>\n", markup(why));
            }
            Verdict::Failure { kind, message } => problem("failure", kind, message, xml),
            Verdict::Error { kind, message } => problem("error", kind, message, xml),
        }
    }
}

fn problem(element: &str, kind: &str, message: &str, xml: &mut String) {
    let message = markup(message);
    let _ = write!(
        xml,
        ">\n      <{element} message=\"{message}\" type=\"{kind}\">{message}</{element}>\n    </testcase>\n"
    );
}

/// The format knows no fractions and no zone: `2025-01-01T00:00:00`.
fn timestamp(rfc3339: &str) -> &str {
    rfc3339.get(..19).unwrap_or(rfc3339)
}
