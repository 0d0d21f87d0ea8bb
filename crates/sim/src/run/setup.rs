//! What the world of a seed is made of.

use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_consensus::{Backlog, Config as LogConfig, Promotion};
use hyperscale_swim::{Config, ContactConfig, Limits};

use super::Options;
use crate::bug::Bug;
use crate::faults::{FaultKind, FaultPlan};
use crate::log::disk::Frailty;
use crate::moment::Moment;
use crate::process::Version;
use crate::world::{LogSetup, Setup, Shape, Size};

/// The clock of the groups of managers.
const LOG_TICK: Duration = Duration::from_millis(50);
/// When the first job is ordered.
const ORDERS_FROM: Duration = Duration::from_secs(5);
/// Jobs that clients of each datacenter of a large world order in the safety phase; with those of the gates 200 in all.
const LARGE_JOBS: usize = 60;
/// Transitions that a core keeps for the judges, at least. As many as there are members: a list of all of them is one input, and
/// each may change with it.
const AUDIT_MIN: usize = 128;
/// How long the dead are remembered where that is short: longer than any suspicion, shorter than pauses and cuts may be.
const DEAD_TTL_S: Range<u64> = 40..160;
/// Updates about members and workers that may wait where few may: less than there are of them when many start or die at once.
const UPDATES_FEW: (Range<usize>, Range<usize>) = (4..12, 2..8);

/// How long faults come.
pub(super) fn safety(options: Options) -> Duration {
    options.faults_for.unwrap_or(match options.size {
        Size::Small => Duration::from_secs(200),
        Size::Large => Duration::from_mins(28),
    })
}

/// The world of a seed.
pub(super) fn draw(rng: &mut Rng, shape: &Shape, plan: &FaultPlan, options: Options) -> Setup {
    let members = (shape.nodes().len() * 2).max(64);
    // Sometimes the dead are forgotten soon, so that they come back to those who forgot them, and those who did not hear of a
    // death, as they were stopped or cut off, speak of the dead to those who forgot them.
    let dead_ttl = Duration::from_secs(if rng.bool() { 3600 } else { rng.u64(DEAD_TTL_S) });
    // Sometimes who cannot be reached is given up soon, so that cuts outlast it.
    let warn_after = Duration::from_secs(if rng.bool() { 60 } else { rng.u64(5..20) });
    let lan = Config::lan();
    let (member_updates, worker_updates) = updates_max(rng, &lan.limits);
    let audit = members.max(AUDIT_MIN);
    let limits = Limits { members, workers: members, member_updates, worker_updates, audit };
    let contact = ContactConfig { warn_after, ..lan.contact };
    let config = Config { dead_ttl, limits, contact, bugs: Bug::swim(options.bug), ..lan };
    Setup {
        seed: rng.u64(..),
        shape: *shape,
        config,
        weather: plan.weather.clone(),
        skewed_clocks: plan.kinds.has(FaultKind::SkewedClocks),
        registers: true,
        log: Some(log_setup(rng, plan, options)),
        version: if plan.kinds.has(FaultKind::Upgrade) { Version::Old } else { Version::New },
        start_within: Duration::from_secs(2),
    }
}

/// Updates about members and workers that may wait. Sometimes few, so that some are dropped: those that were sent most often,
/// and anti-entropy brings them to whoever missed them.
fn updates_max(rng: &mut Rng, limits: &Limits) -> (usize, usize) {
    if rng.bool() {
        return (limits.member_updates, limits.worker_updates);
    }
    (rng.usize(UPDATES_FEW.0), rng.usize(UPDATES_FEW.1))
}

/// The log of a seed: short ones, so that snapshots are made and sent, and ticks a little longer than in production, as most
/// of them pass without anything to do.
fn log_setup(rng: &mut Rng, plan: &FaultPlan, options: Options) -> LogSetup {
    let snapshot_entries = rng.u64(40..400);
    let config = LogConfig {
        seed: rng.u64(..),
        tick: LOG_TICK,
        snapshot_entries,
        trailing_entries: snapshot_entries / 4,
        promotion: Promotion { lag_max: 20, ..LogConfig::lan().promotion },
        backlog_max: backlog_max(rng),
        bugs: Bug::consensus(options.bug),
        ..LogConfig::lan()
    };
    let frailty =
        Frailty { loses: plan.kinds.has(FaultKind::LostWrites), tears: plan.kinds.has(FaultKind::TornTail) };
    let jobs = match options.size {
        Size::Small => rng.usize(6..=16),
        Size::Large => LARGE_JOBS,
    };
    let ordered = (Moment::ZERO.plus(ORDERS_FROM), safety(options).saturating_sub(ORDERS_FROM * 3));
    LogSetup { config, frailty, bugs: Bug::cluster(options.bug), jobs, ordered }
}

/// What may wait in a replica. Sometimes little, so that it has to refuse while its disk or its group stalls: whoever asked
/// asks again.
fn backlog_max(rng: &mut Rng) -> Backlog {
    if rng.bool() { Backlog::MAX } else { Backlog { proposals: rng.usize(4..24), reads: rng.usize(2..8) } }
}
