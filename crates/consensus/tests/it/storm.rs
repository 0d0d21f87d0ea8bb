//! Everything at once: loss, delay, doubled and overtaking messages, crashes that lose unsynced writes, slow disks, members
//! that come and go. Whatever happens, replicas agree and nothing acknowledged is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use hyperscale_consensus::storage::{Loss, MemoryDisk};
use hyperscale_consensus::{Change, Config, LogGroup, Promotion, ProposalId, RaftId, Roster, StateHash};
use hyperscale_types::NodeId;

use crate::cluster::{Cluster, addresses, directory};

/// Most members a group has in a storm, one after the other.
const MEMBERS_EVER_MAX: u64 = 9;

/// What must hold all the time.
#[derive(Default)]
struct Witness {
    leaders: BTreeMap<u64, RaftId>,
    hashes: BTreeMap<u64, StateHash>,
    acknowledged: BTreeMap<u64, ProposalId>,
}

impl Witness {
    fn look(&mut self, cluster: &mut Cluster) {
        for id in cluster.ids() {
            let Some(group) = cluster.node(id).group.as_ref() else { continue };
            assert_eq!(group.halted(), None);
            if group.is_leader() {
                let first = *self.leaders.entry(group.term()).or_insert(id);
                assert_eq!(first, id, "two leaders in term {}", group.term());
            }
            let (index, hash) = group.applied();
            assert_eq!(*self.hashes.entry(index).or_insert(hash), hash, "state after entry {index}");
            for applied in &cluster.node(id).applied {
                let is_ours = applied.outcome.is_some();
                if let Some(proposal) = applied.proposal.filter(|_| is_ours) {
                    let known = *self.acknowledged.entry(applied.index).or_insert(proposal);
                    assert_eq!(known, proposal, "two entries at {}", applied.index);
                }
            }
        }
    }
}

/// One seed; panics where a promise is broken. Returns who is a member in the end.
pub(crate) fn storm(seed: u64, adjust: impl FnOnce(&mut Config)) -> Roster {
    let mut rng = Rng::with_seed(seed);
    let count = [1, 3, 3, 5][rng.usize(..4)];
    let mut config = Config {
        seed,
        snapshot_entries: 40,
        trailing_entries: 10,
        promotion: Promotion { stable: Duration::from_secs(2), ..Config::lan().promotion },
        ..Config::lan()
    };
    adjust(&mut config);
    let mut cluster = Cluster::with(count, config);
    let mut witness = Witness::default();
    let (loss, slow, crash) = (rng.f64() * 0.2, rng.f64() * 0.5, rng.f64() * 0.01);
    for tick in 0..1500u32 {
        cluster.now = cluster.now.plus(cluster.config.tick);
        for id in cluster.ids() {
            weather(&mut cluster, &mut rng, id, crash, slow);
            cluster.tick(id);
        }
        mix(&mut cluster, &mut rng, loss);
        if tick % 3 == 0 {
            propose(&mut cluster, &mut rng, tick);
        }
        witness.look(&mut cluster);
    }
    calm(&mut cluster);
    let ids = cluster.ids();
    let lines = cluster.lines(ids[0]);
    for id in ids {
        assert_eq!(cluster.lines(id), lines, "seed {seed}: after the storm all agree");
    }
    let kept = |proposal: &ProposalId| lines.contains(&Bytes::from(proposal.0.to_string()));
    assert!(witness.acknowledged.values().all(kept), "seed {seed}: an acknowledged entry is lost");
    let ids = cluster.ids();
    cluster.group(ids[0]).roster().clone()
}

fn weather(cluster: &mut Cluster, rng: &mut Rng, id: RaftId, crash: f64, slow: f64) {
    let is_up = cluster.node(id).group.is_some();
    if is_up && rng.f64() < crash {
        let loss = match rng.u8(..3) {
            0 => Loss::All,
            1 => Loss::After(rng.usize(..3)),
            _ => Loss::Torn { batches: rng.usize(..2), entries: rng.usize(..4) },
        };
        cluster.stop(id);
        cluster.node(id).disk.crash(loss);
    } else if !is_up && rng.f64() < 0.02 {
        cluster.start(id);
    }
    if cluster.node(id).group.is_some() {
        cluster.node(id).is_disk_slow = rng.f64() < slow;
        if !cluster.node(id).is_disk_slow {
            cluster.sync(id);
        }
    }
}

fn mix(cluster: &mut Cluster, rng: &mut Rng, loss: f64) {
    let mut later = Vec::new();
    let mut now: Vec<_> = cluster.in_flight.drain(..).collect();
    rng.shuffle(&mut now);
    for message in now {
        match rng.f64() {
            chance if chance < loss => {}
            chance if chance < loss + 0.3 => later.push(message),
            chance if chance < loss + 0.35 => {
                later.push(message.clone());
                cluster.in_flight.push_back(message);
            }
            _ => cluster.in_flight.push_back(message),
        }
    }
    let answers = cluster.in_flight.len();
    for _ in 0..answers {
        let Some(message) = cluster.in_flight.pop_front() else { break };
        let (at, to) = (cluster.now, message.to);
        let (sender, member) = (cluster.node_of(message.from), cluster.member(message.from));
        if let Some(group) = cluster.nodes.get_mut(&to).and_then(|node| node.group.as_mut()) {
            group.vouch(member.as_slice());
            let _ = group.step(at, sender, message);
            cluster.work(to);
        }
    }
    cluster.in_flight.extend(later);
}

fn propose(cluster: &mut Cluster, rng: &mut Rng, tick: u32) {
    for leader in cluster.leaders() {
        let proposal = ProposalId(u64::from(tick) << 8 | leader.get());
        let (now, command) = (cluster.now, Bytes::from(proposal.0.to_string()));
        let _ = cluster.group(leader).propose(now, proposal, command);
        if rng.f64() < 0.01 {
            let _ = cluster.group(leader).transfer(now, None);
        }
        if rng.f64() < 0.02 {
            join(cluster, leader);
        }
        if rng.f64() < 0.02 {
            leave(cluster, rng, leader);
        }
        cluster.work(leader);
    }
}

/// A member comes, with the id the leader will allocate.
fn join(cluster: &mut Cluster, leader: RaftId) {
    let (now, next) = (cluster.now, cluster.group(leader).roster().next_id());
    let number = next.get();
    if number > MEMBERS_EVER_MAX {
        return;
    }
    let (node, place) = (NodeId::new(number).unwrap(), number as u8);
    let add = Change::Add { node, directory: directory(place), addresses: addresses(place) };
    let is_made = cluster.group(leader).change(now, ProposalId(number << 40), add).is_ok();
    if is_made && !cluster.nodes.contains_key(&next) {
        cluster.add(next, MemoryDisk::default());
    }
}

/// A member goes, voter or learner, up or down; it is not told and goes on as long as it likes.
fn leave(cluster: &mut Cluster, rng: &mut Rng, leader: RaftId) {
    let (now, configuration) = (cluster.now, cluster.group(leader).configuration().clone());
    let members = [configuration.voters, configuration.learners].concat();
    let gone = members[rng.usize(..members.len())];
    // Refused if it leads, or is the last one.
    let _ = cluster.group(leader).change(now, ProposalId(gone.get() << 48), Change::Remove(gone));
}

/// No faults any more; everybody is up, whoever was removed too.
fn calm(cluster: &mut Cluster) {
    for id in cluster.ids() {
        cluster.node(id).is_disk_slow = false;
        if cluster.node(id).group.is_none() {
            cluster.start(id);
        }
        cluster.sync(id);
    }
    cluster.run_seconds(30);
    let leader = cluster.elect();
    let members = cluster.group(leader).configuration().clone();
    for id in cluster.ids() {
        // Who was removed, or whose joining was never decided, has nothing to agree with.
        if !members.contains(id) {
            cluster.nodes.remove(&id);
        }
    }
    cluster.propose(leader, "calm").unwrap();
    cluster.run_seconds(15);
    assert!(members.voters.iter().all(|id| cluster.nodes.contains_key(id)));
}

#[test]
fn replicas_agree_and_nothing_acknowledged_is_lost() {
    let rosters: Vec<Roster> = (0..40).map(|seed| storm(seed, |_| {})).collect();
    let gone = |roster: &Roster| roster.next_id().get() - 1 - roster.members().len() as u64;
    let (come, gone) = (
        rosters.iter().filter(|roster| roster.next_id().get() > 6).count(),
        rosters.iter().filter(|roster| gone(roster) > 1).count(),
    );
    assert!(come > 10 && gone > 10, "members come ({come}) and go ({gone})");
}
