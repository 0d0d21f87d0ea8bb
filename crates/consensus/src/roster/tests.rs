use super::*;
use crate::message::Addresses;

fn id(number: u64) -> RaftId {
    RaftId::new(number).unwrap()
}

fn member(raft_id: u64, node: u64, directory: u8) -> Member {
    Member {
        raft_id: id(raft_id),
        node: NodeId::new(node).unwrap(),
        directory: DirectoryId([directory; 16]),
        addresses: Addresses::example(directory),
        boot: BootEpoch(0),
    }
}

fn three() -> (Roster, Configuration) {
    let founders = (1..=3).map(|n| (NodeId::new(n * 10).unwrap(), member(n, n * 10, n as u8).founder()));
    let founders = founders.collect();
    let configuration = Configuration { voters: vec![id(1), id(2), id(3)], ..Configuration::default() };
    (Roster::founding(&founders), configuration)
}

fn add(member: Member) -> ConfigurationChange {
    ConfigurationChange { steps: vec![ConfigurationStep::AddLearner(member.raft_id)], member: Some(member) }
}

fn remove(number: u64) -> ConfigurationChange {
    ConfigurationChange { steps: vec![ConfigurationStep::Remove(id(number))], member: None }
}

#[test]
fn founders_are_numbered_by_node_id() {
    let (roster, _) = three();
    assert_eq!(roster.member(id(2)), Some(&member(2, 20, 2)));
    assert_eq!(roster.next_id(), id(4));
}

#[test]
fn raft_ids_and_directories_are_never_used_again() {
    let (mut roster, mut configuration) = three();
    configuration.voters.pop();
    roster.make(&remove(3), &configuration);
    assert_eq!(roster.check(&add(member(4, 30, 3)), &configuration), Err(ChangeError::DirectoryKnown(id(3))));
    assert_eq!(roster.check(&add(member(3, 30, 9)), &configuration), Err(ChangeError::IdTaken));
    let lost_its_disk = add(member(4, 30, 9));
    assert_eq!(roster.check(&lost_its_disk, &configuration), Ok(()));
    configuration.learners.push(id(4));
    roster.make(&lost_its_disk, &configuration);
    assert_eq!(roster.next_id(), id(5));
}

#[test]
fn voter_that_goes_is_known_until_the_joint_configuration_is_left() {
    let (mut roster, before) = three();
    let after = Configuration { voters: vec![id(1), id(2)], ..Configuration::default() };
    let joint = Configuration { voters_outgoing: before.voters, ..after.clone() };
    roster.make(&remove(3), &joint);
    assert_eq!(roster.member(id(3)), Some(&member(3, 30, 3)));
    roster.make(&ConfigurationChange::default(), &after);
    assert_eq!(roster.member(id(3)), None);
    assert_eq!(roster.check(&add(member(4, 30, 3)), &after), Err(ChangeError::DirectoryKnown(id(3))));
}

#[test]
fn member_that_lost_its_disk_is_removed_before_it_comes_as_new() {
    let (roster, configuration) = three();
    assert_eq!(roster.check(&add(member(4, 30, 9)), &configuration), Err(ChangeError::NodeKnown(id(3))));
}

#[test]
fn member_that_moved_is_reached_elsewhere_and_stays_what_it_is() {
    let (mut roster, mut configuration) = three();
    configuration.learners.push(id(4));
    let learner = member(4, 40, 4);
    roster.make(&add(learner), &configuration);
    let elsewhere =
        |member: Member| Member { addresses: Addresses::example(99), boot: BootEpoch(2), ..member };
    let change = |member, step| ConfigurationChange { steps: vec![step], member: Some(member) };
    let voter = elsewhere(member(2, 20, 2));
    let moved = change(voter, ConfigurationStep::AddVoter(id(2)));
    assert_eq!(roster.check(&moved, &configuration), Ok(()));
    roster.make(&moved, &configuration);
    assert_eq!((roster.member(id(2)), roster.next_id()), (Some(&voter), id(5)));
    let earlier =
        change(Member { addresses: Addresses::example(98), ..voter }, ConfigurationStep::AddVoter(id(2)));
    assert_eq!(roster.check(&earlier, &configuration), Err(ChangeError::EarlierLife));
    let moved = change(elsewhere(learner), ConfigurationStep::AddLearner(id(4)));
    assert_eq!(roster.check(&moved, &configuration), Ok(()));
    for step in [ConfigurationStep::AddLearner(id(2)), ConfigurationStep::Remove(id(2))] {
        let demoted = roster.check(&change(voter, step), &configuration);
        assert_eq!(demoted, Err(ChangeError::UnknownMember), "{step:?}");
    }
    let promoted = change(elsewhere(learner), ConfigurationStep::AddVoter(id(4)));
    assert_eq!(roster.check(&promoted, &configuration), Err(ChangeError::UnknownMember));
    let other_node = change(member(2, 50, 2), ConfigurationStep::AddVoter(id(2)));
    assert_eq!(roster.check(&other_node, &configuration), Err(ChangeError::DirectoryKnown(id(2))));
}

#[test]
fn only_one_change_at_a_time() {
    let (roster, mut configuration) = three();
    let leave = ConfigurationChange::default();
    assert_eq!(roster.check(&leave, &configuration), Err(ChangeError::Pending));
    configuration.voters_outgoing = configuration.voters.clone();
    assert_eq!(roster.check(&remove(1), &configuration), Err(ChangeError::Pending));
    assert_eq!(roster.check(&leave, &configuration), Ok(()));
}

#[test]
fn only_learners_become_voters_and_the_last_voter_stays() {
    let (roster, mut configuration) = three();
    let promote = ConfigurationChange { steps: vec![ConfigurationStep::AddVoter(id(4))], member: None };
    assert_eq!(roster.check(&promote, &configuration), Err(ChangeError::NotLearner));
    configuration.voters = vec![id(1)];
    assert_eq!(roster.check(&remove(1), &configuration), Err(ChangeError::LastVoter));
    assert_eq!(roster.check(&remove(9), &configuration), Err(ChangeError::UnknownMember));
}

#[test]
fn change_that_raft_does_not_apply_is_refused_with_its_reason() {
    let said = |text: &str| ChangeError::not_applied(&raft::Error::ConfChangeError(text.to_owned()));
    assert_eq!(said("removed all voters"), ChangeError::NotApplied("removed all voters"));
    assert_eq!(said("no progress for voter 7"), ChangeError::NotApplied("no progress for voter"));
    assert!(said("something new").to_string().starts_with("the change was not applied: "));
    let config = raft::Config { id: 1, ..raft::Config::default() };
    let storage = raft::storage::MemStorage::new_with_conf_state((vec![1], vec![]));
    let logger = slog::Logger::root(slog::Discard, slog::o!());
    let mut raft = raft::RawNode::new(&config, storage, &logger).unwrap();
    let leave = raft.apply_conf_change(&raft::prelude::ConfChangeV2::default()).unwrap_err();
    let reason = ChangeError::NotApplied("can't leave a non-joint config");
    assert_eq!(ChangeError::not_applied(&leave), reason, "the words of the version in use");
}

#[test]
fn bytes_are_read_back() {
    let (mut roster, mut configuration) = three();
    configuration.voters.remove(1);
    roster.make(&remove(2), &configuration);
    let mut bytes = BytesMut::new();
    roster.write(&mut bytes);
    let bytes = bytes.freeze();
    assert_eq!(Roster::read(&mut bytes.clone()), Some(roster));
    assert_eq!(Roster::read(&mut bytes.slice(..bytes.len() - 1)), None);
}
