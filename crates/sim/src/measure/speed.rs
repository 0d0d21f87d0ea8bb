//! Clusters whose simulation is timed. The clock is the caller's: nothing here may look at one.

use std::time::Duration;

use hyperscale_consensus::Config as LogConfig;
use hyperscale_swim::{Config, Lifeguard};

use super::{all_know_all, settled};
use crate::invariants::Judges;
use crate::moment::Moment;
use crate::network::Weather;
use crate::process::Version;
use crate::recorder::Recorder;
use crate::world::{LogSetup, Setup, Shape, World};

const MANAGERS: usize = 5;
/// The cluster has found itself by then, and half a minute has passed.
const READY: Duration = Duration::from_mins(1);

/// A calm cluster of membership cores alone, seen by a single judge that takes notes.
pub fn membership_only(count: usize) -> World {
    settled(4, count, 0.0, Lifeguard::On).0
}

/// A calm datacenter of nodes as seeds have them: membership, a log on modelled disks, workers that register and keep their
/// leases, jobs that clients order within `span` from now on, and all judges.
pub fn full(count: usize, jobs: usize, span: Duration) -> World {
    let seed = 4;
    let config = LogConfig { seed, ..LogConfig::lan() };
    let ordered = (Moment::ZERO.plus(READY), span);
    let setup = Setup {
        seed,
        shape: Shape { datacenters: 1, managers: MANAGERS, gates: 0, workers: count - MANAGERS },
        config: Config::lan(),
        weather: Weather::fair(),
        skewed_clocks: false,
        registers: true,
        log: Some(LogSetup { jobs, ordered, ..LogSetup::quiet(config) }),
        version: Version::New,
        start_within: Duration::from_millis(10 * count as u64),
    };
    let mut world = World::new(setup, Judges::all(), Recorder::off());
    world.run(READY);
    assert!(all_know_all(&world), "a calm cluster finds itself within a minute");
    assert!(world.leader_of(0).is_some(), "a calm group has a leader");
    world
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_nodes_have_leases_end_jobs_and_are_seen_by_every_judge() {
        let span = Duration::from_mins(1);
        let mut world = full(20, 4, span);
        world.run(span * 2);
        assert!(world.judges.is_thorough() && world.judges.violation().is_none());
        let manager = world.nodes[0].host.as_ref().and_then(|host| host.manager()).unwrap();
        let register = manager.group().machine().register();
        assert_eq!(register.workers().count(), 15);
        assert!(world.clients.client_jobs.iter().all(|client_job| client_job.ended.is_some()));
    }
}
