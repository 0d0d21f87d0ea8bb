//! The line of progress that is shown every few seconds where there is no live screen.

use std::time::Duration;

use hyperscale_stats::result::Status;

use crate::human;

/// What a line of progress says. Rate and percentiles are those of the time since the line before.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Since the run began.
    pub elapsed: Duration,
    /// How long it is planned to last, if that is known.
    pub planned: Option<Duration>,
    /// Its workflows with where they are.
    pub workflows: Vec<(String, Status)>,
    /// Active VUs.
    pub vus: u64,
    /// Calls per second.
    pub rate: f64,
    /// Median latency, if any call was ok.
    pub p50_us: Option<f64>,
    /// 99th percentile of latency, if any call was ok.
    pub p99_us: Option<f64>,
    /// Failed calls since the run began.
    pub failed: u64,
}

/// One line, without a line end.
pub fn progress_line(progress: &Progress) -> String {
    let time = |duration: Duration| human::seconds(duration.as_secs_f64());
    let planned = progress.planned.map(|planned| format!(" of {}", time(planned))).unwrap_or_default();
    let latency = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), human::micros);
    [
        format!("{}{planned}", time(progress.elapsed)),
        workflows(&progress.workflows),
        format!("vus {}", human::count(progress.vus)),
        human::rate(progress.rate),
        format!("p50 {}", latency(progress.p50_us)),
        format!("p99 {}", latency(progress.p99_us)),
        format!("failed {}", human::count(progress.failed)),
    ]
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect::<Vec<_>>()
    .join("  ")
}

/// The running ones by name, the others as numbers: `Browse running (1 completed, 2 pending)`.
fn workflows(all: &[(String, Status)]) -> String {
    let running: Vec<&str> =
        all.iter().filter(|(_, status)| *status == Status::Running).map(|(name, _)| name.as_str()).collect();
    let mut others: Vec<(Status, usize)> = Vec::new();
    for (_, status) in all.iter().filter(|(_, status)| *status != Status::Running) {
        match others.iter_mut().find(|(seen, _)| seen == status) {
            Some((_, count)) => *count += 1,
            None => others.push((*status, 1)),
        }
    }
    let word = |status: Status| match status {
        // The one reason for which a workflow that is ready does not run.
        Status::Ready => "ready: waiting_for_cores",
        other => other.as_str(),
    };
    let others: Vec<String> = others.iter().map(|(status, n)| format!("{n} {}", word(*status))).collect();
    match (running.is_empty(), others.is_empty()) {
        (true, _) => others.join(", "),
        (false, true) => format!("{} running", running.join(", ")),
        (false, false) => format!("{} running ({})", running.join(", "), others.join(", ")),
    }
}
