//! The failure detector on real sockets.

use hyperscale_node::launch::Sockets;
use hyperscale_swim::Status;
use hyperscale_wire::counters::Refusal;
use hyperscale_wire::secret::Secrets;

use super::host::{Manager, bind};
use super::support::{development, foreign, until};

#[tokio::test]
async fn three_nodes_find_each_other_and_one_that_ends_is_declared_dead_and_comes_back() {
    let folders: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let sockets: Vec<_> = (0..3).map(|_| bind()).collect();
    let founders: Vec<_> = sockets.iter().map(Sockets::address).collect();
    let mut managers: Vec<_> = folders
        .iter()
        .zip(sockets)
        .map(|(folder, sockets)| Manager::start(folder.path(), sockets, &founders, development()))
        .collect();
    until(|| managers.iter().all(|manager| sees(manager, 3))).await;
    let last = managers.pop().unwrap();
    let (node, boot) = (last.node, last.boot);
    let address = last.stop();
    let is_dead = |manager: &Manager| manager.membership.view().status(node) == Some(Status::Dead);
    until(|| managers.iter().all(is_dead)).await;
    let again = Manager::start(folders[2].path(), Sockets::bind(address).unwrap(), &founders, development());
    assert!(again.node == node && again.boot > boot);
    managers.push(again);
    until(|| managers.iter().all(|manager| sees(manager, 3))).await;
}

/// Whether a node sees this many that are alive and were reached.
fn sees(manager: &Manager, count: usize) -> bool {
    let view = manager.membership.view();
    let alive = view.members.iter().filter(|it| it.claim.status == Status::Alive && it.confirmed);
    view.is_joined && alive.count() == count - 1
}

#[tokio::test]
async fn nodes_whose_configured_peers_are_gone_find_each_other_through_the_log() {
    let folders: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let sockets: Vec<_> = (0..2).map(|_| bind()).collect();
    let founders: Vec<_> = sockets.iter().map(Sockets::address).collect();
    let start = |(folder, sockets): (&tempfile::TempDir, Sockets), peers: &[_]| {
        Manager::start(folder.path(), sockets, peers, development())
    };
    let managers: Vec<_> = folders.iter().zip(sockets).map(|node| start(node, &founders)).collect();
    for manager in &managers {
        loop {
            let leader = manager.handle.look(|seen| seen.manager.replica().leader_node()).await;
            if leader.unwrap().is_some() {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    let addresses: Vec<_> = managers.into_iter().map(Manager::stop).collect();
    // Nobody listens there.
    let gone = bind().address();
    let again = addresses.into_iter().map(|address| Sockets::bind(address).unwrap());
    let restart = |node: (_, Sockets)| {
        let peers = [node.1.address(), gone];
        start(node, &peers)
    };
    let managers: Vec<_> = folders.iter().zip(again).map(restart).collect();
    until(|| managers.iter().all(|manager| sees(manager, 2))).await;
}

#[tokio::test]
async fn node_with_a_foreign_secret_becomes_nobodys_member() {
    let folders: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let (first, second) = (bind(), bind());
    let (at, founders) = (first.address(), [first.address(), second.address()]);
    let manager = Manager::start(folders[0].path(), first, &[at], development());
    let secrets = Secrets { current: foreign(), previous: None };
    let stranger = Manager::start(folders[1].path(), second, &founders, secrets);
    let refused = || manager.transport.counters().wire.refused(Refusal::HandshakeForged);
    until(|| refused() >= 3).await;
    assert_eq!(manager.membership.view().members.len(), 0);
    assert_eq!(stranger.membership.view().members.len(), 0);
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(&[7; 100], at).unwrap();
    socket.send_to(b"", at).unwrap();
    until(|| manager.membership.view().refused.refused(Refusal::DatagramMalformed) >= 2).await;
    stranger.stop();
    manager.stop();
}
