//! The register, command by command.

mod accept;
mod batch;
mod control;
mod debug;
mod decide;
mod ended;
mod gates;
mod hash;
mod limits;
mod properties;
mod sealing;
mod snapshot;
#[cfg(feature = "bugs")]
mod teeth;
mod time;
mod tokens;
mod workers;
mod workflows;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use hyperscale_types::{BootEpoch, NodeId, Now, Token};

use super::*;
use crate::apply::{Applier, Machine};
use crate::blob::BlobId;

/// A register fed with commands at rising indexes.
struct Log {
    applier: Applier<Register>,
    index: u64,
    /// What was sealed.
    chunks: BTreeMap<BlobId, Bytes>,
}

/// Chunks of a few jobs.
const SMALL: Sizes = Sizes { chunk_bytes: 2 << 10, logical_bytes_max: 1 << 20 };

impl Log {
    fn new() -> Self {
        Self::of(Group::Managers)
    }

    fn of(group: Group) -> Self {
        Self { applier: Applier::new(Register::new(group)), index: 0, chunks: BTreeMap::new() }
    }

    fn small(group: Group) -> Self {
        let applier = Applier::new(Register::new(group).with_sizes(SMALL));
        Self { applier, index: 0, chunks: BTreeMap::new() }
    }

    fn apply(&mut self, token: Token, body: Body) -> Outcome {
        self.index += 1;
        let outcome = self.applier.command(self.index, &Command { token, body }.encode());
        self.chunks.extend(self.applier.machine.take_sealed());
        outcome
    }

    fn register(&self) -> &Register {
        &self.applier.machine
    }

    /// A job that is led, and its token.
    fn led(&mut self, number: u8) -> Token {
        self.apply(Token(0), accept(number, "key", b"plan"));
        self.lead(number, Token(0), 1)
    }

    fn lead(&mut self, number: u8, replaces: Token, leader: u64) -> Token {
        match self.apply(replaces, job_leader(number, leader)) {
            Outcome::Granted(token) => token,
            other => panic!("{other:?}"),
        }
    }

    fn grant(&mut self, worker: u64, boot: u64) -> Token {
        match self.apply(Token(0), grant(worker, boot)) {
            Outcome::Granted(token) => token,
            other => panic!("{other:?}"),
        }
    }
}

fn job(number: u8) -> JobId {
    JobId([number; 16])
}

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn accept(number: u8, key: &str, plan: &[u8]) -> Body {
    Body::JobAccept(Box::new(accepted(number, key, plan)))
}

fn accepted(number: u8, key: &str, plan: &[u8]) -> Accept {
    let (options, caller) = (JobOptions::default(), "ci".to_owned());
    Accept {
        job: job(number),
        key: key.to_owned(),
        plan: BlobId::of(plan),
        options,
        origin: None,
        caller,
        name: "shop".to_owned(),
        submitted_at_ms: 1_700_000_000_000,
    }
}

fn why(reason: &str) -> EndError {
    EndError { code: 13, message: reason.to_owned(), subject: "checkout".to_owned() }
}

fn grant(worker: u64, boot: u64) -> Body {
    let capabilities = BTreeSet::from(["gpu=nvidia".to_owned()]);
    Body::WorkerGrant {
        worker: node(worker),
        boot: BootEpoch(boot),
        cores: 4,
        lease_ms: 15_000,
        capabilities,
    }
}

fn segment(number: u32) -> Segment {
    Segment { job: job(1), workflow: "load".to_owned(), number }
}

fn assign(number: u32, attempt: u32, grant: Token, cores: u32) -> Body {
    batch([one(number, attempt, grant, cores)])
}

fn batch(segments: impl IntoIterator<Item = AssignSegment>) -> Body {
    Body::Assign(Assign { job: job(1), segments: segments.into_iter().collect() })
}

/// One attempt of a batch, of the workflow `load`, on worker 9.
fn one(number: u32, attempt: u32, grant: Token, cores: u32) -> AssignSegment {
    AssignSegment {
        workflow: "load".to_owned(),
        number,
        kind: SegmentKind::Load,
        attempt,
        worker: node(9),
        boot: BootEpoch(1),
        grant,
        group: 0,
        cores,
        vus: 10,
        elapsed_ms: 900,
        iterations_left: Some(500),
    }
}

fn job_leader(number: u8, leader: u64) -> Body {
    leads(job(number), leader)
}

fn leads(job: JobId, leader: u64) -> Body {
    Body::JobLeader { job, leader: node(leader), elapsed: Elapsed::default(), reason: "asked".to_owned() }
}

fn worker_gone(worker: u64, grant: Token) -> Body {
    Body::WorkerGone { worker: node(worker), grant, reason: "lease ended".to_owned() }
}

fn attempt_end(number: u32, attempt: u32) -> Body {
    Body::AttemptEnd { segment: segment(number), attempt, end: End::new(EndStatus::Completed, None) }
}

fn cancel(workflows: &[&str], request: u8) -> Body {
    Body::Cancel {
        job: job(1),
        workflows: workflows.iter().map(|name| (*name).to_owned()).collect(),
        named: workflows.first().map(|name| (*name).to_owned()).into_iter().collect(),
        request: RequestId([request; 16]),
        reason: "asked".to_owned(),
        caller: "ada".to_owned(),
    }
}

fn workflow_end(workflow: &str, status: EndStatus) -> Body {
    Body::WorkflowEnd { job: job(1), workflow: workflow.to_owned(), status, error: None }
}

fn job_end(status: EndStatus) -> Body {
    Body::JobEnd { job: job(1), end: End::new(status, None), elapsed_ms: 0 }
}

fn context(version: u64, values: Values) -> Body {
    Body::Context { job: job(1), workflow: "setup".to_owned(), version, values }
}

#[test]
fn known_key_returns_the_same_job_and_never_makes_a_second() {
    let mut log = Log::new();
    assert_eq!(
        log.apply(Token(0), accept(1, "key", b"plan")),
        Outcome::Accepted { job: job(1), is_repeat: false }
    );
    assert_eq!(
        log.apply(Token(0), accept(2, "key", b"plan")),
        Outcome::Accepted { job: job(1), is_repeat: true }
    );
    assert_eq!(
        log.apply(Token(0), accept(3, "key", b"other")),
        Outcome::Refused(CommandRefusal::KeyConflict)
    );
    assert_eq!(log.apply(Token(0), accept(1, "new", b"plan")), Outcome::Refused(CommandRefusal::JobKnown));
    assert_eq!(log.register().jobs().len(), 1);
}

#[test]
fn token_is_the_index_of_the_granting_entry() {
    let mut log = Log::new();
    let first = log.led(1);
    assert_eq!(first, Token(log.index));
    let second = log.lead(1, first, 2);
    assert_eq!(second, Token(log.index));
    assert!(second > first);
}

#[test]
fn everything_about_a_job_is_refused_under_a_lower_token() {
    let mut log = Log::new();
    let old = log.led(1);
    let worker = log.grant(9, 1);
    let current = log.lead(1, old, 2);
    let stale = Outcome::Refused(CommandRefusal::StaleToken { current });
    for body in [
        job_leader(1, 3),
        assign(0, 1, worker, 1),
        attempt_end(0, 1),
        context(1, Values::Inline(Bytes::new())),
        workflow_end("load", EndStatus::Completed),
        job_end(EndStatus::Completed),
    ] {
        assert_eq!(log.apply(old, body.clone()), stale, "{body:?}");
    }
    assert_eq!(log.apply(current, assign(0, 1, worker, 1)), Outcome::Done);
}

#[test]
fn assign_reserves_cores_and_changes_nothing_when_they_are_not_free() {
    let mut log = Log::new();
    let token = log.led(1);
    let worker = log.grant(9, 1);
    assert_eq!(log.apply(token, assign(0, 1, worker, 3)), Outcome::Done);
    assert_eq!(
        log.apply(token, assign(1, 1, worker, 2)),
        Outcome::Refused(CommandRefusal::CoresNotFree { free: 1 })
    );
    assert_eq!(
        log.apply(token, assign(1, 1, worker, 0)),
        Outcome::Refused(CommandRefusal::CoresNotFree { free: 1 })
    );
    assert_eq!(log.apply(token, assign(1, 1, worker, 1)), Outcome::Done);
    assert_eq!(log.register().worker(node(9)).unwrap().free(), 0);
    log.apply(token, attempt_end(0, 1));
    assert_eq!(log.register().worker(node(9)).unwrap().free(), 3);
}

#[test]
fn assign_wants_the_grant_in_force_and_the_next_attempt() {
    let mut log = Log::new();
    let token = log.led(1);
    let none = Outcome::Refused(CommandRefusal::StaleGrant { current: None });
    assert_eq!(log.apply(token, assign(0, 1, Token(7), 1)), none);
    let worker = log.grant(9, 1);
    let stale = Outcome::Refused(CommandRefusal::StaleGrant { current: Some(worker) });
    assert_eq!(log.apply(token, assign(0, 1, Token(1), 1)), stale);
    assert_eq!(
        log.apply(token, assign(0, 2, worker, 1)),
        Outcome::Refused(CommandRefusal::WrongAttempt { next: 1 })
    );
    log.apply(token, assign(0, 1, worker, 1));
    assert_eq!(log.apply(token, assign(0, 2, worker, 1)), Outcome::Refused(CommandRefusal::Running));
    log.apply(token, attempt_end(0, 1));
    assert_eq!(
        log.apply(token, assign(0, 1, worker, 1)),
        Outcome::Refused(CommandRefusal::WrongAttempt { next: 2 })
    );
    assert_eq!(log.apply(token, assign(0, 2, worker, 1)), Outcome::Done);
}

#[test]
fn cancelled_workflow_never_runs_again_whoever_leads() {
    let mut log = Log::new();
    let mut token = log.led(1);
    let worker = log.grant(9, 1);
    assert_eq!(log.apply(Token(0), cancel(&["load"], 1)), Outcome::Done, "not fenced");
    assert_eq!(log.apply(Token(0), cancel(&["load"], 1)), Outcome::Repeated);
    for leader in 2..5 {
        assert_eq!(log.apply(token, assign(0, 1, worker, 1)), Outcome::Refused(CommandRefusal::Cancelled));
        token = log.lead(1, token, leader);
    }
    let body = batch([AssignSegment { workflow: "other".to_owned(), ..one(0, 1, worker, 1) }]);
    assert_eq!(log.apply(token, body.clone()), Outcome::Done);
    log.apply(Token(0), cancel(&[], 2));
    assert!(log.register().job(job(1)).unwrap().is_wholly_cancelled());
    assert!(log.register().job(job(1)).unwrap().is_cancelled("anything"));
}

#[test]
fn what_a_cancel_named_is_kept_with_its_request() {
    let mut log = Log::new();
    log.led(1);
    log.apply(Token(0), cancel(&["login", "browse"], 1));
    log.apply(Token(0), cancel(&["other"], 2));
    let job = log.register().job(job(1)).unwrap();
    let of = |request| job.cancel_of(RequestId([request; 16])).map(|it| (&it.workflows[..], &it.named[..]));
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    assert_eq!(of(1), Some((&words(&["login", "browse"])[..], &words(&["login"])[..])));
    assert_eq!(of(2), Some((&words(&["other"])[..], &words(&["other"])[..])));
    assert_eq!(of(3), None);
    assert_eq!((job.cancel_reason("browse"), job.cancel_reason("none")), ("asked", ""));
}

#[test]
fn cancels_keep_their_reasons_within_limits_and_cancel_even_beyond_them() {
    let mut log = Log::new();
    log.led(1);
    let (reason, caller) = ("ä".repeat(REASON_BYTES_MAX), "ada".to_owned());
    for number in 0..=CANCELS_MAX as u128 {
        let workflows = vec![format!("w{}", number.min(WORKFLOWS_MAX as u128 - 1))];
        let (request, reason, caller) = (RequestId(number.to_be_bytes()), reason.clone(), caller.clone());
        let named = workflows.clone();
        let body = Body::Cancel { job: job(1), workflows, named, request, reason, caller };
        assert_eq!(log.apply(Token(0), body), Outcome::Done);
    }
    let job = log.register().job(job(1)).unwrap();
    assert_eq!(job.cancels().len(), CANCELS_MAX);
    assert!(
        job.cancels().all(|(_, why)| why.reason.len() == REASON_BYTES_MAX && why.reason.starts_with("ää"))
    );
    assert!(job.cancels().all(|(_, why)| why.caller == "ada"));
    assert!(job.is_cancelled(&format!("w{}", WORKFLOWS_MAX - 1)));
    assert_eq!(log.apply(Token(0), cancel(&[], 255)), Outcome::Done, "and the whole job whatever there was");
    assert!(log.register().job(self::job(1)).unwrap().is_wholly_cancelled());
}

#[test]
fn gone_worker_loses_its_attempts_and_their_ends_count_no_more() {
    let mut log = Log::new();
    let token = log.led(1);
    let worker = log.grant(9, 1);
    log.apply(token, assign(0, 1, worker, 2));
    let stale = Outcome::Refused(CommandRefusal::StaleGrant { current: Some(worker) });
    assert_eq!(log.apply(Token(0), worker_gone(9, Token(1))), stale);
    log.apply(Token(0), worker_gone(9, worker));
    assert_eq!(
        log.register().job(job(1)).unwrap().attempt("load", 0).unwrap().state,
        AttemptState::Lost { windows: None }
    );
    assert_eq!(log.apply(token, attempt_end(0, 1)), Outcome::Refused(CommandRefusal::Superseded));
    let again = log.grant(9, 1);
    assert!(again > worker, "it returns only with a new grant");
    assert_eq!(log.apply(token, assign(0, 2, again, 2)), Outcome::Done);
    assert_eq!(log.apply(token, attempt_end(0, 1)), Outcome::Refused(CommandRefusal::Superseded));
    assert_eq!(log.apply(token, attempt_end(0, 2)), Outcome::Done);
    assert_eq!(log.apply(token, attempt_end(0, 2)), Outcome::Repeated);
}

#[test]
fn job_reaches_exactly_one_terminal_state() {
    let mut log = Log::new();
    let token = log.led(1);
    let worker = log.grant(9, 1);
    log.apply(token, assign(0, 1, worker, 1));
    assert_eq!(log.apply(token, job_end(EndStatus::Completed)), Outcome::Refused(CommandRefusal::Running));
    log.apply(token, attempt_end(0, 1));
    assert_eq!(log.apply(token, job_end(EndStatus::Completed)), Outcome::Done);
    assert_eq!(log.apply(token, job_end(EndStatus::Completed)), Outcome::Repeated);
    assert_eq!(log.apply(token, job_end(EndStatus::Failed)), Outcome::Refused(CommandRefusal::AlreadyEnded));
    assert_eq!(log.apply(token, assign(1, 1, worker, 1)), Outcome::Refused(CommandRefusal::AlreadyEnded));
    assert_eq!(log.apply(Token(0), cancel(&[], 1)), Outcome::Refused(CommandRefusal::AlreadyEnded));
    assert_eq!(log.register().job(job(1)).unwrap().end.as_ref().unwrap().how.status, EndStatus::Completed);
}

#[test]
fn ended_workflow_does_not_begin_again() {
    let mut log = Log::new();
    let token = log.led(1);
    let worker = log.grant(9, 1);
    let end = |status| workflow_end("load", status);
    log.apply(token, assign(0, 1, worker, 1));
    assert_eq!(log.apply(token, end(EndStatus::Failed)), Outcome::Refused(CommandRefusal::Running));
    log.apply(token, attempt_end(0, 1));
    assert_eq!(log.apply(token, end(EndStatus::Failed)), Outcome::Done);
    assert_eq!(log.apply(token, end(EndStatus::Failed)), Outcome::Repeated);
    assert_eq!(log.apply(token, end(EndStatus::Completed)), Outcome::Refused(CommandRefusal::AlreadyEnded));
    assert_eq!(log.apply(token, assign(0, 2, worker, 1)), Outcome::Refused(CommandRefusal::AlreadyEnded));
}

#[test]
fn context_versions_follow_each_other_and_large_ones_are_blobs() {
    let mut log = Log::new();
    let token = log.led(1);
    let large = Values::Inline(vec![0; 64 * 1024 + 1].into());
    assert_eq!(log.apply(token, context(1, large)), Outcome::Refused(CommandRefusal::TooLarge));
    assert_eq!(log.apply(token, context(1, Values::Inline(Bytes::from_static(b"v")))), Outcome::Done);
    let blob = Values::Blob(BlobId::of(b"large"));
    assert_eq!(
        log.apply(token, context(1, blob.clone())),
        Outcome::Refused(CommandRefusal::StaleContext { next: 2 })
    );
    assert_eq!(log.apply(token, context(2, blob.clone())), Outcome::Done);
    assert_eq!(log.register().job(job(1)).unwrap().context("setup"), Some(&(2, blob)));
}

#[test]
fn cluster_version_only_rises() {
    let mut log = Log::new();
    assert_eq!(log.apply(Token(0), Body::ClusterVersion { version: 2 }), Outcome::Done);
    for version in [1, 2] {
        let refused = Outcome::Refused(CommandRefusal::OldVersion { current: 2 });
        assert_eq!(log.apply(Token(0), Body::ClusterVersion { version }), refused);
    }
}

#[test]
fn ended_job_is_forgotten_after_retain_and_its_cancel_marks_not_before() {
    let mut log = Log::new();
    let token = log.led(1);
    log.apply(Token(0), cancel(&["load"], 1));
    let all = || Body::JobForget { first: 0, last: 1000 };
    assert_eq!(log.apply(Token(0), all()), Outcome::Repeated, "it has not ended");
    let at = |minutes| Now::after_start(std::time::Duration::from_mins(minutes));
    let mut retention = Retention::default();
    assert_eq!(retention.due(at(0), log.register()), []);
    log.apply(token, job_end(EndStatus::Cancelled));
    let end = log.index;
    assert_eq!(retention.due(at(10), log.register()), []);
    assert_eq!(retention.due(at(69), log.register()), []);
    assert!(log.register().job(job(1)).unwrap().is_cancelled("load"));
    assert_eq!(retention.due(at(70), log.register()), [(end, end)]);
    assert_eq!(log.apply(Token(0), Body::JobForget { first: end, last: end }), Outcome::Done);
    assert_eq!(log.apply(Token(0), all()), Outcome::Repeated);
    assert_eq!(log.register().job(job(1)), None);
    assert_eq!(log.register().job_of_key("key"), None);
    assert_eq!(retention.due(at(200), log.register()), []);
}

#[test]
fn every_job_is_retained_as_long_as_it_was_submitted_for() {
    let mut log = Log::new();
    for (number, minutes) in [(1, 5), (2, 90)] {
        let options = JobOptions { retain_ms: minutes * 60_000, ..JobOptions::default() };
        let accept = Accept { options, ..accepted(number, &format!("key{number}"), b"plan") };
        log.apply(Token(0), Body::JobAccept(Box::new(accept)));
        let token = log.lead(number, Token(0), 1);
        log.apply(
            token,
            Body::JobEnd { job: job(number), end: End::new(EndStatus::Completed, None), elapsed_ms: 0 },
        );
    }
    let (one, both) = ((log.index - 3, log.index - 3), (log.index - 3, log.index));
    let at = |minutes| Now::after_start(std::time::Duration::from_mins(minutes));
    let mut retention = Retention::default();
    assert_eq!(retention.due(at(0), log.register()), []);
    assert_eq!(retention.due(at(4), log.register()), []);
    assert_eq!(retention.due(at(5), log.register()), [one]);
    assert_eq!(retention.due(at(90), log.register()), [both]);
}

#[test]
fn new_leader_counts_retain_anew() {
    let mut log = Log::new();
    let token = log.led(1);
    log.apply(token, job_end(EndStatus::Completed));
    let at = |minutes| Now::after_start(std::time::Duration::from_mins(minutes));
    let mut retention = Retention::default();
    retention.due(at(0), log.register());
    retention.follow();
    assert_eq!(retention.due(at(60), log.register()), []);
    assert_eq!(retention.due(at(120), log.register()), [(log.index, log.index)]);
}

#[test]
fn unreadable_bytes_change_nothing_and_say_so() {
    let mut log = Log::new();
    for (bytes, reason) in [(&b"\xff\xff\xff"[..], "not a message"), (b"\x08\x01", "no body")] {
        log.index += 1;
        let outcome = log.applier.command(log.index, &Bytes::copy_from_slice(bytes));
        assert_eq!(outcome, Outcome::Refused(CommandRefusal::Unreadable { reason: reason.to_owned() }));
    }
    assert_eq!(log.register(), &Register::default());
}
