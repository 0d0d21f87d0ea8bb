//! The cost of a request in instructions: counted by callgrind on the engine's `hot_path` example, held against a
//! budget in the repository.
//!
//! Two runs with different numbers of requests are compared, so that start and end do not count. Recorders are swapped
//! by the clock, so that a slow machine counts a little more; the least of some attempts is taken.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::bench::lab::target_folder;
use crate::steps::{cargo, output, run};

const BUDGET: &str = "crates/engine/instructions.budget";
/// A profile that optimises like a release but links in seconds.
const PROFILE: &str = "counted";
/// Requests of the short and of the long run.
const REQUESTS: [u32; 2] = [2_000, 22_000];
/// How far above the budget a request may be.
const TOLERANCE: f64 = 0.03;
/// How far below the budget it is worth a new one.
const WORTH_LOWERING: f64 = 0.01;
/// Attempts before a request counts as too expensive.
const ATTEMPTS: usize = 3;

/// Fails if a request costs more than the budget allows.
pub(crate) fn check(root: &Path) -> Result<()> {
    let budget = budget(root)?;
    let counted = per_request(root)?;
    eprintln!(
        "  {counted:.0} instructions per request; the budget is {budget:.0}, the limit {:.0}",
        limit(budget)
    );
    if counted > limit(budget) {
        bail!(
            "a request costs {counted:.0} instructions, {:+.1} % of the budget; make it cheaper, or write the new number to {BUDGET} and say why in the commit",
            (counted / budget - 1.0) * 100.0
        );
    }
    if counted < budget * (1.0 - WORTH_LOWERING) {
        eprintln!("  that is cheaper than the budget: write {counted:.0} to {BUDGET}");
    }
    Ok(())
}

/// The greatest cost that a budget lets pass.
pub(crate) fn limit(budget: f64) -> f64 {
    budget * (1.0 + TOLERANCE)
}

/// The committed budget.
pub(crate) fn budget(root: &Path) -> Result<f64> {
    let text = fs::read_to_string(root.join(BUDGET)).with_context(|| format!("cannot read {BUDGET}"))?;
    parse_budget(&text).with_context(|| format!("{BUDGET} holds no number"))
}

/// A number on a line of its own; lines that begin with # explain it.
fn parse_budget(text: &str) -> Option<f64> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let budget: f64 = lines.next()?.parse().ok()?;
    (lines.next().is_none() && budget.is_finite() && budget > 0.0).then_some(budget)
}

/// Instructions per request, the least of some attempts; one is enough if it is within the limit.
pub(crate) fn per_request(root: &Path) -> Result<f64> {
    let target = target_folder(root)?;
    let example = ["-p", "hyperscale-engine", "--example", "hot_path"];
    run(root, &cargo(), &[&["build", "--locked", "--profile", PROFILE], &example[..]].concat())?;
    let program = target.join(PROFILE).join("examples/hot_path");
    let enough = limit(budget(root)?);
    let mut least = f64::INFINITY;
    for _ in 0..ATTEMPTS {
        least = least.min(attempt(root, &target, &program)?);
        if least <= enough {
            break;
        }
    }
    Ok(least)
}

fn attempt(root: &Path, target: &Path, program: &Path) -> Result<f64> {
    let [few, many] = REQUESTS;
    let [few_cost, many_cost] = [count(root, target, program, few)?, count(root, target, program, many)?];
    ensure!(many_cost > few_cost, "callgrind counted {few_cost} for {few} requests, {many_cost} for {many}");
    Ok((many_cost - few_cost) as f64 / f64::from(many - few))
}

/// All instructions of a run.
fn count(root: &Path, target: &Path, program: &Path, requests: u32) -> Result<u64> {
    let out = target.join(format!("callgrind.hot_path.{requests}"));
    let out_flag = format!("--callgrind-out-file={}", out.display());
    let program = program.to_str().context("the path of the target folder is no text")?;
    let requests = requests.to_string();
    output(root, "valgrind", &["--tool=callgrind", &out_flag, program, &requests])?;
    let counted =
        fs::read_to_string(&out).with_context(|| format!("callgrind wrote no {}", out.display()))?;
    total(&counted).with_context(|| format!("callgrind wrote no total to {}", out.display()))
}

/// The total in a file of callgrind: the last of its summaries.
fn total(file: &str) -> Option<u64> {
    let total = |line: &str| {
        line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:"))?.trim().parse().ok()
    };
    file.lines().rev().find_map(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_one_positive_number() {
        assert_eq!(parse_budget("# instructions per request\n\n5123\n"), Some(5123.0));
        for wrong in ["", "# only words", "many", "-1", "0", "5000\n6000", "inf"] {
            assert_eq!(parse_budget(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn three_per_cent_are_tolerated() {
        assert!((limit(1000.0) - 1030.0).abs() < 1e-9);
    }

    #[test]
    fn callgrind_tells_its_total() {
        let file = "version: 1\nevents: Ir\nsummary: 81234567\n\nfn=(1) main\n1 5\ntotals: 81234560\n";
        assert_eq!(total(file), Some(81_234_560));
        assert_eq!(total("events: Ir\nsummary: 7\n"), Some(7));
        assert_eq!(total("events: Ir\n"), None);
    }
}
