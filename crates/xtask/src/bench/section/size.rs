//! Memory: per virtual user, and over the length of a run.

use std::time::Duration;

use anyhow::Result;

use super::{Findings, range};
use crate::bench::client::{self, Client, OURS, Work};
use crate::bench::goal::Bound::AtMost;
use crate::bench::goal::Outcome;
use crate::bench::lab::Lab;
use crate::bench::numbers::{Spread, number};
use crate::bench::process;

const VUS: u32 = 10_000;
/// How much longer the long run is.
const LONGER: u64 = 4;

pub(super) fn measure(lab: &Lab, findings: &mut Findings) -> Result<()> {
    let nginx = lab.nginx()?;
    let url = nginx.plain.as_str();
    let ours = |vus, seconds| lab.ours(OURS, url, &client::closed(vus, seconds));
    let wrk = |connections, seconds| client::wrk(Work { url, connections, seconds });

    let seconds = lab.seconds;
    let per_vu = per_connection(lab, &ours(VUS, seconds)?, &ours(1, seconds)?)?;
    let wrks = per_connection(lab, &wrk(VUS, seconds), &wrk(1, seconds))?;
    let note = match (per_vu, wrks) {
        (Some(ours), Some(wrks)) => format!("{}; wrk {}", range(ours), number(wrks.median)),
        _ => String::new(),
    };
    let outcome = per_vu.map(|spread| Outcome::Measured { value: spread.median, note });
    findings.add(
        "memory per keep-alive VU over the base, 10 000 VUs",
        "KiB",
        AtMost(6.0),
        Some(AtMost(4.0)),
        outcome.unwrap_or_else(|| Outcome::NotMeasured("no run ended".into())),
    );

    let (short, long) = (peak_kib(lab, &ours(64, seconds)?)?, peak_kib(lab, &ours(64, seconds * LONGER)?)?);
    let grown = (long - short) / 1024.0;
    let note = format!("{} s against {seconds} s", seconds * LONGER);
    findings.add(
        "statistics: growth of peak memory over the length of a run",
        "MiB",
        AtMost(1.0),
        None,
        Outcome::Measured { value: grown, note },
    );
    Ok(())
}

/// KiB per connection above the same client with one.
fn per_connection(lab: &Lab, many: &Client, one: &Client) -> Result<Option<Spread>> {
    let mut values = Vec::new();
    for _ in 0..lab.runs {
        let (many, one) = (peak_kib(lab, many)?, peak_kib(lab, one)?);
        values.push((many - one) / f64::from(VUS - 1));
    }
    Ok(Spread::of(values))
}

fn peak_kib(lab: &Lab, client: &Client) -> Result<f64> {
    let (_, end) =
        process::measure(&client.invocation, &lab.folder, Duration::from_secs(lab.seconds * LONGER))?;
    let line = client.invocation.words.iter().skip(1).map(String::as_str).collect::<Vec<_>>().join(" ");
    eprintln!("    {:>8} KiB  {} {line}", end.peak_kib, client.name);
    Ok(end.peak_kib as f64)
}
