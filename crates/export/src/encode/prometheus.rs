//! Prometheus text exposition format 0.0.4, for whoever scrapes.
//!
//! Points carry no time: the scraper's clock says when they were read, as its documentation wants it.

use std::fmt::Write;

use super::series::{SeriesLabels, for_each};
use crate::names::Kind;
use crate::reading::Reading;

/// What a scrape is answered with.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The reading as text.
pub fn encode(reading: &Reading) -> String {
    let mut text = String::new();
    for family in &reading.families {
        let name = family.metric.name;
        let kind = match family.metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", family.metric.help);
        for_each(reading, family, |suffix, labels, number| {
            let _ = write!(text, "{name}{suffix}{{");
            push_labels(labels, &mut text);
            let _ = writeln!(text, "}} {number}");
        });
    }
    text
}

fn push_labels(labels: &SeriesLabels<'_>, to: &mut String) {
    for (at, (name, value)) in labels.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(to, "{comma}{name}=\"");
        for c in value.chars() {
            match c {
                '\\' => to.push_str("\\\\"),
                '"' => to.push_str("\\\""),
                '\n' => to.push_str("\\n"),
                c => to.push(c),
            }
        }
        to.push('"');
    }
}
