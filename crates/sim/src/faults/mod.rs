//! What goes wrong in a seed: a random subset of all kinds of trouble (swarm), each with times and victims drawn.
//!
//! Every seed draws its own subset, so that kinds that hide each other also appear alone. The drawn list is fault schedule
//! F: minorities of voters crash at once, everybody restarts once in turn, a voter set loses its power, links are cut three
//! times, datagrams are lost, doubled, overtaken and delayed, workers are killed, nodes are replaced, upgraded or come back
//! without their disk, a second process is started under one
//! id, whoever leads is hit, founders lose their disks while they found, the shared secret changes, disks stall, fill up, and lose or tear what was not synced.

mod action;
mod disks;
mod kind;
mod leader;
mod links;
mod machines;
mod processes;

use std::time::Duration;

use fastrand::Rng;
use hyperscale_types::Role;

pub use action::{Fault, FounderMoment};
pub use kind::{FaultKind, FaultKinds};
pub use leader::{LeaderMoment, LeaderTrouble};

use crate::moment::Moment;
use crate::network::Weather;
use crate::world::Shape;

/// When the first fault may come: the cluster has found itself by then.
const FROM: Duration = Duration::from_secs(15);

/// What a seed does to its world.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    /// The subset that was drawn.
    pub kinds: FaultKinds,
    /// The network from the start.
    pub weather: Weather,
    /// What happens when.
    pub schedule: Vec<(Moment, Fault)>,
}

/// What is drawn from and written to while a plan is made.
pub(crate) struct Draw<'a> {
    pub(crate) rng: &'a mut Rng,
    roles: Vec<(Role, u8)>,
    until: Duration,
    cuts: u32,
    kinds: FaultKinds,
    schedule: Vec<(Moment, Fault)>,
}

impl FaultPlan {
    /// Draws a plan for a safety phase of that length.
    pub fn draw(rng: &mut Rng, shape: &Shape, safety: Duration) -> Self {
        let kinds = FaultKinds::draw(rng);
        let weather = links::weather(rng, &kinds);
        let roles = shape.nodes();
        let mut draw =
            Draw { rng, roles, until: safety, cuts: 0, kinds: kinds.clone(), schedule: Vec::new() };
        for kind in kinds.iter() {
            draw.plan(kind);
        }
        let mut schedule = draw.schedule;
        schedule.retain(|(at, _)| *at < Moment::ZERO.plus(safety));
        schedule.sort_by_key(|(at, _)| *at);
        Self { kinds, weather, schedule }
    }
}

impl Draw<'_> {
    fn plan(&mut self, kind: FaultKind) {
        match kind {
            FaultKind::Loss
            | FaultKind::Duplication
            | FaultKind::Reordering
            | FaultKind::Delay
            | FaultKind::Bandwidth => {}
            FaultKind::Spikes => self.spikes(),
            FaultKind::Partitions => self.partitions(),
            FaultKind::SkewedClocks => {}
            FaultKind::ClockJumps => self.clock_jumps(),
            FaultKind::Pauses => self.pauses(),
            FaultKind::Sleeps => self.sleeps(),
            FaultKind::SlowCpu => self.slow_cpu(),
            FaultKind::MinorityCrash => self.minority_crash(),
            FaultKind::RollingRestart => self.rolling_restart(),
            FaultKind::PowerLoss => self.power_loss(),
            FaultKind::KilledWorkers => self.killed_workers(),
            FaultKind::Replacement => self.replacement(),
            FaultKind::Upgrade => self.upgrade(),
            FaultKind::KeyRotation => self.key_rotation(),
            FaultKind::Leave => self.leave(),
            FaultKind::SyncStalls => self.sync_stalls(),
            FaultKind::LostWrites | FaultKind::TornTail => self.power_fails_while_writing(),
            FaultKind::FullDisk => self.full_disk(),
            FaultKind::SecondProcess => self.second_process(),
            FaultKind::LeaderFaults => self.leader_faults(),
            FaultKind::FounderFaults => self.founder_faults(),
            FaultKind::Drains => self.drains(),
            FaultKind::WorkerPressure => self.worker_pressure(),
        }
    }

    /// A moment within the safety phase.
    fn moment(&mut self) -> Moment {
        let span = self.until.saturating_sub(FROM);
        Moment::ZERO.plus(FROM + span.mul_f64(self.rng.f64()))
    }

    /// A moment in the first third of it: what takes long is still done in time.
    fn early_moment(&mut self) -> Moment {
        let span = self.until.saturating_sub(FROM) / 3;
        Moment::ZERO.plus(FROM + span.mul_f64(self.rng.f64()))
    }

    fn seconds(&mut self, from: f64, to: f64) -> Duration {
        Duration::from_secs_f64(from + (to - from) * self.rng.f64())
    }

    /// The span from that moment on, ended by the safety phase.
    fn within(&self, at: Moment, span: Duration) -> Duration {
        span.min(Moment::ZERO.plus(self.until).since(at))
    }

    fn add(&mut self, at: Moment, fault: Fault) {
        self.schedule.push((at, fault));
    }

    /// The numbers of the nodes with a role in a cluster.
    fn group(&self, role: Role, cluster: u8) -> Vec<usize> {
        let matches = |(index, node): (usize, &(Role, u8))| (*node == (role, cluster)).then_some(index);
        self.roles.iter().enumerate().filter_map(matches).collect()
    }

    /// All groups of voters: the managers of each datacenter, and the gates.
    fn voter_sets(&self) -> Vec<Vec<usize>> {
        let clusters = self.roles.iter().map(|(_, cluster)| cluster + 1).max().unwrap_or(0);
        let sets = (0..clusters).flat_map(|cluster| [(Role::Manager, cluster), (Role::Gate, cluster)]);
        sets.map(|(role, cluster)| self.group(role, cluster)).filter(|set| !set.is_empty()).collect()
    }

    fn any_node(&mut self) -> usize {
        self.rng.usize(..self.roles.len())
    }

    /// So many different ones of them.
    fn some_of(&mut self, mut nodes: Vec<usize>, count: usize) -> Vec<usize> {
        self.rng.shuffle(&mut nodes);
        nodes.truncate(count);
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64) -> FaultPlan {
        let shape = Shape { datacenters: 2, managers: 3, gates: 3, workers: 10 };
        FaultPlan::draw(&mut Rng::with_seed(seed), &shape, Duration::from_mins(3))
    }

    #[test]
    fn plans_come_from_the_seed_alone_and_differ() {
        assert_eq!(format!("{:?}", plan(4)), format!("{:?}", plan(4)));
        assert_ne!(format!("{:?}", plan(4)), format!("{:?}", plan(5)));
    }

    #[test]
    fn every_kind_appears_and_is_left_out_in_some_seed() {
        let plans: Vec<FaultPlan> = (0..200).map(plan).collect();
        for kind in FaultKind::ALL {
            let with = plans.iter().filter(|plan| plan.kinds.has(kind)).count();
            assert!(with > 10 && with < 190, "{kind:?}: {with}");
        }
    }

    /// What a kind plans by itself.
    fn planned(kind: FaultKind, seed: u64, shape: &Shape) -> Vec<(Moment, Fault)> {
        let (rng, roles, until) = (&mut Rng::with_seed(seed), shape.nodes(), Duration::from_mins(3));
        let mut draw = Draw { rng, roles, until, cuts: 0, kinds: FaultKinds::of(kind), schedule: Vec::new() };
        draw.plan(kind);
        draw.schedule
    }

    #[test]
    fn every_kind_troubles_something_whenever_it_is_drawn() {
        let shape = Shape { datacenters: 1, managers: 3, gates: 3, workers: 5 };
        for (kind, seed) in FaultKind::ALL.into_iter().flat_map(|kind| (0..50).map(move |seed| (kind, seed)))
        {
            let weather = links::weather(&mut Rng::with_seed(seed), &FaultKinds::of(kind));
            let is_felt = match kind {
                FaultKind::Loss
                | FaultKind::Duplication
                | FaultKind::Reordering
                | FaultKind::Delay
                | FaultKind::Bandwidth => weather != Weather::fair(),
                FaultKind::SkewedClocks => true,
                _ => !planned(kind, seed, &shape).is_empty(),
            };
            assert!(is_felt, "{kind:?} with seed {seed}");
        }
    }

    #[test]
    fn every_cut_keeps_somebody_from_somebody() {
        let shape = Shape { datacenters: 1, managers: 3, gates: 0, workers: 0 };
        let cuts = (0..200).flat_map(|seed| planned(FaultKind::Partitions, seed, &shape));
        for (_, fault) in cuts {
            let Fault::Cut { links, .. } = fault else { continue };
            let mut pairs = (0..3).flat_map(|from| (0..3).map(move |to| (from, to)));
            assert!(pairs.any(|(from, to)| links.blocks(Moment::ZERO, from, to)), "{links:?}");
        }
    }

    #[test]
    fn only_workers_leave_and_none_of_them_twice() {
        let shape = Shape { datacenters: 2, managers: 3, gates: 3, workers: 5 };
        for seed in 0..50 {
            let mut left = Vec::new();
            for (_, mut fault) in planned(FaultKind::Leave, seed, &shape) {
                left.extend(fault.victim().map(|node| *node));
            }
            assert!(left.iter().all(|node| shape.nodes()[*node].0 == Role::Worker));
            assert!((1..left.len()).all(|at| !left[..at].contains(&left[at])), "{left:?}");
        }
    }

    #[test]
    fn rolling_restarts_reach_everybody_within_the_phase() {
        for kind in [FaultKind::RollingRestart, FaultKind::Upgrade, FaultKind::KeyRotation] {
            let shape = Shape { datacenters: 2, managers: 5, gates: 3, workers: 20 };
            let schedule = planned(kind, 1, &shape);
            let is_back = |fault: &Fault| matches!(fault, Fault::Restart { .. } | Fault::Upgrade { .. });
            let back = schedule.iter().filter(|(_, fault)| is_back(fault)).count();
            assert_eq!(back, shape.nodes().len());
            assert!(schedule.iter().all(|(at, _)| *at < Moment::seconds(180)), "{kind:?}");
        }
    }

    #[test]
    fn faults_come_in_order_and_within_the_phase() {
        for seed in 0..100 {
            let times: Vec<Moment> = plan(seed).schedule.iter().map(|(at, _)| *at).collect();
            assert!(times.is_sorted());
            let is_early = |(at, fault): &(Moment, Fault)| {
                let is_of_founder = matches!(
                    fault,
                    Fault::LoseDisk { .. }
                        | Fault::HitFounder { .. }
                        | Fault::Crash { .. }
                        | Fault::Restart { .. }
                );
                *at < Moment::ZERO.plus(FROM) && !is_of_founder
            };
            assert!(!plan(seed).schedule.iter().any(is_early), "only founders are troubled so early");
            assert!(times.last().is_none_or(|last| *last < Moment::seconds(180)));
        }
    }
}
