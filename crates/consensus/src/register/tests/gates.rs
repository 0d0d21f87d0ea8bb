//! What gates decide: parts of jobs and classes of datacenters.

use super::*;

fn gates() -> Log {
    Log::of(Group::Gates)
}

fn dc_assign(datacenter: &str, try_number: u32) -> Body {
    Body::DcAssign { job: job(1), datacenter: datacenter.to_owned(), try_number, share_ppm: 1_000_000 }
}

fn dc_end(datacenter: &str, token: Token, status: EndStatus) -> Body {
    let part = PartId { job: job(1), datacenter: datacenter.to_owned(), token };
    Body::DcEnd { part, end: End::new(status, None), is_late: false }
}

fn late(datacenter: &str, token: Token, status: EndStatus) -> Body {
    let part = PartId { job: job(1), datacenter: datacenter.to_owned(), token };
    Body::DcEnd { part, end: End::new(status, None), is_late: true }
}

fn dc_state(datacenter: &str, class: DatacenterClass) -> Body {
    Body::DcState { datacenter: datacenter.to_owned(), class, proposer: node(3) }
}

/// A part that runs, and its token.
fn part(log: &mut Log, token: Token, datacenter: &str, try_number: u32) -> Token {
    match log.apply(token, dc_assign(datacenter, try_number)) {
        Outcome::Granted(part) => part,
        other => panic!("{other:?}"),
    }
}

fn state(log: &Log, datacenter: &str) -> PartState {
    log.register().job(job(1)).unwrap().part(datacenter).unwrap().1.state.clone()
}

#[test]
fn each_group_refuses_the_commands_of_the_other() {
    let of_managers = [
        grant(9, 1),
        worker_gone(9, Token(1)),
        assign(0, 1, Token(1), 1),
        attempt_end(0, 1),
        context(1, Values::Inline(Bytes::new())),
        workflow_end("load", EndStatus::Completed),
        Body::Control {
            job: job(1),
            workflow: "load".to_owned(),
            change: LoadChange::Pause,
            request: RequestId([1; 16]),
        },
    ];
    let of_gates = [
        dc_assign("a", 1),
        dc_end("a", Token(1), EndStatus::Completed),
        dc_state("a", DatacenterClass::Healthy),
    ];
    let of_both = [
        accept(1, "key", b"plan"),
        job_leader(1, 1),
        cancel(&["load"], 1),
        Body::ClusterVersion { version: 1 },
        job_end(EndStatus::Cancelled),
        Body::JobForget { first: 5, last: 5 },
    ];
    let wrong = Outcome::Refused(CommandRefusal::WrongGroup);
    for (group, own, foreign) in
        [(Group::Managers, &of_managers[..], &of_gates[..]), (Group::Gates, &of_gates, &of_managers)]
    {
        let mut log = Log::of(group);
        for body in foreign {
            assert_eq!(log.register().may_propose(body), Err(CommandRefusal::WrongGroup));
            assert_eq!(log.apply(Token(9), body.clone()), wrong, "{body:?}");
        }
        assert_eq!(log.register(), &Register::new(group), "they change nothing");
        for body in of_both.iter().chain(own) {
            assert_eq!(log.register().may_propose(body), Ok(()));
            assert_ne!(log.apply(Token(9), body.clone()), wrong, "{body:?}");
        }
    }
}

#[test]
fn part_is_known_by_the_index_of_its_assignment_and_a_new_owner_goes_on_with_it() {
    let mut log = gates();
    let old = log.led(1);
    let token = part(&mut log, old, "a", 1);
    assert_eq!(token, Token(log.index));
    let new = log.lead(1, old, 2);
    assert_eq!(log.apply(new, dc_assign("a", 1)), Outcome::Granted(token), "the same one");
    let stale = Outcome::Refused(CommandRefusal::StaleToken { current: new });
    assert_eq!(log.apply(old, dc_assign("b", 1)), stale);
    assert_eq!(log.apply(old, dc_end("a", token, EndStatus::Completed)), stale);
    assert_eq!(log.apply(new, dc_end("a", token, EndStatus::Completed)), Outcome::Done);
}

#[test]
fn another_try_follows_a_failure_of_the_datacenter_only_and_has_another_token() {
    for (status, refusal) in [
        (EndStatus::Failed, None),
        (EndStatus::Lost, None),
        (EndStatus::Refused, None),
        (EndStatus::Completed, Some(CommandRefusal::AlreadyEnded)),
        (EndStatus::Partial, Some(CommandRefusal::AlreadyEnded)),
        (EndStatus::Cancelled, Some(CommandRefusal::AlreadyEnded)),
        (EndStatus::TimedOut, Some(CommandRefusal::AlreadyEnded)),
        (EndStatus::Skipped, Some(CommandRefusal::AlreadyEnded)),
    ] {
        let mut log = gates();
        let token = log.led(1);
        let first = part(&mut log, token, "a", 1);
        assert_eq!(log.apply(token, dc_assign("a", 2)), Outcome::Refused(CommandRefusal::Running));
        log.apply(token, dc_end("a", first, status));
        if let Some(refusal) = refusal {
            assert_eq!(log.apply(token, dc_assign("a", 2)), Outcome::Refused(refusal), "{status:?}");
            continue;
        }
        for wrong in [0, 1, 3] {
            let outcome = log.apply(token, dc_assign("a", wrong));
            assert_eq!(outcome, Outcome::Refused(CommandRefusal::WrongAttempt { next: 2 }), "{status:?}");
        }
        let second = part(&mut log, token, "a", 2);
        assert!(second > first);
        assert_eq!(log.register().job(job(1)).unwrap().parts().len(), 2);
    }
}

#[test]
fn part_ends_once_and_under_its_own_token() {
    let mut log = gates();
    let token = log.led(1);
    let superseded = Outcome::Refused(CommandRefusal::Superseded);
    assert_eq!(log.apply(token, dc_end("a", Token(1), EndStatus::Completed)), superseded);
    let first = part(&mut log, token, "a", 1);
    assert_eq!(log.apply(token, dc_end("b", first, EndStatus::Completed)), superseded);
    assert_eq!(log.apply(token, dc_end("a", Token(first.0 + 1), EndStatus::Completed)), superseded);
    assert_eq!(log.apply(token, dc_end("a", first, EndStatus::Failed)), Outcome::Done);
    assert_eq!(log.apply(token, dc_end("a", first, EndStatus::Failed)), Outcome::Repeated);
    for status in [EndStatus::Completed, EndStatus::Lost] {
        let outcome = log.apply(token, dc_end("a", first, status));
        assert_eq!(outcome, Outcome::Refused(CommandRefusal::AlreadyEnded), "{status:?}");
    }
    let second = part(&mut log, token, "a", 2);
    assert_eq!(
        log.apply(token, dc_end("a", first, EndStatus::Completed)),
        Outcome::Refused(CommandRefusal::AlreadyEnded)
    );
    assert_eq!(state(&log, "a"), PartState::Running, "the end of an older try does not end the newer one");
    assert_eq!(log.apply(token, dc_end("a", second, EndStatus::Completed)), Outcome::Done);
}

#[test]
fn late_result_of_a_lost_part_is_kept_beside_it_even_after_the_job() {
    let mut log = gates();
    let token = log.led(1);
    let first = part(&mut log, token, "a", 1);
    let not_lost = Outcome::Refused(CommandRefusal::NotLost);
    assert_eq!(log.apply(token, late("a", first, EndStatus::Completed)), not_lost);
    log.apply(token, dc_end("a", first, EndStatus::Lost));
    assert_eq!(log.apply(token, dc_end("a", first, EndStatus::Lost)), Outcome::Repeated);
    let again = log.apply(token, dc_end("a", first, EndStatus::Completed));
    assert_eq!(
        again,
        Outcome::Refused(CommandRefusal::AlreadyEnded),
        "what was given up does not count any more"
    );
    log.apply(token, job_end(EndStatus::Failed));
    let new = Token(token.0 - 1);
    let stale = Outcome::Refused(CommandRefusal::StaleToken { current: token });
    assert_eq!(log.apply(new, late("a", first, EndStatus::Completed)), stale);
    assert_eq!(log.apply(token, late("a", first, EndStatus::Completed)), Outcome::Done);
    assert_eq!(log.apply(token, late("a", first, EndStatus::Completed)), Outcome::Repeated);
    assert_eq!(
        log.apply(token, late("a", first, EndStatus::Failed)),
        Outcome::Refused(CommandRefusal::AlreadyEnded)
    );
    let end = End::new(EndStatus::Completed, None);
    assert_eq!(state(&log, "a"), PartState::Lost { late: Some(end) });
}

#[test]
fn cancelled_job_gets_no_further_part_and_does_not_end_while_one_runs() {
    let mut log = gates();
    let token = log.led(1);
    let first = part(&mut log, token, "a", 1);
    log.apply(Token(0), cancel(&["load"], 1));
    let second = part(&mut log, token, "b", 1);
    log.apply(Token(0), cancel(&[], 2));
    assert_eq!(log.apply(token, dc_assign("c", 1)), Outcome::Refused(CommandRefusal::Cancelled));
    log.apply(token, dc_end("a", first, EndStatus::Cancelled));
    assert_eq!(log.apply(token, job_end(EndStatus::Cancelled)), Outcome::Refused(CommandRefusal::Running));
    log.apply(token, dc_end("b", second, EndStatus::Lost));
    assert_eq!(log.apply(token, job_end(EndStatus::Cancelled)), Outcome::Done);
    assert_eq!(log.apply(token, dc_assign("c", 1)), Outcome::Refused(CommandRefusal::AlreadyEnded));
}

#[test]
fn committed_class_of_a_datacenter_is_the_last_that_differed() {
    let mut log = gates();
    assert_eq!(log.apply(Token(0), dc_state("a", DatacenterClass::Healthy)), Outcome::Done);
    let index = log.index;
    assert_eq!(log.apply(Token(0), dc_state("a", DatacenterClass::Healthy)), Outcome::Repeated);
    let decided = Datacenter { class: DatacenterClass::Healthy, proposer: node(3), index };
    assert_eq!(log.register().datacenter("a"), Some(&decided));
    assert_eq!(log.apply(Token(0), dc_state("a", DatacenterClass::Unhealthy)), Outcome::Done);
    assert_eq!(log.register().datacenter("a").unwrap().class, DatacenterClass::Unhealthy);
    assert!(
        DatacenterClass::Healthy > DatacenterClass::Busy && DatacenterClass::Busy > DatacenterClass::Degraded
    );
}

#[test]
fn datacenters_are_bounded() {
    let mut log = gates();
    for number in 0..DATACENTERS_MAX {
        log.apply(Token(0), dc_state(&format!("dc{number}"), DatacenterClass::Busy));
    }
    let more = log.apply(Token(0), dc_state("more", DatacenterClass::Busy));
    assert_eq!(more, Outcome::Refused(CommandRefusal::Limit(Limit::Datacenters)));
    assert_eq!(log.apply(Token(0), dc_state("dc7", DatacenterClass::Healthy)), Outcome::Done);
    assert_eq!(log.register().datacenters().len(), DATACENTERS_MAX);
}

#[test]
fn parts_and_their_results_are_forgotten_with_their_job() {
    let mut log = gates();
    let token = log.led(1);
    let first = part(&mut log, token, "a", 1);
    log.apply(token, dc_end("a", first, EndStatus::Completed));
    log.apply(token, job_end(EndStatus::Completed));
    log.apply(Token(0), Body::JobForget { first: log.index, last: log.index });
    assert_eq!(log.register(), &Register::new(Group::Gates));
    let unknown = Outcome::Refused(CommandRefusal::UnknownJob);
    assert_eq!(log.apply(token, late("a", first, EndStatus::Completed)), unknown);
}
