//! The leader of a job dies in silence: how long until a worker that runs it obeys another one.

use std::time::Duration;

use hyperscale_consensus::Config as LogConfig;
use hyperscale_consensus::register::JobId;
use hyperscale_swim::Config;
use hyperscale_types::Token;

use super::ledger::{Ledger, Line};
use super::{Bound, Row, percentile, seconds, with_missing};
use crate::invariants::Judges;
use crate::jobs::plan;
use crate::moment::Moment;
use crate::network::Weather;
use crate::process::{Crash, Version};
use crate::recorder::Recorder;
use crate::world::{LogSetup, Setup, Shape, World, index_of};

/// The cluster has found itself by then.
const READY: Duration = Duration::from_secs(20);
/// Jobs are ordered within this time, and one that runs for long is waited for as long.
const ORDERED: Duration = Duration::from_secs(20);
const JOBS: usize = 12;
/// Jobs that are looked at run for longer than a take-over may take.
const LONG: Duration = Duration::from_secs(8);
/// How long another leader is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    let seeds = if thorough { 600 } else { 30 };
    let took: Vec<Took> = (0..seeds).filter_map(crash).collect();
    let times: Vec<f64> = took.iter().filter_map(|took| took.obeyed).collect();
    let restarted: usize = took.iter().map(|took| took.restarted).sum();
    let times = with_missing(times, took.len(), PATIENCE.as_secs_f64());
    let note =
        format!("{} silent crashes in calm weather, slowest {:.2} s", times.len(), percentile(&times, 100));
    let row = |percent| Row {
        goal: format!("leader of a job crashes: a worker obeys another one, p{percent}"),
        unit: "s",
        must: Bound::AtMost(5.0),
        stretch: Some(Bound::AtMost(3.0)),
        value: percentile(&times, percent),
        note: note.clone(),
    };
    let healthy = Row {
        goal: "healthy segments of that job that were started again".to_owned(),
        unit: "",
        must: Bound::AtMost(0.0),
        stretch: None,
        value: restarted as f64,
        note: format!("{} crashes", took.len()),
    };
    vec![row(50), row(99), healthy]
}

/// What followed a crash.
struct Took {
    obeyed: Option<f64>,
    restarted: usize,
}

/// Lets the leader of a job that runs for long crash; `None` if no such job was ordered.
fn crash(seed: u64) -> Option<Took> {
    let (mut world, ledger) = with_jobs(seed);
    let is_long = |line| matches!(line, Line::Starts(job) if plan::length(job) >= LONG);
    world.run_while(ORDERED * 2, |_| ledger.first(is_long).is_some());
    let Line::Starts(job) = ledger.last(is_long)? else { return None };
    let (leader, token) = leader_of(&world, job)?;
    let at = world.kernel.now();
    ledger.clear();
    world.crash(leader, Crash::Machine);
    let obeys = |line| matches!(line, Line::Obeyed(of, by) if of == job && by > token);
    world.run_while(PATIENCE, |_| ledger.first(obeys).is_some());
    // Workers that the job had before the crash are all there: nothing of what they run is to start again.
    let restarted = ledger.count(|line| line == Line::Restarts(job));
    Some(Took { obeyed: ledger.first(obeys).map(|obeyed| seconds(obeyed, at)), restarted })
}

/// The manager that leads a job, and its token.
fn leader_of(world: &World, job: JobId) -> Option<(usize, Token)> {
    let host = world.nodes[world.leader_of(0)?].host.as_ref()?;
    let (leader, token) = host.manager()?.group().machine().register().job(job)?.leader?;
    Some((index_of(leader), token))
}

fn with_jobs(seed: u64) -> (World, Ledger) {
    let config = LogConfig { seed, ..LogConfig::lan() };
    let ordered = (Moment::ZERO.plus(READY), ORDERED);
    let setup = Setup {
        seed,
        shape: Shape { datacenters: 1, managers: 3, gates: 0, workers: 6 },
        config: Config::lan(),
        weather: Weather::fair(),
        skewed_clocks: false,
        registers: true,
        log: Some(LogSetup { jobs: JOBS, ordered, ..LogSetup::quiet(config) }),
        version: Version::New,
        start_within: Duration::from_millis(100),
    };
    let ledger = Ledger::default();
    let mut world = World::new(setup, Judges::of(vec![Box::new(ledger.clone())]), Recorder::off());
    world.run(READY);
    (world, ledger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_is_led_by_another_within_five_seconds_of_a_silent_crash() {
        let took: Vec<Took> = (0..6).filter_map(crash).collect();
        assert!(!took.is_empty(), "no long job in any of these seeds");
        for one in took {
            assert!(one.obeyed.is_some_and(|seconds| seconds <= 5.0), "{:?}", one.obeyed);
            assert_eq!(one.restarted, 0);
        }
    }
}
