//! In which order workflows get cores: the batches that a run would make if every batch ended before the next begins.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use crate::cores::{Claim, CoreGroup, Pool, WAITING_FOR_CORES, plan_batch};
use crate::model::Plan;

/// Workflows that start together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchExplanation {
    /// Who starts, by core group.
    pub groups: Vec<GroupExplanation>,
    /// Who is ready, but has to wait for cores until the next batch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<WaitingExplanation>,
}

/// Cores that are promised together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupExplanation {
    /// How many.
    pub cores: u32,
    /// Who runs on them; several share them.
    pub workflows: Vec<MemberExplanation>,
}

/// A workflow of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberExplanation {
    /// Its name.
    pub name: String,
    /// Cores of the group that it runs on.
    pub cores: u32,
}

/// A workflow that waits for cores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingExplanation {
    /// Its name.
    pub name: String,
    /// The least cores it can start with.
    pub cores_least: u32,
    /// `waiting_for_cores`.
    pub reason: &'static str,
}

/// The batches of a plan on so many cores.
pub(super) fn batches(plan: &Plan, cores_total: u32) -> Vec<BatchExplanation> {
    let workflows = &plan.workflows;
    let pool = Pool { total: cores_total, free: cores_total };
    let mut ended = vec![false; workflows.len()];
    let mut batches = Vec::new();
    loop {
        let is_ready = |at: &usize| !ended[*at] && workflows[*at].depends.iter().all(|other| ended[*other]);
        let ready: Vec<usize> = (0..workflows.len()).filter(is_ready).collect();
        let claims: Vec<Claim> = ready.iter().map(|at| Claim::of(&workflows[*at])).collect();
        let batch = plan_batch(pool, &[], &claims);
        // Nothing is left; or there are no cores at all.
        if batch.groups.is_empty() {
            return batches;
        }
        for member in batch.groups.iter().flat_map(|group| &group.members) {
            ended[ready[member.index]] = true;
        }
        let waiting = batch.waiting.iter().map(|waiting| WaitingExplanation {
            name: claims[waiting.index].name.to_string(),
            cores_least: waiting.least,
            reason: WAITING_FOR_CORES,
        });
        batches.push(BatchExplanation {
            groups: batch.groups.iter().map(|group| explain_group(group, &claims)).collect(),
            waiting: waiting.collect(),
        });
    }
}

fn explain_group(group: &CoreGroup, claims: &[Claim]) -> GroupExplanation {
    let members = group
        .members
        .iter()
        .map(|member| MemberExplanation { name: claims[member.index].name.to_string(), cores: member.cores });
    GroupExplanation { cores: group.cores, workflows: members.collect() }
}

impl Display for BatchExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let groups: Vec<String> = self.groups.iter().map(ToString::to_string).collect();
        f.write_str(&groups.join(", "))?;
        for waiting in &self.waiting {
            let WaitingExplanation { name, cores_least, reason } = waiting;
            write!(f, "; {name} ready, {reason} (at least {cores_least})")?;
        }
        Ok(())
    }
}

impl Display for GroupExplanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.workflows.iter().map(|workflow| workflow.name.as_str()).collect();
        let cores = if self.cores == 1 { "1 core".to_owned() } else { format!("{} cores", self.cores) };
        match &*names {
            [name] => write!(f, "{name} on {cores}"),
            names => write!(f, "{} share {cores}", names.join(" + ")),
        }
    }
}
