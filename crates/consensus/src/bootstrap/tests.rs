use super::*;

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn founder(number: u64) -> Founder {
    Founder { directory: DirectoryId([number as u8; 16]), addresses: Addresses::example(number as u8) }
}

fn report(number: u64, state: PeerState) -> Report {
    let Founder { directory, addresses } = founder(number);
    Report { node: node(number), directory, addresses, state }
}

fn founders(numbers: &[u64]) -> BTreeMap<NodeId, Founder> {
    numbers.iter().map(|number| (node(*number), founder(*number))).collect()
}

fn members(numbers: &[u64]) -> Vec<Member> {
    Roster::founding(&founders(numbers)).members().copied().collect()
}

fn running(members: Vec<Member>, learners: &[u64]) -> PeerState {
    PeerState::Running { members, learners: learners.iter().map(|it| RaftId::new(*it).unwrap()).collect() }
}

fn empty(peers: usize) -> Bootstrap {
    Bootstrap::new(node(2), founder(2), peers).unwrap()
}

/// What the second of three nodes decides after one report.
fn decision(report: Report) -> Decision {
    let mut bootstrap = empty(3);
    bootstrap.heard(Now::ZERO, report).unwrap();
    bootstrap.decide(Now::ZERO)
}

fn acknowledged(numbers: &[u64]) -> Decision {
    Decision::Acknowledge { founders: founders(numbers), raft_id: RaftId::new(2).unwrap() }
}

#[test]
fn old_report_of_a_peer_that_died_does_not_hide_that_this_node_was_added() {
    let mut bootstrap = empty(3);
    bootstrap.heard(Now::ZERO, report(1, running(members(&[1, 3]), &[]))).unwrap();
    let wait = Decision::Wait { known_by: node(1), reason: WaitReason::NotAdded };
    assert_eq!(bootstrap.decide(Now::ZERO), wait);
    bootstrap.heard(Now::ZERO, report(3, running(members(&[1, 2, 3]), &[2]))).unwrap();
    assert_eq!(bootstrap.decide(Now::ZERO), Decision::Join(RaftId::new(2).unwrap()));
}

#[test]
fn acknowledges_only_when_every_peer_is_reached_and_empty() {
    let mut bootstrap = empty(3);
    assert_eq!(bootstrap.decide(Now::ZERO), Decision::Ask { missing: 2 });
    bootstrap.heard(Now::ZERO, report(1, PeerState::Empty)).unwrap();
    assert_eq!(bootstrap.decide(Now::ZERO), Decision::Ask { missing: 1 });
    bootstrap.heard(Now::ZERO, report(3, PeerState::Empty)).unwrap();
    assert_eq!(bootstrap.decide(Now::ZERO), acknowledged(&[1, 2, 3]));
}

#[test]
fn report_of_an_empty_peer_ages() {
    let late = Now::after_start(REPORT_AGE_MAX + Duration::from_millis(1));
    let mut bootstrap = empty(3);
    bootstrap.heard(Now::ZERO, report(1, PeerState::Empty)).unwrap();
    bootstrap.heard(late, report(3, PeerState::Empty)).unwrap();
    assert_eq!(
        bootstrap.decide(late),
        Decision::Ask { missing: 1 },
        "the first may have lost its disk since"
    );
    bootstrap.heard(late, report(1, PeerState::Empty)).unwrap();
    assert_eq!(bootstrap.decide(late), acknowledged(&[1, 2, 3]));
}

#[test]
fn all_founders_write_the_same() {
    assert_eq!(founding(&founders(&[3, 1, 2])), founding(&founders(&[1, 2, 3])));
}

#[test]
fn one_voter_founds_alone() {
    let alone = Decision::Acknowledge { founders: founders(&[2]), raft_id: RaftId::FIRST };
    assert_eq!(empty(1).decide(Now::ZERO), alone);
    assert!(Founding::new(node(2), &Roster::founding(&founders(&[2]))).is_complete());
}

#[test]
fn node_acknowledges_what_a_peer_acknowledged_with_its_directory() {
    let first = report(1, PeerState::Acknowledged(members(&[1, 2, 3])));
    assert_eq!(decision(first), acknowledged(&[1, 2, 3]));
}

#[test]
fn founder_that_lost_its_disk_after_it_acknowledged_is_not_founded_with_again() {
    let mut known = members(&[1, 2, 3]);
    known[1].directory = DirectoryId([99; 16]);
    let wait = |reason| Decision::Wait { known_by: node(1), reason };
    let half_founded = decision(report(1, PeerState::Acknowledged(known.clone())));
    assert_eq!(half_founded, wait(WaitReason::OtherFounding));
    assert_eq!(decision(report(1, running(known, &[]))), wait(WaitReason::LostLog));
    // Nor if its directory survived and what it acknowledged did not.
    assert_eq!(decision(report(1, running(members(&[1, 2, 3]), &[]))), wait(WaitReason::LostLog));
}

#[test]
fn directory_that_an_operator_added_joins_under_its_id() {
    let added = report(1, running(members(&[1, 2, 3, 4]), &[2]));
    assert_eq!(decision(added), Decision::Join(RaftId::new(2).unwrap()));
    let others = report(1, running(members(&[1, 3]), &[]));
    assert_eq!(decision(others), Decision::Wait { known_by: node(1), reason: WaitReason::NotAdded });
}

#[test]
fn founding_is_complete_when_all_acknowledged_the_same_or_one_takes_part() {
    let begin = || Founding::new(node(2), &Roster::founding(&founders(&[1, 2, 3])));
    let same = PeerState::Acknowledged(members(&[1, 2, 3]));
    let mut other = members(&[1, 2, 3]);
    other[1].directory = DirectoryId([99; 16]);
    let mut founding = begin();
    founding.heard(&report(1, same.clone()));
    founding.heard(&report(3, PeerState::Empty));
    founding.heard(&report(3, PeerState::Acknowledged(other)));
    assert!(!founding.is_complete());
    founding.heard(&report(3, same));
    assert!(founding.is_complete());
    let mut founding = begin();
    founding.heard(&report(9, running(members(&[8, 9]), &[])));
    assert!(!founding.is_complete(), "another group");
    founding.heard(&report(1, running(members(&[1, 2, 3]), &[])));
    assert!(founding.is_complete());
}

#[test]
fn acknowledgement_is_told_from_a_group_that_was_opened() {
    let write = acknowledgement(&founders(&[1, 2]));
    let loaded = Loaded {
        hard_state: write.hard_state.unwrap(),
        snapshot: write.snapshot.unwrap().snapshot,
        ..Loaded::default()
    };
    assert!(is_acknowledged_only(&loaded));
    assert!(!is_acknowledged_only(&Loaded { hard_state: opening().hard_state.unwrap(), ..loaded }));
}

#[test]
fn peers_are_counted_and_distinct() {
    let none = Bootstrap::new(node(2), founder(2), 0);
    assert_eq!(none.unwrap_err(), BootstrapError::PeerCount);
    let mut bootstrap = empty(2);
    let mut hear = |number| bootstrap.heard(Now::ZERO, report(number, PeerState::Empty));
    assert_eq!(hear(2), Err(BootstrapError::SamePeerTwice));
    assert_eq!([hear(1), hear(1)], [Ok(()), Ok(())]);
}

#[test]
fn peer_that_came_back_as_another_node_is_counted_once() {
    let mut bootstrap = empty(2);
    bootstrap.heard(Now::ZERO, report(1, PeerState::Empty)).unwrap();
    let later = Now::after_start(Duration::from_millis(500));
    bootstrap.heard(later, report(3, PeerState::Empty)).unwrap();
    let both = Decision::Acknowledge { founders: founders(&[2, 3]), raft_id: RaftId::FIRST };
    assert_eq!(bootstrap.decide(later), both);
}
