//! Progress, and what attempts left.

use super::*;

#[test]
fn what_an_attempt_left_is_told_until_it_is_confirmed() {
    let (mut rig, owner) = Rig::registered(&[1, 2]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 2));
    let out = rig.input(Input::Ended { attempt: attempt(1, 0, 1), left: AttemptLeft::default() });
    assert_eq!(rig.worker.cores_free(), 4, "its cores are free at once");
    assert_eq!(ends(&out), [(owner, attempt(1, 0, 1), HowEnded::Ran)]);
    let again = ends(&rig.advance_renewing(Duration::from_secs(5)));
    assert_eq!(again.len(), 5);
    assert!(again.iter().any(|(to, ..)| *to != owner), "somebody else may know who leads the job");
    rig.from(owner, ToWorker::Confirmed { attempt: attempt(1, 0, 1) });
    assert_eq!(ends(&rig.advance_renewing(Duration::from_secs(5))), []);
}

#[test]
fn progress_is_sent_as_often_as_the_manager_can_take_it() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    let window = || Input::Window { attempt: attempt(1, 0, 1), window: Bytes::from_static(b"w") };
    let progress = |rig: &mut Rig, seconds: u64| {
        let (mut messages, mut windows) = (0, 0);
        for _ in 0..seconds * 10 {
            let mut out = rig.input(window());
            out.extend(rig.advance_renewing(Duration::from_millis(100)));
            for (_, message) in sent(&out) {
                if let ToManager::Progress { windows: some, .. } = message {
                    (messages, windows) = (messages + 1, windows + some.len());
                }
            }
        }
        (messages, windows)
    };
    let (messages, windows) = progress(&mut rig, 2);
    assert!((19..=20).contains(&messages) && windows >= 19, "{messages} {windows}");
    rig.from(owner, ToWorker::Backpressure(Backpressure::Batch));
    let (messages, windows) = progress(&mut rig, 4);
    assert!((3..=4).contains(&messages) && windows >= 30, "{messages} {windows}");
}

#[test]
fn what_a_decision_waits_for_is_told_at_once_and_once() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    rig.from(owner, ToWorker::Backpressure(Backpressure::Drop));
    let progress = |out: &[Output]| {
        let messages = sent(out).into_iter().map(|(_, message)| message);
        messages.filter(|message| matches!(message, ToManager::Progress { .. })).count()
    };
    let mut report = |report| rig.input(Input::Report { attempt: attempt(1, 0, 1), report });
    let failure = Failure::new(FailureKind::Check, "the answer was wrong");
    assert_eq!(progress(&report(Report::Prepared)), 1, "the load waits for it");
    assert_eq!(progress(&report(Report::Prepared)), 0);
    assert_eq!(progress(&report(Report::CoreCompleted { core: 0 })), 0, "it waits for the pace");
    assert_eq!(progress(&report(Report::StopTest(failure.clone()))), 1, "the test is to stop");
    assert_eq!(progress(&report(Report::StopTest(failure))), 0);
}

#[test]
fn windows_that_cannot_be_sent_are_dropped_and_counted() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    rig.from(owner, ToWorker::Backpressure(Backpressure::Drop));
    for _ in 0..400 {
        rig.input(Input::Window { attempt: attempt(1, 0, 1), window: Bytes::from_static(b"w") });
    }
    let out = rig.seconds(2);
    let sent = sent(&out).into_iter().find_map(|(_, message)| match message {
        ToManager::Progress { windows, dropped, .. } => Some((windows.len() as u64, dropped)),
        _ => None,
    });
    assert_eq!(sent, Some((320, 80)));
}

#[test]
fn status_tells_everything_that_a_new_leader_needs() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 2));
    let failure = Failure::new(FailureKind::Check, "the answer was wrong");
    for report in [
        Report::Prepared,
        Report::CoreCompleted { core: 1 },
        Report::Finishing,
        Report::StopTest(failure.clone()),
    ] {
        rig.input(Input::Report { attempt: attempt(1, 0, 1), report });
    }
    let out = rig.from(owner, ToWorker::LeaderChanged { job: job(1), token: Token(21) });
    let status = sent(&out).into_iter().find_map(|(_, message)| match message {
        ToManager::LeaderAccepted { attempts, .. } => attempts.into_iter().next(),
        _ => None,
    });
    let status = status.unwrap();
    assert_eq!(status.phase, AttemptPhase::Prepared);
    assert_eq!((status.is_finishing, status.stopped), (true, Some(failure)));
    assert_eq!(status.cores_completed, BTreeSet::from([1]));
}

#[test]
fn draining_worker_finishes_what_it_has_and_leaves() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    let is_offline = |out: &[Output]| out.contains(&Output::Offline);
    assert!(!is_offline(&rig.from(owner, ToWorker::Drain { grant: GRANT })));
    assert!(!is_offline(&rig.advance_renewing(Duration::from_secs(20))));
    rig.input(Input::Ended { attempt: attempt(1, 0, 1), left: AttemptLeft::default() });
    assert!(!is_offline(&rig.advance_renewing(Duration::from_secs(3))), "its result is not committed");
    let out = rig.from(owner, ToWorker::Confirmed { attempt: attempt(1, 0, 1) });
    let [(to, call)] = renewals(&out)[..] else { panic!("{out:?}") };
    assert_eq!((to, rig.worker.state(), is_offline(&out)), (owner, WorkerState::Offline, false));
    assert_eq!(lease(&out), Some(rig.now), "it is not used while it is given back");
    // What was assigned to it before is refused.
    let refused = rig.dispatch(owner, dispatch(attempt(2, 0, 1), 1));
    assert_eq!(refusals(&refused), [DispatchRefusal::Draining]);
    let answer = Err(LeaseError::NotHeld);
    assert!(is_offline(&rig.from(owner, ToWorker::Renewed { call, grant: GRANT, answer })));
    assert_eq!(rig.seconds(60), [], "it has left");
}

#[test]
fn worker_that_leaves_and_is_not_answered_asks_every_manager_until_its_lease_is_over() {
    let (mut rig, _) = Rig::registered(&[1, 2, 3]);
    let mut out = rig.input(Input::Drain);
    let end = rig.now.plus(LEASE);
    while !out.contains(&Output::Offline) {
        assert!(rig.now < end, "nothing renews its lease");
        out.extend(rig.advance(Duration::from_millis(50)));
    }
    let asked: BTreeSet<NodeId> = renewals(&out).into_iter().map(|(to, _)| to).collect();
    assert_eq!(asked, [1, 2, 3].map(manager).into());
}

#[test]
fn drain_that_was_asked_of_a_former_process_is_not_obeyed() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.from(owner, ToWorker::Drain { grant: Token(GRANT.0 - 1) });
    let taken = rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    assert_eq!((starts(&taken), refusals(&taken)), (1, Vec::new()));
    assert_eq!(rig.worker.state(), WorkerState::Healthy);
}

#[test]
fn worker_says_at_once_that_it_is_in_another_state_and_how_it_is() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 3));
    let pressed = Readings { cpu_percent: 85, memory_percent: 40, lhm: 2 };
    let out = rig.input(Input::Readings(pressed));
    let said = sent(&out).into_iter().find_map(|(to, message)| match message {
        ToManager::Renew { load, .. } => Some((to, load)),
        _ => None,
    });
    let (to, load) = said.expect("it does not wait for the next renewal");
    assert_eq!(
        (to, load.state, load.cpu_percent, load.memory_percent),
        (owner, WorkerState::Degraded, 85, 40)
    );
    let running = (load.cores_available, load.queue_depth, load.segments);
    assert_eq!(running, (1, 1, 1), "one attempt is prepared on three of four cores");
    assert!(out.contains(&Output::Load(load)), "probes say the same");
    assert_eq!(renewals(&rig.input(Input::Readings(pressed))), [], "it is said once");
}

#[test]
fn attempt_without_news_is_told_every_second_as_a_message_may_be_lost() {
    let (mut rig, owner) = Rig::registered(&[1]);
    rig.dispatch(owner, dispatch(attempt(1, 0, 1), 1));
    let prepared = Input::Report { attempt: attempt(1, 0, 1), report: Report::Prepared };
    rig.input(prepared);
    let phases: Vec<AttemptPhase> = sent(&rig.advance_renewing(Duration::from_secs(5)))
        .into_iter()
        .filter_map(|(_, message)| match message {
            ToManager::Progress { status, .. } => Some(status.phase),
            _ => None,
        })
        .collect();
    assert!((5..=6).contains(&phases.len()), "{phases:?}");
    assert!(phases.iter().all(|phase| *phase == AttemptPhase::Prepared));
}
