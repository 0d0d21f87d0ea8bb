//! One seed: a world is drawn, troubled, healed and asked whether it found itself again.
//!
//! | phase    | what happens                                                                | what must hold                      |
//! | -------- | --------------------------------------------------------------------------- | ----------------------------------- |
//! | safety   | the drawn faults                                                            | all invariants                      |
//! | liveness | all trouble ends; in half of the seeds a minority of every group and some workers stay away | and views converge, groups decide, new jobs complete |
//! | return   | where somebody was away: they come back                                     | the same                            |
//! | epilogue | elsewhere: newcomers join, up to half of the workers die, one leaves, in calm weather | the same                  |

mod liveness;
mod setup;

use std::time::Duration;

use fastrand::Rng;

use crate::bug::Bug;
use crate::faults::{FaultKind, FaultKinds, FaultPlan};
use crate::invariants::{Judges, Violation};
use crate::moment::Moment;
use crate::paths::Paths;
use crate::recorder::Recorder;
use crate::world::{Shape, Size, World};

/// How a seed is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How large.
    pub size: Size,
    /// With a deliberate bug.
    pub bug: Option<Bug>,
    /// Without the judges that look inside of cores.
    pub black_box: bool,
    /// Keep the last events of every node.
    pub record: bool,
    /// How long faults come, if not as long as they do for this size.
    pub faults_for: Option<Duration>,
}

impl Options {
    /// A small seed without a bug.
    pub fn small() -> Self {
        Self { size: Size::Small, bug: None, black_box: false, record: false, faults_for: None }
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
    /// Rare paths that it took.
    pub paths: Paths,
    /// The world as it was at the end.
    pub world: World,
}

/// Runs one seed.
pub fn run(seed: u64, options: Options) -> Outcome {
    let mut rng = Rng::with_seed(seed);
    let shape = Shape::draw(options.size, &mut rng);
    let safety = setup::safety(options);
    let plan = FaultPlan::draw(&mut rng, &shape, safety);
    let judges = if options.black_box { Judges::black_box() } else { Judges::all() };
    let recorder = if options.record { Recorder::on() } else { Recorder::off() };
    let mut world = World::new(setup::draw(&mut rng, &shape, &plan, options), judges, recorder);
    // Secrets and versions of the protocol are only looked at where what is said is really written and read.
    if plan.kinds.has(FaultKind::KeyRotation) || plan.kinds.has(FaultKind::Upgrade) {
        world.seal(seed, Bug::wire(options.bug));
    }
    for (at, fault) in plan.schedule {
        world.plan(at, fault);
    }
    world.run_until(Moment::ZERO.plus(safety));
    let converged = liveness::run(&mut world, &mut rng);
    Outcome {
        seed,
        trace: world.kernel.trace.value(),
        events: world.kernel.happened(),
        simulated: world.kernel.now().since(Moment::ZERO),
        kinds: plan.kinds,
        shape,
        converged,
        violation: world.judges.violation().cloned(),
        paths: world.paths.clone(),
        world,
    }
}

#[cfg(test)]
mod tests {
    use super::setup::safety;
    use super::*;
    use crate::process::Version;

    #[test]
    fn upgrades_happen_where_versions_of_the_protocol_are_read() {
        let is_plain_upgrade = |seed: &u64| {
            let mut rng = Rng::with_seed(*seed);
            let shape = Shape::draw(Size::Small, &mut rng);
            let kinds = FaultPlan::draw(&mut rng, &shape, safety(Options::small())).kinds;
            kinds.has(FaultKind::Upgrade) && !kinds.has(FaultKind::KeyRotation)
        };
        let seed = (0..100).find(is_plain_upgrade).expect("kinds are drawn one by one");
        let world = run(seed, Options::small()).world;
        let running = world.truth.nodes.iter().zip(&world.nodes).filter(|(fact, _)| fact.process.is_up());
        assert!(running.clone().any(|(fact, _)| fact.process.version == Version::New));
        assert!(running.clone().all(|(_, node)| node.wire.is_some()));
    }
}
