//! The worker, rule by rule: what goes in, what comes out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::lease::LeaseError;
use hyperscale_consensus::register::{JobId, OnIsolation};
use hyperscale_job::entry::Assignment;
use hyperscale_job::{
    AttemptId, Directive, Failure, FailureKind, Report, SegmentId, SegmentKind, SegmentOrder,
};
use hyperscale_plan::load::SegmentShare;
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::*;
use crate::message::{AttemptPhase, CallNumber, Dispatch, DispatchRefusal, HowEnded};
use crate::record::AttemptLeft;

const LEASE: Duration = Duration::from_secs(15);
const GRANT: Token = Token(10);
const TOKEN: Token = Token(20);

struct Rig {
    worker: Worker,
    now: Now,
    out: Vec<Output>,
}

fn manager(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn job(number: u8) -> JobId {
    JobId([number; 16])
}

fn attempt(number: u8, index: u32, attempt: u32) -> JobAttempt {
    let segment = SegmentId { workflow: 0, kind: SegmentKind::Load, index };
    JobAttempt { job: job(number), attempt: AttemptId { segment, number: attempt } }
}

fn order(attempt: JobAttempt, cores: u32) -> SegmentOrder {
    SegmentOrder {
        assignment: Assignment {
            attempt: attempt.attempt,
            worker: "0000000000000009".into(),
            group: attempt.attempt.segment.index,
            offset: 0,
            share: SegmentShare { first_core: 0, cores, cores_total: cores, vus: 10 },
            joins_at: Duration::ZERO,
            iterations_done: 0,
        },
        context: Arc::new([]),
        setup: Arc::new([]),
        offset: Duration::ZERO,
        iterations_done: 0,
    }
}

fn dispatch(attempt: JobAttempt, cores: u32) -> Dispatch {
    Dispatch {
        attempt,
        token: TOKEN,
        grant: GRANT,
        plan: BlobId::of(b"plan"),
        cores,
        job_time: Duration::from_secs(3),
        order: order(attempt, cores),
        capabilities: BTreeSet::new(),
        on_isolation: OnIsolation::Stop,
    }
}

impl Rig {
    /// A worker with four cores that nobody has heard of.
    fn new() -> Self {
        let capabilities = BTreeSet::from(["native:hash".to_owned()]);
        let options = Options { boot: BootEpoch(1), cores: 4, capabilities, seed: 7 };
        Rig { worker: Worker::new(options), now: Now::after_start(Duration::from_secs(100)), out: Vec::new() }
    }

    /// The same with these managers, registered with the first that it asked.
    fn registered(managers: &[u64]) -> (Self, NodeId) {
        let mut rig = Rig::new();
        let mut asked = Vec::new();
        for number in managers {
            asked.extend(sent(&rig.input(Input::ManagerSeen(manager(*number)))));
        }
        let (to, ToManager::Register { call, .. }) = asked.remove(0) else { panic!("{asked:?}") };
        let message = ToWorker::Registered { call, grant: GRANT, lease: Some(LEASE), managers: Vec::new() };
        rig.from(to, message);
        (rig, to)
    }

    fn input(&mut self, input: Input) -> Vec<Output> {
        self.worker.handle(self.now, input, &mut self.out);
        std::mem::take(&mut self.out)
    }

    fn from(&mut self, from: NodeId, message: ToWorker) -> Vec<Output> {
        self.input(Input::Message { from, message })
    }

    fn dispatch(&mut self, from: NodeId, dispatch: Dispatch) -> Vec<Output> {
        self.from(from, ToWorker::Dispatch(Box::new(dispatch)))
    }

    /// Lets time pass, with a timer every 50 ms at most.
    fn advance(&mut self, by: Duration) -> Vec<Output> {
        let (end, mut all) = (self.now.plus(by), Vec::new());
        while self.now < end {
            self.now = self.now.plus(Duration::from_millis(50)).min(end);
            all.extend(self.input(Input::Timer));
        }
        all
    }

    /// Lets time pass and answers renewals at once.
    fn advance_renewing(&mut self, by: Duration) -> Vec<Output> {
        let (end, mut all) = (self.now.plus(by), Vec::new());
        while self.now < end {
            let out = self.advance(Duration::from_millis(50));
            for (to, message) in sent(&out) {
                if let ToManager::Renew { call, grant } = message {
                    all.extend(self.from(to, ToWorker::Renewed { call, grant, answer: Ok(LEASE) }));
                }
            }
            all.extend(out);
        }
        all
    }

    fn seconds(&mut self, seconds: u64) -> Vec<Output> {
        self.advance(Duration::from_secs(seconds))
    }
}

fn sent(out: &[Output]) -> Vec<(NodeId, ToManager)> {
    let send = |output: &Output| match output {
        Output::Send { to, message } => Some((*to, message.clone())),
        _ => None,
    };
    out.iter().filter_map(send).collect()
}

fn registrations(out: &[Output]) -> Vec<NodeId> {
    let is_one = |(_, message): &(NodeId, ToManager)| matches!(message, ToManager::Register { .. });
    sent(out).into_iter().filter(is_one).map(|(to, _)| to).collect()
}

fn renewals(out: &[Output]) -> Vec<(NodeId, CallNumber)> {
    let renewal = |(to, message): (NodeId, ToManager)| match message {
        ToManager::Renew { call, grant: GRANT } => Some((to, call)),
        _ => None,
    };
    sent(out).into_iter().filter_map(renewal).collect()
}

fn ends(out: &[Output]) -> Vec<(NodeId, JobAttempt, HowEnded)> {
    let end = |(to, message): (NodeId, ToManager)| match message {
        ToManager::Ended { attempt, how, .. } => Some((to, attempt, how)),
        _ => None,
    };
    sent(out).into_iter().filter_map(end).collect()
}

fn refusals(out: &[Output]) -> Vec<DispatchRefusal> {
    let refusal = |(_, message): (NodeId, ToManager)| match message {
        ToManager::Refused { refusal, .. } => Some(refusal),
        _ => None,
    };
    sent(out).into_iter().filter_map(refusal).collect()
}

fn starts(out: &[Output]) -> usize {
    out.iter().filter(|output| matches!(output, Output::Start(_))).count()
}

fn cut_off(out: &[Output]) -> Vec<JobAttempt> {
    let attempt = |output: &Output| match output {
        Output::CutOff { attempt } => Some(*attempt),
        _ => None,
    };
    out.iter().filter_map(attempt).collect()
}

fn lease(out: &[Output]) -> Option<Now> {
    let until = |output: &Output| match output {
        Output::Lease { until } => Some(*until),
        _ => None,
    };
    out.iter().rev().find_map(until)
}

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
    let needs = Dispatch { capabilities, ..dispatch(attempt(1, 1, 1), 1) };
    let missing = vec!["native:sign".to_owned()];
    assert_eq!(refused(&mut rig, needs), Some(DispatchRefusal::Capabilities { missing }));
    rig.seconds(14);
    let late = dispatch(attempt(1, 1, 1), 1);
    assert_eq!(refused(&mut rig, late), Some(DispatchRefusal::NoLease));
    rig.input(Input::Drain);
    let draining = dispatch(attempt(1, 1, 1), 1);
    assert_eq!(refused(&mut rig, draining), Some(DispatchRefusal::Draining));
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
    let message = ToWorker::Direct { attempt: attempt(1, 0, 1), token: Token(19), directive };
    let out = rig.from(manager(2), message);
    assert!(!out.iter().any(|output| matches!(output, Output::Direct { .. })));
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
    assert!(!is_offline(&rig.from(owner, ToWorker::Drain)));
    assert!(!is_offline(&rig.advance_renewing(Duration::from_secs(20))));
    rig.input(Input::Ended { attempt: attempt(1, 0, 1), left: AttemptLeft::default() });
    assert!(!is_offline(&rig.advance_renewing(Duration::from_secs(3))), "its result is not committed");
    assert!(is_offline(&rig.from(owner, ToWorker::Confirmed { attempt: attempt(1, 0, 1) })));
}
