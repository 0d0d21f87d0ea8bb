//! Replicas on real sockets and real disks.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyperscale_consensus::register::{Body, Command, Outcome};
use hyperscale_consensus::replica::{Reply, Request};
use hyperscale_consensus::{BlobId, RaftGroup, RaftRole};
use hyperscale_types::{BootEpoch, NodeId, Token};
use tempfile::TempDir;

use super::host::{Manager, bind};
use super::support::{PATIENCE, development, id};
use hyperscale_node::launch::Sockets;

/// A group of managers, each with its folder.
struct Cluster {
    folders: Vec<TempDir>,
    founders: Vec<std::net::SocketAddr>,
    managers: Vec<Option<Manager>>,
}

impl Cluster {
    fn start(count: usize) -> Self {
        let folders: Vec<_> = (0..count).map(|_| tempfile::tempdir().unwrap()).collect();
        let sockets: Vec<_> = (0..count).map(|_| bind()).collect();
        let founders: Vec<_> = sockets.iter().map(Sockets::address).collect();
        let start = |(folder, sockets): (&TempDir, Sockets)| {
            Some(Manager::start(folder.path(), sockets, &founders, development()))
        };
        let managers = folders.iter().zip(sockets).map(start).collect();
        Self { folders, founders, managers }
    }

    fn get(&self, index: usize) -> &Manager {
        self.managers[index].as_ref().unwrap()
    }

    fn running(&self) -> impl Iterator<Item = (usize, &Manager)> {
        self.managers.iter().enumerate().filter_map(|(index, manager)| Some((index, manager.as_ref()?)))
    }

    fn stop(&mut self, index: usize) {
        self.managers[index].take().unwrap().stop();
    }

    fn restart(&mut self, index: usize) {
        let (folder, address) = (self.folders[index].path(), self.founders[index]);
        let sockets = Sockets::bind(address).unwrap();
        self.managers[index] = Some(Manager::start(folder, sockets, &self.founders, development()));
    }

    /// Waits until all that run follow one of them.
    async fn leader(&self) -> usize {
        let begun = Instant::now();
        loop {
            let mut seen = BTreeSet::new();
            let mut leads = None;
            for (index, manager) in self.running() {
                let look = manager.handle.look(|seen| {
                    let replica = seen.manager.replica();
                    (replica.group().map(RaftGroup::role), replica.leader_node())
                });
                let (role, leader) = look.await.unwrap();
                seen.insert(leader);
                if role == Some(RaftRole::Leader) {
                    leads = Some(index);
                }
            }
            if let Some(index) = leads
                && seen.len() == 1
                && seen.contains(&Some(self.get(index).node))
            {
                return index;
            }
            assert!(begun.elapsed() < PATIENCE, "nobody leads: {seen:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Has a worker granted, as a client would: again until it is done.
    async fn grant(&self, by: usize, worker: u64) {
        let begun = Instant::now();
        loop {
            let reply = self.get(by).handle.replica(Request::Propose(grant(id(worker)))).await.unwrap();
            match reply {
                Reply::Applied { outcome: Some(Outcome::Granted(_)), .. } => return,
                Reply::Failed(_) => {}
                other => panic!("{other:?}"),
            }
            assert!(begun.elapsed() < PATIENCE, "not granted: {reply:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until a replica has applied the grants of all these workers.
    async fn knows(&self, index: usize, workers: std::ops::RangeInclusive<u64>) {
        let begun = Instant::now();
        loop {
            let all = workers.clone();
            let look = self.get(index).handle.look(move |seen| {
                let Some(register) = seen.manager.register() else { return false };
                all.map(id).all(|worker| register.worker(worker).is_some())
            });
            if look.await.unwrap() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not catch up");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn grant(worker: NodeId) -> Bytes {
    let body = Body::WorkerGrant {
        worker,
        boot: BootEpoch(1),
        cores: 4,
        lease_ms: 15_000,
        capabilities: BTreeSet::new(),
    };
    Command { token: Token(0), body }.encode()
}

#[tokio::test]
async fn group_elects_commits_and_survives_restarts_of_a_follower_and_of_the_leader() {
    let mut cluster = Cluster::start(3);
    let leader = cluster.leader().await;
    let follower = (leader + 1) % 3;
    cluster.grant(follower, 101).await;
    for index in 0..3 {
        cluster.knows(index, 101..=101).await;
    }
    let node = cluster.get(follower).node;
    cluster.stop(follower);
    for worker in 102..=110 {
        cluster.grant(leader, worker).await;
    }
    cluster.restart(follower);
    assert_eq!((cluster.get(follower).node, cluster.get(follower).boot), (node, BootEpoch(2)));
    cluster.knows(follower, 101..=110).await;

    cluster.stop(leader);
    let second = cluster.leader().await;
    assert_ne!(second, leader);
    cluster.grant(second, 111).await;
    cluster.restart(leader);
    cluster.knows(leader, 101..=111).await;
    cluster.leader().await;
}

#[tokio::test]
async fn replica_that_was_away_for_long_is_sent_a_snapshot() {
    let mut cluster = Cluster::start(3);
    let leader = cluster.leader().await;
    let follower = (leader + 2) % 3;
    cluster.stop(follower);
    for worker in 200..=320 {
        cluster.grant(leader, worker).await;
    }
    cluster.restart(follower);
    cluster.knows(follower, 200..=320).await;
    let restored = cluster.get(follower).handle.look(|seen| seen.counts.snapshots_restored).await;
    assert!(restored.unwrap() > 0, "it came as a transfer");
}

#[tokio::test]
async fn whole_group_stops_and_resumes_with_what_it_decided() {
    let mut cluster = Cluster::start(3);
    let leader = cluster.leader().await;
    cluster.grant(leader, 400).await;
    for index in 0..3 {
        cluster.stop(index);
    }
    for index in 0..3 {
        cluster.restart(index);
    }
    cluster.leader().await;
    for index in 0..3 {
        cluster.knows(index, 400..=400).await;
    }
    cluster.grant((leader + 1) % 3, 401).await;
}

#[tokio::test]
async fn large_blob_reaches_the_disks_of_a_quorum_while_commands_are_committed() {
    let cluster = Cluster::start(3);
    let leader = cluster.leader().await;
    let bytes = Bytes::from((0..8_u32 << 20).map(|at| ((at * 17) >> 5) as u8).collect::<Vec<_>>());
    let blob = BlobId::of(&bytes);
    let handle = cluster.get((leader + 1) % 3).handle.clone();
    let store = async {
        match handle.replica(Request::StoreBlob(bytes.clone())).await.unwrap() {
            Reply::Stored(stored) => stored,
            other => panic!("{other:?}"),
        }
    };
    let commit = async {
        for worker in 500..=530 {
            cluster.grant(leader, worker).await;
        }
    };
    let (stored, ()) = tokio::join!(store, commit);
    assert_eq!(stored, blob);
    let folders = cluster.folders.iter().map(|folder| folder.path().join("blobs"));
    let copies = folders.filter(|folder| {
        let files = std::fs::read_dir(folder).unwrap();
        files.filter_map(Result::ok).any(|file| file.metadata().is_ok_and(|it| it.len() == blob.length))
    });
    assert!(copies.count() >= 2);
}

#[tokio::test]
async fn burst_of_proposals_of_a_follower_is_applied_without_loss() {
    let cluster = Cluster::start(3);
    let leader = cluster.leader().await;
    let follower = cluster.get((leader + 1) % 3);
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..3_000 {
        let handle = follower.handle.clone();
        tasks.spawn(async move { handle.replica(Request::Propose(grant(id(1_000 + worker)))).await });
    }
    for reply in tasks.join_all().await {
        assert!(matches!(reply, Ok(Reply::Applied { .. })), "{reply:?}");
    }
    assert_eq!(follower.transport.counters().not_sent, 0);
}
