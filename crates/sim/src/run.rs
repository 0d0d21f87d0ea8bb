//! One seed: a world is drawn, troubled, healed and asked whether it found itself again.
//!
//! | phase    | what happens                                                             | what must hold             |
//! | -------- | ------------------------------------------------------------------------ | -------------------------- |
//! | safety   | the drawn faults                                                         | all invariants             |
//! | liveness | everything heals, everybody who may comes back                           | and views converge in time |
//! | epilogue | newcomers join, up to half of the workers die, one leaves, in calm weather | and converge again       |

use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_consensus::{Backlog, Config as LogConfig, Promotion};
use hyperscale_swim::{Command, Config, ContactConfig, Limits};
use hyperscale_types::Role;

use crate::bug::Bug;
use crate::faults::{Fault, FaultKind, FaultKinds, FaultPlan};
use crate::invariants::{
    Judges, Violation, blobs_differ, cut_off, ghosts, jobs_open, replicas_differ, strangers, workers_differ,
};
use crate::log::disk::Frailty;
use crate::moment::Moment;
use crate::process::Version;
use crate::recorder::Recorder;
use crate::world::{LogSetup, Setup, Shape, Size, World};

/// How long a datacenter may take to find itself again once all trouble is over.
const CONVERGE_WITHIN: Duration = Duration::from_mins(1);
/// The same after half of the workers died: their suspicions have to end.
const DEATHS_WITHIN: Duration = Duration::from_secs(90);
/// What gates may take on top, as periods and suspicions of wide areas are five times as long, and what hearsay about
/// nodes that are gone may take to be given up.
const GATES_WITHIN: Duration = Duration::from_mins(4);
/// How long groups may take to find leaders and replicas to catch up, once views have converged.
const LOG_WITHIN: Duration = Duration::from_mins(1);
/// How long jobs may take to end from then on.
const JOBS_WITHIN: Duration = Duration::from_mins(3);
/// How long blobs may take to be where they belong and nowhere else from then on.
const BLOBS_WITHIN: Duration = Duration::from_mins(2);
/// The clock of the groups of managers.
const LOG_TICK: Duration = Duration::from_millis(50);
/// When the first job is ordered.
const ORDERS_FROM: Duration = Duration::from_secs(5);
/// Updates about members and workers that may wait where few may: less than there are of them when many start or die at once.
const UPDATES_FEW: (Range<usize>, Range<usize>) = (4..12, 2..8);
/// Nodes of a datacenter.
const DATACENTER: [Role; 2] = [Role::Manager, Role::Worker];
/// Quiet before the epilogue: what came from earlier trouble has passed.
const QUIET: Duration = Duration::from_mins(1);

/// How a seed is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How large.
    pub size: Size,
    /// With a deliberate bug.
    pub bug: Option<Bug>,
    /// Keep the last events of every node.
    pub record: bool,
}

impl Options {
    /// A small seed without a bug.
    pub fn small() -> Self {
        Self { size: Size::Small, bug: None, record: false }
    }
}

/// What came out of a seed.
#[derive(Debug)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Hash of everything that happened.
    pub trace: u64,
    /// Events that happened.
    pub events: u64,
    /// Simulated time.
    pub simulated: Duration,
    /// What kinds of trouble were drawn.
    pub kinds: FaultKinds,
    /// How large the cluster was.
    pub shape: Shape,
    /// How long it took to converge after everything healed.
    pub converged: Option<Duration>,
    /// The first broken promise.
    pub violation: Option<Violation>,
    /// The world as it was at the end.
    pub world: World,
}

/// Runs one seed.
pub fn run(seed: u64, options: Options) -> Outcome {
    let mut rng = Rng::with_seed(seed);
    let shape = Shape::draw(options.size, &mut rng);
    let safety = safety(options.size);
    let plan = FaultPlan::draw(&mut rng, &shape, safety);
    let recorder = if options.record { Recorder::on() } else { Recorder::off() };
    let mut world = World::new(setup(&mut rng, &shape, &plan, options), Judges::all(), recorder);
    // Secrets and versions of the protocol are only looked at where what is said is really written and read.
    if plan.kinds.has(FaultKind::KeyRotation) || plan.kinds.has(FaultKind::Upgrade) {
        world.seal(seed);
    }
    for (at, fault) in plan.schedule {
        world.plan(at, fault);
    }
    world.run_until(Moment::ZERO.plus(safety));
    let converged = liveness(&mut world);
    if converged.is_some() {
        epilogue(&mut world, &mut rng);
    }
    Outcome {
        seed,
        trace: world.kernel.trace.value(),
        events: world.kernel.happened(),
        simulated: world.kernel.now().since(Moment::ZERO),
        kinds: plan.kinds,
        shape,
        converged,
        violation: world.judges.violation().cloned(),
        world,
    }
}

fn safety(size: Size) -> Duration {
    match size {
        Size::Small => Duration::from_secs(200),
        Size::Large => Duration::from_mins(28),
    }
}

fn setup(rng: &mut Rng, shape: &Shape, plan: &FaultPlan, options: Options) -> Setup {
    let members = (shape.nodes().len() * 2).max(64);
    // Sometimes the dead are forgotten soon, so that they come back to those who forgot them.
    let dead_ttl = Duration::from_secs(if rng.bool() { 3600 } else { rng.u64(80..160) });
    // Sometimes who cannot be reached is given up soon, so that cuts outlast it.
    let warn_after = Duration::from_secs(if rng.bool() { 60 } else { rng.u64(5..20) });
    let lan = Config::lan();
    let (member_updates, worker_updates) = updates_max(rng, &lan.limits);
    let limits = Limits { members, workers: members, member_updates, worker_updates, audit: 128 };
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
        Size::Large => 60,
    };
    let ordered = (Moment::ZERO.plus(ORDERS_FROM), safety(options.size).saturating_sub(ORDERS_FROM * 3));
    LogSetup { config, frailty, jobs, ordered }
}

/// What may wait in a replica. Sometimes little, so that it has to refuse while its disk or its group stalls: whoever asked
/// asks again.
fn backlog_max(rng: &mut Rng) -> Backlog {
    if rng.bool() { Backlog::MAX } else { Backlog { proposals: rng.usize(4..24), reads: rng.usize(2..8) } }
}

/// Everything heals; how long it took to converge.
fn liveness(world: &mut World) -> Option<Duration> {
    world.plan(world.kernel.now(), Fault::Heal);
    world.run(Duration::from_millis(1));
    let took = converge(world, CONVERGE_WITHIN)?;
    conclude(world)?;
    Some(took)
}

fn converge(world: &mut World, within: Duration) -> Option<Duration> {
    let difference = |world: &World| strangers(world, &DATACENTER).or_else(|| workers_differ(world));
    let took = settle(world, "views_converge", within, difference)?;
    settle(world, "views_converge", GATES_WITHIN, |world| {
        strangers(world, &[Role::Gate]).or_else(|| ghosts(world)).or_else(|| cut_off(world))
    })?;
    Some(took)
}

/// Every group has a leader, its replicas agree, and every acknowledged job ends.
fn conclude(world: &mut World) -> Option<()> {
    settle(world, "log_settles", LOG_WITHIN, replicas_differ)?;
    settle(world, "jobs_end", JOBS_WITHIN, |world| jobs_open(world).or_else(|| replicas_differ(world)))?;
    settle(world, "blobs_kept", BLOBS_WITHIN, blobs_differ)?;
    Some(())
}

fn settle(
    world: &mut World,
    promise: &'static str,
    within: Duration,
    difference: impl Fn(&World) -> Option<String>,
) -> Option<Duration> {
    let took = world.run_while(within, |world| difference(world).is_none());
    if took.is_none()
        && let Some(difference) = difference(world)
    {
        object(world, promise, format!("after {within:?} {difference}"));
    }
    took
}

/// In calm weather: newcomers, a leave, and many deaths at once.
fn epilogue(world: &mut World, rng: &mut Rng) {
    world.run(QUIET);
    for cluster in 0..world.truth.clusters() {
        let is_gates = world.truth.members_with(cluster, Role::Gate).next().is_some();
        world.add(
            if is_gates { Role::Gate } else { Role::Worker },
            cluster,
            Duration::from_millis(rng.u64(..900)),
        );
    }
    world.run(Duration::from_secs(12));
    for cluster in 0..world.truth.clusters() {
        let mut workers: Vec<usize> = world.truth.members_with(cluster, Role::Worker).collect();
        rng.shuffle(&mut workers);
        let dying = rng.usize(0..=workers.len() / 2);
        for node in workers.drain(..dying) {
            world.plan(world.kernel.now(), Fault::Kill { node });
        }
        if let Some(node) = workers.pop() {
            world.tell(node, Command::Leave);
        }
    }
    world.run(Duration::from_secs(1));
    if converge(world, DEATHS_WITHIN).is_some() {
        conclude(world);
    }
}

fn object(world: &mut World, invariant: &'static str, what: String) {
    let at = world.kernel.now();
    world.judges.object(invariant, at, None, what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn upgrades_happen_where_versions_of_the_protocol_are_read() {
        let is_plain_upgrade = |seed: &u64| {
            let mut rng = Rng::with_seed(*seed);
            let shape = Shape::draw(Size::Small, &mut rng);
            let kinds = FaultPlan::draw(&mut rng, &shape, safety(Size::Small)).kinds;
            kinds.has(FaultKind::Upgrade) && !kinds.has(FaultKind::KeyRotation)
        };
        let seed = (0..100).find(is_plain_upgrade).expect("kinds are drawn one by one");
        let world = run(seed, Options::small()).world;
        let running = world.truth.nodes.iter().zip(&world.nodes).filter(|(fact, _)| fact.process.is_up());
        assert!(running.clone().any(|(fact, _)| fact.process.version == Version::New));
        assert!(running.clone().all(|(_, node)| node.wire.is_some()));
    }
}
