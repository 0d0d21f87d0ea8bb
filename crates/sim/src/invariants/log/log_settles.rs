//! Once all trouble is over, every group has a leader, everything committed is on all replicas, and every acknowledged job has
//! ended: on all replicas alike, as its client was told.
//!
//! Checked in the liveness phase until it holds; how long it may take is part of the phase.

use crate::jobs::Office;
use crate::world::World;

/// The first group that has no leader or whose replicas differ, if there is any.
pub fn replicas_differ(world: &World) -> Option<String> {
    (0..world.truth.clusters()).find_map(|cluster| {
        let hosts = world.hosts_of(cluster);
        if hosts.is_empty() {
            return None;
        }
        if let Some((node, host)) = hosts.iter().find(|(_, host)| host.office().is_none()) {
            return Some(format!("{} takes no part: {:?}", world.name_of(*node), host.stage));
        }
        let offices = || hosts.iter().filter_map(|(node, host)| Some((*node, host.office()?)));
        let Some((_, leader)) = offices().find(|(_, office)| office.group.is_established()) else {
            return Some(format!("the group of {} has no leader", world.name_of(hosts[0].0)));
        };
        let state = |office: &Office| (office.group.applied(), office.group.leader());
        let behind = offices().find(|(_, office)| state(office) != state(leader));
        behind.map(|(node, office)| {
            let (me, mine, theirs) = (world.name_of(node), state(office), state(leader));
            format!("{me} is at {mine:?}, its leader at {theirs:?}")
        })
    })
}

/// The first acknowledged job that has not ended everywhere, or of which its client does not know.
pub fn jobs_open(world: &World) -> Option<String> {
    world.clients.errands.iter().filter(|errand| errand.at <= world.kernel.now()).find_map(|errand| {
        let Some(job) = errand.accepted else { return Some(format!("'{}' was not accepted", errand.key)) };
        let Some(end) = &errand.ended else {
            let offices = world.hosts_of(errand.cluster);
            let mut registers =
                offices.iter().filter_map(|(_, host)| Some(host.office()?.group.machine().register()));
            let known = registers.find_map(|register| register.job(job));
            return Some(format!("'{}' has not ended: {job:?} {known:?}", errand.key));
        };
        let hosts = world.hosts_of(errand.cluster);
        let shown = |office: &Office| office.group.machine().end_of(job);
        let differs = hosts.iter().find(|(_, host)| host.office().and_then(shown).as_ref() != Some(end));
        differs.map(|(node, _)| format!("{} does not show {job:?} as {end:?}", world.name_of(*node)))
    })
}
