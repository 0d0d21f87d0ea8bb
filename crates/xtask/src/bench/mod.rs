//! `cargo xtask bench`: the goals of the engine, measured side by side with its peers on this machine.
//!
//! Numbers come from outside of the measured programs: the server counts requests, the kernel counts CPU time. A
//! complete benchmark writes the generated part of `docs/benchmarks.md`; a quick or partial one only prints.

mod call;
mod client;
mod cluster;
mod contest;
pub(crate) mod document;
pub(crate) mod goal;
mod install;
pub(crate) mod lab;
mod machine;
mod node;
mod numbers;
mod process;
mod receiver;
mod section;
mod server;
pub(crate) mod table;
mod tasks;

use std::fs;
use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::{Value, json};

use lab::Lab;
use section::{Findings, Section};

pub(crate) const DOCUMENT: &str = "docs/benchmarks.md";

/// How much is measured.
#[derive(Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Print all numbers as JSON on stdout.
    #[arg(long)]
    json: bool,
    /// Fewer and shorter runs, without the peers that have to be built. Writes no document.
    #[arg(long)]
    quick: bool,
    /// Measure only this section (may be repeated). Writes no document.
    #[arg(long, value_name = "NAME")]
    only: Vec<Section>,
    /// Measure clusters of processes instead, and write their part of the document.
    #[arg(long, conflicts_with_all = ["only", "json"])]
    cluster: bool,
    /// Measure the task plane instead, all of it or these topics, and write their part of the document.
    #[arg(long, value_name = "TOPIC", num_args = 0.., conflicts_with_all = ["only", "json", "cluster"])]
    tasks: Option<Vec<tasks::Topic>>,
    /// Repetitions of every contest.
    #[arg(long, value_name = "N")]
    runs: Option<NonZeroUsize>,
    /// Seconds of every run.
    #[arg(long, value_name = "S")]
    seconds: Option<NonZeroU64>,
    /// Measure this binary instead of building one.
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// Measures, prints, and writes the document if everything was measured.
pub(crate) fn run(root: &Path, args: &BenchArgs) -> Result<()> {
    if args.cluster {
        return cluster::run(root, args);
    }
    if let Some(topics) = &args.tasks {
        return tasks::run(root, args, topics);
    }
    let lab = Lab::set_up(root, args)?;
    let mut findings = Findings::default();
    let sections = if args.only.is_empty() { Section::value_variants() } else { &args.only };
    for section in sections {
        section.measure(&lab, &mut findings)?;
    }
    findings.add_books();

    let facts = machine::facts(&lab);
    let text = to_text(&facts, &findings);
    let printed = if args.json { format!("{:#}\n", to_json(&facts, &findings)) } else { text.clone() };
    std::io::stdout().write_all(printed.as_bytes())?;
    if !args.quick && args.only.is_empty() {
        let path = root.join(DOCUMENT);
        let old = fs::read_to_string(&path).unwrap_or_default();
        fs::write(&path, document::with_generated(&old, "cargo xtask bench", &text))
            .context("cannot write docs/benchmarks.md")?;
        eprintln!("\nwrote {DOCUMENT}");
    }
    Ok(())
}

fn to_text(facts: &[(&str, String)], findings: &Findings) -> String {
    let goals: Vec<Vec<String>> = findings.goals.iter().map(|goal| goal.cells().to_vec()).collect();
    let goals = table::table(&["goal", "must", "stretch", "measured", "verdict"], &goals, false);
    let facts: Vec<Vec<String>> =
        facts.iter().map(|(name, fact)| vec![(*name).to_owned(), fact.clone()]).collect();
    let facts = table::table(&["machine", ""], &facts, false);
    let contests: Vec<String> = findings.contests.iter().map(contest::Contest::to_text).collect();
    let explained =
        "Medians; in brackets the range over the repetitions. The honest number is the CPU time per request.";
    format!("## Engine\n\n{goals}\n{facts}\n{explained}\n\n{}", contests.join("\n"))
}

fn to_json(facts: &[(&str, String)], findings: &Findings) -> Value {
    let facts: serde_json::Map<String, Value> =
        facts.iter().map(|(name, fact)| ((*name).to_owned(), Value::from(fact.as_str()))).collect();
    let goals: Vec<Value> = findings.goals.iter().map(goal::Goal::to_json).collect();
    let contests: Vec<Value> = findings.contests.iter().map(contest::Contest::to_json).collect();
    json!({ "machine": facts, "goals": goals, "contests": contests })
}
