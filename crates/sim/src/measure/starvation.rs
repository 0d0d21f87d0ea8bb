//! Healthy nodes that are accused in the views of healthy nodes while a quarter of the cluster is starved of its processor, with
//! Lifeguard and without.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_swim::Lifeguard;

use super::watch::TransitionKind;
use super::{Bound, Row, settled};
use crate::faults::Fault;
use crate::world::index_of;

const COUNT: usize = 128;
/// Nodes frozen at the same time: a quarter.
const FROZEN: usize = 32;
/// Longest freeze.
const FREEZE_MAX_S: f64 = 10.0;
const ROUND: Duration = Duration::from_secs(15);

pub(super) fn measure(thorough: bool) -> Vec<Row> {
    let (seeds, rounds) = if thorough { (8, 40) } else { (2, 10) };
    let total = |lifeguard| (0..seeds).map(|seed| starve(seed, rounds, lifeguard)).fold((0, 0), add);
    let (on, off) = (total(Lifeguard::On), total(Lifeguard::Off));
    let minutes = seeds * rounds * ROUND.as_secs() / 60;
    let note =
        |(deaths, suspicions)| format!("{deaths} deaths, {suspicions} suspicions in {minutes} minutes");
    let ratio = f64::from(off.1) / f64::from(on.1.max(1));
    vec![
        Row {
            goal: "CPU starvation, 128 nodes, 32 of them frozen for up to 10 s: healthy accused in views of healthy".into(),
            unit: "",
            must: Bound::AtMost(0.0),
            stretch: None,
            value: f64::from(on.1),
            note: note(on),
        },
        Row {
            goal: "the same without Lifeguard: times as many (none counts as one)".into(),
            unit: "×",
            must: Bound::AtLeast(50.0),
            stretch: Some(Bound::AtLeast(100.0)),
            value: ratio,
            note: note(off),
        },
    ]
}

fn add(one: (u32, u32), other: (u32, u32)) -> (u32, u32) {
    (one.0 + other.0, one.1 + other.1)
}

/// Deaths and suspicions of nodes that were never frozen, said by nodes that were never frozen. The victims stay the same,
/// so that nobody who is called healthy ever was ill.
fn starve(seed: u64, rounds: u64, lifeguard: Lifeguard) -> (u32, u32) {
    let (mut world, watch) = settled(seed, COUNT, 0.0, lifeguard);
    let mut rng = Rng::with_seed(seed);
    let victims: BTreeSet<usize> = (0..FROZEN).map(|number| number * COUNT / FROZEN).collect();
    let (mut deaths, mut suspicions) = (0, 0);
    for _ in 0..rounds {
        for node in &victims {
            let span = Duration::from_secs_f64(0.128 + (FREEZE_MAX_S - 0.128) * rng.f64());
            world.plan(world.kernel.now(), Fault::Pause { node: *node, span });
        }
        world.run(ROUND);
        let healthy = |index: usize| !victims.contains(&index);
        let noted = watch.all(|it| healthy(it.observer) && healthy(index_of(it.about)));
        deaths += noted.iter().filter(|it| it.kind == TransitionKind::Died).count() as u32;
        suspicions += noted.iter().filter(|it| it.kind == TransitionKind::Suspected).count() as u32;
        watch.clear();
    }
    (deaths, suspicions)
}
