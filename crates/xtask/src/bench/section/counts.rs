//! What is counted instead of timed: allocations and instructions per request. Tests guard both; here they are shown.

use anyhow::Result;

use super::Findings;
use crate::bench::goal::Bound::AtMost;
use crate::bench::goal::Outcome;
use crate::bench::lab::Lab;
use crate::instructions;
use crate::steps::{cargo, run};

/// The test that counts allocations of requests in the steady state.
const ALLOCATION_TEST: &str = "a_request_of_the_steady_state_allocates_nothing";

pub(super) fn measure(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let allocations = if lab.is_quick {
        Outcome::NotMeasured("`cargo xtask test` asserts it".into())
    } else {
        let test = ["-p", "hyperscale-engine", "--test", "it", ALLOCATION_TEST];
        run(&lab.root, &cargo(), &[&["test", "--locked", "--quiet"], &test[..]].concat())?;
        Outcome::Measured { value: 0.0, note: "asserted by a test".into() }
    };
    findings.add("heap allocations per steady-state request", "", AtMost(0.0), None, allocations);

    let budget = instructions::budget(&lab.root)?;
    let value = instructions::per_request(&lab.root)?;
    let note = format!("budget {budget:.0} in the repository");
    findings.add(
        "instructions per request (callgrind, network in memory)",
        "",
        AtMost(instructions::limit(budget)),
        None,
        Outcome::Measured { value, note },
    );
    Ok(())
}
