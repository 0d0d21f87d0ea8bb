//! The register as bytes.

use super::*;

#[test]
fn snapshots_that_are_cut_short_or_of_another_format_are_refused() {
    let mut log = Log::new();
    log.led(1);
    let bytes = log.register().snapshot();
    let mut restored = Register::default();
    for length in 1..bytes.len() {
        assert!(restored.restore(bytes.slice(..length)).is_err(), "{length}");
    }
    let mut other = bytes.to_vec();
    other[0] = 9;
    assert!(restored.restore(other.into()).is_err());
    assert!(restored.restore([&bytes[..], b"x"].concat().into()).is_err());
    assert_eq!(restored, Register::default(), "a refused snapshot changes nothing");
    restored.restore(bytes).unwrap();
    assert_eq!(&restored, log.register());
}

/// Registers of both groups with something in every field.
fn full(group: Group) -> Log {
    let mut log = Log::of(group);
    let token = log.led(1);
    let ended = EndStatus::Completed;
    let result = Some(BlobId::of(b"result"));
    let part = |token| PartId { job: job(1), datacenter: "eu-1".to_owned(), token };
    let assign_part = |try_number| Body::DcAssign {
        job: job(1),
        datacenter: "eu-1".to_owned(),
        try_number,
        share_ppm: 500_000,
    };
    let control = |workflow: &str, change, request| Body::Control {
        job: job(1),
        workflow: workflow.to_owned(),
        change,
        request: RequestId([request; 16]),
    };
    let worker = Token(log.index + 1);
    let first_part = Token(log.index + 13);
    for (token, body) in [
        (Token(0), grant(9, 1)),
        (token, assign(0, 1, worker, 1)),
        (token, assign(1, 1, worker, 2)),
        (token, Body::AttemptEnd { segment: segment(0), attempt: 1, status: ended, result }),
        (token, context(1, Values::Inline(Bytes::from_static(b"v")))),
        (
            token,
            Body::Context {
                job: job(1),
                workflow: "b".to_owned(),
                version: 1,
                values: Values::Blob(BlobId::of(b"b")),
            },
        ),
        (token, control("load", LoadChange::Vus(50), 5)),
        (token, control("other", LoadChange::RateMilli(9), 6)),
        (token, control("x", LoadChange::Pause, 7)),
        (token, control("x", LoadChange::Resume, 8)),
        (token, Body::WorkflowEnd { job: job(1), workflow: "setup".to_owned(), status: EndStatus::Failed }),
        (Token(0), cancel(&["report"], 1)),
        (token, assign_part(1)),
        (
            token,
            Body::DcEnd { part: part(first_part), status: EndStatus::Lost, result: None, is_late: false },
        ),
        (token, Body::DcEnd { part: part(first_part), status: ended, result, is_late: true }),
        (token, assign_part(2)),
        (
            Token(0),
            Body::DcState { datacenter: "eu-1".to_owned(), class: DatacenterClass::Busy, proposer: node(3) },
        ),
        (Token(0), accept(2, "ended", b"plan")),
        (Token(0), Body::JobEnd { job: job(2), status: EndStatus::Failed, result }),
        (Token(0), Body::ClusterVersion { version: 1 }),
    ] {
        let belongs = body.belongs_to(group);
        let outcome = log.apply(token, body.clone());
        assert_eq!(matches!(outcome, Outcome::Refused(_)), !belongs, "{body:?}: {outcome:?}");
    }
    log
}

#[test]
fn snapshot_is_read_and_written_as_its_golden_bytes() {
    for (group, golden) in [
        (Group::Managers, include_str!("golden/managers_v1.hex")),
        (Group::Gates, include_str!("golden/gates_v1.hex")),
    ] {
        let log = full(group);
        let digits: String = golden.split_whitespace().collect();
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let kept: Bytes = (0..digits.len()).step_by(2).map(byte).collect();
        let written = log.register().snapshot();
        assert_eq!(written, kept, "{group:?} is written differently: give the layout another number");
        let mut read = Register::new(group);
        read.restore(kept).unwrap();
        assert_eq!(&read, log.register(), "{group:?}");
    }
}

#[test]
fn snapshot_of_the_other_group_is_refused() {
    let gates = full(Group::Gates).register().snapshot();
    let mut managers = Register::default();
    assert!(managers.restore(gates.clone()).is_err());
    assert_eq!(managers, Register::default());
    Register::new(Group::Gates).restore(gates).unwrap();
}
