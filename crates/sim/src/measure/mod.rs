//! The goals of membership and of the log in numbers, measured on simulated clusters in fair or bad weather.
//!
//! Each topic has its own file and can be measured by itself: `cargo xtask sim --measure TOPIC`. Seeds are fixed, so the
//! numbers repeat exactly; only the speed of the simulator depends on the machine.

mod bytes;
mod commits;
mod deaths;
mod detection;
mod health;
mod leadership;
mod ledger;
mod rounds;
mod speed;
mod starvation;
mod takeover;
mod watch;

use std::time::Duration;

use hyperscale_consensus::Config as LogConfig;
use hyperscale_swim::{Config, Lifeguard};

use crate::invariants::Judges;
use crate::moment::Moment;
use crate::network::Weather;
use crate::process::Version;
use crate::recorder::Recorder;
use crate::world::{LogSetup, Node, Setup, Shape, World};
use ledger::Ledger;
pub use speed::{full, membership_only};
use watch::Watch;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// First suspicion and death of a silent crash.
    Detection,
    /// Healthy nodes that die under loss.
    Deaths,
    /// Healthy nodes that are accused while others are starved of their processor.
    Starvation,
    /// Rounds of gossip that news take.
    Rounds,
    /// Bytes sent in a quiet cluster.
    Bytes,
    /// Health multipliers after half of the workers died.
    Health,
    /// Leaders that die, and leaders whose workers die.
    Leadership,
    /// How long a commit takes.
    Commits,
    /// Leaders of jobs that die.
    Takeover,
}

impl Topic {
    /// All of them.
    pub const ALL: [Topic; 9] = [
        Topic::Detection,
        Topic::Deaths,
        Topic::Starvation,
        Topic::Rounds,
        Topic::Bytes,
        Topic::Health,
        Topic::Leadership,
        Topic::Commits,
        Topic::Takeover,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Topic::Detection => "detection",
            Topic::Deaths => "deaths",
            Topic::Starvation => "starvation",
            Topic::Rounds => "rounds",
            Topic::Bytes => "bytes",
            Topic::Health => "health",
            Topic::Leadership => "leadership",
            Topic::Commits => "commits",
            Topic::Takeover => "takeover",
        }
    }

    /// Measures it. Without `thorough`, smaller clusters and shorter times.
    pub fn measure(self, thorough: bool) -> Vec<Row> {
        match self {
            Topic::Detection => detection::measure(thorough),
            Topic::Deaths => deaths::measure(thorough),
            Topic::Starvation => starvation::measure(thorough),
            Topic::Rounds => rounds::measure(thorough),
            Topic::Bytes => bytes::measure(thorough),
            Topic::Health => health::measure(thorough),
            Topic::Leadership => leadership::measure(thorough),
            Topic::Commits => commits::measure(thorough),
            Topic::Takeover => takeover::measure(thorough),
        }
    }
}

/// A limit on a measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Not more.
    AtMost(f64),
    /// Not less.
    AtLeast(f64),
}

/// One measured goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub goal: String,
    /// Follows the number.
    pub unit: &'static str,
    /// What has to be reached.
    pub must: Bound,
    /// What would be better still.
    pub stretch: Option<Bound>,
    /// What came out.
    pub value: f64,
    /// What helps to read it.
    pub note: String,
}

/// A cluster that found itself and had time to calm down, and what its cores say from then on.
fn settled(seed: u64, count: usize, loss: f64, lifeguard: Lifeguard) -> (World, Watch) {
    let config = Config { lifeguard, ..Config::lan() };
    let setup = Setup {
        seed,
        shape: Shape::cluster_of(count),
        config,
        weather: Weather::lossy(loss),
        skewed_clocks: false,
        registers: false,
        log: None,
        version: Version::New,
        // Many at once would only measure how fast lists are sent.
        start_within: Duration::from_millis(10 * count as u64),
    };
    let watch = Watch::default();
    let mut world = World::new(setup, Judges::of(vec![Box::new(watch.clone())]), Recorder::off());
    world.run(Duration::from_secs(30).max(Duration::from_millis(15 * count as u64)));
    let limit = Duration::from_mins(2);
    assert!(world.run_while(limit, all_know_all).is_some(), "a cluster finds itself");
    world.run(Duration::from_secs(20));
    watch.clear();
    (world, watch)
}

/// Whether everybody lives in every view. Under heavy loss somebody is suspected somewhere at any time.
fn all_know_all(world: &World) -> bool {
    let live = |node: &Node| node.swim.members().filter(|member| member.claim.status.is_live()).count();
    world.nodes.iter().all(|node| live(node) + 1 == world.nodes.len())
}

/// A datacenter with a log whose group has a leader and whose workers have leases, and what is decided from then on.
fn with_log(seed: u64, voters: usize, workers: usize) -> (World, Ledger) {
    let setup = Setup {
        seed,
        shape: Shape { datacenters: 1, managers: voters, gates: 0, workers },
        config: Config::lan(),
        weather: Weather::fair(),
        skewed_clocks: false,
        registers: false,
        log: Some(LogSetup::quiet(LogConfig { seed, ..LogConfig::lan() })),
        version: Version::New,
        start_within: Duration::from_millis(10 * (voters + workers) as u64),
    };
    let ledger = Ledger::default();
    let mut world = World::new(setup, Judges::of(vec![Box::new(ledger.clone())]), Recorder::off());
    world.run(Duration::from_secs(20).max(Duration::from_millis(15 * workers as u64)));
    // So that crashes come at any moment between two heartbeats.
    world.run(Duration::from_millis(seed * 37 % 1000));
    assert!(world.leader_of(0).is_some(), "a calm group has a leader");
    (world, ledger)
}

/// How long something took, sorted. What of `count` never came took all the time there was, at least.
fn with_missing(mut took: Vec<f64>, count: usize, all: f64) -> Vec<f64> {
    took.resize(count.max(took.len()), all);
    took.sort_by(f64::total_cmp);
    took
}

/// The value below which that share lies.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted.get((last * percent).div_ceil(100)).copied().unwrap_or(f64::NAN)
}

fn seconds(later: Moment, earlier: Moment) -> f64 {
    later.since(earlier).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_came_counts_as_the_slowest() {
        let took = with_missing(vec![2.0, 1.0, 3.0], 4, 60.0);
        assert_eq!(took.iter().map(|it| *it as u32).collect::<Vec<_>>(), [1, 2, 3, 60]);
        assert_eq!([50, 100].map(|percent| percentile(&took, percent) as u32), [3, 60]);
    }
}
