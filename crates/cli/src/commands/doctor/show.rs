//! Findings as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Finding, Verdict};

/// Everything that was found.
pub(super) fn all(findings: &[Finding], as_json: bool) -> String {
    if as_json {
        return format!("{}\n", document(findings));
    }
    let mut text = String::new();
    for finding in findings {
        let _ = writeln!(text, "{:<5} {:<19} {}", finding.verdict.word(), finding.name, finding.found);
        if let Some(fix) = &finding.fix {
            let _ = writeln!(text, "      why: {}\n      fix: {fix}", finding.why);
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (ok, warn, fail) = (count(Verdict::Ok), count(Verdict::Warn), count(Verdict::Fail));
    let _ = writeln!(text, "\n{ok} ok, {warn} to look at, {fail} failed");
    text
}

fn document(findings: &[Finding]) -> Value {
    let check = |finding: &Finding| {
        json!({
            "name": finding.name,
            "verdict": finding.verdict.word(),
            "found": finding.found,
            "why": finding.why,
            "fix": finding.fix,
        })
    };
    let failed = findings.iter().any(|finding| finding.verdict == Verdict::Fail);
    json!({ "ok": !failed, "checks": findings.iter().map(check).collect::<Vec<_>>() })
}
