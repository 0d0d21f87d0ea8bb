use std::net::{Ipv4Addr, SocketAddr};

use hyperscale_types::{BootEpoch, Token};
use proptest::prelude::*;

use super::*;
use crate::workers::WORKER_UPDATES_MAX;

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn update(worker: u64, owner: u64, token: u64, counter: u64) -> WorkerUpdate {
    WorkerUpdate {
        worker: node(worker),
        owner: node(owner),
        version: WorkerVersion { boot: BootEpoch(1), owner_token: Token(token), counter },
        addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 1)),
        api_addr: None,
        membership: WorkerMembership::Registered,
        cores_total: 8,
        cores_available: counter as u16,
        datacenter: "dc".into(),
    }
}

fn merge(book: &mut WorkerBook, update: WorkerUpdate) -> Merged {
    book.merge(Now::ZERO, &Arc::new(update))
}

#[test]
fn new_owner_supersedes_the_old_one_whatever_its_counter() {
    let mut book = WorkerBook::new(10, WORKER_UPDATES_MAX);
    merge(&mut book, update(1, 100, 5, 99));
    assert_eq!(merge(&mut book, update(1, 200, 6, 1)), Merged::News { told_at_once: true });
    assert_eq!(merge(&mut book, update(1, 100, 5, 100)), Merged::Known);
    assert_eq!(book.get(node(1)).unwrap().owner, node(200));
}

#[test]
fn updates_are_accepted_from_the_owner_only() {
    let mut book = WorkerBook::new(10, WORKER_UPDATES_MAX);
    merge(&mut book, update(1, 100, 5, 1));
    assert_eq!(merge(&mut book, update(1, 200, 5, 2)), Merged::Foreign { owner: node(100) });
    assert_eq!(book.get(node(1)).unwrap().version.counter, 1);
}

#[test]
fn worker_whose_grant_ended_by_the_log_is_evicted_the_same_way_everywhere() {
    let [mut one, mut other] = [1, 2].map(|_| WorkerBook::new(10, WORKER_UPDATES_MAX));
    merge(&mut one, update(1, 100, 5, 1));
    merge(&mut other, update(1, 100, 5, 7));
    let said = one.end(Now::ZERO, node(1), BootEpoch(1)).unwrap();
    assert_eq!(said.membership, WorkerMembership::Evicted);
    assert_eq!(other.end(Now::ZERO, node(1), BootEpoch(1)).unwrap().version, said.version);
    assert_eq!(one.end(Now::ZERO, node(1), BootEpoch(1)), None, "said before");
    assert_eq!(merge(&mut one, update(1, 100, 5, 900)), Merged::Known, "its last owner cannot take it back");
    assert_eq!(
        merge(&mut one, update(1, 100, 6, 1)),
        Merged::News { told_at_once: true },
        "a new token does"
    );
    assert_eq!(one.end(Now::ZERO, node(1), BootEpoch(0)), None, "the end of a former life says nothing");
}

#[test]
fn capacity_alone_is_not_told_at_once() {
    let mut book = WorkerBook::new(10, WORKER_UPDATES_MAX);
    merge(&mut book, update(1, 100, 5, 1));
    assert_eq!(merge(&mut book, update(1, 100, 5, 2)), Merged::News { told_at_once: false });
    let left = WorkerUpdate { membership: WorkerMembership::Left, ..update(1, 100, 5, 3) };
    assert_eq!(merge(&mut book, left), Merged::News { told_at_once: true });
}

#[test]
fn counter_goes_on_under_one_token_and_starts_again_under_the_next() {
    let mut book = WorkerBook::new(10, WORKER_UPDATES_MAX);
    let report = |token| {
        let from = update(1, 100, token, 0);
        WorkerReport {
            worker: from.worker,
            boot: from.version.boot,
            owner_token: Token(token),
            addr: from.addr,
            api_addr: None,
            membership: from.membership,
            cores_total: 8,
            cores_available: 8,
            datacenter: "dc".into(),
        }
    };
    for counter in 1..4 {
        let draft = book.draft(node(100), report(5));
        assert_eq!(draft.version.counter, counter);
        merge(&mut book, draft);
    }
    assert_eq!(book.draft(node(100), report(6)).version.counter, 1);
    merge(&mut book, WorkerUpdate { membership: WorkerMembership::Dead, ..update(1, 100, 5, 40) });
    book.forget_gone(Now::after_start(Duration::from_mins(1)), Duration::from_secs(10));
    assert_eq!((book.len(), book.draft(node(100), report(5)).version.counter), (0, 41));
}

#[test]
fn full_book_forgets_the_gone_first_and_then_refuses() {
    let mut book = WorkerBook::new(2, WORKER_UPDATES_MAX);
    merge(&mut book, WorkerUpdate { membership: WorkerMembership::Dead, ..update(1, 100, 5, 1) });
    merge(&mut book, update(2, 100, 5, 1));
    assert_eq!(merge(&mut book, update(3, 100, 5, 1)), Merged::News { told_at_once: true });
    assert!(book.get(node(1)).is_none());
    assert_eq!(merge(&mut book, update(4, 100, 5, 1)), Merged::Full);
    assert_eq!(book.len(), 2);
}

#[test]
fn gone_workers_are_forgotten_after_their_time() {
    let mut book = WorkerBook::new(9, WORKER_UPDATES_MAX);
    merge(&mut book, WorkerUpdate { membership: WorkerMembership::Evicted, ..update(1, 100, 5, 1) });
    merge(&mut book, update(2, 100, 5, 1));
    let ttl = Duration::from_secs(10);
    book.forget_gone(Now::after_start(ttl / 2), ttl);
    assert_eq!(book.len(), 2);
    book.forget_gone(Now::after_start(ttl), ttl);
    assert_eq!(book.len(), 1);
}

#[test]
fn forgotten_worker_does_not_come_back_by_old_updates() {
    let mut book = WorkerBook::new(9, WORKER_UPDATES_MAX);
    merge(&mut book, WorkerUpdate { membership: WorkerMembership::Dead, ..update(1, 100, 5, 3) });
    book.forget_gone(Now::after_start(Duration::from_mins(1)), Duration::from_secs(10));
    assert_eq!(merge(&mut book, update(1, 100, 5, 2)), Merged::Known);
    assert_eq!(
        book.in_buckets(u64::MAX).count(),
        1,
        "whoever still knows the worker is told in anti-entropy"
    );
    assert_eq!(merge(&mut book, update(1, 200, 6, 1)), Merged::News { told_at_once: true });
    assert_eq!((book.len(), book.in_buckets(u64::MAX).count()), (1, 1));
}

#[test]
fn oldest_grave_falls_out_and_is_counted() {
    let mut book = WorkerBook::new(9, WORKER_UPDATES_MAX);
    for worker in 1..=GRAVES_MAX as u64 + 5 {
        merge(&mut book, WorkerUpdate { membership: WorkerMembership::Dead, ..update(worker, 100, 5, 3) });
        book.forget_gone(Now::NEVER, Duration::ZERO);
    }
    assert_eq!((book.graves(), book.graves_dropped()), (GRAVES_MAX, 5));
    assert_eq!(merge(&mut book, update(6, 100, 5, 2)), Merged::Known);
    assert_eq!(merge(&mut book, update(5, 100, 5, 2)), Merged::News { told_at_once: true });
}

proptest! {
    #[test]
    fn merging_is_commutative_idempotent_and_monotone(
        versions in proptest::collection::vec((1u64..4, 1u64..4, 1u64..5), 1..30),
        seed: u64,
    ) {
        // The owner follows from the token, as a token is granted once.
        let updates: Vec<_> =
            versions.iter().map(|(worker, token, counter)| update(*worker, 100 + token, *token, *counter)).collect();
        let mut shuffled = updates.clone();
        fastrand::Rng::with_seed(seed).shuffle(&mut shuffled);
        let (mut one, mut other) = (WorkerBook::new(10, WORKER_UPDATES_MAX), WorkerBook::new(10, WORKER_UPDATES_MAX));
        for update in &updates {
            let before = one.get(update.worker).map(|update| update.version);
            merge(&mut one, update.clone());
            prop_assert!(one.get(update.worker).map(|update| update.version) >= before);
        }
        for update in shuffled.iter().chain(&updates) {
            merge(&mut other, update.clone());
        }
        prop_assert!(one.iter().eq(other.iter()));
        prop_assert_eq!(one.digest(), other.digest());
    }
}
