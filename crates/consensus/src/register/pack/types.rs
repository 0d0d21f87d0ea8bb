//! The types of the register as bytes. A field, word or variant that is added here changes the layout: see the module above.

use bytes::Bytes;
use hyperscale_types::{BootEpoch, Priority, Token};

use super::{Pack, Sink};
use crate::blob::BlobId;
use crate::register::attempt::{Attempt, AttemptState};
use crate::register::cancel::{CancelRequest, Cancelled};
use crate::register::chunk::{Chunk, ChunkContents};
use crate::register::claim::Claim;
use crate::register::command::{
    DatacenterClass, Group, JobId, LoadChange, Origin, RequestId, Segment, Values,
};
use crate::register::control::Control;
use crate::register::datacenter::Datacenter;
use crate::register::end::{End, EndError, EndStatus};
use crate::register::filling::FillingView;
use crate::register::job::{Job, JobEnd};
use crate::register::jobs::Jobs;
use crate::register::options::{JobOptions, OnIsolation, OnWorkerLoss, Routing, Split};
use crate::register::part::{Part, PartState};
use crate::register::weight::Tally;
use crate::register::worker::{FormerGrant, Promises, Worker};
use crate::register::workflow::{SegmentKind, SegmentRecord, Workflow};

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
    CancelRequest { workflows, named, reason, caller }
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
            pub(in crate::register) fn put_head(&self, out: &mut impl Sink) {
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
        key, plan, options, origin, caller, name, submitted_at_ms, accepted, leader, elapsed_ms, end ;
        cancelled, workflows, controls, decisions, parts
    } else { tally } |job| job.tally = Tally::of(job)
    Workflow { started, elapsed_ms, context, end ; segments } else { set_ups, running, latest } Workflow::recount
    Worker { boot, grant, owner, lease_ms, cores, capabilities, is_draining, held_back ; promised } else { } |_| {}
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
