//! What a cluster costs when nothing happens, and that nothing grows without bound when much does.

use std::sync::Arc;
use std::time::Duration;

use hyperscale_swim::{
    Command, Config, EmbeddedState, MEMBER_UPDATES_MAX, RELAYS_MAX, WORKER_UPDATES_MAX, WorkerLoad,
    WorkerState,
};

use crate::net::{Net, Weather};

const SECOND: Duration = Duration::from_secs(1);

fn state(queue_depth: u32) -> EmbeddedState {
    EmbeddedState::Worker(WorkerLoad {
        state: WorkerState::Healthy,
        cores_total: 64,
        cores_available: 12,
        queue_depth,
        cpu_percent: 50,
        memory_percent: 60,
        segments: 3,
        segments_digest: 99,
        lhm: 0,
    })
}

#[test]
fn steady_cluster_sends_less_than_a_kilobyte_per_second_and_node() {
    let mut net = Net::start(1, 3, 60, &Config::lan(), Weather::fair());
    net.run(90 * SECOND);
    for index in 3..60 {
        net.command(index, Command::SetState(state(1)));
    }
    let bytes = |net: &Net| net.up().map(|it| net.swim(it).counters().datagram_bytes_sent).sum::<u64>();
    let before = bytes(&net);
    net.run(60 * SECOND);
    let per_node_second = (bytes(&net) - before) / 60 / 60;
    assert!(per_node_second < 1000, "{per_node_second}");
    assert!(per_node_second > 100, "probes go on: {per_node_second}");
}

#[test]
fn state_reaches_those_it_is_exchanged_with() {
    let mut net = Net::start(2, 3, 10, &Config::lan(), Weather::fair());
    net.run(30 * SECOND);
    for version in 0..3 {
        net.command(7, Command::SetState(state(version)));
        net.run(30 * SECOND);
    }
    let newest = Arc::new(state(2));
    let knowing = net
        .up()
        .filter_map(|observer| net.swim(observer).member(crate::net::node_id(7)))
        .filter(|member| member.state.is_some_and(|known| known.state == *newest))
        .count();
    assert_eq!(knowing, 9);
}

#[test]
fn tables_and_queues_stay_within_their_limits_in_a_storm() {
    let mut net = Net::start(3, 3, 60, &Config::lan(), Weather::lossy(0.2));
    for round in 0..8u64 {
        net.run(5 * SECOND);
        net.partition(|index| ((index as u64 + round) % 3) as u8);
        for index in (5..60).filter(|index| (*index as u64 + round).is_multiple_of(5)) {
            net.restart(index);
        }
        for index in net.up().collect::<Vec<_>>() {
            let sizes = net.swim(index).sizes();
            assert!(sizes.members < 60 && sizes.member_updates <= MEMBER_UPDATES_MAX, "{sizes:?}");
            assert!(sizes.worker_updates <= WORKER_UPDATES_MAX && sizes.relays <= RELAYS_MAX, "{sizes:?}");
            assert!(sizes.audit <= 1024 && sizes.contacts <= 3, "{sizes:?}");
        }
    }
    net.partition(|_| 0);
    assert!(net.run_until(60 * SECOND, Net::converged).is_some());
}
