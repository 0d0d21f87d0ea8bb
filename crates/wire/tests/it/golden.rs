//! Golden bytes: what version 1 wrote must be read for ever, and is still written the same.
//!
//! `tests/golden/v1/PLANE/MESSAGE.hex`. `HYPERSCALE_GOLDEN=write cargo test -p hyperscale-wire golden` writes files that are
//! missing; it never changes one. There is one version yet, and it may change until the first release: then delete the file and
//! write it again. From then on a message that grows fails here: its old file moves beside a new folder, and is decoded only.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use hyperscale_wire::kind::{Envelope, Kind};
use hyperscale_wire::messages::{
    Bulk, Command, Control, ErrorCode, Gossip, HardState, Hello, JobAttempt, NodeRef, RaftMessage, Role,
    command,
};
use prost::Message;

use crate::samples;

fn file(plane: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(plane).join(format!("{name}.hex"))
}

fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for line in bytes.chunks(32) {
        for byte in line {
            write!(text, "{byte:02x}").expect("writing to a string does not fail");
        }
        text.push('\n');
    }
    text
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The golden bytes of something, which must be what is written now.
pub(crate) fn kept(plane: &str, name: &str, written: &[u8]) -> Vec<u8> {
    let path = file(plane, name);
    if !path.exists() && std::env::var_os("HYPERSCALE_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::create_dir_all(path.parent().expect("a file is in a folder")).unwrap();
        std::fs::write(&path, to_hex(written)).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("no golden bytes of {plane}/{name}"));
    assert_eq!(to_hex(written), kept, "{plane}/{name} is written differently");
    from_hex(&kept)
}

fn check<M: Message + Default + PartialEq + std::fmt::Debug>(plane: &str, name: &str, sample: &M) {
    let bytes = kept(plane, name, &sample.encode_to_vec());
    let decoded = M::decode(&bytes[..]).unwrap_or_else(|error| panic!("{plane}/{name}: {error}"));
    assert!(decoded == *sample, "{plane}/{name} is read differently: {decoded:#?}");
}

fn check_plane<M: Envelope + PartialEq + std::fmt::Debug>(plane: &str, samples: &[M]) -> BTreeSet<Kind> {
    let kinds = samples.iter().map(|sample| {
        let kind = sample.kind().expect("a sample has a body");
        check(plane, kind.name(), sample);
        kind
    });
    kinds.collect()
}

#[test]
fn every_message_of_the_planes_is_read_and_written_as_its_golden_bytes() {
    let gossip = check_plane::<Gossip>("gossip", &samples::gossip());
    let control = check_plane::<Control>("control", &samples::control());
    let bulk = check_plane::<Bulk>("bulk", &samples::bulk());
    let covered: BTreeSet<_> = gossip.iter().chain(&control).chain(&bulk).copied().collect();
    let missing: Vec<_> = Kind::ALL.iter().filter(|kind| !covered.contains(kind)).collect();
    assert!(missing.is_empty(), "no sample of {missing:?}");
}

#[test]
fn every_command_of_the_log_is_read_and_written_as_its_golden_bytes() {
    let samples = samples::commands();
    for (number, sample) in samples.iter().enumerate() {
        check::<Command>("log", command_name(sample), sample);
        assert!(samples[..number].iter().all(|other| command_name(other) != command_name(sample)));
    }
    check::<RaftMessage>("log", "raft_message", &samples::raft_message());
    check::<HardState>("log", "hard_state", &samples::hard_state());
}

/// Names every command; a new one does not compile without a name, nor pass without a sample.
fn command_name(command: &Command) -> &'static str {
    use command::Body;
    match command.body.as_ref().expect("a sample has a body") {
        Body::JobAccept(_) => "job_accept",
        Body::JobLeader(_) => "job_leader",
        Body::WorkerGrant(_) => "worker_grant",
        Body::WorkerGone(_) => "worker_gone",
        Body::WorkerOwner(_) => "worker_owner",
        Body::WorkerDrain(_) => "worker_drain",
        Body::Assign(_) => "assign",
        Body::Ready(_) => "ready",
        Body::AttemptWindows(_) => "attempt_windows",
        Body::AttemptEnd(_) => "attempt_end",
        Body::Context(_) => "context",
        Body::WorkflowEnd(_) => "workflow_end",
        Body::Cancel(_) => "cancel",
        Body::Control(_) => "control",
        Body::JobEnd(_) => "job_end",
        Body::ClusterVersion(_) => "cluster_version",
        Body::DcAssign(_) => "dc_assign",
        Body::DcEnd(_) => "dc_end",
        Body::DcState(_) => "dc_state",
        Body::JobForget(_) => "job_forget",
        Body::Decide(_) => "decide",
    }
}

/// Appends what a newer version might: field 900, a number, and field 901, bytes.
fn newer(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.extend_from_slice(&[0xa0, 0x38, 0x05, 0xaa, 0x38, 0x02, 0x01, 0x02]);
    bytes
}

fn check_newer<M: Message + Default + PartialEq>(samples: &[M]) {
    for sample in samples {
        assert!(M::decode(&newer(sample.encode_to_vec())[..]).unwrap() == *sample);
    }
}

#[test]
fn unknown_fields_of_a_newer_version_are_ignored() {
    check_newer::<Gossip>(&samples::gossip());
    check_newer::<Control>(&samples::control());
    check_newer::<Bulk>(&samples::bulk());
    check_newer::<Command>(&samples::commands());
    check_newer(&[samples::raft_message()]);
    check_newer(&[samples::hard_state()]);
}

#[test]
fn unknown_fields_deep_inside_are_ignored_too() {
    let node = NodeRef { node_id: 5, ..NodeRef::default() };
    let inner = newer(node.encode_to_vec());
    // Field 4 of a hello, length-delimited.
    let hello = [&[0x22, u8::try_from(inner.len()).unwrap()], &inner[..]].concat();
    assert_eq!(Hello::decode(&hello[..]).unwrap().node, Some(node));
}

#[test]
fn words_of_a_newer_version_are_read_as_unspecified() {
    // Field 3 of a node, a number.
    let node = NodeRef::decode(&[0x18, 99][..]).unwrap();
    assert_eq!((node.role, node.role()), (99, Role::Unspecified));
    assert_eq!(ErrorCode::try_from(9_999).unwrap_or_default(), ErrorCode::Unspecified);
}

/// What tells something that changes its receiver from its repetition; `None`: answers, questions, and what may be said
/// twice. Every body is named: a new one does not compile before it is decided.
fn identity_of(message: &Control) -> Option<usize> {
    use hyperscale_wire::messages::control::Body;
    Some(match message.body.as_ref()? {
        Body::Register(request) => request.request_id.len(),
        Body::Propose(request) => request.request_id.len(),
        Body::Cancel(request) => request.request_id.len(),
        Body::CancelCompletion(request) => request.request_id.len(),
        Body::Drain(request) => request.request_id.len(),
        Body::JobControl(request) => request.control.as_ref().map_or(0, |control| control.request_id.len()),
        Body::JobSubmit(request) => request.idempotency_key.len(),
        Body::Dispatch(request) => {
            request.assignment.as_ref().map_or(0, |it| attempt_of(it.attempt.as_ref()))
        }
        Body::Direct(request) => request.attempt.as_ref().map_or(0, |it| attempt_of(it.attempt.as_ref())),
        Body::JobPartEnd(request) => request.job.as_ref().map_or(0, |job| job.job_id.len()),
        Body::JobLeaderChanged(request) => request.job_leader_token as usize,
        Body::JobEvent(event) => event.sequence as usize,
        // Terms, indices and incarnations tell the first two from what came before; a claim of the same lease is the same
        // claim, and presence is presence. The next four ask, the rest answers.
        Body::Raft(_)
        | Body::Membership(_)
        | Body::LeaseRenew(_)
        | Body::Presence(_)
        | Body::Ping(_)
        | Body::ReadIndex(_)
        | Body::StateRequest(_)
        | Body::BootstrapQuery(_)
        | Body::Error(_)
        | Body::Hello(_)
        | Body::Welcome(_)
        | Body::Pong(_)
        | Body::Registered(_)
        | Body::LeaseRenewed(_)
        | Body::Proposed(_)
        | Body::ReadIndexAnswer(_)
        | Body::DispatchAnswer(_)
        | Body::CancelAnswer(_)
        | Body::CancelCompletionAnswer(_)
        | Body::JobLeaderChangedAnswer(_)
        | Body::StateSnapshot(_)
        | Body::DrainAnswer(_)
        | Body::JobAccepted(_)
        | Body::JobPartEndAnswer(_)
        | Body::JobControlAnswer(_)
        | Body::BootstrapAnswer(_) => return None,
    })
}

/// The same for the bulk plane.
fn bulk_identity_of(message: &Bulk) -> Option<usize> {
    use hyperscale_wire::messages::bulk::Body;
    Some(match message.body.as_ref()? {
        Body::AttemptResult(result) => {
            result.attempt.as_ref().map_or(0, |it| attempt_of(it.attempt.as_ref()))
        }
        Body::BlobPut(request) => request.request_id.len(),
        // Windows have numbers of their own, sums and windows of a whole are the same when they are said twice, and a snapshot
        // has its index. The next one
        // asks, the rest answers.
        Body::Progress(_)
        | Body::Statistics(_)
        | Body::JobProgress(_)
        | Body::Snapshot(_)
        | Body::BlobGet(_)
        | Body::Error(_)
        | Body::Hello(_)
        | Body::Welcome(_)
        | Body::ProgressAnswer(_)
        | Body::AttemptResultAnswer(_)
        | Body::BlobPutAnswer(_)
        | Body::BlobData(_)
        | Body::SnapshotAnswer(_) => return None,
    })
}

fn attempt_of(attempt: Option<&JobAttempt>) -> usize {
    attempt.map_or(0, |attempt| attempt.number as usize)
}

#[test]
fn requests_that_change_something_carry_an_id_and_requests_a_deadline() {
    let (control, bulk) = (samples::control(), samples::bulk());
    assert!(control.iter().all(|sample| sample.deadline_ms > 0), "the envelope has a deadline");
    assert!(bulk.iter().all(|sample| sample.deadline_ms > 0));
    let ids: Vec<usize> = control.iter().filter_map(identity_of).collect();
    assert!(ids.len() == 12 && ids.iter().all(|id| *id > 0), "{ids:?}");
    let ids: Vec<usize> = bulk.iter().filter_map(bulk_identity_of).collect();
    assert!(ids.len() == 2 && ids.iter().all(|id| *id > 0), "{ids:?}");
}
