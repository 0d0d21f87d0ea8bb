//! What must come true once the faults have ended: the rest of a seed after its safety phase.
//!
//! In half of the seeds a minority of every group and some workers stay dead or cut off at first. Whatever is demanded is
//! demanded of those who are left: views that agree, leaders, commits, jobs that end, and jobs submitted now that *complete*.
//! Then they come back, and the same is demanded of all.

use std::collections::BTreeSet;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_consensus::register::JobId;
use hyperscale_swim::Command;
use hyperscale_types::{NodeId, Role};

use crate::faults::Fault;
use crate::invariants::{
    blobs_differ, cut_off, draining, drains_open, ghosts, jobs_incomplete, jobs_open, replicas_differ,
    strangers, workers_differ,
};
use crate::jobs::plan;
use crate::world::{Absent, World, id_of};

/// How long a datacenter may take to find itself again once all trouble is over.
const CONVERGE_WITHIN: Duration = Duration::from_mins(1);
/// The same after deaths: suspicions and leases have to end.
const DEATHS_WITHIN: Duration = Duration::from_secs(90);
/// What gates may take on top, as periods and suspicions of wide areas are five times as long, and what hearsay about
/// nodes that are gone may take to be given up.
const GATES_WITHIN: Duration = Duration::from_mins(4);
/// How long groups may take to find leaders and replicas to catch up, once views have converged.
const LOG_WITHIN: Duration = Duration::from_mins(1);
/// How long jobs may take to end from then on, unless there are too few workers for so many of them.
const JOBS_WITHIN: Duration = Duration::from_mins(3);
/// What jobs may take beyond the time that their segments run where they queue for workers: the longest of them once more,
/// and leases that have to end.
const QUEUE_SETTLES: Duration = Duration::from_secs(75);
/// What deciding and dispatching a segment takes at most when nothing is wrong.
const SEGMENT_OVERHEAD: Duration = Duration::from_secs(1);
/// How long workers that were asked to drain may take to be gone once all jobs have ended: their leases have to end.
const DRAINS_WITHIN: Duration = Duration::from_mins(1);
/// How long blobs may take to be where they belong and nowhere else from then on.
const BLOBS_WITHIN: Duration = Duration::from_mins(2);
/// Nodes of a datacenter.
const DATACENTER: [Role; 2] = [Role::Manager, Role::Worker];
/// Quiet before the epilogue: what came from earlier trouble has passed.
const QUIET: Duration = Duration::from_mins(1);
/// Jobs of each datacenter that must complete, per phase, and the time in which clients order them.
const NEW_JOBS: usize = 2;
const ORDERED_WITHIN: Duration = Duration::from_secs(15);

/// Runs the phases after the faults; how long views took to converge, if everything came true that had to.
pub(super) fn run(world: &mut World, rng: &mut Rng) -> Option<Duration> {
    let absent = if rng.bool() { world.draw_minority(rng) } else { Absent::default() };
    let somebody_is_away = !absent.nodes.is_empty();
    let within = if somebody_is_away { DEATHS_WITHIN } else { CONVERGE_WITHIN };
    let took = heal(world, absent, within)?;
    if somebody_is_away {
        heal(world, Absent::default(), CONVERGE_WITHIN)?;
    } else {
        epilogue(world, rng);
    }
    Some(took)
}

/// All trouble ends but for those who stay away; how long views took to converge.
fn heal(world: &mut World, absent: Absent, within: Duration) -> Option<Duration> {
    world.plan(world.kernel.now(), Fault::Heal { absent });
    world.run(Duration::from_millis(1));
    give_every_datacenter_a_worker(world);
    world.order_jobs(NEW_JOBS, ORDERED_WITHIN);
    let took = converge(world, within)?;
    conclude(world)?;
    Some(took)
}

/// Where all workers have gone for ever, or were asked to go, an operator starts another: jobs need one to complete.
fn give_every_datacenter_a_worker(world: &mut World) {
    for cluster in 0..world.setup().shape.datacenters {
        let drains: BTreeSet<NodeId> = draining_of(world, cluster);
        let drains_all =
            world.truth.members_with(cluster, Role::Worker).all(|index| drains.contains(&id_of(index)));
        if drains_all {
            world.add(Role::Worker, cluster, Duration::from_millis(100));
        }
    }
}

/// Workers of a datacenter that were asked to drain.
fn draining_of(world: &World, cluster: u8) -> BTreeSet<NodeId> {
    let hosts = world.hosts_of(cluster);
    let managers = hosts.iter().filter_map(|(_, host)| host.manager());
    managers.flat_map(|manager| draining(manager.group().machine().register())).collect()
}

fn converge(world: &mut World, within: Duration) -> Option<Duration> {
    let difference = |world: &World| strangers(world, &DATACENTER).or_else(|| workers_differ(world));
    let took = settle(world, "views_converge", within, difference)?;
    settle(world, "views_converge", GATES_WITHIN, |world| {
        strangers(world, &[Role::Gate]).or_else(|| ghosts(world)).or_else(|| cut_off(world))
    })?;
    Some(took)
}

/// Every group has a leader, its replicas agree, every acknowledged job ends, and those submitted since complete.
fn conclude(world: &mut World) -> Option<()> {
    settle(world, "log_settles", LOG_WITHIN, replicas_differ)?;
    let within = jobs_within(world);
    settle(world, "jobs_end", within, |world| jobs_open(world).or_else(|| replicas_differ(world)))?;
    settle(world, "jobs_complete", within, jobs_incomplete)?;
    settle(world, "drains_end", DRAINS_WITHIN, drains_open)?;
    settle(world, "blobs_kept", BLOBS_WITHIN, blobs_differ)?;
    Some(())
}

/// How long open jobs may take to end. Where one worker is left, jobs that need four minutes in all cannot end within
/// three minutes however well they are led (seed 50210). Every worker can take any segment, and is idle only if none waits or if
/// one that waits needs both of its cores: so the segments of all open jobs take no longer than one after the other, shared out
/// among the workers. More time than [`JOBS_WITHIN`] is given only where that is not enough.
fn jobs_within(world: &World) -> Duration {
    let clusters = 0..world.setup().shape.datacenters;
    clusters.map(|cluster| queue_of(world, cluster) + QUEUE_SETTLES).fold(JOBS_WITHIN, Duration::max)
}

/// How long the segments of a datacenter's open jobs take on its workers, one after the other.
fn queue_of(world: &World, cluster: u8) -> Duration {
    let open = world.clients.client_jobs.iter().filter(|job| job.cluster == cluster && job.ended.is_none());
    let all: Duration = open.map(|job| serial(job.wanted)).sum();
    let workers = world.truth.members_with(cluster, Role::Worker).count();
    all / u32::try_from(workers).unwrap_or(u32::MAX).max(1)
}

fn serial(job: JobId) -> Duration {
    let aside = if plan::has_set_up(job) { SEGMENT_OVERHEAD * 2 } else { Duration::ZERO };
    (plan::length(job) + SEGMENT_OVERHEAD) * plan::workflows(job) + aside
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
        let at = world.kernel.now();
        world.judges.object(promise, at, None, format!("after {within:?} {difference}"));
    }
    took
}

/// In calm weather: newcomers, new jobs, a leave, and many deaths at once.
fn epilogue(world: &mut World, rng: &mut Rng) {
    world.run(QUIET);
    for cluster in 0..world.truth.clusters() {
        let is_gates = world.truth.members_with(cluster, Role::Gate).next().is_some();
        let role = if is_gates { Role::Gate } else { Role::Worker };
        world.add(role, cluster, Duration::from_millis(rng.u64(..900)));
    }
    world.order_jobs(NEW_JOBS, ORDERED_WITHIN);
    world.run(Duration::from_secs(12));
    for cluster in 0..world.truth.clusters() {
        let mut workers: Vec<usize> = world.truth.members_with(cluster, Role::Worker).collect();
        rng.shuffle(&mut workers);
        let dying = rng.usize(0..=workers.len() / 2);
        for node in workers.drain(..dying) {
            world.plan(world.kernel.now(), Fault::Kill { node });
        }
        // The last one stays: somebody has to do the jobs.
        if workers.len() > 1
            && let Some(node) = workers.pop()
        {
            world.tell(node, Command::Leave);
        }
    }
    world.run(Duration::from_secs(1));
    if converge(world, DEATHS_WITHIN).is_some() {
        conclude(world);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_a_job_run_one_after_the_other_with_its_set_up_and_tear_down() {
        let mut id = [1; 16];
        (id[0], id[2], id[4]) = (3, 10, 1);
        assert_eq!(serial(JobId(id)), Duration::from_secs(18), "three workflows of five seconds");
        id[4] = 3;
        assert_eq!(serial(JobId(id)), Duration::from_secs(20));
        id[0] = 0;
        assert_eq!(serial(JobId(id)), Duration::ZERO);
    }
}
