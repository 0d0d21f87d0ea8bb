//! Worker state between managers.

use std::time::Duration;

use hyperscale_swim::{Command, Config, Event, WorkerMembership, WorkerReport, WorkerStanding};
use hyperscale_types::{BootEpoch, Role, Token};

use crate::net::{Net, Weather, node_id};

const SECOND: Duration = Duration::from_secs(1);
const MANAGERS: usize = 5;

fn report(net: &Net, worker: usize, token: u64) -> WorkerReport {
    WorkerReport {
        worker: node_id(worker),
        boot: BootEpoch(1),
        owner_token: Token(token),
        addr: net.swim(worker).peer().addr,
        api_addr: None,
        membership: WorkerMembership::Registered,
        cores_total: 8,
        cores_available: 8,
        datacenter: "dc".into(),
    }
}

fn settled(seed: u64, weather: Weather) -> Net {
    let mut net = Net::start(seed, MANAGERS, 30, &Config::lan(), weather);
    assert!(net.run_until(60 * SECOND, Net::converged).is_some());
    net.run(10 * SECOND);
    net
}

fn register(net: &mut Net, owner: usize, worker: usize, token: u64) {
    let report = report(net, worker, token);
    net.command(owner, Command::Worker(report));
}

fn known_everywhere(net: &Net, count: usize) -> bool {
    (0..MANAGERS).filter(|manager| net.up().any(|it| it == *manager)).all(|manager| {
        net.swim(manager).workers().filter(|worker| worker.standing == WorkerStanding::Owned).count() == count
    })
}

#[test]
fn all_managers_see_a_registration_within_a_second() {
    let mut net = settled(1, Weather::lossy(0.1));
    for worker in MANAGERS..30 {
        register(&mut net, worker % MANAGERS, worker, worker as u64);
    }
    let took = net.run_until(2 * SECOND, |net| known_everywhere(net, 25));
    assert!(took.is_some_and(|took| took <= SECOND), "{took:?}");
}

#[test]
fn managers_agree_one_interval_after_a_partition() {
    // Shorter than any suspicion, so that nobody is missed and what was told is simply lost; and so long that each side
    // takes the other for dead.
    for cut in [Duration::from_millis(2500), 90 * SECOND] {
        for seed in 0..4 {
            let mut net = settled(seed, Weather::fair());
            net.partition(|index| u8::from(index < 2));
            register(&mut net, 0, 10, 1);
            register(&mut net, 4, 20, 2);
            net.run(cut);
            assert!(!known_everywhere(&net, 2), "{cut:?}, seed {seed}");
            net.partition(|_| 0);
            let took = net.run_until(31 * SECOND, |net| known_everywhere(net, 2));
            assert!(took.is_some(), "{cut:?}, seed {seed}");
        }
    }
}

#[test]
fn workers_of_a_dead_owner_are_unowned_until_another_takes_them() {
    let mut net = settled(2, Weather::fair());
    register(&mut net, 4, 10, 1);
    net.run(SECOND);
    net.crash(4);
    net.run(30 * SECOND);
    assert_eq!(net.swim(0).worker(node_id(10)).unwrap().standing, WorkerStanding::Unowned);
    register(&mut net, 3, 10, 2);
    net.run(SECOND);
    assert!(known_everywhere(&net, 1));
}

#[test]
fn joining_manager_knows_all_workers_before_it_is_active() {
    let mut net = settled(3, Weather::fair());
    for worker in MANAGERS..30 {
        register(&mut net, worker % MANAGERS, worker, worker as u64);
    }
    net.run(2 * SECOND);
    let newcomer = net.add(Role::Manager);
    net.run(3 * SECOND);
    let synced = |seen: &&crate::net::Seen| seen.observer == newcomer && seen.event == Event::WorkersSynced;
    assert_eq!(net.seen.iter().filter(synced).count(), 1);
    assert_eq!(net.swim(newcomer).workers().count(), 25);
}
