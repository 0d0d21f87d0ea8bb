//! The replicated log: entries that a group of three decides per second, on disks in memory and on synced files.

use anyhow::{Context, Result};

use super::Findings;
use crate::bench::client::PATH_IS_NO_TEXT;
use crate::bench::goal::Bound::AtLeast;
use crate::bench::goal::Outcome;
use crate::bench::lab::{Lab, target_folder};
use crate::bench::numbers::{Spread, number};
use crate::steps::{cargo, output, run};

/// Entries of one run: some seconds of it, even if every batch waits for a slow disk.
const ENTRIES: &str = "20000";
/// What a group must sustain.
const MUST: f64 = 4_000.0;

pub(super) fn measure(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let example = ["-p", "hyperscale-consensus", "--example", "throughput"];
    run(&lab.root, &cargo(), &[&["build", "--locked", "--release"], &example[..]].concat())?;
    let program = target_folder(&lab.root)?.join("release/examples/throughput");
    let program = program.to_str().context(PATH_IS_NO_TEXT)?;
    for (name, is_synced) in [
        ("replicated log, three replicas in one thread: entries/s", false),
        ("replicated log, the same with every batch synced to a file: entries/s", true),
    ] {
        let mut rates = Vec::new();
        for _ in 0..lab.runs {
            rates.push(once(lab, program, is_synced)?);
        }
        let spread = Spread::of(rates).context("nothing was measured")?;
        let note = format!("[{}–{}]", number(spread.min), number(spread.max));
        findings.add(name, "", AtLeast(MUST), None, Outcome::Measured { value: spread.median, note });
    }
    Ok(())
}

/// Entries per second of one run, on fresh files if it is synced.
fn once(lab: &Lab, program: &str, is_synced: bool) -> Result<f64> {
    let folder = lab.folder.join("log");
    let mut arguments = vec![ENTRIES];
    if is_synced {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        arguments.push(folder.to_str().context("the path of the folder is no text")?);
    }
    let printed = output(&lab.root, program, &arguments)?;
    printed.trim().parse().with_context(|| format!("`{}` is no number", printed.trim()))
}
