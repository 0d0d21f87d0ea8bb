//! Comma-separated values (RFC 4180), one row per number: a file that grows while the run goes on.
//!
//! | column | meaning |
//! | --- | --- |
//! | `time`, `elapsed_s` | when, in UTC, and how long after the run began |
//! | `final` | `true` in the rows of the final numbers |
//! | `metric`, `job`, `name`, `workflow`, `step` | what and of what; empty where it is of none |
//! | `labels` | what else tells it apart: `outcome=ok;part=load` |
//! | `value` | the number |

use std::fmt::Write;

use super::series::single;
use crate::names;
use crate::reading::{Point, Reading};

/// The first line.
pub const HEADER: &str = "time,elapsed_s,final,metric,job,name,workflow,step,labels,value\n";

/// The rows of a reading.
pub fn encode(reading: &Reading) -> String {
    let mut text = String::new();
    let [(_, job), (_, name)] = &reading.common;
    let run = format!("{},{}", cell(job), cell(name));
    for (metric, point) in reading.points() {
        let Some(number) = single(point) else { continue };
        let of = |wanted| point.labels.iter().find(|(name, _)| *name == wanted).map_or("", |(_, text)| text);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},{},{},{},{run},{},{},{},{number}",
            reading.at,
            reading.elapsed_s,
            reading.is_final,
            metric.name,
            cell(of(names::WORKFLOW)),
            cell(of(names::STEP)),
            cell(&others(point)),
        );
    }
    text
}

fn others(point: &Point) -> String {
    let has_column = |name: &str| name == names::WORKFLOW || name == names::STEP;
    let others = point.labels.iter().filter(|(name, _)| !has_column(name));
    others.map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join(";")
}

/// A text in quotes if it needs them, without characters that control a terminal or turn the direction of writing. What a
/// spreadsheet would take for a formula gets an apostrophe before it.
fn cell(text: &str) -> String {
    let text: String = text.chars().map(hyperscale_types::shown).collect();
    let is_formula = text.starts_with(['=', '+', '-', '@']);
    let text = if is_formula { format!("'{text}") } else { text };
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn texts_from_outside_are_no_formulas_and_control_nothing() {
        assert_eq!(cell("checkout"), "checkout");
        assert_eq!(cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        for text in ["+1", "-1", "@x"] {
            assert_eq!(cell(text), format!("'{text}"));
        }
        assert!(!cell("a\u{202e}b\u{1b}[2J").contains(['\u{202e}', '\u{1b}']));
    }
}
