//! `cargo xtask bench --cluster`: managers and workers as processes on this machine, with the times of production.
//!
//! Times are taken by this process: from its request to what it, or a server of its own, sees next. CPU time, memory and
//! bytes are those of the kernel.

mod call;
mod nodes;
mod receiver;
mod recovery;
mod steady;
mod submission;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::goal::{Bound, Goal, Outcome};
use super::lab::Lab;
use super::{BenchArgs, DOCUMENT, document, machine, table};

const AUTHOR: &str = "cargo xtask bench --cluster";
const HEAD: &str = "\
## Clusters

Three managers and workers as processes on this machine, all on loopback, with the times of production. Election and
take-over after a silent crash are measured in the simulator, below: here the kernel closes the connections of what is killed.
";
/// How long anything may take before the measurement is given up.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often something is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Measures, prints, and writes its part of the document.
pub(super) fn run(root: &Path, args: &BenchArgs) -> Result<()> {
    let lab = Lab::set_up(root, args)?;
    lab.hyperscale()?;
    let mut goals = Vec::new();
    submission::first_request(&lab, &mut goals)?;
    submission::accepted(&lab, &mut goals)?;
    steady::idle(&lab, &mut goals)?;
    steady::throughput(&lab, &mut goals)?;
    steady::job_leader(&lab, &mut goals)?;
    recovery::leaders(&lab, &mut goals)?;
    recovery::worker(&lab, &mut goals)?;
    let cells: Vec<Vec<String>> = goals.iter().map(|goal| goal.cells().to_vec()).collect();
    let goals = table::table(&["goal", "must", "stretch", "measured", "verdict"], &cells, false);
    let facts: Vec<Vec<String>> =
        machine::facts(&lab).into_iter().map(|(name, fact)| vec![name.to_owned(), fact]).collect();
    let text = format!("{HEAD}\n{goals}\n{}", table::table(&["machine", ""], &facts, false));
    std::io::stdout().write_all(text.as_bytes())?;
    if !args.quick {
        let path = root.join(DOCUMENT);
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, document::with_generated(&old, AUTHOR, &text))
            .context("cannot write docs/benchmarks.md")?;
        eprintln!("\nwrote {DOCUMENT}");
    }
    Ok(())
}

/// Asks until there is a response.
fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> Result<T> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(found) = ask() {
            return Ok(found);
        }
        thread::sleep(LOOK_EVERY);
    }
    bail!("never saw {what}")
}

/// A row with a value.
fn measured(
    name: &str,
    unit: &'static str,
    (must, stretch): (Bound, Option<Bound>),
    value: f64,
    note: String,
) -> Goal {
    Goal {
        name: name.to_owned(),
        unit: unit.into(),
        must,
        stretch,
        outcome: Outcome::Measured { value, note },
    }
}

/// The value below which that share of the sorted values lies.
fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last * percent).div_ceil(100)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_of_few_values_is_one_of_them() {
        let mut values = [3.0, 1.0, 2.0];
        assert_eq!([0, 50, 99].map(|percent| percentile(&mut values, percent) as u32), [1, 2, 3]);
    }
}
