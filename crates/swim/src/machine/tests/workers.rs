//! Rules of worker state between managers.

use std::sync::Arc;

use hyperscale_types::Token;

use super::*;
use crate::embedded::{EmbeddedState, ManagerLoad, Phase};
use crate::load::LoadLevel;
use crate::size;
use crate::workers::{WorkerMembership, WorkerReport, WorkerStanding, WorkerUpdate, WorkerVersion};

fn report(worker: u64, token: u64, membership: WorkerMembership, cores_available: u16) -> WorkerReport {
    WorkerReport {
        worker: node(worker),
        boot: BootEpoch(1),
        owner_token: Token(token),
        addr: peer(worker).addr,
        api_addr: None,
        membership,
        cores_total: 8,
        cores_available,
        datacenter: "dc".into(),
    }
}

fn said_by(owner: u64, worker: u64, token: u64, counter: u64) -> Arc<WorkerUpdate> {
    Arc::new(WorkerUpdate {
        worker: node(worker),
        owner: node(owner),
        version: WorkerVersion { boot: BootEpoch(1), owner_token: Token(token), counter },
        addr: peer(worker).addr,
        api_addr: None,
        membership: WorkerMembership::Registered,
        cores_total: 8,
        cores_available: 8,
        datacenter: "dc".into(),
    })
}

fn told(actions: &[Action]) -> Vec<u64> {
    let mut told: Vec<_> = streams(actions)
        .into_iter()
        .filter(|(_, body)| matches!(body, StreamBody::Worker(_)))
        .filter_map(|(to, _)| to.node.map(NodeId::get))
        .collect();
    told.sort_unstable();
    told
}

#[test]
fn owner_tells_all_managers_at_once_of_every_change_of_membership() {
    use WorkerMembership::{Dead, Evicted, Left, Registered};
    let mut rig = Rig::among([2, 3, 4, 200, 201]);
    for (token, membership) in [(1, Registered), (1, Dead), (2, Registered), (2, Evicted), (3, Left)] {
        let actions = rig.command(Command::Worker(report(200, token, membership, 8)));
        assert_eq!(told(&actions), [2, 3, 4], "{membership:?}");
    }
}

#[test]
fn change_of_capacity_is_gossiped_to_managers_only() {
    let mut rig = Rig::among([2, 3, 200, 201]);
    rig.well = [2, 3, 200, 201].map(node).into();
    rig.advance(secs(30.0));
    rig.command(Command::Worker(report(200, 1, WorkerMembership::Registered, 8)));
    rig.advance(secs(10.0));
    let actions = rig.command(Command::Worker(report(200, 1, WorkerMembership::Registered, 4)));
    assert_eq!(told(&actions), [0_u64; 0]);
    let actions = rig.advance(secs(1.0));
    let carriers: BTreeSet<u64> = datagrams(&actions)
        .into_iter()
        .filter(|(_, datagram)| !datagram.workers.is_empty())
        .map(|(to, _)| to)
        .collect();
    assert_eq!(carriers, BTreeSet::from([2, 3]));
}

#[test]
fn datagram_carries_at_most_600_bytes_of_worker_state() {
    let mut rig = Rig::among([2, 3]);
    for worker in 200..300 {
        rig.command(Command::Worker(report(worker, 1, WorkerMembership::Registered, 8)));
    }
    let actions = rig.advance(secs(1.0));
    let bytes =
        |datagram: &Datagram| datagram.workers.iter().map(|worker| size::worker_len(worker)).sum::<usize>();
    let largest = datagrams(&actions).into_iter().map(|(_, datagram)| bytes(datagram)).max();
    assert!(largest.is_some_and(|bytes| (450..=600).contains(&bytes)), "{largest:?}");
}

#[test]
fn update_told_by_another_than_the_owner_is_refused() {
    let mut rig = Rig::among([2, 3]);
    rig.stream(3, StreamBody::Worker(said_by(2, 200, 1, 1)));
    assert!(rig.swim.worker(node(200)).is_none());
    rig.stream(2, StreamBody::Worker(said_by(2, 200, 1, 1)));
    assert!(rig.swim.worker(node(200)).is_some());
    rig.stream(3, StreamBody::Worker(said_by(3, 200, 1, 2)));
    assert_eq!(rig.swim.worker(node(200)).unwrap().update.owner, node(2));
    assert_eq!(rig.swim.counters().worker_updates_foreign, 2);
}

#[test]
fn worker_news_are_believed_from_managers_only() {
    let mut rig = Rig::among([2, 200]);
    let gossip = |from| Datagram {
        workers: vec![said_by(2, 201, 1, 1)],
        ..bare(sender(from, 1, 0), Message::Gossip, &[])
    };
    rig.input(Input::Datagram(gossip(200)));
    rig.stream(200, StreamBody::Worker(said_by(200, 201, 1, 1)));
    let workers = vec![said_by(2, 201, 1, 1)];
    rig.stream(200, StreamBody::WorkerDifference { buckets: u64::MAX, workers, answer: false });
    assert!(rig.swim.worker(node(201)).is_none());
    assert_eq!(rig.swim.counters().worker_updates_foreign, 3);
    rig.input(Input::Datagram(gossip(2)));
    assert!(rig.swim.worker(node(201)).is_some());
}

#[test]
fn first_update_of_a_new_owner_wins_over_a_late_one_of_the_old() {
    let mut rig = Rig::among([2, 3]);
    rig.stream(2, StreamBody::Worker(said_by(2, 200, 5, 40)));
    rig.stream(3, StreamBody::Worker(said_by(3, 200, 6, 1)));
    rig.stream(2, StreamBody::Worker(said_by(2, 200, 5, 41)));
    assert_eq!(rig.swim.worker(node(200)).unwrap().update.owner, node(3));
}

#[test]
fn report_under_an_old_token_is_refused_with_the_owner() {
    let mut rig = Rig::among([2]);
    rig.stream(2, StreamBody::Worker(said_by(2, 200, 6, 1)));
    let actions = rig.command(Command::Worker(report(200, 5, WorkerMembership::Registered, 8)));
    assert_eq!(events(&actions), [Event::NotOwner { worker: node(200), owner: node(2) }]);
}

#[test]
fn workers_of_a_dead_owner_are_unowned_until_they_register_again() {
    let mut rig = Rig::among([2, 3]);
    rig.stream(2, StreamBody::Worker(said_by(2, 200, 5, 1)));
    let standing = |rig: &Rig| rig.swim.worker(node(200)).unwrap().standing;
    assert_eq!(standing(&rig), WorkerStanding::Owned);
    let actions = rig.gossip(3, &[update(2, 0, Status::Dead, 3)]);
    assert!(events(&actions).contains(&Event::OwnerLost { owner: node(2) }));
    assert_eq!(standing(&rig), WorkerStanding::Unowned);
    rig.stream(3, StreamBody::Worker(said_by(3, 200, 6, 1)));
    assert_eq!(standing(&rig), WorkerStanding::Owned);
    rig.command(Command::Worker(report(200, 7, WorkerMembership::Dead, 0)));
    assert_eq!(standing(&rig), WorkerStanding::Gone);
}

#[test]
fn owner_hears_from_peers_what_it_owned_in_an_earlier_life_and_may_disown_it() {
    let mut rig = Rig::among([2]);
    let workers = vec![said_by(ME, 200, 5, 6), said_by(2, 201, 6, 1)];
    let actions = rig.stream(2, StreamBody::WorkerDifference { buckets: u64::MAX, workers, answer: false });
    let inherited: Vec<_> =
        events(&actions).into_iter().filter(|event| matches!(event, Event::Inherited(_))).collect();
    assert_eq!(inherited, [Event::Inherited(said_by(ME, 200, 5, 6))]);
    rig.command(Command::Worker(report(200, 5, WorkerMembership::Evicted, 0)));
    let view = rig.swim.worker(node(200)).unwrap();
    assert_eq!((view.standing, view.update.version.counter), (WorkerStanding::Gone, 7));
    // What it said itself comes back to it without a question.
    rig.command(Command::Worker(report(202, 7, WorkerMembership::Registered, 8)));
    let actions = rig.stream(
        2,
        StreamBody::WorkerDifference {
            buckets: u64::MAX,
            workers: vec![said_by(ME, 202, 7, 1)],
            answer: false,
        },
    );
    assert!(events(&actions).is_empty());
}

#[test]
fn full_book_makes_room_among_workers_whose_owner_is_gone() {
    let mut config = Config::lan();
    config.limits.workers = 2;
    let mut rig = Rig::with(config, ME);
    rig.meet([2, 3]);
    rig.stream(2, StreamBody::Worker(said_by(2, 200, 5, 1)));
    rig.stream(3, StreamBody::Worker(said_by(3, 201, 6, 1)));
    rig.stream(3, StreamBody::Worker(said_by(3, 202, 7, 1)));
    assert_eq!((rig.swim.worker(node(202)).is_some(), rig.swim.counters().workers_refused), (false, 1));
    rig.gossip(3, &[update(2, 0, Status::Dead, 3)]);
    rig.stream(3, StreamBody::Worker(said_by(3, 202, 7, 1)));
    assert!(rig.swim.worker(node(202)).is_some() && rig.swim.worker(node(200)).is_none());
    // The digest knows no more of it: another manager with the same two has the same.
    let mut other = Rig::among([3]);
    other.stream(3, StreamBody::Worker(said_by(3, 201, 6, 1)));
    other.stream(3, StreamBody::Worker(said_by(3, 202, 7, 1)));
    assert_eq!(rig.swim.workers.digest(), other.swim.workers.digest());
}

#[test]
fn owner_that_comes_back_owns_its_workers_again() {
    let mut rig = Rig::among([2, 3]);
    rig.stream(2, StreamBody::Worker(said_by(2, 200, 5, 1)));
    rig.gossip(3, &[update(2, 0, Status::Dead, 3)]);
    let actions = rig.gossip(3, &[update(2, 1, Status::Alive, 2)]);
    assert!(events(&actions).contains(&Event::OwnerReturned { owner: node(2) }));
}

fn active() -> EmbeddedState {
    EmbeddedState::Manager(ManagerLoad {
        datacenter: "dc".into(),
        leader: false,
        term: 1,
        phase: Phase::Active,
        jobs: 0,
        segments: 0,
        workers_total: 0,
        workers_healthy: 0,
        cores_total: 0,
        cores_available: 0,
        lhm: 0,
        backpressure: LoadLevel::Normal,
    })
}

fn phase(rig: &Rig) -> Phase {
    match &rig.swim.state().unwrap().state {
        EmbeddedState::Manager(load) => load.phase,
        other => panic!("{other:?}"),
    }
}

#[test]
fn joining_manager_has_all_worker_lists_before_it_calls_itself_active() {
    let mut rig = Rig::idle(Config::lan(), ME);
    rig.command(Command::Join { contacts: vec![peer(2).addr] });
    rig.command(Command::SetState(active()));
    assert_eq!(phase(&rig), Phase::Syncing);
    let members = [2, 3, 4, 200].map(|number| update(number, 0, Status::Alive, number)).to_vec();
    let actions = rig.stream(2, StreamBody::Members { members, last: true });
    assert_eq!(asked_for_workers(&actions), [2, 3, 4].map(node).into());
    let list = |workers: &[u64]| StreamBody::WorkerList {
        workers: workers.iter().map(|worker| said_by(2, *worker, 1, 1)).collect(),
        last: true,
    };
    rig.stream(2, list(&[200]));
    rig.stream(3, list(&[200, 201]));
    assert_eq!(phase(&rig), Phase::Syncing);
    // The third dies instead of answering.
    let actions = rig.gossip(2, &[update(4, 0, Status::Dead, 2)]);
    assert!(events(&actions).contains(&Event::WorkersSynced));
    assert_eq!((phase(&rig), rig.swim.workers().count()), (Phase::Active, 2));
}

#[test]
fn manager_named_along_with_the_death_of_the_last_one_asked_is_asked_too() {
    let mut rig = Rig::idle(Config::lan(), ME);
    rig.command(Command::Join { contacts: vec![peer(2).addr] });
    rig.stream(2, StreamBody::Members { members: vec![update(2, 0, Status::Alive, 2)], last: true });
    let news = [update(2, 0, Status::Dead, 5), update(3, 0, Status::Alive, 5)];
    let actions = rig.gossip(5, &news);
    assert!(!events(&actions).contains(&Event::WorkersSynced));
    let actions = rig.stream(3, StreamBody::WorkerList { workers: Vec::new(), last: true });
    assert!(!events(&actions).contains(&Event::WorkersSynced), "the gossiper is a manager too");
    let actions = rig.stream(5, StreamBody::WorkerList { workers: Vec::new(), last: true });
    assert!(events(&actions).contains(&Event::WorkersSynced));
}

#[test]
fn manager_that_does_not_answer_is_asked_again() {
    let mut rig = Rig::idle(Config::lan(), ME);
    rig.command(Command::Join { contacts: vec![peer(2).addr] });
    rig.stream(2, StreamBody::Members { members: vec![update(2, 0, Status::Alive, 2)], last: true });
    rig.well.insert(node(2));
    let actions = rig.advance(secs(10.0));
    let asked =
        streams(&actions).iter().filter(|(_, body)| matches!(body, StreamBody::WorkerListRequest)).count();
    assert!((2..=3).contains(&asked), "{asked}");
}

#[test]
fn manager_known_by_hearsay_alone_is_not_waited_for_longer_than_a_suspicion() {
    let mut rig = Rig::idle(Config::lan(), ME);
    rig.command(Command::Join { contacts: vec![peer(2).addr] });
    rig.command(Command::SetState(active()));
    let members = [2, 4].map(|number| update(number, 0, Status::Alive, number)).to_vec();
    rig.stream(2, StreamBody::Members { members, last: true });
    rig.stream(2, StreamBody::WorkerList { workers: Vec::new(), last: true });
    rig.well.insert(node(2));
    let actions = rig.advance(secs(20.0));
    assert!(!events(&actions).contains(&Event::WorkersSynced));
    let actions = rig.advance(secs(8.0));
    assert!(events(&actions).contains(&Event::WorkersSynced));
    assert_eq!(phase(&rig), Phase::Active);
}

#[test]
fn manager_that_was_reached_is_waited_for_until_it_dies() {
    let mut rig = Rig::idle(Config::lan(), ME);
    rig.command(Command::Join { contacts: vec![peer(2).addr] });
    rig.stream(2, StreamBody::Members { members: vec![update(2, 0, Status::Alive, 2)], last: true });
    rig.well.insert(node(2));
    let actions = rig.advance(secs(120.0));
    assert!(!events(&actions).contains(&Event::WorkersSynced));
}

#[test]
fn worker_list_request_is_answered_with_all_workers() {
    let mut rig = Rig::among([2]);
    for worker in 200..210 {
        rig.command(Command::Worker(report(worker, 1, WorkerMembership::Registered, 8)));
    }
    let actions = rig.stream(2, StreamBody::WorkerListRequest);
    let StreamBody::WorkerList { workers, last: true } = streams(&actions)[0].1 else { panic!() };
    assert_eq!(workers.len(), 10);
}

#[test]
fn managers_agree_on_workers_by_anti_entropy() {
    let mut one = Rig::among([2]);
    let mut other = Rig::with(Config::lan(), 2);
    other.meet([ME]);
    one.command(Command::Worker(report(200, 1, WorkerMembership::Registered, 8)));
    other.command(Command::Worker(report(201, 2, WorkerMembership::Registered, 8)));
    let workers = Some(Box::new(one.swim.workers.digest().clone()));
    let members = Box::new(one.swim.members.digest().clone());
    let mut actions = other.stream(ME, StreamBody::Digest { members, workers });
    for receiver in [&mut one, &mut other] {
        let answers: Vec<_> = actions
            .into_iter()
            .filter_map(|action| match action {
                Action::SendStream { message, .. } => Some(message),
                _ => None,
            })
            .flat_map(|message| receiver.input(Input::Stream(message)))
            .collect();
        actions = answers;
    }
    assert_eq!(one.swim.workers.digest(), other.swim.workers.digest());
    assert_eq!(one.swim.workers().count(), 2);
}

#[test]
fn workers_do_not_keep_worker_state() {
    let mut rig = Rig::with(Config::lan(), 300);
    rig.stream(2, StreamBody::Worker(said_by(2, 200, 1, 1)));
    assert_eq!(rig.swim.workers().count(), 0);
}
