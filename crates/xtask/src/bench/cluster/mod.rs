//! `cargo xtask bench --cluster`: managers and workers as processes on this machine, with the times of production.
//!
//! Times are taken by this process: from its request to what it, or a server of its own, sees next. CPU time, memory and
//! bytes are those of the kernel.

mod nodes;
mod recovery;
mod steady;
mod submission;

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

use super::lab::Lab;
use super::{BenchArgs, DOCUMENT, document, machine, table};

const AUTHOR: &str = "cargo xtask bench --cluster";
const HEAD: &str = "\
## Clusters

Three managers and workers as processes on this machine, all on loopback, with the times of production. Election and
take-over after a silent crash are measured in the simulator, below: here the kernel closes the connections of what is killed.
";

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
