//! Once all trouble is over, every group has a leader, everything committed is on all replicas, and every acknowledged job has
//! ended: on all replicas alike, as its client was told.
//!
//! Checked in the liveness phase until it holds; how long it may take is part of the phase.

use hyperscale_consensus::Machine;

use crate::jobs::Voter;
use crate::world::World;

/// The first group that has no leader or whose replicas differ, if there is any.
pub fn replicas_differ(world: &World) -> Option<String> {
    (0..world.truth.clusters()).find_map(|cluster| {
        let hosts = world.hosts_of(cluster);
        if hosts.is_empty() {
            return None;
        }
        if let Some((node, host)) = hosts.iter().find(|(_, host)| host.manager().is_none()) {
            return Some(format!("{} takes no part: {:?}", world.name_of(*node), host.stage));
        }
        let managers = || hosts.iter().filter_map(|(node, host)| Some((*node, host.manager()?)));
        let Some((_, leader)) = managers().find(|(_, manager)| manager.group().is_established()) else {
            return Some(format!("the group of {} has no leader", world.name_of(hosts[0].0)));
        };
        let state = |manager: &Voter| (manager.group().applied(), manager.group().leader());
        let behind = managers().find(|(_, manager)| state(manager) != state(leader));
        behind.map(|(node, manager)| {
            let (me, mine, theirs) = (world.name_of(node), state(manager), state(leader));
            format!("{me} is at {mine:?}, its leader at {theirs:?}")
        })
    })
}

/// The first replica that misses a blob which its state names, or keeps one that nothing names.
pub fn blobs_differ(world: &World) -> Option<String> {
    (0..world.truth.clusters()).flat_map(|cluster| world.hosts_of(cluster)).find_map(|(node, host)| {
        let named = host.manager()?.group().machine().blobs();
        let missing = named.iter().find(|blob| !host.blobs.contains_key(blob));
        let unnamed = || host.blobs.keys().find(|blob| !named.contains(blob));
        let me = world.name_of(node);
        missing
            .map(|blob| format!("{me} misses {blob:?}"))
            .or_else(|| unnamed().map(|blob| format!("{me} still keeps {blob:?}")))
    })
}

/// The first acknowledged job that has not ended everywhere, or of which its client does not know.
pub fn jobs_open(world: &World) -> Option<String> {
    world.clients.client_jobs.iter().filter(|client_job| client_job.at <= world.kernel.now()).find_map(
        |client_job| {
            let Some(job) = client_job.accepted else {
                return Some(format!("'{}' was not accepted", client_job.key));
            };
            let hosts = world.hosts_of(client_job.cluster);
            let Some(end) = &client_job.ended else {
                let mut managers = hosts.iter().filter_map(|(_, host)| host.manager());
                let register = managers.next().map(|manager| manager.group().machine().register());
                let known = register.and_then(|register| register.job(job));
                let waits: Vec<_> = register.iter().flat_map(|register| register.claims()).collect();
                let workers: Vec<_> = register.iter().flat_map(|register| register.workers()).collect();
                let key = &client_job.key;
                return Some(format!("'{key}' has not ended: {job:?} {known:?}; {waits:?}; {workers:?}"));
            };
            let shown = |manager: &Voter| manager.group().machine().end_of(job);
            let differs = hosts.iter().find(|(_, host)| host.manager().and_then(shown).as_ref() != Some(end));
            differs.map(|(node, _)| format!("{} does not show {job:?} as {end:?}", world.name_of(*node)))
        },
    )
}
