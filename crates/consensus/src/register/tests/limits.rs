//! Every limit of the register, and that a full one can be sent.

use super::*;
use crate::register::limits::{CHUNK_HEAD_BYTES, DATACENTER_BYTES_MAX, HEAD_BYTES_MAX, WORKER_BYTES_MAX};

/// At most so many bytes has the snapshot of this register, by its account.
pub(super) fn bound(register: &Register) -> usize {
    let jobs = register.account.open_bytes + register.account.ended_bytes;
    let filling = register.ended.filling.as_ref().map_or(0, |filling| filling.weight);
    let chunks = register.chunk_contents().count() * CHUNK_HEAD_BYTES + filling;
    let workers = register.workers.len() * WORKER_BYTES_MAX;
    HEAD_BYTES_MAX + chunks + jobs + workers + register.datacenters.len() * DATACENTER_BYTES_MAX
}

fn refused(limit: Limit) -> Outcome {
    Outcome::Refused(CommandRefusal::Limit(limit))
}

fn long() -> String {
    "n".repeat(NAME_BYTES_MAX + 1)
}

fn numbered(number: u128, key: String) -> Accept {
    Accept { job: JobId(number.to_be_bytes()), key, ..accepted(0, "", b"plan") }
}

impl Log {
    /// A job that is led, among many.
    fn led_of_many(&mut self, number: u128) -> Result<(JobId, Token), Outcome> {
        let accept = numbered(number, format!("{number:036}"));
        let job = accept.job;
        match self.apply(Token(0), Body::JobAccept(Box::new(accept))) {
            Outcome::Accepted { .. } => {}
            other => return Err(other),
        }
        match self.apply(Token(0), leads(job, 1)) {
            Outcome::Granted(token) => Ok((job, token)),
            other => Err(other),
        }
    }

    /// Provides large contexts until there is no room, and says why there is none.
    fn fill(&mut self, job: JobId, token: Token) -> Outcome {
        for number in 0.. {
            let values = Values::Inline(vec![7; CONTEXT_BYTES_MAX].into());
            let body = Body::Context { job, workflow: format!("w{number}"), version: 1, values };
            match self.apply(token, body) {
                Outcome::Done => {}
                other => return other,
            }
        }
        unreachable!("jobs have limits")
    }
}

#[test]
fn jobs_that_are_open_are_bounded_and_ended_ones_make_room() {
    let mut log = Log::new();
    for number in 0..JOBS_OPEN_MAX as u128 {
        let accept = numbered(number, number.to_string());
        assert!(matches!(log.apply(Token(0), Body::JobAccept(Box::new(accept))), Outcome::Accepted { .. }));
    }
    let more = || Body::JobAccept(Box::new(numbered(u128::MAX, "more".to_owned())));
    assert_eq!(log.apply(Token(0), more()), refused(Limit::JobsOpen));
    let known = Body::JobAccept(Box::new(numbered(u128::MAX, "7".to_owned())));
    assert!(matches!(log.apply(Token(0), known), Outcome::Accepted { is_repeat: true, .. }));
    let job = JobId(0u128.to_be_bytes());
    log.apply(Token(0), leads(job, 1));
    let end = End::new(EndStatus::Completed, None);
    assert_eq!(log.apply(Token(log.index), Body::JobEnd { job, end, elapsed_ms: 0 }), Outcome::Done);
    assert!(matches!(log.apply(Token(0), more()), Outcome::Accepted { is_repeat: false, .. }));
}

#[test]
fn workers_are_bounded_and_known_ones_register_again() {
    let mut log = Log::new();
    for number in 1..=WORKERS_MAX as u64 {
        log.grant(number, 1);
    }
    let more = grant(WORKERS_MAX as u64 + 1, 1);
    assert_eq!(log.apply(Token(0), more), refused(Limit::Workers));
    assert!(matches!(log.apply(Token(0), grant(7, 2)), Outcome::Granted(_)));
}

#[test]
fn segments_workflows_and_parts_of_a_job_are_bounded() {
    let mut log = Log::new();
    let token = log.led(1);
    let body = Body::WorkerGrant {
        worker: node(9),
        boot: BootEpoch(1),
        cores: u32::MAX,
        lease_ms: 1,
        capabilities: BTreeSet::new(),
    };
    log.apply(Token(0), body);
    let worker = Token(log.index);
    for number in 0..SEGMENTS_MAX as u32 {
        assert_eq!(log.apply(token, assign(number, 1, worker, 1)), Outcome::Done);
    }
    assert_eq!(log.apply(token, assign(u32::MAX, 1, worker, 1)), refused(Limit::Segments));
    for number in 1..WORKFLOWS_MAX {
        let body = workflow_end(&format!("w{number}"), EndStatus::Skipped);
        assert_eq!(log.apply(token, body), Outcome::Done);
    }
    assert_eq!(log.apply(token, workflow_end("more", EndStatus::Skipped)), refused(Limit::Workflows));
    assert_eq!(log.apply(token, attempt_end(0, 1)), Outcome::Done, "what runs may end");

    let mut log = Log::of(Group::Gates);
    let token = log.led(1);
    let part = |number: usize| Body::DcAssign {
        job: job(1),
        datacenter: format!("dc{number}"),
        try_number: 1,
        share_ppm: 1,
    };
    for number in 0..PARTS_MAX {
        log.apply(token, part(number));
    }
    assert_eq!(log.apply(token, part(PARTS_MAX)), refused(Limit::Parts));
}

#[test]
fn cancelled_workflows_are_bounded_and_the_whole_job_is_cancelled_anyway() {
    let mut log = Log::new();
    log.led(1);
    let names: Vec<String> = (0..WORKFLOWS_MAX).map(|number| format!("w{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(log.apply(Token(0), cancel(&names, 1)), Outcome::Done);
    assert_eq!(log.apply(Token(0), cancel(&["w7", "more"], 2)), refused(Limit::Workflows));
    assert!(!log.register().job(job(1)).unwrap().is_cancelled("more"), "what is refused changes nothing");
    assert_eq!(log.apply(Token(0), cancel(&["w7"], 3)), Outcome::Done);
    assert_eq!(log.apply(Token(0), cancel(&[], 4)), Outcome::Done);
}

#[test]
fn names_keys_options_and_capabilities_have_a_length() {
    let mut log = Log::new();
    let accept = |accept| Body::JobAccept(Box::new(accept));
    let key = "k".repeat(KEY_BYTES_MAX + 1);
    assert_eq!(log.apply(Token(0), accept(accepted(1, &key, b"plan"))), refused(Limit::KeyBytes));
    let caller = Accept { caller: long(), ..accepted(1, "key", b"plan") };
    assert_eq!(log.apply(Token(0), accept(caller)), refused(Limit::NameBytes));
    let options = JobOptions { callback: "c".repeat(OPTIONS_BYTES_MAX), ..JobOptions::default() };
    let options = Accept { options, ..accepted(1, "key", b"plan") };
    assert_eq!(log.apply(Token(0), accept(options)), refused(Limit::OptionsBytes));
    let capabilities = BTreeSet::from(["c".repeat(CAPABILITIES_BYTES_MAX)]);
    let body = Body::WorkerGrant { worker: node(9), boot: BootEpoch(1), cores: 1, lease_ms: 1, capabilities };
    assert_eq!(log.apply(Token(0), body), refused(Limit::CapabilitiesBytes));
    assert_eq!(log.register(), &Register::default(), "what is refused changes nothing");

    let token = log.led(1);
    let worker = log.grant(9, 1);
    let assign = batch([AssignSegment { workflow: long(), ..one(0, 1, worker, 1) }]);
    let context = Body::Context {
        job: job(1),
        workflow: long(),
        version: 1,
        values: Values::Blob(BlobId::of(b"values")),
    };
    let control = Body::Control {
        job: job(1),
        workflow: long(),
        change: LoadChange::Pause,
        request: RequestId([1; 16]),
    };
    for body in [assign, context, control, workflow_end(&long(), EndStatus::Skipped), cancel(&[&long()], 1)] {
        assert_eq!(log.apply(token, body.clone()), refused(Limit::NameBytes), "{body:?}");
    }
}

#[test]
fn job_has_so_many_bytes_and_ends_beyond_them_without_its_texts() {
    let mut log = Log::new();
    let token = log.led(1);
    let worker = log.grant(9, 1);
    log.apply(token, assign(0, 1, worker, 1));
    assert_eq!(log.fill(job(1), token), refused(Limit::JobBytes));
    for number in 0.. {
        let (workflows, named, request) = (Vec::new(), Vec::new(), RequestId(u128::to_be_bytes(number)));
        let (reason, caller) = ("r".repeat(REASON_BYTES_MAX), String::new());
        log.apply(Token(0), Body::Cancel { job: job(1), workflows, named, request, reason, caller });
        if log.register().job(job(1)).unwrap().cancels().len() as u128 == number {
            break;
        }
    }
    let long_error = why(&"e".repeat(REASON_BYTES_MAX));
    let end = End { status: EndStatus::Failed, result: None, error: Some(long_error) };
    let body = Body::AttemptEnd { segment: segment(0), attempt: 1, end: end.clone() };
    assert_eq!(log.apply(token, body.clone()), Outcome::Done);
    assert_eq!(log.apply(token, body), Outcome::Repeated, "though its texts were left out");
    let AttemptState::Ended(kept) = &log.register().job(job(1)).unwrap().attempt("load", 0).unwrap().state
    else {
        panic!("it ended");
    };
    let error = EndError { code: 13, message: String::new(), subject: String::new() };
    assert_eq!(kept, &End { error: Some(error), ..end.clone() });
    assert_eq!(log.apply(token, Body::JobEnd { job: job(1), end, elapsed_ms: 0 }), Outcome::Done);
}

/// All that may be done whatever the room.
#[test]
fn who_leads_ends_or_is_lost_makes_no_job_heavier() {
    let result = Some(BlobId::of(b"result"));
    let error = Some(EndError { code: 13, message: String::new(), subject: String::new() });
    let end = || End { status: EndStatus::Failed, result, error: error.clone() };
    let weight = |log: &Log| log.register().job(job(1)).unwrap().weight();
    let mut log = Log::new();
    log.apply(Token(0), accept(1, "key", b"plan"));
    let accepted = weight(&log);
    let token = log.lead(1, Token(0), 1);
    assert_eq!(weight(&log), accepted, "led");
    let worker = log.grant(9, 1);
    log.apply(token, batch([AssignSegment { iterations_left: None, ..one(0, 1, worker, 1) }]));
    let assigned = weight(&log);
    log.apply(token, Body::AttemptEnd { segment: segment(0), attempt: 1, end: end() });
    assert_eq!(weight(&log), assigned, "ended");
    log.apply(token, assign(0, 2, worker, 1));
    let assigned = weight(&log);
    log.apply(Token(0), worker_gone(9, worker));
    assert_eq!(weight(&log), assigned, "lost");
    log.apply(Token(0), cancel(&[], 1));
    let cancelled = weight(&log);
    assert_eq!(log.apply(token, Body::JobEnd { job: job(1), end: end(), elapsed_ms: 0 }), Outcome::Done);
    assert_eq!(weight(&log), cancelled, "the job ended");

    let mut log = Log::of(Group::Gates);
    let token = log.led(1);
    let part = Body::DcAssign { job: job(1), datacenter: "a".to_owned(), try_number: 1, share_ppm: 1 };
    log.apply(token, part);
    let part = PartId { job: job(1), datacenter: "a".to_owned(), token: Token(log.index) };
    let assigned = weight(&log);
    let lost = End::new(EndStatus::Lost, None);
    for (end, is_late) in [(lost, false), (end(), true)] {
        assert_eq!(log.apply(token, Body::DcEnd { part: part.clone(), end, is_late }), Outcome::Done);
        assert_eq!(weight(&log), assigned, "part: {is_late}");
    }
}

/// Open jobs up to their share, chunks of ended ones by their hash: what is sent is never larger than what may be sent, and
/// nothing is forgotten.
#[test]
fn full_register_refuses_new_jobs_forgets_nothing_and_can_be_sent() {
    let mut log = Log::new();
    let mut number = 0;
    while log.register().chunks().len() < 3 {
        let (job, token) = log.led_of_many(number).unwrap();
        assert_eq!(log.fill(job, token), refused(Limit::JobBytes));
        let end = End::new(EndStatus::Completed, Some(BlobId::of(b"result")));
        assert_eq!(log.apply(token, Body::JobEnd { job, end, elapsed_ms: 0 }), Outcome::Done);
        number += 1;
    }
    let largest = log.register().chunks().map(|chunk| chunk.blob.length).max();
    assert!(largest.is_some_and(|bytes| bytes <= 8 << 20), "{largest:?}");
    for known in 0..number {
        let job = log.register().job_of_key(&format!("{known:036}"));
        assert_eq!(job, Some(JobId(known.to_be_bytes())), "nothing is forgotten");
    }
    let refusal = loop {
        let (job, token) = match log.led_of_many(number) {
            Ok(led) => led,
            Err(refusal) => break refusal,
        };
        log.fill(job, token);
        number += 1;
    };
    assert_eq!(refusal, refused(Limit::OpenBytes), "no new job");
    let bytes = log.register().snapshot().len();
    assert!(bytes <= bound(log.register()) && bound(log.register()) <= REGISTER_BYTES_MAX, "{bytes}");
    assert!(bytes > NEW_BYTES_MAX, "it is full: {bytes}");
}
