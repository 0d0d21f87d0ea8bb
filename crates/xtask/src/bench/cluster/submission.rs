//! From a submission to the first request, and how many submissions are accepted.

use std::net::Ipv4Addr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::nodes::{Cluster, submission};
use crate::bench::call::Caller;
use crate::bench::goal::Bound::{AtLeast, AtMost};
use crate::bench::goal::Goal;
use crate::bench::lab::Lab;
use crate::bench::node::PATIENCE;
use crate::bench::numbers::percentile;
use crate::bench::receiver::Arrivals;

/// Jobs whose first request is timed.
const TIMED: usize = 200;
/// Sources that submit at the same time. The API takes 200 requests per second of each.
const SOURCES: u8 = 24;
/// How long they submit. The queue of the cluster has room for 10 000 jobs.
const SUBMITTING: Duration = Duration::from_secs(4);

/// A job at a time on an idle cluster, submitted to each manager in turn.
pub(super) fn first_request(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    eprintln!("\n==> submit to first request");
    let arrivals = Arrivals::listen()?;
    let cluster = Cluster::start(lab, 1, ["0-1", "0-1"])?;
    let plan = format!(
        "workflows:\n  One: {{ vus: 1, iterations: 1, steps: {{ call: {{ http: 'http://{}/' }} }} }}\n",
        arrivals.address
    );
    let mut took = Vec::new();
    for number in 0..TIMED {
        arrivals.forget();
        let mut caller = Caller::connect(cluster.http(number % 3)?)?;
        let begin = Instant::now();
        let accepted = caller.call("jobs.submit", &submission(&plan))?;
        took.push(arrivals.next(PATIENCE)?.duration_since(begin).as_secs_f64() * 1e3);
        let job = accepted["job"].as_str().context("a submission has a job")?;
        cluster.result(number % 3, job)?;
    }
    let note = format!("{TIMED} jobs, slowest {:.0} ms", percentile(&mut took, 100));
    let name = "submit to first request, 3 managers, idle";
    goals.push(Goal::measured(
        &format!("{name}: p50"),
        "ms",
        (AtMost(50.0), None),
        percentile(&mut took, 50),
        note.clone(),
    ));
    goals.push(Goal::measured(
        &format!("{name}: p99"),
        "ms",
        (AtMost(200.0), None),
        percentile(&mut took, 99),
        note,
    ));
    Ok(())
}

/// Submissions from many sources to all managers at once; the cluster has no worker, so that accepting is all it does.
pub(super) fn accepted(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    eprintln!("\n==> jobs accepted per second");
    let plan =
        "workflows:\n  One: { vus: 1, iterations: 1, steps: { call: { http: 'http://127.0.0.1:9/' } } }\n";
    let mut rates = Vec::new();
    for _ in 0..lab.runs.min(3) {
        let cluster = Cluster::start(lab, 0, ["0-1", "0-1"])?;
        let begin = Instant::now();
        let threads: Vec<_> = (0..SOURCES)
            .map(|source| {
                let to = cluster.http(usize::from(source) % 3)?;
                let from = Ipv4Addr::new(127, 0, 1, source + 1);
                Ok(thread::spawn(move || submit_from(from, to, plan)))
            })
            .collect::<Result<_>>()?;
        let mut count = 0;
        for thread in threads {
            count += thread.join().ok().context("a thread that submits ends well")??;
        }
        rates.push(count as f64 / begin.elapsed().as_secs_f64());
    }
    let note = format!(
        "least of {} runs {:.0}; {SOURCES} clients on the same two cores",
        rates.len(),
        percentile(&mut rates, 0)
    );
    let name = "jobs accepted per second, 3 managers on this machine";
    goals.push(Goal::measured(
        name,
        "",
        (AtLeast(500.0), Some(AtLeast(2000.0))),
        percentile(&mut rates, 50),
        note,
    ));
    Ok(())
}

/// Submits one job after the other; how many were accepted.
fn submit_from(source: Ipv4Addr, to: std::net::SocketAddrV4, plan: &str) -> Result<u64> {
    let mut caller = Caller::connect_from(source, to)?;
    let (params, begin) = (submission(plan), Instant::now());
    let mut accepted = 0;
    while begin.elapsed() < SUBMITTING {
        // One that is refused because its source is too fast is no job.
        accepted += u64::from(caller.call("jobs.submit", &params).is_ok());
    }
    Ok(accepted)
}
