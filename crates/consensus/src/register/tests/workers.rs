//! Two rights of a worker: its lease, and who speaks for it.

use super::*;

fn owner(worker: u64, grant: Token, owner: u64, replaces: Token) -> Body {
    Body::WorkerOwner { worker: node(worker), grant, owner: node(owner), replaces }
}

fn gone(grant: Token) -> Body {
    worker_gone(9, grant)
}

const LOST: AttemptState = AttemptState::Lost { windows: None };

fn state(log: &Log) -> AttemptState {
    log.register().job(job(1)).unwrap().attempt("load", 0).unwrap().state.clone()
}

#[test]
fn worker_of_a_dead_manager_is_owned_by_another_and_keeps_grant_and_attempts() {
    let mut log = Log::new();
    let token = log.led(1);
    let grant = log.grant(9, 1);
    log.apply(token, assign(0, 1, grant, 1));
    assert_eq!(log.apply(Token(0), owner(9, grant, 1, Token(0))), Outcome::Granted(Token(log.index)));
    let first = log.register().worker(node(9)).unwrap().owner_token();
    assert_eq!(log.grant(9, 1), grant, "it registers with another manager, in the same life");
    assert_eq!(log.apply(Token(0), owner(9, grant, 2, first)), Outcome::Granted(Token(log.index)));
    let worker = log.register().worker(node(9)).unwrap();
    assert_eq!(worker.owner, Some((node(2), Token(log.index))));
    assert_eq!((worker.grant, worker.free(), state(&log)), (grant, 3, AttemptState::Running));
}

#[test]
fn owner_names_the_grant_and_the_token_that_it_replaces() {
    let mut log = Log::new();
    let none = Outcome::Refused(CommandRefusal::StaleGrant { current: None });
    assert_eq!(log.apply(Token(0), owner(9, Token(1), 1, Token(0))), none);
    let grant = log.grant(9, 1);
    let stale = Outcome::Refused(CommandRefusal::StaleGrant { current: Some(grant) });
    assert_eq!(log.apply(Token(0), owner(9, Token(99), 1, Token(0))), stale);
    log.apply(Token(0), owner(9, grant, 1, Token(0)));
    let current = Token(log.index);
    for replaces in [Token(0), grant] {
        let refused = Outcome::Refused(CommandRefusal::StaleOwner { current });
        assert_eq!(log.apply(Token(0), owner(9, grant, 2, replaces)), refused, "{replaces}");
    }
    let second = log.grant(9, 2);
    assert_eq!(log.register().worker(node(9)).unwrap().owner, None, "a new life has no owner yet");
    assert_eq!(log.apply(Token(0), owner(9, second, 2, Token(0))), Outcome::Granted(Token(log.index)));
}

#[test]
fn restarted_worker_is_granted_at_once_and_what_its_former_process_runs_ends_with_that_lease() {
    let mut log = Log::new();
    let token = log.led(1);
    let first = log.grant(9, 1);
    log.apply(token, assign(0, 1, first, 3));
    let second = log.grant(9, 2);
    assert!(second > first);
    assert_eq!(log.register().worker(node(9)).unwrap().free(), 1, "cores of the former process stay taken");
    assert_eq!(state(&log), AttemptState::Running);
    let again = batch([AssignSegment { boot: BootEpoch(2), ..one(0, 2, second, 1) }]);
    assert_eq!(log.apply(token, again.clone()), Outcome::Refused(CommandRefusal::Running));
    assert_eq!(log.apply(Token(0), gone(first)), Outcome::Done);
    assert_eq!((state(&log), log.register().worker(node(9)).unwrap().free()), (LOST, 4));
    assert_eq!(log.apply(token, again), Outcome::Done);
    let stale = Outcome::Refused(CommandRefusal::StaleGrant { current: Some(second) });
    assert_eq!(log.apply(Token(0), gone(first)), stale, "it ended once");
    assert_eq!(log.apply(Token(0), grant(9, 1)), Outcome::Refused(CommandRefusal::OldBoot));
}

#[test]
fn former_process_that_reports_its_end_frees_its_cores_itself() {
    let mut log = Log::new();
    let token = log.led(1);
    let first = log.grant(9, 1);
    log.apply(token, assign(0, 1, first, 3));
    let second = log.grant(9, 2);
    assert!(log.register().has_grant(node(9), first));
    assert_eq!(log.apply(token, attempt_end(0, 1)), Outcome::Done);
    assert_eq!(log.register().worker(node(9)).unwrap().free(), 4);
    assert!(!log.register().has_grant(node(9), first) && log.register().has_grant(node(9), second));
}

#[test]
fn former_grant_outlives_the_new_one() {
    let mut log = Log::new();
    let token = log.led(1);
    let first = log.grant(9, 1);
    log.apply(token, assign(0, 1, first, 3));
    let second = log.grant(9, 2);
    assert_eq!(log.apply(Token(0), gone(second)), Outcome::Done);
    assert_eq!((log.register().worker(node(9)), state(&log)), (None, AttemptState::Running));
    let third = log.grant(9, 3);
    assert_eq!(log.register().worker(node(9)).unwrap().free(), 1);
    assert_eq!(log.register().former().map(|(_, grant, _)| grant).collect::<Vec<_>>(), [first]);
    assert!(log.register().has_grant(node(9), third));
}

#[cfg(feature = "bugs")]
#[test]
fn bug_of_lost_attempts_frees_what_a_former_process_still_runs() {
    let mut log = Log::new();
    log.applier.machine =
        Register::with_bugs(Group::Managers, [crate::bugs::Bug::RestartLosesAttempts].into_iter().collect());
    let token = log.led(1);
    let first = log.grant(9, 1);
    log.apply(token, assign(0, 1, first, 3));
    log.grant(9, 2);
    assert_eq!(state(&log), LOST);
}

#[test]
fn nothing_is_assigned_to_a_worker_that_drains_and_another_owner_changes_nothing() {
    let mut log = Log::new();
    let token = log.led(1);
    let first = log.grant(9, 1);
    log.apply(token, assign(0, 1, first, 1));
    let drain = |grant| Body::WorkerDrain { worker: node(9), grant };
    let stale = Outcome::Refused(CommandRefusal::StaleGrant { current: Some(first) });
    assert_eq!(log.apply(Token(0), drain(Token(99))), stale);
    assert_eq!(log.apply(Token(0), drain(first)), Outcome::Done);
    assert_eq!(log.apply(Token(0), drain(first)), Outcome::Repeated);
    let draining = Outcome::Refused(CommandRefusal::Draining);
    assert_eq!(log.apply(token, assign(1, 1, first, 1)), draining);
    assert_eq!(state(&log), AttemptState::Running, "it finishes what it has");
    log.apply(Token(0), owner(9, first, 2, Token(0)));
    assert_eq!(log.apply(token, assign(1, 1, first, 1)), draining, "whoever owns it");
    let second = log.grant(9, 2);
    let again = batch([AssignSegment { boot: BootEpoch(2), ..one(1, 1, second, 1) }]);
    assert_eq!(log.apply(token, again), Outcome::Done, "it was started again, to work");
}
