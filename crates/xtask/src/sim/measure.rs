//! `cargo xtask sim --measure [TOPIC…]`: the numbers of the simulator as a table, which is also a part of the document. Topics that
//! are not measured keep the rows they have there: all of them together take hours.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{MEASURE, words};
use crate::bench::goal::{Bound, Goal, Outcome};
use crate::bench::{DOCUMENT, document, table};
use crate::steps::cargo;

const COLUMNS: [&str; 6] = ["goal", "must", "stretch", "measured", "verdict", "repeat"];
const AUTHOR: &str = "cargo xtask sim --measure";
const HEAD: &str = "\
## Membership and consensus

Measured in the simulator with the production cores; seeds are fixed, so the numbers repeat exactly (only the speed of the
simulator depends on the machine). Every row names the command that repeats it.
";

/// Measures and prints; what was measured thoroughly is written to the document.
pub(super) fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    let output = Command::new(cargo())
        .args(words(arguments))
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start the simulator")?;
    if !output.status.success() {
        bail!("the simulator ended with {}", output.status);
    }
    let rows: Value = serde_json::from_slice(&output.stdout).context("the simulator wrote no JSON")?;
    let rows = to_rows(&rows).context("the simulator wrote rows that cannot be read")?;
    std::io::stdout().write_all(table::table(&COLUMNS, &rows, false).as_bytes())?;
    let is_thorough = |argument: &&str| *argument == MEASURE || !argument.starts_with('-');
    if arguments.iter().all(is_thorough) {
        let path = root.join(DOCUMENT);
        let old = fs::read_to_string(&path).unwrap_or_default();
        let before = document::generated(&old, AUTHOR).map(table::rows).unwrap_or_default();
        let text = table::table(&COLUMNS, &table::with_measured(before, rows), false);
        let new = document::with_generated(&old, AUTHOR, &format!("{HEAD}\n{text}"));
        fs::write(&path, new).context("cannot write docs/benchmarks.md")?;
        eprintln!("\nwrote {DOCUMENT}");
    }
    Ok(())
}

fn to_rows(rows: &Value) -> Option<Vec<Vec<String>>> {
    rows.as_array()?.iter().map(cells).collect()
}

fn cells(row: &Value) -> Option<Vec<String>> {
    let text = |key: &str| row[key].as_str().map(str::to_owned);
    let goal = Goal {
        name: text("goal")?,
        unit: text("unit")?.into(),
        must: bound(&row["must"])?,
        stretch: bound(&row["stretch"]),
        outcome: Outcome::Measured { value: row["value"].as_f64()?, note: text("note")? },
    };
    let repeat = format!("`cargo xtask sim --measure {}`", text("topic")?);
    Some(goal.cells().into_iter().chain([repeat]).collect())
}

fn bound(value: &Value) -> Option<Bound> {
    let most = value["at_most"].as_f64().map(Bound::AtMost);
    most.or_else(|| value["at_least"].as_f64().map(Bound::AtLeast))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_become_a_table_with_the_command_that_repeats_them() {
        let rows = json!([{
            "goal": "dead", "unit": "s", "must": { "at_most": 13.0 }, "stretch": null, "value": 11.5,
            "note": "100 crashes", "topic": "detection",
        }]);
        let text = table::table(&COLUMNS, &to_rows(&rows).expect("can be read"), false);
        let cells = "| dead | ≤ 13.0 s |         | 11.5 s (100 crashes) | met     | `cargo xtask sim --measure detection` |";
        assert!(text.contains(cells), "{text}");
        assert!(to_rows(&json!([{ "goal": 1 }])).is_none());
    }
}
