use super::*;
use crate::jobs::plan;
use crate::log::letter::Dispatch;

const TTL: Duration = Duration::from_secs(15);

fn at(seconds: u64) -> Now {
    Now::after_start(Duration::from_secs(seconds))
}

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn segment() -> Segment {
    plan::segment(JobId([1; 16]), 0)
}

/// A worker with a lease since second 10.
fn leased() -> Worker {
    let mut worker = Worker::new(node(9), BootEpoch(1), 0, Bugs::default());
    let registered =
        Letter::Registered { boot: BootEpoch(1), grant: Token(5), lease: Some(TTL), sent: at(10) };
    worker.letter(at(10), node(1), registered, &mut Vec::new());
    worker
}

fn dispatch(worker: &mut Worker, second: u64, attempt: u32, grant: u64) -> Vec<WorkerAction> {
    let (length, token) = (Duration::from_mins(1), Token(7));
    let it = Dispatch { segment: segment(), attempt, token, grant: Token(grant), cores: 1, length };
    let mut out = Vec::new();
    worker.letter(at(second), node(1), Letter::Dispatch(it), &mut out);
    out
}

fn duty(worker: &mut Worker, second: u64) -> Vec<WorkerAction> {
    let mut out = Vec::new();
    worker.duty(at(second), &[node(1), node(2)], &mut out);
    out
}

fn is_taken(actions: &[WorkerAction]) -> Option<bool> {
    actions.iter().find_map(|action| match action {
        WorkerAction::Send { letter: Letter::Dispatched { taken, .. }, .. } => Some(*taken),
        _ => None,
    })
}

fn sends_load(actions: &[WorkerAction]) -> bool {
    actions.iter().any(|action| matches!(action, WorkerAction::Load { .. }))
}

#[test]
fn worker_that_wakes_up_after_its_lease_sends_nothing_and_says_what_is_lost() {
    let mut worker = leased();
    assert_eq!(is_taken(&dispatch(&mut worker, 11, 1, 5)), Some(true));
    assert!(sends_load(&duty(&mut worker, 12)));
    let actions = duty(&mut worker, 24);
    assert!(!sends_load(&actions));
    let is_lost = |action: &WorkerAction| {
        matches!(
            action,
            WorkerAction::Send { letter: Letter::Ended { status: EndStatus::Lost, attempt: 1, .. }, .. }
        )
    };
    assert!(actions.iter().any(is_lost), "{actions:?}");
}

#[test]
fn attempt_that_was_refused_never_starts() {
    let mut worker = leased();
    dispatch(&mut worker, 11, 1, 5);
    let full = Letter::Stop { segment: segment(), attempt: 2, token: Token(7), grant: Token(5) };
    worker.letter(at(12), node(1), full, &mut Vec::new());
    assert_eq!(is_taken(&dispatch(&mut worker, 12, 3, 5)), Some(true));
    assert_eq!(is_taken(&dispatch(&mut worker, 12, 2, 5)), None, "superseded");
}

#[test]
fn attempts_of_another_process_under_this_id_are_neither_refused_nor_stopped() {
    let mut worker = leased();
    assert_eq!(is_taken(&dispatch(&mut worker, 11, 1, 4)), None, "the other process may run it");
    let stop = Letter::Stop { segment: segment(), attempt: 1, token: Token(7), grant: Token(4) };
    worker.letter(at(12), node(1), stop, &mut Vec::new());
    let tells = duty(&mut worker, 20)
        .iter()
        .any(|action| matches!(action, WorkerAction::Send { letter: Letter::Ended { .. }, .. }));
    assert!(!tells);
}

#[test]
fn worker_whose_manager_is_silent_registers_with_another_under_the_grant_it_has() {
    let mut worker = leased();
    let mut actions = Vec::new();
    for second in [15, 17, 19, 21] {
        worker.duty(at(second), &[node(1), node(2)], &mut actions);
    }
    let registers = |action: &WorkerAction| match action {
        WorkerAction::Send { to, letter: Letter::Register { .. } } => Some(*to),
        _ => None,
    };
    assert!(actions.iter().filter_map(registers).any(|to| to == node(2)), "{actions:?}");
    let registered = Letter::Registered { boot: BootEpoch(1), grant: Token(5), lease: None, sent: at(21) };
    worker.letter(at(21), node(2), registered, &mut Vec::new());
    assert!(worker.is_usable(at(21)), "it keeps its lease");
}

#[test]
fn grant_that_was_in_force_is_no_lease_before_it_is_renewed() {
    let mut worker = Worker::new(node(9), BootEpoch(1), 0, Bugs::default());
    let registered = Letter::Registered { boot: BootEpoch(1), grant: Token(5), lease: None, sent: at(10) };
    worker.letter(at(10), node(1), registered, &mut Vec::new());
    assert!(!worker.is_usable(at(10)));
    let renewed = Letter::Renewed { grant: Token(5), sent: at(11), answer: Ok(TTL), arrived: Moment(0) };
    worker.letter(at(11), node(1), renewed, &mut Vec::new());
    assert!(worker.is_usable(at(12)));
}

#[test]
fn end_is_told_until_it_is_confirmed() {
    let mut worker = leased();
    dispatch(&mut worker, 11, 1, 5);
    let tells = |actions: Vec<WorkerAction>| {
        actions.iter().any(|action| matches!(action, WorkerAction::Send { letter: Letter::Ended { .. }, .. }))
    };
    assert!(tells(duty(&mut worker, 30)) && tells(duty(&mut worker, 32)));
    let confirmed = Letter::Confirmed { segment: segment(), attempt: 1 };
    worker.letter(at(33), node(1), confirmed, &mut Vec::new());
    assert!(!tells(duty(&mut worker, 40)));
}

#[test]
fn replaced_job_leader_is_not_obeyed() {
    let mut worker = leased();
    dispatch(&mut worker, 11, 1, 5);
    let stop = |token| Letter::Stop { segment: segment(), attempt: 1, token: Token(token), grant: Token(5) };
    worker.letter(at(12), node(2), stop(6), &mut Vec::new());
    assert!(sends_load(&duty(&mut worker, 12)));
    worker.letter(at(12), node(2), stop(8), &mut Vec::new());
    assert!(!sends_load(&duty(&mut worker, 13)));
}

#[test]
fn answers_to_an_earlier_process_under_this_id_are_not_taken() {
    let mut worker = Worker::new(node(1), BootEpoch(2), 0, Bugs::default());
    let late = Letter::Registered { boot: BootEpoch(1), grant: Token(5), lease: Some(TTL), sent: at(10) };
    worker.letter(at(11), node(9), late, &mut Vec::new());
    assert!(!worker.is_usable(at(11)), "the grant of the process before");
    let own = Letter::Registered { boot: BootEpoch(2), grant: Token(7), lease: None, sent: at(11) };
    worker.letter(at(11), node(9), own, &mut Vec::new());
    let renewed = Letter::Renewed { grant: Token(5), sent: at(11), answer: Ok(TTL), arrived: Moment(0) };
    worker.letter(at(12), node(9), renewed, &mut Vec::new());
    assert!(!worker.is_usable(at(12)), "the renewal of the process before");
}
