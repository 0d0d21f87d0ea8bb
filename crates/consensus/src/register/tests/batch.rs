//! Batches, core groups and waiting claims.

use hyperscale_types::Priority;

use super::*;

fn on(worker: u64, grant: Token, it: AssignSegment) -> AssignSegment {
    AssignSegment { worker: node(worker), grant, ..it }
}

fn of(workflow: &str, mut it: AssignSegment) -> AssignSegment {
    workflow.clone_into(&mut it.workflow);
    it
}

fn shared(group: u32, it: AssignSegment) -> AssignSegment {
    AssignSegment { group, ..it }
}

fn ready(number: u8, workflows: &[&str], priority: Priority) -> Body {
    let workflows = workflows.iter().map(|name| (*name).to_owned()).collect();
    Body::Ready { job: job(number), workflows, priority, least_cores: 4 }
}

/// Three jobs that are led, with their tokens, and a worker with four cores.
fn three_jobs() -> (Log, [Token; 3], Token) {
    let mut log = Log::new();
    let tokens = [1, 2, 3].map(|number| {
        log.apply(Token(0), accept(number, &format!("key{number}"), b"plan"));
        log.lead(number, Token(0), 1)
    });
    let grant = log.grant(9, 1);
    (log, tokens, grant)
}

fn begin(number: u8, grant: Token) -> Body {
    Body::Assign(Assign { job: job(number), segments: vec![one(0, 1, grant, 1)] })
}

#[test]
fn batch_is_assigned_as_a_whole_or_not_at_all() {
    let mut log = Log::new();
    let token = log.led(1);
    let (first, second) = (log.grant(9, 1), log.grant(8, 1));
    let segments =
        || vec![one(0, 1, first, 4), on(8, second, one(1, 1, first, 3)), of("b", one(0, 1, first, 1))];
    let before = log.register().clone();
    assert_eq!(
        log.apply(token, batch(segments())),
        Outcome::Refused(CommandRefusal::CoresNotFree { free: 0 })
    );
    assert_eq!(log.register(), &before, "the two that fit were not assigned either");
    let fits = segments().into_iter().map(|it| if it.workflow == "b" { on(8, second, it) } else { it });
    assert_eq!(log.apply(token, batch(fits)), Outcome::Done);
    let free = [9, 8].map(|worker| log.register().worker(node(worker)).unwrap().free());
    assert_eq!(free, [0, 0]);
    assert_eq!(log.apply(token, batch([])), Outcome::Refused(CommandRefusal::EmptyBatch));
    let twice = [of("c", one(0, 1, first, 1)), of("c", one(0, 1, first, 1))];
    assert_eq!(log.apply(token, batch(twice)), Outcome::Refused(CommandRefusal::CoresNotFree { free: 0 }));
}

#[test]
fn segment_is_assigned_once_in_a_batch() {
    let mut log = Log::new();
    let token = log.led(1);
    let grant = log.grant(9, 1);
    assert_eq!(
        log.apply(token, batch([one(0, 1, grant, 1), one(0, 1, grant, 1)])),
        Outcome::Refused(CommandRefusal::Running)
    );
}

#[test]
fn core_group_has_its_cores_once_until_its_last_segment_has_ended() {
    let mut log = Log::new();
    let token = log.led(1);
    let grant = log.grant(9, 1);
    let free = |log: &Log| log.register().worker(node(9)).unwrap().free();
    let both = [shared(7, of("a", one(0, 1, grant, 3))), shared(7, of("b", one(0, 1, grant, 3)))];
    assert_eq!(log.apply(token, batch(both)), Outcome::Done);
    assert_eq!(free(&log), 1);
    let other_cores = Outcome::Refused(CommandRefusal::GroupCores { cores: 3 });
    assert_eq!(log.apply(token, batch([shared(7, of("c", one(0, 1, grant, 2)))])), other_cores);
    assert_eq!(
        log.apply(token, batch([shared(7, of("c", one(0, 1, grant, 3)))])),
        Outcome::Done,
        "joins later"
    );
    let end = |workflow: &str| Body::AttemptEnd {
        segment: Segment { workflow: workflow.to_owned(), ..segment(0) },
        attempt: 1,
        end: End::new(EndStatus::Completed, None),
    };
    log.apply(token, end("a"));
    log.apply(token, end("b"));
    assert_eq!(free(&log), 1, "one of the group still runs");
    log.apply(token, end("c"));
    assert_eq!(free(&log), 4);
}

#[test]
fn core_groups_never_span_jobs() {
    let (mut log, [one_token, other_token, _], grant) = three_jobs();
    let grouped = |number| {
        let segments = vec![shared(7, one(0, 1, grant, 3))];
        Body::Assign(Assign { job: job(number), segments })
    };
    assert_eq!(log.apply(one_token, grouped(1)), Outcome::Done);
    let full = Outcome::Refused(CommandRefusal::CoresNotFree { free: 1 });
    assert_eq!(log.apply(other_token, grouped(2)), full, "the same number is another group");
}

#[test]
fn workflow_does_not_begin_before_an_older_high_claim() {
    let (mut log, [first, second, third], grant) = three_jobs();
    assert_eq!(log.apply(first, ready(1, &["load"], Priority::High)), Outcome::Done);
    let claim = log.index;
    assert_eq!(log.apply(second, ready(2, &["load"], Priority::Exclusive)), Outcome::Done);
    let overtakes = Outcome::Refused(CommandRefusal::Overtakes { claim });
    assert_eq!(log.apply(second, begin(2, grant)), overtakes, "whatever its priority");
    assert_eq!(log.apply(third, begin(3, grant)), overtakes, "it does not even wait");
    assert_eq!(log.apply(first, begin(1, grant)), Outcome::Done, "the oldest is held up by nobody");
    assert_eq!(log.register().claim(job(1)), None, "it waits no more");
    assert_eq!(log.apply(second, begin(2, grant)), Outcome::Done);
    assert_eq!(log.apply(third, begin(3, grant)), Outcome::Done);
}

#[test]
fn claims_of_lower_priority_hold_nobody_up() {
    let (mut log, [first, second, _], grant) = three_jobs();
    for priority in [Priority::Low, Priority::Auto, Priority::Normal] {
        log.apply(first, ready(1, &["load"], priority));
        assert_eq!(log.register().claim(job(1)).unwrap().priority, priority);
    }
    assert_eq!(log.apply(second, begin(2, grant)), Outcome::Done);
}

#[test]
fn workflow_that_has_begun_is_never_held_up() {
    let (mut log, [first, second, _], grant) = three_jobs();
    log.apply(first, begin(1, grant));
    log.apply(second, ready(2, &["load"], Priority::Exclusive));
    let more = Body::Assign(Assign { job: job(1), segments: vec![one(1, 1, grant, 1)] });
    assert_eq!(log.apply(first, more), Outcome::Done, "or what waits for its end would wait for ever");
}

#[test]
fn claim_keeps_its_place_and_goes_with_its_workflows() {
    let (mut log, [first, second, _], grant) = three_jobs();
    log.apply(first, ready(1, &["a", "b", "c"], Priority::High));
    let since = log.index;
    log.apply(second, ready(2, &["load"], Priority::High));
    log.apply(first, ready(1, &["a", "b", "c", "d"], Priority::Exclusive));
    assert_eq!(log.register().claim(job(1)).unwrap().index, since);
    log.apply(Token(0), cancel(&["a"], 1));
    log.apply(first, workflow_end("b", EndStatus::Skipped));
    log.apply(first, batch([of("c", one(0, 1, grant, 1))]));
    let left: Vec<_> = log.register().claim(job(1)).unwrap().workflows.iter().cloned().collect();
    assert_eq!(left, ["d"]);
    assert_eq!(
        log.apply(first, ready(1, &["a"], Priority::High)),
        Outcome::Refused(CommandRefusal::Cancelled)
    );
    assert_eq!(
        log.apply(first, ready(1, &["c"], Priority::High)),
        Outcome::Refused(CommandRefusal::AlreadyEnded)
    );
    assert_eq!(log.apply(first, ready(1, &[], Priority::High)), Outcome::Done, "it gives up");
    assert_eq!(log.apply(first, ready(1, &[], Priority::High)), Outcome::Repeated);
    assert_eq!(log.apply(second, begin(2, grant)), Outcome::Done);
    let mut log = log;
    log.apply(first, ready(1, &["d"], Priority::High));
    log.apply(Token(0), cancel(&[], 2));
    assert_eq!(log.register().claims().len(), 0, "a job that is cancelled does not wait");
}

/// How much an entry reports to the hash: what applying it costs, without a clock.
fn cost(log: &mut Log, token: Token, body: Body) -> usize {
    log.index += 1;
    log.applier.machine.apply_counted(log.index, &Command { token, body }.encode())
}

#[test]
fn assigning_costs_what_it_changes_and_not_the_size_of_the_job() {
    let mut log = Log::new();
    let token = log.led(1);
    let body = Body::WorkerGrant {
        worker: node(9),
        boot: BootEpoch(1),
        cores: 10_000,
        lease_ms: 1,
        capabilities: BTreeSet::new(),
    };
    log.apply(Token(0), body);
    let grant = Token(log.index);
    let first = cost(&mut log, token, assign(0, 1, grant, 1));
    let mut last = first;
    for number in 1..1_000 {
        last = cost(&mut log, token, assign(number, 1, grant, 1));
    }
    let second = cost(&mut log, token, assign(1_000, 1, grant, 1));
    assert!(last <= first && second == last, "{first} bytes for the first, {last} for the thousandth");
    let end = cost(&mut log, token, attempt_end(500, 1));
    assert!(end < 2 * first, "an end as well: {end}");
    let all: Vec<_> = (2_000..3_000).map(|number| one(number, 1, grant, 1)).collect();
    let at_once = cost(&mut log, token, batch(all));
    assert!(at_once <= 1_000 * last, "a batch of a thousand: {at_once}");
}
