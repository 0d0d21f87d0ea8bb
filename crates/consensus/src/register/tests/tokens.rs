//! Who leads a job: the token in force and no other.

use super::*;

/// Everything that the leader of a job says about it, in groups of both kinds.
fn about(worker: Token) -> [(Group, Body); 8] {
    let control = Body::Control {
        job: job(1),
        workflow: "load".to_owned(),
        change: LoadChange::Pause,
        request: RequestId([1; 16]),
    };
    let part = PartId { job: job(1), datacenter: "a".to_owned(), token: Token(1) };
    let assign_part =
        Body::DcAssign { job: job(1), datacenter: "a".to_owned(), try_number: 1, share_ppm: 1_000_000 };
    [
        (Group::Managers, assign(0, 1, worker, 1)),
        (Group::Managers, attempt_end(0, 1)),
        (Group::Managers, context(1, Values::Inline(Bytes::new()))),
        (Group::Managers, workflow_end("load", EndStatus::Completed)),
        (Group::Managers, control),
        (Group::Gates, assign_part),
        (Group::Gates, Body::DcEnd { part, end: End::new(EndStatus::Lost, None), is_late: false }),
        (Group::Gates, job_end(EndStatus::Completed)),
    ]
}

#[test]
fn nothing_is_decided_about_a_job_that_nobody_leads() {
    for (group, body) in about(Token(2)) {
        let mut log = Log::of(group);
        log.apply(Token(0), accept(1, "key", b"plan"));
        log.apply(Token(0), grant(9, 1));
        for token in [Token(0), Token(1), Token(u64::MAX)] {
            assert_eq!(log.apply(token, body.clone()), Outcome::Refused(CommandRefusal::NotLed), "{body:?}");
        }
    }
}

#[test]
fn token_that_was_never_granted_is_refused() {
    for (group, body) in about(Token(3)) {
        let mut log = Log::of(group);
        let current = log.led(1);
        log.apply(Token(0), grant(9, 1));
        let unknown = Outcome::Refused(CommandRefusal::UnknownToken { current });
        assert_eq!(log.apply(Token(current.0 + 1), body.clone()), unknown, "{body:?}");
    }
}

#[test]
fn leader_is_replaced_only_by_naming_the_token_in_force() {
    let mut log = Log::new();
    let lead = || job_leader(1, 2);
    log.apply(Token(0), accept(1, "key", b"plan"));
    let unknown = Outcome::Refused(CommandRefusal::UnknownToken { current: Token(0) });
    assert_eq!(log.apply(Token(9), lead()), unknown, "nobody leads, so zero is replaced");
    let first = log.lead(1, Token(0), 1);
    for (token, refusal) in [
        (Token(0), CommandRefusal::StaleToken { current: first }),
        (Token(first.0 + 1), CommandRefusal::UnknownToken { current: first }),
    ] {
        assert_eq!(log.apply(token, lead()), Outcome::Refused(refusal));
    }
    let second = log.lead(1, first, 2);
    assert_eq!(log.apply(first, lead()), Outcome::Refused(CommandRefusal::StaleToken { current: second }));
}
