//! Changes of load: the table of `control`.

use super::*;

fn control(workflow: &str, change: LoadChange, request: u8) -> Body {
    let request = RequestId([request; 16]);
    Body::Control { job: job(1), workflow: workflow.to_owned(), change, request }
}

fn first(index: u64) -> Outcome {
    Outcome::Controlled { index, is_repeat: false }
}

#[test]
fn changes_of_load_are_in_force_in_the_order_of_the_log() {
    let mut log = Log::new();
    let token = log.led(1);
    let before = log.index;
    for (place, (workflow, change)) in [
        ("load", LoadChange::Vus(10)),
        ("load", LoadChange::Pause),
        ("other", LoadChange::RateMilli(5000)),
        ("load", LoadChange::Vus(20)),
        ("load", LoadChange::RateMilli(7)),
    ]
    .into_iter()
    .enumerate()
    {
        let outcome = log.apply(token, control(workflow, change, place as u8));
        assert_eq!(outcome, first(before + 1 + place as u64));
    }
    let job = log.register().job(job(1)).unwrap();
    let load = Steering { vus: Some(20), rate_milli: Some(7), is_paused: true, index: log.index };
    assert_eq!(job.steering("load"), load);
    let other = Steering { rate_milli: Some(5000), index: before + 3, ..Steering::default() };
    assert_eq!(job.steering("other"), other);
    assert_eq!(job.steering("untouched"), Steering::default());
    assert_eq!(job.controls().len(), 5, "all of them are part of the record");
}

#[test]
fn pause_and_resume_take_turns() {
    let mut log = Log::new();
    let token = log.led(1);
    let mut request = 0;
    for (change, refusal) in [
        (LoadChange::Resume, Some(CommandRefusal::NotPaused)),
        (LoadChange::Pause, None),
        (LoadChange::Pause, Some(CommandRefusal::Paused)),
        (LoadChange::Vus(3), None),
        (LoadChange::Pause, Some(CommandRefusal::Paused)),
        (LoadChange::Resume, None),
        (LoadChange::Resume, Some(CommandRefusal::NotPaused)),
        (LoadChange::Pause, None),
    ] {
        request += 1;
        let outcome = log.apply(token, control("load", change, request));
        let expected = refusal.map_or(first(log.index), Outcome::Refused);
        assert_eq!(outcome, expected, "{change:?}");
    }
}

#[test]
fn repeated_request_changes_nothing_and_names_the_first_entry() {
    let mut log = Log::new();
    let old = log.led(1);
    log.apply(old, control("load", LoadChange::Pause, 1));
    let index = log.index;
    log.apply(old, control("load", LoadChange::Resume, 2));
    let token = log.lead(1, old, 2);
    let repeat = Outcome::Controlled { index, is_repeat: true };
    for token in [old, token] {
        assert_eq!(log.apply(token, control("load", LoadChange::Pause, 1)), repeat);
    }
    assert!(!log.register().job(job(1)).unwrap().steering("load").is_paused);
    let other = log.apply(token, control("load", LoadChange::Vus(1), 1));
    assert_eq!(other, Outcome::Refused(CommandRefusal::RequestConflict));
    let same_for_another = log.apply(token, control("other", LoadChange::Pause, 1));
    assert_eq!(same_for_another, first(log.index), "one request may change several workflows");
}

#[test]
fn load_is_changed_by_the_leader_of_the_job_only() {
    let mut log = Log::new();
    let old = log.led(1);
    let current = log.lead(1, old, 2);
    let stale = Outcome::Refused(CommandRefusal::StaleToken { current });
    assert_eq!(log.apply(old, control("load", LoadChange::Vus(1), 1)), stale);
    assert_eq!(log.apply(current, control("load", LoadChange::Vus(1), 1)), first(log.index));
}

#[test]
fn what_was_cancelled_or_has_ended_is_not_changed_any_more() {
    let mut log = Log::new();
    let token = log.led(1);
    let change = |workflow| control(workflow, LoadChange::Vus(1), 1);
    log.apply(Token(0), cancel(&["cancelled"], 9));
    log.apply(token, workflow_end("ended", EndStatus::Completed));
    assert_eq!(log.apply(token, change("cancelled")), Outcome::Refused(CommandRefusal::Cancelled));
    assert_eq!(log.apply(token, change("ended")), Outcome::Refused(CommandRefusal::AlreadyEnded));
    let unknown = Body::Control {
        job: job(7),
        workflow: "load".to_owned(),
        change: LoadChange::Pause,
        request: RequestId([1; 16]),
    };
    assert_eq!(log.apply(token, unknown), Outcome::Refused(CommandRefusal::UnknownJob));
    log.apply(token, job_end(EndStatus::Completed));
    assert_eq!(log.apply(token, change("load")), Outcome::Refused(CommandRefusal::AlreadyEnded));
}

#[test]
fn load_is_changed_so_often_and_no_more() {
    let mut log = Log::new();
    let token = log.led(1);
    let change = |number: usize| Body::Control {
        job: job(1),
        workflow: "load".to_owned(),
        change: LoadChange::Vus(number as u32),
        request: RequestId((number as u128).to_be_bytes()),
    };
    for number in 0..CONTROLS_MAX {
        assert_eq!(log.apply(token, change(number)), first(log.index));
    }
    assert_eq!(
        log.apply(token, change(CONTROLS_MAX)),
        Outcome::Refused(CommandRefusal::Limit(Limit::Controls))
    );
    let repeat = log.apply(token, change(0));
    assert!(matches!(repeat, Outcome::Controlled { is_repeat: true, .. }), "known ones are still known");
}
