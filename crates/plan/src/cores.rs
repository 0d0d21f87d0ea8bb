//! Which workflows start now and on how many cores: the same pure functions for local runs and clusters.
//!
//! | priority | least cores | most cores |
//! | --- | --- | --- |
//! | low | 1 | ⌈0.25 · total⌉ |
//! | normal | ⌈0.25 · total⌉ | ⌈0.75 · total⌉ |
//! | high | ⌈0.75 · total⌉ | total |
//! | exclusive | total | total; runs alone |
//! | auto | 1 | total |
//!
//! Both are capped by the VUs. A workflow without test steps always gets one core. Running workflows never shrink; a
//! batch only takes cores that are free.
//!
//! [`plan_batch`] turns the ready workflows of one job into core groups ([`CoreGroup`]). Usually a group has one member.
//! Workflows with priority `auto` start together, and where the cores are fewer than they are, they share one group.
//! [`split_over_workers`] and [`segments`] then say which worker runs which cores of it; a local run is the case of one
//! worker.

mod batch;
mod workers;

use hyperscale_types::{Name, Priority};

pub use batch::{Batch, Claimed, CoreGroup, Member, Pool, Release, WAITING_FOR_CORES, Waiting, plan_batch};
pub use workers::{Placement, Segment, Tiers, WorkerCores, segments, split_over_tiers, split_over_workers};

use crate::model::Workflow;

/// A workflow that is ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name; decides between equals.
    pub name: Name,
    /// Its priority.
    pub priority: Priority,
    /// Whether it has at least one test step.
    pub test: bool,
    /// Its VUs (`max_vus` in open models).
    pub vus: u32,
}

/// How many cores a claim needs and can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Below this it waits.
    pub least: u32,
    /// More are of no use to it, or its priority does not entitle it to them.
    pub most: u32,
}

impl Claim {
    /// The claim of a workflow of a plan.
    pub fn of(workflow: &Workflow) -> Self {
        Claim {
            name: workflow.name.clone(),
            priority: workflow.priority,
            test: workflow.is_test(),
            vus: workflow.vus_max(),
        }
    }

    /// Least and most cores out of `total`.
    pub fn bounds(&self, total: u32) -> Bounds {
        if !self.test {
            return Bounds { least: 1, most: 1 };
        }
        let (quarter, three_quarters) = (total.div_ceil(4), (u64::from(total) * 3).div_ceil(4) as u32);
        let (least, most) = match self.priority {
            Priority::Low => (1, quarter),
            Priority::Auto => (1, total),
            Priority::Normal => (quarter, three_quarters),
            Priority::High => (three_quarters, total),
            Priority::Exclusive => (total, total),
        };
        // Also where there is no core at all: nothing begins without one.
        let bound = |cores: u32| cores.clamp(1, self.vus.max(1));
        Bounds { least: bound(least), most: bound(most) }
    }

    /// Whether nothing of lower rank may start while it waits.
    pub fn blocks(&self) -> bool {
        self.priority >= Priority::High
    }
}

#[cfg(test)]
mod tests;
