//! The register as bytes: fields in order, numbers big-endian, lengths before what they count.
//!
//! Positional, hence the format number in front: a snapshot of a format this version does not know is refused. The rolling
//! hash is taken over the same layout, so that it does not depend on the build. Whoever adds a field puts it into the hash
//! only from the `ClusterVersion` on that brings it: until then builds without it take part and must come to the same hash.
//!
//! Not protobuf, as commands and messages are, because that would cost something and save nothing:
//! - The hash needs one byte string per state on every build. Protobuf promises none (order of map entries and fields, unknown
//!   fields), so this layout of all these types would stay, and the weights of jobs are counted by it too. Messages of the same 30 types
//!   and conversions in both directions would come on top.
//! - Generated messages own their fields: to encode a snapshot, a second copy of the whole register would be built first. Here the
//!   view shares jobs with the register, and every field is written once.
//! - A field that an older build does not know must not be skipped: its replica would go on with another state than the others.
//!   The format number refuses the snapshot instead.

mod primitive;
mod sink;

pub(super) use sink::{Pack, Sink, packed, put_known};

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use hyperscale_types::{BootEpoch, NodeId, Priority, Token};

use super::Register;
use super::attempt::{Attempt, AttemptState};
use super::cancel::{CancelRequest, Cancelled};
use super::chunk::{Chunk, ChunkContents};
use super::claim::{Claim, Claims};
use super::command::{DatacenterClass, Group, JobId, LoadChange, Origin, RequestId, Segment, Values};
use super::control::Control;
use super::datacenter::Datacenter;
use super::end::{End, EndError, EndStatus};
use super::ended::Ended;
use super::filling::{Filling, FillingView};
use super::job::{Job, JobEnd};
use super::jobs::Jobs;
use super::options::{JobOptions, OnIsolation, OnWorkerLoss, Routing, Split};
use super::part::{Part, PartState};
use super::weight::Tally;
use super::worker::{FormerGrant, Promises, Worker};
use super::workflow::{SegmentKind, SegmentRecord, Workflow};
use crate::apply::RestoreError;
use crate::blob::BlobId;

const FORMAT: u8 = 1;

/// What a snapshot holds, as it was when the view was made. Jobs are shared with the register, the rest is small.
pub(super) struct View {
    group: Group,
    jobs: Jobs,
    workers: BTreeMap<NodeId, Worker>,
    former: BTreeMap<(NodeId, Token), FormerGrant>,
    datacenters: BTreeMap<String, Datacenter>,
    claims: BTreeMap<JobId, Claim>,
    chunks: BTreeMap<u64, Chunk>,
    filling: Option<FillingView>,
    version: u32,
}

impl View {
    pub(super) fn of(register: &Register) -> Self {
        Self {
            group: register.group,
            jobs: register.jobs.clone(),
            workers: register.workers.clone(),
            former: register.former.clone(),
            datacenters: register.datacenters.clone(),
            claims: register.claims.by_job.clone(),
            chunks: register.ended.chunks().clone(),
            filling: register.ended.filling.as_ref().map(Filling::view),
            version: register.version,
        }
    }

    pub(super) fn write(&self) -> Bytes {
        let mut out = BytesMut::new();
        FORMAT.put(&mut out);
        self.group.put(&mut out);
        self.jobs.put(&mut out);
        self.workers.put(&mut out);
        self.former.put(&mut out);
        self.datacenters.put(&mut out);
        self.claims.put(&mut out);
        self.chunks.put(&mut out);
        self.filling.put(&mut out);
        self.version.put(&mut out);
        out.freeze()
    }
}

/// Empty bytes are an empty register.
pub(super) fn read(register: &mut Register, mut bytes: Bytes) -> Result<(), RestoreError> {
    let mut read = Register::new(register.group).with_sizes(register.sizes);
    #[cfg(feature = "bugs")]
    read.bugs.clone_from(&register.bugs);
    if !bytes.is_empty() {
        let format = bytes.get_u8();
        if format != FORMAT {
            return Err(RestoreError(format!("unknown format {format} of the register")));
        }
        read_fields(&mut read, &mut bytes)
            .ok_or_else(|| RestoreError("the register is cut short".to_owned()))?;
        if read.group != register.group {
            return Err(RestoreError("it is the register of another kind of group".to_owned()));
        }
        if bytes.has_remaining() {
            return Err(RestoreError("the register is followed by something".to_owned()));
        }
    }
    *register = read;
    Ok(())
}

fn read_fields(register: &mut Register, bytes: &mut Bytes) -> Option<()> {
    register.group = Pack::take(bytes)?;
    register.jobs = Pack::take(bytes)?;
    register.workers = Pack::take(bytes)?;
    register.former = Pack::take(bytes)?;
    register.datacenters = Pack::take(bytes)?;
    register.claims = Claims::new(Pack::take(bytes)?);
    let (chunks, filling): (_, Option<FillingView>) = (Pack::take(bytes)?, Pack::take(bytes)?);
    register.ended = Ended::new(chunks, filling.map(|filling| filling.read().ok_or(())).transpose().ok()?);
    register.version = Pack::take(bytes)?;
    register.bind_all();
    register.recount();
    Some(())
}

/// A structure is its fields in order.
macro_rules! fields {
    ($($type:ident { $($field:ident),+ $(,)? })+) => {$(
        impl Pack for $type {
            fn put(&self, out: &mut impl Sink) {
                $(self.$field.put(out);)+
            }
            fn take(bytes: &mut Bytes) -> Option<Self> {
                Some(Self { $($field: Pack::take(bytes)?),+ })
            }
        }
    )+};
}

fields! {
    JobOptions {
        on_isolation, on_worker_loss, timeout_ms, queue_timeout_ms, max_retries, retry_budget, spread, routing,
        callback, priority, retain_ms, share_ppm,
    }
    Routing { datacenters, datacenter_count, prefer, fallback, datacenter_retries, split }
    Origin { datacenter, part, gate_token }
    JobEnd { how, index }
    End { status, result, error }
    EndError { code, message, subject }
    Cancelled { whole, workflows, requests }
    CancelRequest { reason, caller }
    Attempt { number, worker, grant, group, cores, vus, elapsed_ms, iterations_left, state }
    SegmentRecord { kind, attempts }
    Claim { index, priority, least_cores, workflows }
    Chunk { blob, contents }
    ChunkContents { first, last, jobs, retain_ms, logical_bytes, replaced }
    FillingView { number, contents, bytes }
    FormerGrant { boot, lease_ms, promised }
    Segment { job, workflow, number }
    BlobId { hash, length }
    Control { workflow, change, request, index }
    Part { try_number, share_ppm, state }
    Datacenter { class, proposer, index }
}

/// A wrapper is what it wraps.
macro_rules! wrappers {
    ($($type:ident)+) => {$(
        impl Pack for $type {
            fn put(&self, out: &mut impl Sink) {
                self.0.put(out);
            }
            fn take(bytes: &mut Bytes) -> Option<Self> {
                Pack::take(bytes).map($type)
            }
        }
    )+};
}

wrappers! { JobId RequestId Token BootEpoch Jobs }

/// A word is its number.
macro_rules! words {
    ($($type:ident { $($word:ident = $number:literal),+ $(,)? })+) => {$(
        impl Pack for $type {
            fn put(&self, out: &mut impl Sink) {
                let number: u8 = match self { $(Self::$word => $number),+ };
                number.put(out);
            }
            fn take(bytes: &mut Bytes) -> Option<Self> {
                Some(match u8::take(bytes)? { $($number => Self::$word,)+ _ => return None })
            }
        }
    )+};
}

words! {
    EndStatus {
        Completed = 1, Partial = 2, Failed = 3, Cancelled = 4, TimedOut = 5, Skipped = 6, Lost = 7, Refused = 8,
    }
    Group { Managers = 1, Gates = 2 }
    SegmentKind { SetUp = 1, Load = 2, TearDown = 3 }
    Priority { Low = 1, Auto = 2, Normal = 3, High = 4, Exclusive = 5 }
    OnIsolation { Stop = 1, Finish = 2 }
    OnWorkerLoss { Resume = 1, Restart = 2, Fail = 3 }
    Split { Replicate = 1, Divide = 2 }
    DatacenterClass { Unhealthy = 1, Degraded = 2, Busy = 3, Healthy = 4 }
}

/// A structure whose large parts are reported to the hash one by one: its head, then those. What follows from the rest is
/// counted again when it is read.
macro_rules! heads {
    ($($type:ident { $($field:ident),+ ; $($part:ident),+ } else { $($derived:ident),* } $recount:expr)+) => {$(
        impl $type {
            /// Without its large parts.
            pub(super) fn put_head(&self, out: &mut impl Sink) {
                $(self.$field.put(out);)+
            }
        }

        impl Pack for $type {
            fn put(&self, out: &mut impl Sink) {
                self.put_head(out);
                $(self.$part.put(out);)+
            }
            fn take(bytes: &mut Bytes) -> Option<Self> {
                let mut taken = Self {
                    $($field: Pack::take(bytes)?,)+
                    $($part: Pack::take(bytes)?,)+
                    $($derived: Default::default(),)*
                };
                let recount: fn(&mut Self) = $recount;
                recount(&mut taken);
                Some(taken)
            }
        }
    )+};
}

heads! {
    Job {
        key, plan, options, origin, caller, accepted, leader, elapsed_ms, end ;
        cancelled, workflows, controls, parts
    } else { tally } |job| job.tally = Tally::of(job)
    Workflow { started, elapsed_ms, context, end ; segments } else { set_ups, running, latest } Workflow::recount
    Worker { boot, grant, owner, lease_ms, cores, capabilities, held_back ; promised } else { } |_| {}
}

impl Pack for AttemptState {
    fn put(&self, out: &mut impl Sink) {
        match self {
            Self::Running => 1u8.put(out),
            Self::Lost { windows } => {
                2u8.put(out);
                windows.put(out);
            }
            Self::Ended(end) => {
                3u8.put(out);
                end.put(out);
            }
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some(match u8::take(bytes)? {
            1 => Self::Running,
            2 => Self::Lost { windows: Pack::take(bytes)? },
            3 => Self::Ended(Pack::take(bytes)?),
            _ => return None,
        })
    }
}

impl Pack for Promises {
    fn put(&self, out: &mut impl Sink) {
        self.segments.put(out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Pack::take(bytes).map(Self::new)
    }
}

impl Pack for Values {
    fn put(&self, out: &mut impl Sink) {
        match self {
            Self::Inline(values) => {
                1u8.put(out);
                values.put(out);
            }
            Self::Blob(blob) => {
                2u8.put(out);
                blob.put(out);
            }
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some(match u8::take(bytes)? {
            1 => Self::Inline(Pack::take(bytes)?),
            2 => Self::Blob(Pack::take(bytes)?),
            _ => return None,
        })
    }
}

impl Pack for LoadChange {
    fn put(&self, out: &mut impl Sink) {
        match self {
            Self::Vus(vus) => (1u8, *vus).put(out),
            Self::RateMilli(rate) => (2u8, *rate).put(out),
            Self::Pause => 3u8.put(out),
            Self::Resume => 4u8.put(out),
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some(match u8::take(bytes)? {
            1 => Self::Vus(Pack::take(bytes)?),
            2 => Self::RateMilli(Pack::take(bytes)?),
            3 => Self::Pause,
            4 => Self::Resume,
            _ => return None,
        })
    }
}

impl Pack for PartState {
    fn put(&self, out: &mut impl Sink) {
        match self {
            Self::Running => 1u8.put(out),
            Self::Ended(end) => {
                2u8.put(out);
                end.put(out);
            }
            Self::Lost { late } => {
                3u8.put(out);
                late.put(out);
            }
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some(match u8::take(bytes)? {
            1 => Self::Running,
            2 => Self::Ended(Pack::take(bytes)?),
            3 => Self::Lost { late: Pack::take(bytes)? },
            _ => return None,
        })
    }
}
