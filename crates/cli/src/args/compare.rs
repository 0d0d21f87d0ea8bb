//! `hyperscale compare`.

use std::path::PathBuf;

use clap::Args;
use hyperscale_stats::compare::FailRule;

/// Two results and what must not have changed between them.
#[derive(Debug, Args)]
#[command(after_help = "\
Rules: [WORKFLOW.STEP.]QUANTITY>PERCENT% or <, where QUANTITY is one of rate, failed, mean, p50, p90, p95, p99, p99.9 and \
PERCENT is the change from A to B (percentage points for failed). A rule is broken when the change is beyond the limit \
and the numbers show that it is a change: its confidence interval does not contain zero. All intervals of a comparison \
hold together in 95 of 100 comparisons. Where the load generator was the limit of a run no rule is judged.

Examples:
  hyperscale compare before.json after.json
  hyperscale compare before.json after.json --fail-on 'p95>5%' --fail-on 'rate<-5%' --report comparison.html

Exit codes: 0 no rule broken, 1 a file is no result, a report was not written or the runs are not comparable, 2 usage, \
99 a rule is broken")]
pub(crate) struct CompareArgs {
    /// The result before: JSON from `run --report FILE.json` or `run --json`
    #[arg(value_name = "A.json")]
    pub(crate) a: PathBuf,
    /// The result that is judged
    #[arg(value_name = "B.json")]
    pub(crate) b: PathBuf,
    /// Fail with exit code 99 if this rule is broken, for example 'p95>5%' (may be repeated)
    #[arg(long = "fail-on", value_name = "RULE")]
    pub(crate) rules: Vec<FailRule>,
    /// Write the comparison, by extension: .html (both runs in one page), .md, .json or .txt (may be repeated)
    #[arg(long = "report", value_name = "FILE")]
    pub(crate) reports: Vec<PathBuf>,
}
