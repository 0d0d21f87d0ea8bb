//! A mix: one load at the top of the plan that several workflows share by weight.

use super::WorkflowIndex;
use super::workflow::{ArrivalKind, IterationCount, Load};
use crate::load::mix::{Turns, apportion, turns};
use crate::load::{Curve, Stage};

/// The plan's load and the workflows that share it.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// The load of all members together.
    pub load: Load,
    /// Who takes part, in the order of the plan; at least one, and no more than there are VUs.
    pub members: Vec<MixMember>,
}

/// A workflow that takes part in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MixMember {
    /// Which one.
    pub workflow: WorkflowIndex,
    /// Its part, in relation to the others'.
    pub weight: u32,
}

impl Mix {
    /// The load of each member. Together they are the load of the mix: exactly where it is counted in VUs, iterations or
    /// uniform starts, in expectation where arrivals are Poisson. Stages of VUs are exact at their ends; between them each
    /// workflow rounds for itself.
    pub fn loads(&self) -> Vec<Load> {
        let dealt = match &self.load {
            Load::Open { arrivals: ArrivalKind::Uniform, .. } => turns(&self.weights()),
            _ => None,
        };
        let turns = |at: usize| dealt.as_ref().map(|dealt| dealt[at].clone());
        (0..self.members.len()).map(|at| self.load_of(at, turns(at))).collect()
    }

    /// VUs of each member when all have `total` together, as `control` without a workflow sets them.
    pub fn vus(&self, total: u32) -> Vec<u32> {
        apportion(u64::from(total), &self.weights()).into_iter().map(|vus| vus as u32).collect()
    }

    /// Starts per second of each member when all have `total` together, as `control` without a workflow sets them.
    pub fn rates(&self, total: f64) -> Vec<f64> {
        (0..self.members.len()).map(|at| total * self.share(at)).collect()
    }

    fn weights(&self) -> Vec<u32> {
        self.members.iter().map(|member| member.weight).collect()
    }

    fn share(&self, at: usize) -> f64 {
        let sum: u64 = self.members.iter().map(|member| u64::from(member.weight)).sum();
        f64::from(self.members[at].weight) / sum as f64
    }

    /// Uniform starts of the mix are dealt out; Poisson processes are independent.
    fn load_of(&self, at: usize, turns: Option<Turns>) -> Load {
        let number = |total: u64| apportion(total, &self.weights())[at];
        let vus = |total: u32| number(u64::from(total)) as u32;
        match &self.load {
            Load::Closed { vus: curve } => {
                Load::Closed { vus: map(curve, |value| number(value.round() as u64) as f64) }
            }
            Load::Iterations { vus: all, count, max_duration } => Load::Iterations {
                vus: vus(*all),
                count: match count {
                    IterationCount::Shared(count) => IterationCount::Shared(number(*count)),
                    IterationCount::PerVu(each) => IterationCount::PerVu(*each),
                },
                max_duration: *max_duration,
            },
            Load::Open { rate, arrivals, max_vus, late } => Load::Open {
                rate: map(rate, |value| value * self.share(at)),
                arrivals: turns.map_or_else(|| arrivals.clone(), ArrivalKind::Dealt),
                max_vus: vus(*max_vus),
                late: *late,
            },
            Load::Paced { vus: all, interval, duration } => {
                Load::Paced { vus: vus(*all), interval: *interval, duration: *duration }
            }
        }
    }
}

fn map(curve: &Curve, value: impl Fn(f64) -> f64) -> Curve {
    let stage = |stage: &Stage| Stage { to: value(stage.to), over: stage.over };
    Curve { start: value(curve.start), stages: curve.stages.iter().map(stage).collect() }
}
