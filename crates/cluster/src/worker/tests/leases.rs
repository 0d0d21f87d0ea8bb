//! Registration, renewals, and what the end of a lease does.

use super::*;

#[test]
fn worker_registers_with_a_manager_and_counts_its_lease_from_before_it_asked() {
    let mut rig = Rig::new();
    let asked = rig.now;
    let out = rig.input(Input::ManagerSeen(manager(1)));
    let [(to, ToManager::Register { call, boot, cores, grant, .. })] = &sent(&out)[..] else {
        panic!("{out:?}")
    };
    assert_eq!((*to, *boot, *cores, *grant), (manager(1), BootEpoch(1), 4, None));
    rig.advance(Duration::from_millis(700));
    let managers = vec![manager(1), manager(2)];
    let message = ToWorker::Registered { call: *call, grant: GRANT, lease: Some(LEASE), managers };
    let out = rig.from(manager(1), message);
    assert_eq!(lease(&out), Some(asked.plus(Duration::from_millis(13_300))));
    assert!(rig.worker.is_usable(rig.now));
}

#[test]
fn silent_manager_is_left_for_the_next_one_and_three_failures_open_the_circuit() {
    let mut rig = Rig::new();
    let mut out = rig.input(Input::ManagerSeen(manager(1)));
    out.extend(rig.input(Input::ManagerSeen(manager(2))));
    out.extend(rig.seconds(6));
    let asked = registrations(&out);
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert_ne!(asked[0], asked[1]);
    assert_eq!(registrations(&rig.seconds(4)), [], "the circuit is open");
    assert_eq!(registrations(&rig.seconds(7)).len(), 1, "half open");
}

#[test]
fn lease_is_renewed_at_a_third_and_an_unanswered_renewal_goes_to_the_next_manager_at_once() {
    let (mut rig, owner) = Rig::registered(&[1, 2, 3]);
    assert_eq!(renewals(&rig.advance(Duration::from_millis(4_900))), []);
    let first = renewals(&rig.advance(Duration::from_millis(200)));
    assert_eq!(first.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [owner]);
    let second = renewals(&rig.advance(Duration::from_secs(1)));
    assert!(second.len() == 1 && second[0].0 != owner, "{second:?}");
    let sent = rig.now;
    let out = rig.from(second[0].0, ToWorker::Renewed { call: second[0].1, grant: GRANT, answer: Ok(LEASE) });
    let until = lease(&out).unwrap();
    assert!(until <= sent.plus(Duration::from_millis(13_300)), "counted from before it was sent");
    assert!(until > sent.plus(Duration::from_secs(12)));
}

#[test]
fn short_lease_lasts_until_every_manager_was_asked() {
    let (mut rig, owner) = Rig::registered(&[1, 2, 3]);
    let lease = Duration::from_secs(3);
    let first = renewals(&rig.advance(Duration::from_secs(5)));
    rig.from(owner, ToWorker::Renewed { call: first[0].1, grant: GRANT, answer: Ok(lease) });
    let out = rig.advance(Duration::from_millis(1_500));
    let asked: BTreeSet<NodeId> = renewals(&out).into_iter().map(|(to, _)| to).collect();
    assert_eq!((asked, rig.worker.is_usable(rig.now)), ([1, 2, 3].map(manager).into(), true));
}

#[test]
fn late_answer_to_a_renewal_counts_from_when_it_was_sent() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    rig.advance(Duration::from_millis(4_900));
    let sent = rig.now;
    let first = renewals(&rig.advance(Duration::from_millis(1_900)));
    assert_eq!(first.len(), 2, "the next manager was asked meanwhile");
    let out = rig.from(owner, ToWorker::Renewed { call: first[0].1, grant: GRANT, answer: Ok(LEASE) });
    let until = lease(&out).unwrap();
    assert!(until > sent.plus(Duration::from_secs(13)) && until < sent.plus(Duration::from_millis(13_500)));
    let twice = rig.from(owner, ToWorker::Renewed { call: first[0].1, grant: GRANT, answer: Ok(LEASE) });
    assert_eq!(lease(&twice), None);
}

#[test]
fn worker_whose_manager_is_gone_registers_with_another_under_the_same_grant() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 2));
    let out = rig.input(Input::ManagerGone(owner));
    let [(to, ToManager::Register { grant, attempts, .. })] = &sent(&out)[..] else { panic!("{out:?}") };
    assert_eq!((*to == owner, *grant), (false, Some(GRANT)));
    let orphaned = attempts.iter().map(|it| (it.attempt, it.is_orphaned)).collect::<Vec<_>>();
    assert_eq!(orphaned, [(attempt(1, 0, 1), true)], "it reports what it runs");
    assert_eq!(cut_off(&rig.advance_renewing(Duration::from_secs(20))), []);
}

#[test]
fn load_is_cut_off_before_the_lease_ends_unless_the_job_finishes_without_contact() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    let finishes = Dispatch { on_isolation: OnIsolation::Finish, ..dispatch(attempt(2, 1, 1), 1) };
    rig.dispatch(owner, finishes);
    assert_eq!(cut_off(&rig.advance(Duration::from_millis(13_200))), []);
    assert_eq!(cut_off(&rig.advance(Duration::from_millis(200))), [attempt(1, 0, 1)]);
    rig.input(Input::Ended { attempt: attempt(1, 0, 1), left: AttemptLeft::default() });
    let told = ends(&rig.seconds(2));
    assert!(told.iter().all(|(_, it, how)| (*it, *how) == (attempt(1, 0, 1), HowEnded::LeaseEnded)));
    assert!(!told.is_empty());
}

#[test]
fn worker_whose_grant_is_gone_cuts_everything_off_and_asks_for_another() {
    let (mut rig, owner) = Rig::registered(&[1]);
    let finishes = Dispatch { on_isolation: OnIsolation::Finish, ..dispatch(attempt(1, 0, 1), 1) };
    rig.dispatch(owner, finishes);
    let (to, call) = renewals(&rig.seconds(6))[0];
    let answer = Err(LeaseError::NotHeld);
    let out = rig.from(to, ToWorker::Renewed { call, grant: GRANT, answer });
    assert_eq!(cut_off(&out), [attempt(1, 0, 1)]);
    let [(to, ToManager::Register { call, grant: None, .. })] = &sent(&out)[..] else { panic!("{out:?}") };
    let message =
        ToWorker::Registered { call: *call, grant: Token(30), lease: Some(LEASE), managers: Vec::new() };
    rig.from(*to, message);
    assert!(rig.worker.is_usable(rig.now));
}

#[test]
fn another_grant_cuts_off_what_ran_under_the_one_before() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    let out = rig.input(Input::ManagerGone(owner));
    let [(to, ToManager::Register { call, .. })] = &sent(&out)[..] else { panic!("{out:?}") };
    let message =
        ToWorker::Registered { call: *call, grant: Token(30), lease: Some(LEASE), managers: Vec::new() };
    assert_eq!(cut_off(&rig.from(*to, message)), [attempt(1, 0, 1)]);
}

#[test]
fn manager_that_is_gone_is_not_asked_because_another_one_names_it() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    let other = if owner == manager(1) { manager(2) } else { manager(1) };
    let asked = sent(&rig.input(Input::ManagerGone(owner))).remove(0);
    let (_, ToManager::Register { call, .. }) = asked else { panic!("{asked:?}") };
    let managers = vec![owner, other];
    rig.from(other, ToWorker::Registered { call, grant: GRANT, lease: None, managers });
    let asked: BTreeSet<NodeId> =
        renewals(&rig.advance(Duration::from_secs(12))).into_iter().map(|(to, _)| to).collect();
    assert_eq!(asked, BTreeSet::from([other]));
    rig.input(Input::ManagerSeen(owner));
    let asked: BTreeSet<NodeId> =
        renewals(&rig.advance(Duration::from_secs(5))).into_iter().map(|(to, _)| to).collect();
    assert!(asked.contains(&owner), "it is back: {asked:?}");
}
