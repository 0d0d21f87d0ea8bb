//! `cargo xtask bench --tasks [TOPIC…]`: the task plane as processes on this machine, on PostgreSQL and SQLite that sync.
//!
//! Nodes are asked through their API, as people ask them; rates are taken from the times that the database wrote, other times by this
//! process, from its request to what it, or a server of its own, sees next. Topics that are not measured keep the rows they have in the
//! document.

mod embedded;
mod history;
mod idle;
mod latency;
mod nodes;
mod peers;
mod postgres;
mod recovery;
mod throughput;

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::goal::Goal;
use super::lab::Lab;
use super::{BenchArgs, DOCUMENT, document, machine, table};
use crate::packages::{self, Needed};

const AUTHOR: &str = "cargo xtask bench --tasks";
const COLUMNS: [&str; 6] = ["goal", "must", "stretch", "measured", "verdict", "repeat"];
const HEAD: &str = "\
## Tasks

Nodes of the task plane as processes beside a PostgreSQL server of their own, which syncs every commit; both share the cores of this
machine, as pgbench does when it is measured. Tasks keep their history: four events each. Medians; in brackets the range.
";
const NEEDED: &[Needed] = &[
    Needed { program: "postgres", package: "postgresql" },
    Needed { program: "pgbench", package: "postgresql" },
    Needed { program: "psql", package: "postgresql-client" },
];

/// A part of the benchmarks of the task plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Topic {
    /// Empty tasks per second beside `pgbench -N`.
    Throughput,
    /// The same beside other task queues in Rust, which are built first.
    Peers,
    /// From a submission to its start.
    Latency,
    /// Killed nodes.
    Recovery,
    /// A million tasks that are kept.
    History,
    /// Nodes without work.
    Idle,
    /// The embedded database.
    Embedded,
}

impl Topic {
    fn measure(self, lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
        eprintln!("\n==> {}", self.name());
        match self {
            Self::Throughput => throughput::measure(lab, goals),
            Self::Peers => peers::measure(lab, goals),
            Self::Latency => latency::measure(lab, goals),
            Self::Recovery => recovery::measure(lab, goals),
            Self::History => history::measure(lab, goals),
            Self::Idle => idle::measure(lab, goals),
            Self::Embedded => embedded::measure(lab, goals),
        }
    }

    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

/// Measures, prints, and replaces the rows of what was measured.
pub(super) fn run(root: &Path, args: &BenchArgs, topics: &[Topic]) -> Result<()> {
    let lab = Lab::set_up(root, args)?;
    packages::install_missing(root, NEEDED)?;
    lab.hyperscale()?;
    let mut rows = Vec::new();
    for topic in if topics.is_empty() { Topic::value_variants() } else { topics } {
        let mut goals = Vec::new();
        topic.measure(&lab, &mut goals)?;
        let repeat = format!("`{AUTHOR} {}`", topic.name());
        rows.extend(goals.iter().map(|goal| [&goal.cells()[..], std::slice::from_ref(&repeat)].concat()));
    }
    std::io::stdout().write_all(table::table(&COLUMNS, &rows, false).as_bytes())?;
    if !args.quick {
        let path = root.join(DOCUMENT);
        let old = fs::read_to_string(&path).unwrap_or_default();
        let before = document::generated(&old, AUTHOR).map(table::rows).unwrap_or_default();
        // The table of facts follows that of the goals, and has fewer columns.
        let before = before.into_iter().filter(|row| row.len() == COLUMNS.len()).collect();
        let text = table::table(&COLUMNS, &table::with_measured(before, rows), false);
        let facts = table::table(&["machine at the last measurement", ""], &facts(&lab), false);
        let new = document::with_generated(&old, AUTHOR, &format!("{HEAD}\n{text}\n{facts}"));
        fs::write(&path, new).context("cannot write docs/benchmarks.md")?;
        eprintln!("\nwrote {DOCUMENT}");
    }
    Ok(())
}

fn facts(lab: &Lab) -> Vec<Vec<String>> {
    let mut facts = machine::common_facts(lab);
    facts.push(("PostgreSQL", machine::version("psql", "--version")));
    facts.into_iter().map(|(name, fact)| vec![name.to_owned(), fact]).collect()
}
