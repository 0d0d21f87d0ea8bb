//! InfluxDB line protocol: a measurement per metric, labels as tags, one field `value`.
//!
//! Counts are integers (`…i`), everything else floats. Histograms are left to their percentiles.

use std::fmt::Write;

use super::Number;
use super::series::single;
use crate::reading::Reading;

/// The media type of a write.
pub const FIELDS: [(&str, &str); 1] = [("content-type", "text/plain; charset=utf-8")];

/// The reading as lines, each with its line end.
pub fn encode(reading: &Reading) -> Vec<String> {
    let mut lines = Vec::new();
    for (metric, point) in reading.points() {
        let Some(number) = single(point) else { continue };
        let mut line = metric.name.to_owned();
        for (name, value) in reading.labels(point).filter(|(_, value)| !value.is_empty()) {
            // Writing to a string cannot fail.
            let _ = write!(line, ",{name}=");
            push_tag(value, &mut line);
        }
        let suffix = if matches!(number, Number::Count(_)) { "i" } else { "" };
        let _ = writeln!(line, " value={number}{suffix} {}", reading.at.unix_ns());
        lines.push(line);
    }
    lines
}

/// The value of a tag. A line end cannot be escaped, and a backslash at the end would escape what follows.
fn push_tag(text: &str, to: &mut String) {
    for c in text.trim_end_matches('\\').chars() {
        match c {
            ',' | '=' | ' ' => to.extend(['\\', c]),
            c if c.is_control() => to.push('_'),
            c => to.push(c),
        }
    }
}
