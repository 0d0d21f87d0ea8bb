//! What is measured, one file per theme; each adds its goals and tables to the findings.

mod counts;
mod faces;
mod http;
mod log;
mod plan;
mod scale;
mod size;
mod transfer;

use anyhow::Result;
use clap::ValueEnum;
use serde_json::Value;

use super::contest::{Contest, Sample, ratio_text};
use super::goal::{Bound, Goal, Outcome};
use super::lab::Lab;
use super::numbers::Spread;

/// Virtual users, and so connections, of the contests.
const CONNECTIONS: u32 = 64;

/// Connections of the contests over HTTP/2, and streams on each.
const HTTP2_CONNECTIONS: u32 = 8;
const HTTP2_STREAMS: u32 = 100;

/// A part of the benchmarks that can be run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Section {
    /// HTTP/1.1 keep-alive on the minimal server.
    Minimal,
    /// HTTP/1.1 keep-alive on nginx.
    Nginx,
    /// A plan of three steps with templates, extractions and checks.
    Plan,
    /// HTTP/2 with many streams per connection.
    Http2,
    /// HTTP/1.1 keep-alive over TLS.
    Https,
    /// Responses of 100 kB and 10 MB.
    Bodies,
    /// Requests of 1 MB.
    Uploads,
    /// A new connection for every request.
    Connections,
    /// The work that users of k6 give it.
    K6,
    /// Memory per virtual user, and over the length of a run.
    Memory,
    /// 50 000 virtual users.
    Many,
    /// Open model, 20 000 starts per second.
    Open,
    /// Two cores against one.
    Cores,
    /// What the live screen and exporters take from the load.
    Faces,
    /// Allocations and instructions.
    Counts,
    /// Entries per second of the replicated log.
    Log,
}

impl Section {
    /// Measures and adds what came out.
    pub(super) fn measure(self, lab: &Lab, findings: &mut Findings) -> Result<()> {
        eprintln!(
            "\n==> {}",
            self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
        );
        match self {
            Self::Minimal => http::minimal(lab, findings),
            Self::Nginx => http::nginx(lab, findings),
            Self::Plan => plan::three_steps(lab, findings),
            Self::Http2 => http::http2(lab, findings),
            Self::Https => http::https(lab, findings),
            Self::Bodies => transfer::bodies(lab, findings),
            Self::Uploads => transfer::uploads(lab, findings),
            Self::Connections => transfer::connections(lab, findings),
            Self::K6 => plan::k6(lab, findings),
            Self::Memory => size::measure(lab, findings),
            Self::Many => scale::many(lab, findings),
            Self::Open => scale::open(lab, findings),
            Self::Cores => scale::cores(lab, findings),
            Self::Faces => faces::measure(lab, findings),
            Self::Counts => counts::measure(lab, findings),
            Self::Log => log::measure(lab, findings),
        }
    }
}

/// What came out so far.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) goals: Vec<Goal>,
    pub(super) contests: Vec<Contest>,
}

impl Findings {
    fn add(&mut self, name: &str, unit: &'static str, must: Bound, stretch: Option<Bound>, outcome: Outcome) {
        self.goals.push(Goal { name: name.to_owned(), unit: unit.into(), must, stretch, outcome });
    }

    /// A goal whose value is our ratio to the reference of a contest.
    fn add_ratio(
        &mut self,
        name: &str,
        unit: &'static str,
        (must, stretch): (Bound, Bound),
        (contest, value): (&Contest, fn(&Sample) -> f64),
    ) {
        let outcome = ratio_outcome(contest.ratio(super::client::OURS, value));
        self.add(name, unit, must, Some(stretch), outcome);
    }

    /// Whether our books agree with those of the servers, over all contests.
    pub(super) fn add_books(&mut self) {
        if self.contests.is_empty() {
            return;
        }
        let miscounted: u64 = self.contests.iter().map(|contest| contest.miscounted).sum();
        let outcome = Outcome::Measured { value: miscounted as f64, note: "all runs above".into() };
        let name = "requests reported and requests seen by the server differ by";
        self.add(name, "", Bound::AtMost(0.0), None, outcome);
    }
}

fn ratio_outcome(spread: Option<Spread>) -> Outcome {
    match spread {
        Some(spread) => Outcome::Measured { value: spread.median, note: range(spread) },
        None => Outcome::NotMeasured("no requests were answered".into()),
    }
}

fn range(spread: Spread) -> String {
    let text = ratio_text(spread);
    text.split_once(' ').map_or_else(|| text.clone(), |(_, range)| range.to_owned())
}

/// A number in the JSON of a result.
fn number_at(result: &Value, pointer: &str) -> Option<f64> {
    result.pointer(pointer).and_then(Value::as_f64)
}
