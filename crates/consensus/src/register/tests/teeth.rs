//! Deliberate bugs: each changes what one of the tests of the register looks at.

use super::*;
use crate::bugs::{Bug, Bugs};

fn with(bug: Bug) -> Log {
    Log { applier: Applier::new(Register::with_bugs(Group::Managers, Bugs::from_iter([bug]))), ..Log::new() }
}

#[test]
fn reused_token_does_not_grow() {
    let mut log = with(Bug::ReuseToken);
    let first = log.led(1);
    assert_eq!(log.lead(1, first, 2), first);
}

#[test]
fn stale_attempt_counts() {
    let mut log = with(Bug::AcceptStaleAttempt);
    let token = log.led(1);
    let worker = log.grant(9, 1);
    log.apply(token, assign(0, 1, worker, 1));
    assert_eq!(log.apply(token, attempt_end(0, 7)), Outcome::Done);
}

#[test]
fn cancel_mark_is_forgotten_with_the_leader() {
    let mut log = with(Bug::ForgetCancelMark);
    let token = log.led(1);
    let worker = log.grant(9, 1);
    log.apply(Token(0), cancel(&["load"], 1));
    let token = log.lead(1, token, 2);
    assert_eq!(log.apply(token, assign(0, 1, worker, 1)), Outcome::Done);
}

#[test]
fn assignment_of_a_replaced_leader_is_obeyed() {
    let mut log = with(Bug::IgnoreTokenOnAssign);
    let old = log.led(1);
    let worker = log.grant(9, 1);
    log.lead(1, old, 2);
    assert_eq!(log.apply(old, assign(0, 1, worker, 1)), Outcome::Done);
}

#[test]
fn cores_are_promised_twice_and_attempts_overlap() {
    let mut log = with(Bug::DoublePromiseCore);
    let token = log.led(1);
    let worker = log.grant(9, 1);
    log.apply(token, assign(0, 1, worker, 4));
    assert_eq!(log.apply(token, assign(1, 1, worker, 4)), Outcome::Done);
    let mut log = with(Bug::AssignWhileRunning);
    let token = log.led(1);
    let worker = log.grant(9, 1);
    log.apply(token, assign(0, 1, worker, 1));
    assert_eq!(log.apply(token, assign(0, 2, worker, 1)), Outcome::Done);
}

#[test]
fn key_makes_a_second_job_and_a_job_ends_twice() {
    let mut log = with(Bug::IgnoreIdempotencyKey);
    log.apply(Token(0), accept(1, "key", b"plan"));
    log.apply(Token(0), accept(2, "key", b"plan"));
    assert_eq!(log.register().jobs().len(), 2);
    let mut log = with(Bug::EndJobTwice);
    let token = log.led(1);
    log.apply(token, job_end(EndStatus::Completed));
    assert_eq!(log.apply(token, job_end(EndStatus::Failed)), Outcome::Done);
}
