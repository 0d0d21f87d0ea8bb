//! Deliberate bugs of the group: each must break a promise that the other tests look at.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hyperscale_consensus::bugs::{Bug, Bugs};
use hyperscale_consensus::storage::MemoryDisk;
use hyperscale_consensus::{Backlog, Change, Config, LogGroup, ProposalId, ReadId};
use hyperscale_types::NodeId;

use crate::cluster::{Cluster, addresses, directory, id};
use crate::storm::storm;

/// Seeds within which a storm must notice.
const SEEDS: u64 = 200;

fn with(bug: Bug) -> Config {
    Config { seed: 7, bugs: Bugs::from_iter([bug]), ..Config::lan() }
}

fn is_caught(bug: Bug) -> bool {
    (0..SEEDS).any(|seed| {
        let run = || storm(seed, |config| config.bugs = Bugs::from_iter([bug]));
        catch_unwind(AssertUnwindSafe(run)).is_err()
    })
}

#[test]
fn storm_catches_messages_that_leave_before_the_sync() {
    assert!(is_caught(Bug::SkipSyncBeforeVote));
}

#[test]
fn storm_catches_a_leader_that_counts_its_disk_too_early() {
    assert!(is_caught(Bug::CommitWithoutOwnDisk));
}

#[test]
fn storm_catches_entries_that_are_applied_twice() {
    assert!(is_caught(Bug::ApplyTwiceAfterRestart));
}

#[test]
fn storm_catches_applying_that_depends_on_the_replica() {
    assert!(is_caught(Bug::NonDeterministicApply));
}

#[test]
fn vote_that_is_forgotten_is_given_twice() {
    let votes = |config: Config| {
        let mut cluster = Cluster::with(3, config);
        let leader = cluster.elect();
        let term = cluster.group(leader).term();
        let voter = cluster.ids().into_iter().find(|id| *id != leader).unwrap();
        cluster.stop(voter);
        cluster.sent.clear();
        cluster.start(voter);
        let other = cluster.ids().into_iter().find(|id| *id != leader && *id != voter).unwrap();
        cluster.isolate(voter);
        let mut asked = crate::refusal::message(hyperscale_consensus::MessageKind::Vote, other, voter, term);
        (asked.index, asked.log_term, asked.priority) = (1000, term, 1000);
        cluster.step(voter, asked).unwrap();
        cluster.work(voter);
        cluster.sent.iter().filter(|message| message.from == voter && message.rejection.is_none()).count()
    };
    assert_eq!(votes(Config { seed: 7, ..Config::lan() }), 0);
    assert_eq!(votes(with(Bug::DropHardStateOnRestart)), 1);
}

#[test]
fn read_without_a_round_is_answered_by_a_deposed_leader() {
    let mut cluster = Cluster::with(3, with(Bug::ReadWithoutReadIndex));
    let old = cluster.elect();
    cluster.run_seconds(1);
    cluster.isolate(old);
    let now = cluster.now;
    cluster.group(old).read_index(now, ReadId(1)).unwrap();
    cluster.work(old);
    assert!(cluster.node(old).reads[&ReadId(1)].is_ok());
}

#[test]
fn leader_without_limit_lets_more_wait_than_may() {
    let backlog_max = Backlog { proposals: 1, reads: 1 };
    let mut cluster = Cluster::with(3, Config { backlog_max, ..with(Bug::TakeWithoutLimit) });
    let leader = cluster.elect();
    let now = cluster.now;
    for number in 0..3 {
        assert_eq!(cluster.group(leader).read_index(now, ReadId(number)), Ok(()));
    }
    assert_eq!(cluster.group(leader).backlog().reads, 3);
}

#[test]
fn learner_promoted_by_a_timeout_votes_without_a_log() {
    let mut cluster = Cluster::with(3, with(Bug::PromoteLearnerByTimeout));
    let leader = cluster.elect();
    cluster.run_seconds(1);
    let now = cluster.now;
    let node = NodeId::new(4).unwrap();
    let add = Change::Add { node, directory: directory(4), addresses: addresses(4) };
    cluster.group(leader).change(now, ProposalId(1 << 40), add).unwrap();
    cluster.work(leader);
    cluster.add(id(4), MemoryDisk::default());
    cluster.stop(id(4));
    cluster.run_seconds(15);
    assert!(cluster.group(leader).configuration().voters.contains(&id(4)));
}
