//! Dispatches, directives, refusals, job leaders.

use super::*;

#[test]
fn dispatch_is_taken_once_and_an_equal_one_is_answered_again() {
    let (mut rig, owner) = Rig::registered(&[1]);
    let out = rig.dispatch(owner, dispatch(attempt(1, 0, 1), 2));
    let Some(Output::Start(start)) = out.iter().find(|output| matches!(output, Output::Start(_))) else {
        panic!("{out:?}")
    };
    assert_eq!((start.cores.as_slice(), start.is_bound_to_lease), (&[0, 1][..], true));
    assert_eq!((starts(&out), rig.worker.cores_free()), (1, 2));
    let again = rig.dispatch(owner, dispatch(attempt(1, 0, 1), 2));
    assert_eq!(starts(&again), 0);
    assert!(matches!(sent(&again)[0].1, ToManager::Taken { .. }));
    let other = rig.dispatch(owner, dispatch(attempt(1, 0, 1), 3));
    assert_eq!((starts(&other), refusals(&other)), (0, vec![DispatchRefusal::OtherOrder]));
}

#[test]
fn dispatch_that_cannot_run_is_refused_with_its_own_reason() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 2), 3));
    let refused = |rig: &mut Rig, it: Dispatch| {
        let out = rig.dispatch(owner, it);
        assert_eq!(starts(&out), 0);
        refusals(&out).pop()
    };
    let earlier = dispatch(attempt(1, 0, 1), 1);
    assert_eq!(refused(&mut rig, earlier), Some(DispatchRefusal::Superseded));
    let large = dispatch(attempt(1, 1, 1), 2);
    assert_eq!(refused(&mut rig, large), Some(DispatchRefusal::CoresNotFree { free: 1 }));
    let capabilities = BTreeSet::from(["native:hash".to_owned(), "native:sign".to_owned()]);
    let needs = Dispatch { capabilities, ..dispatch(attempt(1, 2, 1), 1) };
    let missing = vec!["native:sign".to_owned()];
    assert_eq!(refused(&mut rig, needs), Some(DispatchRefusal::Capabilities { missing }));
    rig.input(Input::Drain);
    let draining = dispatch(attempt(1, 4, 1), 1);
    assert_eq!(refused(&mut rig, draining), Some(DispatchRefusal::Draining));
}

#[test]
fn dispatch_while_the_lease_cannot_be_used_is_neither_taken_nor_refused() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.seconds(14);
    let out = rig.dispatch(owner, dispatch(attempt(1, 3, 1), 1));
    assert_eq!((starts(&out), refusals(&out)), (0, vec![]), "it may be renewed in a moment");
}

#[test]
fn dispatch_of_another_grant_is_neither_taken_nor_refused() {
    let (mut rig, owner) = Rig::registered(&[1]);
    let out = rig.dispatch(owner, Dispatch { grant: Token(9), ..dispatch(attempt(1, 0, 1), 1) });
    assert_eq!((starts(&out), refusals(&out)), (0, vec![]));
}

#[test]
fn lower_token_is_not_obeyed_and_is_told_the_current_one() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    let stale = Dispatch { token: Token(19), ..dispatch(attempt(1, 1, 1), 1) };
    let out = rig.dispatch(manager(2), stale);
    assert_eq!(starts(&out), 0);
    let told = ToManager::StaleToken { job: job(1), current: TOKEN };
    assert_eq!(sent(&out), [(manager(2), told)]);
    let directive = Directive::default();
    let message = ToWorker::Direct {
        attempt: attempt(1, 0, 1),
        token: Token(19),
        grant: GRANT,
        decisions: 1,
        directive,
    };
    let out = rig.from(manager(2), message);
    assert!(!out.iter().any(|output| matches!(output, Output::Direct { .. })));
}

#[test]
fn directive_that_was_overtaken_is_not_obeyed() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    let mut direct = |from, token, decisions, vus| {
        let directive = Directive { vus: Some(vus), ..Directive::default() };
        let message =
            ToWorker::Direct { attempt: attempt(1, 0, 1), token, grant: GRANT, decisions, directive };
        let out = rig.from(from, message);
        out.iter().any(|output| matches!(output, Output::Direct { .. }))
    };
    let newer = Token(TOKEN.0 + 1);
    assert!(direct(owner, TOKEN, 4, 1));
    assert!(direct(owner, TOKEN, 6, 2));
    assert!(!direct(owner, TOKEN, 5, 3), "it follows from fewer decisions");
    assert!(direct(owner, TOKEN, 6, 2), "it is told again");
    assert!(direct(manager(2), newer, 6, 2), "another leader tells the same");
    assert!(!direct(manager(2), newer, 5, 3), "that it knows less does not matter who leads");
    assert!(direct(manager(2), newer, 7, 4));
}

#[test]
fn leader_whose_connection_broke_for_a_moment_still_leads() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    rig.input(Input::ManagerGone(owner));
    rig.input(Input::ManagerSeen(owner));
    assert_eq!(cut_off(&rig.advance_renewing(Duration::from_mins(1))), []);
}

#[test]
fn new_job_leader_adopts_attempts_and_is_told_everything() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    let other = if owner == manager(1) { manager(2) } else { manager(1) };
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    rig.dispatch(owner, dispatch(attempt(1, 1, 1), 1));
    rig.input(Input::Report { attempt: attempt(1, 0, 1), report: Report::Prepared });
    rig.input(Input::Ended { attempt: attempt(1, 1, 1), left: AttemptLeft::default() });
    let out = rig.from(other, ToWorker::LeaderChanged { job: job(1), token: Token(25) });
    let accepted = sent(&out).into_iter().find_map(|(to, message)| match message {
        ToManager::LeaderAccepted { token: Token(25), attempts, .. } => Some((to, attempts)),
        _ => None,
    });
    let (to, attempts) = accepted.unwrap();
    let phases: Vec<_> = attempts.iter().map(|it| (it.attempt, it.phase)).collect();
    let expected = [(attempt(1, 0, 1), AttemptPhase::Prepared), (attempt(1, 1, 1), AttemptPhase::Ended)];
    assert_eq!((to, phases.as_slice()), (other, &expected[..]));
    assert_eq!(ends(&out), [(other, attempt(1, 1, 1), HowEnded::Ran)], "told again at once");
    let out = rig.from(owner, ToWorker::LeaderChanged { job: job(1), token: TOKEN });
    assert_eq!(sent(&out), [(owner, ToManager::StaleToken { job: job(1), current: Token(25) })]);
}

#[test]
fn orphans_run_on_until_they_are_adopted_or_the_grace_is_over() {
    let (mut rig, owner) = Rig::registered(&[1, 2, 3]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    rig.dispatch(owner, dispatch(attempt(2, 1, 1), 1));
    rig.input(Input::ManagerGone(owner));
    assert_eq!(cut_off(&rig.advance_renewing(Duration::from_secs(29))), []);
    let heir = [1, 2, 3].map(manager).into_iter().find(|it| *it != owner).unwrap();
    rig.from(heir, ToWorker::LeaderChanged { job: job(1), token: Token(25) });
    let out = rig.advance_renewing(Duration::from_secs(10));
    assert_eq!(cut_off(&out), [attempt(2, 1, 1)]);
    rig.input(Input::Ended { attempt: attempt(2, 1, 1), left: AttemptLeft::default() });
    let told = ends(&rig.advance_renewing(Duration::from_secs(2)));
    assert!(told.iter().all(|(_, _, how)| *how == HowEnded::Orphaned) && !told.is_empty());
}

#[test]
fn attempt_that_was_confirmed_is_not_started_again_by_a_late_dispatch() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    let other = if owner == manager(1) { manager(2) } else { manager(1) };
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    rig.from(other, ToWorker::LeaderChanged { job: job(1), token: Token(25) });
    rig.input(Input::Ended { attempt: attempt(1, 0, 1), left: AttemptLeft::default() });
    rig.from(other, ToWorker::Confirmed { attempt: attempt(1, 0, 1) });
    rig.advance_renewing(Duration::from_mins(1));
    let out = rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    assert_eq!(starts(&out), 0, "the leader before speaks late");
    assert_eq!(sent(&out), [(owner, ToManager::StaleToken { job: job(1), current: Token(25) })]);
    let again = rig.dispatch(other, Dispatch { token: Token(25), ..dispatch(attempt(1, 0, 1), 1) });
    assert_eq!(starts(&again), 0);
}

#[test]
fn what_was_refused_stays_refused() {
    let (mut rig, owner) = Rig::registered(&[1]);
    let (first, second) = (attempt(1, 0, 1), attempt(2, 0, 1));
    rig.dispatch(owner, dispatch(first, 4));
    let refusal = DispatchRefusal::CoresNotFree { free: 0 };
    let out = rig.dispatch(owner, dispatch(second, 4));
    assert_eq!(refusals(&out), vec![refusal.clone()]);
    rig.input(Input::Ended { attempt: first, left: AttemptLeft::default() });
    let again = rig.dispatch(owner, dispatch(second, 4));
    assert_eq!(
        (starts(&again), refusals(&again)),
        (0, vec![refusal]),
        "another worker may run the segment now"
    );
    let next = rig.dispatch(owner, dispatch(attempt(2, 0, 2), 4));
    assert_eq!(starts(&next), 1);
}

#[test]
fn attempt_that_was_cancelled_before_its_dispatch_came_never_starts() {
    let (mut rig, owner) = Rig::registered(&[1]);
    let directive = |phase| Directive { phase, ..Directive::default() };
    let (attempt_1, other) = (attempt(1, 0, 1), Token(GRANT.0 + 1));
    let direct_under = |grant, phase| ToWorker::Direct {
        attempt: attempt_1,
        token: TOKEN,
        grant,
        decisions: 1,
        directive: directive(phase),
    };
    let direct = |phase| direct_under(GRANT, phase);
    let out = rig.from(owner, direct_under(other, StopPhase::Cancelling));
    assert_eq!(refusals(&out), [], "another process may run it");
    assert_eq!(refusals(&rig.from(owner, direct(StopPhase::Running))), []);
    let out = rig.from(owner, direct(StopPhase::Cancelling));
    assert_eq!(refusals(&out), [DispatchRefusal::Cancelled], "it is confirmed");
    let out = rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    assert_eq!((starts(&out), refusals(&out)), (0, vec![DispatchRefusal::Cancelled]));
}

#[test]
fn dispatch_under_a_grant_whose_lease_is_not_known_yet_is_not_refused() {
    let mut rig = Rig::new();
    let mut asked = sent(&rig.input(Input::ManagerSeen(manager(1))));
    let (to, ToManager::Register { call, .. }) = asked.remove(0) else { panic!("{asked:?}") };
    let message = ToWorker::Registered { call, grant: GRANT, lease: None, managers: Vec::new() };
    let out = rig.from(to, message);
    assert_eq!(refusals(&rig.dispatch(to, dispatch(attempt(1, 0, 1), 1))), []);
    let (_, call) = renewals(&out)[0];
    rig.from(to, ToWorker::Renewed { call, grant: GRANT, answer: Ok(LEASE) });
    assert_eq!(starts(&rig.dispatch(to, dispatch(attempt(1, 0, 1), 1))), 1);
}

#[test]
fn worker_that_hears_of_a_grant_it_does_not_know_registers_at_once() {
    let mut rig = Rig::new();
    rig.input(Input::ManagerSeen(manager(1)));
    rig.seconds(4);
    assert_eq!(registrations(&rig.seconds(2)), [], "the circuit is open");
    let out = rig.dispatch(manager(1), dispatch(attempt(1, 0, 1), 1));
    assert_eq!(registrations(&out), [manager(1)]);
}
