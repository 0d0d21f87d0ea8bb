//! The circuit of the quorum: a leader whose disk does not answer opens it, and whatever a majority answers closes it.

use hyperscale_consensus::{LogGroup, ReadId};

use crate::cluster::Cluster;

#[test]
fn read_that_is_answered_closes_the_circuit() {
    let mut cluster = Cluster::new(3);
    let leader = cluster.elect();
    cluster.node(leader).is_disk_slow = true;
    for _ in 0..3 {
        cluster.propose(leader, "waits for the disk").unwrap();
        cluster.run_seconds(6);
    }
    assert!(cluster.propose(leader, "is refused").is_err());
    cluster.node(leader).is_disk_slow = false;
    cluster.sync(leader);
    cluster.run_seconds(11);
    let now = cluster.now;
    cluster.group(leader).read_index(now, ReadId(1)).unwrap();
    cluster.work(leader);
    cluster.run_seconds(1);
    assert!(cluster.node(leader).reads[&ReadId(1)].is_ok());
    assert!(cluster.propose(leader, "goes through").is_ok());
}
