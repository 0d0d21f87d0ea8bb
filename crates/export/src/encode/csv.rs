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

/// A text in quotes if it needs them.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
