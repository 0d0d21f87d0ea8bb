//! A contest: clients take turns on one server, again and again, in rotated order.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::client::Client;
use super::lab::Lab;
use super::numbers::{Spread, number, rotated};
use super::process;
use super::server::Server;
use super::table::table;

/// One run of one client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    /// As the server counted.
    pub(super) requests: u64,
    pub(super) user_s: f64,
    pub(super) system_s: f64,
    pub(super) wall_s: f64,
    pub(super) peak_kib: u64,
}

impl Sample {
    pub(super) fn cpu_us(&self) -> f64 {
        (self.user_s + self.system_s) * 1e6 / self.requests as f64
    }

    fn user_us(&self) -> f64 {
        self.user_s * 1e6 / self.requests as f64
    }

    pub(super) fn rate(&self) -> f64 {
        self.requests as f64 / self.wall_s
    }

    fn peak_mib(&self) -> f64 {
        self.peak_kib as f64 / 1024.0
    }
}

/// A client and its runs, one per repetition.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) samples: Vec<Sample>,
}

/// All runs of a contest. The first entry is the reference.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Contest {
    pub(super) title: String,
    pub(super) entries: Vec<Entry>,
    /// Requests our client reported minus those the server saw, added up without sign.
    pub(super) miscounted: u64,
}

impl Contest {
    /// Lets the clients take turns; the first one is the reference.
    pub(super) fn hold(lab: &Lab, title: &str, server: &Server, clients: &[Client]) -> Result<Self> {
        eprintln!("  {title}");
        let entries = clients.iter().map(|client| Entry { name: client.name.clone(), samples: Vec::new() });
        let mut contest = Self { title: title.to_owned(), entries: entries.collect(), miscounted: 0 };
        for repetition in 0..lab.runs {
            for at in rotated(clients.len(), repetition) {
                contest.run(lab, server, at, &clients[at])?;
            }
        }
        Ok(contest)
    }

    fn run(&mut self, lab: &Lab, server: &Server, at: usize, client: &Client) -> Result<()> {
        let expected = Duration::from_secs(lab.seconds);
        let ((usage, end), requests) =
            server.count(|| process::measure(&client.invocation, &lab.folder, expected))?;
        if client.is_ours() {
            let reported = reported_requests(&end.stdout).context("our result tells no requests")?;
            self.miscounted += reported.abs_diff(requests);
        }
        let process::Usage { user_s, system_s, wall_s, .. } = usage;
        let sample = Sample { requests, user_s, system_s, wall_s, peak_kib: end.peak_kib };
        let (rate, cpu) = (number(sample.rate()), number(sample.cpu_us()));
        eprintln!("    {:<22} {rate:>9} req/s  {cpu:>6} µs CPU per request", client.name);
        self.entries[at].samples.push(sample);
        Ok(())
    }

    /// An entry's value relative to the reference's, repetition by repetition.
    pub(super) fn ratio(&self, name: &str, value: fn(&Sample) -> f64) -> Option<Spread> {
        let values = |entry: &Entry| entry.samples.iter().map(value).collect::<Vec<_>>();
        let entry = self.entries.iter().find(|entry| entry.name == name)?;
        Spread::of_ratios(&values(entry), &values(self.entries.first()?))
    }

    /// The contest as a table.
    pub(super) fn to_text(&self) -> String {
        let reference = self.entries.first().map_or("", |entry| entry.name.as_str());
        let relative = format!("× {reference}");
        let head = ["client", "req/s", &relative, "CPU µs/req", "of it user", &relative, "peak MiB"];
        let rows: Vec<Vec<String>> = self.entries.iter().map(|entry| self.row(entry)).collect();
        format!("### {}\n\n{}", self.title, table(&head, &rows, true))
    }

    fn row(&self, entry: &Entry) -> Vec<String> {
        let median = |value: fn(&Sample) -> f64| {
            Spread::of(entry.samples.iter().map(value))
                .map_or_else(String::new, |spread| number(spread.median))
        };
        let relative = |value| self.ratio(&entry.name, value).map_or_else(String::new, ratio_text);
        vec![
            entry.name.clone(),
            median(Sample::rate),
            relative(Sample::rate),
            median(Sample::cpu_us),
            median(Sample::user_us),
            relative(Sample::cpu_us),
            median(Sample::peak_mib),
        ]
    }

    pub(super) fn to_json(&self) -> Value {
        let sample = |sample: &Sample| {
            json!({
                "requests": sample.requests, "wall_s": sample.wall_s, "user_s": sample.user_s,
                "system_s": sample.system_s, "peak_kib": sample.peak_kib,
            })
        };
        let entry = |entry: &Entry| {
            let samples: Vec<Value> = entry.samples.iter().map(sample).collect();
            json!({ "client": entry.name, "runs": samples })
        };
        json!({ "title": self.title, "entries": self.entries.iter().map(entry).collect::<Vec<_>>() })
    }
}

/// Median with the range it comes from.
pub(super) fn ratio_text(spread: Spread) -> String {
    format!("{:.2} [{:.2}–{:.2}]", spread.median, spread.min, spread.max)
}

fn reported_requests(result: &str) -> Option<u64> {
    let result: Value = serde_json::from_str(result).ok()?;
    result["totals"]["requests"].as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(requests: u64, cpu_s: f64) -> Sample {
        Sample { requests, user_s: cpu_s / 4.0, system_s: cpu_s * 0.75, wall_s: 2.0, peak_kib: 5 * 1024 }
    }

    fn contest() -> Contest {
        let entry =
            |name: &str, samples: &[Sample]| Entry { name: name.to_owned(), samples: samples.to_vec() };
        Contest {
            title: "HTTP/1.1".into(),
            entries: vec![
                entry("wrk", &[sample(200_000, 2.0), sample(100_000, 2.0)]),
                entry("hyperscale", &[sample(250_000, 2.0), sample(125_000, 2.0)]),
            ],
            miscounted: 0,
        }
    }

    #[test]
    fn ratios_are_taken_within_a_repetition() {
        let contest = contest();
        assert_eq!(
            contest.ratio("hyperscale", Sample::cpu_us).map(ratio_text).as_deref(),
            Some("0.80 [0.80–0.80]")
        );
        assert_eq!(
            contest.ratio("hyperscale", Sample::rate).map(ratio_text).as_deref(),
            Some("1.25 [1.25–1.25]")
        );
        assert_eq!(contest.ratio("nobody", Sample::rate), None);
    }

    #[test]
    fn a_contest_is_shown_with_its_reference_first() {
        let expected = "\
### HTTP/1.1

| client     |  req/s |            × wrk | CPU µs/req | of it user |            × wrk | peak MiB |
| ---------- | -----: | ---------------: | ---------: | ---------: | ---------------: | -------: |
| wrk        | 75 000 | 1.00 [1.00–1.00] |       15.0 |       3.75 | 1.00 [1.00–1.00] |     5.00 |
| hyperscale | 93 750 | 1.25 [1.25–1.25] |       12.0 |       3.00 | 0.80 [0.80–0.80] |     5.00 |
";
        assert_eq!(contest().to_text(), expected);
    }

    #[test]
    fn our_result_tells_its_requests() {
        assert_eq!(reported_requests(r#"{"version":1,"totals":{"requests":17,"ok":17}}"#), Some(17));
        assert_eq!(reported_requests("no json"), None);
    }
}
