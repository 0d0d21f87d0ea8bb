//! One filled-in example of every message. Each field differs from its default, so that a lost field is a lost byte.

mod bulk;
mod control;
mod gossip;
mod log;

use bytes::Bytes;
use hyperscale_wire::messages::*;

pub(crate) use self::bulk::bulk;
pub(crate) use self::control::control;
pub(crate) use self::gossip::gossip;
pub(crate) use self::log::{commands, hard_state, raft_message};

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

const JOB: &str = "0123456789abcdef";

fn node(id: u64, role: Role) -> NodeRef {
    NodeRef {
        node_id: id,
        boot_epoch: 7,
        role: role.into(),
        datacenter: "eu-1".into(),
        gossip_address: "10.0.0.1:7100".into(),
        peer_address: "10.0.0.1:7101".into(),
        api_address: "10.0.0.1:7102".into(),
        name: "m1".into(),
    }
}

fn version() -> VersionRange {
    VersionRange { min: 1, max: 2, current: 1 }
}

fn error() -> Error {
    Error {
        code: ErrorCode::StaleToken.into(),
        message: "the token is stale".into(),
        retry_after_ms: 250,
        details: Some(ErrorDetails {
            current_token: Some(99),
            node: Some(node(3, Role::Manager)),
            voters_reachable: Some(1),
            voters_needed: Some(2),
            version: Some(version()),
            datacenters: vec![DatacenterStatus {
                datacenter: "us-1".into(),
                class: DatacenterClass::Degraded.into(),
                error: Some(Error { code: ErrorCode::Overloaded.into(), ..Error::default() }),
            }],
            subject: "job_leader_token".into(),
        }),
    }
}

fn job() -> JobRef {
    JobRef { job_id: bytes(JOB), datacenter: "eu-1".into(), dc_token: 41 }
}

fn segment() -> SegmentRef {
    SegmentRef { job_id: bytes(JOB), workflow: "checkout".into(), segment: 3 }
}

fn attempt() -> AttemptRef {
    AttemptRef { segment: Some(segment()), attempt: 2 }
}

fn blob() -> BlobRef {
    BlobRef { hash: bytes("0123456789abcdef0123456789abcdef"), length: 4_096 }
}
