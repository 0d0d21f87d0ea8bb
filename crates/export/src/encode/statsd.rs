//! StatsD: counters as differences to what was sent before, everything else as gauges.
//!
//! Plain StatsD knows no labels, so their texts become parts of the name, without the id of the run, which would make
//! new names for every run: `hyperscale_run_requests_total.shop.Browse.order.load`. With tags (DogStatsD) the name stays
//! and all labels go along.

use std::collections::HashMap;
use std::fmt::Write;

use super::Number;
use super::series::single;
use crate::names;
use crate::reading::{Point, Reading};

/// How labels are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tags {
    /// As parts of the name.
    #[default]
    InName,
    /// As DogStatsD does: `|#name:text,…`.
    Datadog,
}

/// Turns readings into lines, one after the other.
#[derive(Debug, Default)]
pub struct Encoder {
    tags: Tags,
    /// What was sent of every counter. As many as a reading has points.
    sent: HashMap<String, u64>,
}

impl Encoder {
    /// Nothing was sent yet.
    pub fn new(tags: Tags) -> Self {
        Self { tags, sent: HashMap::new() }
    }

    /// The lines of a reading, each with its line end. What they say counts as sent.
    pub fn encode(&mut self, reading: &Reading) -> Vec<String> {
        let mut lines = Vec::new();
        for (metric, point) in reading.points() {
            let (name, tags) = match self.tags {
                Tags::InName => (path(metric.name, reading, point), String::new()),
                Tags::Datadog => (metric.name.to_owned(), tags(reading, point)),
            };
            match single(point) {
                Some(Number::Count(count)) => {
                    let before = self.sent.insert(format!("{name}{tags}"), count).unwrap_or(0);
                    let more = count.saturating_sub(before);
                    if more > 0 {
                        lines.push(format!("{name}:{more}|c{tags}\n"));
                    }
                }
                Some(Number::Float(value)) => {
                    // A gauge with a sign is a difference, so one below zero starts from zero.
                    if value < 0.0 {
                        lines.push(format!("{name}:0|g{tags}\n"));
                    }
                    lines.push(format!("{name}:{value}|g{tags}\n"));
                }
                None => {}
            }
        }
        lines
    }
}

fn path(metric: &str, reading: &Reading, point: &Point) -> String {
    let mut path = metric.to_owned();
    for (_, text) in reading.labels(point).filter(|(name, text)| *name != names::JOB && !text.is_empty()) {
        path.push('.');
        path.extend(text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }));
    }
    path
}

fn tags(reading: &Reading, point: &Point) -> String {
    let mut tags = String::new();
    for (name, text) in reading.labels(point) {
        let before = if tags.is_empty() { "|#" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(tags, "{before}{name}:");
        tags.extend(text.chars().map(|c| if c.is_control() || "|,#".contains(c) { '_' } else { c }));
    }
    tags
}
