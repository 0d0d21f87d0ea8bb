//! The register as bytes: fields in order, numbers big-endian, lengths before what they count.
//!
//! Positional, hence the format number in front: a snapshot of a format this version does not know is refused.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use hyperscale_types::{BootEpoch, NodeId, Token};

use super::Register;
use super::command::{DatacenterClass, EndStatus, Group, JobId, LoadChange, RequestId, Segment, Values};
use super::control::Control;
use super::datacenter::Datacenter;
use super::job::{Attempt, AttemptState, Cancelled, Job, JobEnd};
use super::part::{Part, PartEnd, PartState};
use super::worker::Worker;
use crate::apply::RestoreError;
use crate::blob::BlobId;

const FORMAT: u8 = 1;

pub(super) fn write(register: &Register) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(FORMAT);
    register.group.put(&mut out);
    register.jobs.put(&mut out);
    register.keys.put(&mut out);
    register.workers.put(&mut out);
    register.datacenters.put(&mut out);
    register.version.put(&mut out);
    out.freeze()
}

/// Empty bytes are an empty register.
pub(super) fn read(register: &mut Register, mut bytes: Bytes) -> Result<(), RestoreError> {
    let mut read = Register::new(register.group);
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
    register.keys = Pack::take(bytes)?;
    register.workers = Pack::take(bytes)?;
    register.datacenters = Pack::take(bytes)?;
    register.version = Pack::take(bytes)?;
    Some(())
}

trait Pack: Sized {
    fn put(&self, out: &mut BytesMut);
    fn take(bytes: &mut Bytes) -> Option<Self>;
}

/// A structure is its fields in order.
macro_rules! fields {
    ($($type:ident { $($field:ident),+ $(,)? })+) => {$(
        impl Pack for $type {
            fn put(&self, out: &mut BytesMut) {
                $(self.$field.put(out);)+
            }
            fn take(bytes: &mut Bytes) -> Option<Self> {
                Some(Self { $($field: Pack::take(bytes)?),+ })
            }
        }
    )+};
}

fields! {
    Job { key, plan, gate_token, leader, end, cancelled, segments, contexts, workflows, controls, parts }
    JobEnd { status, result, index }
    Cancelled { whole, workflows, requests }
    Attempt { number, worker, grant, cores, vus, state }
    Worker { boot, grant, lease_ms, cores, promised }
    Segment { job, workflow, number }
    BlobId { hash, length }
    Control { workflow, change, request, index }
    Part { try_number, share_ppm, state }
    PartEnd { status, result }
    Datacenter { class, proposer, index }
}

/// A wrapper is what it wraps.
macro_rules! wrappers {
    ($($type:ident)+) => {$(
        impl Pack for $type {
            fn put(&self, out: &mut BytesMut) {
                self.0.put(out);
            }
            fn take(bytes: &mut Bytes) -> Option<Self> {
                Pack::take(bytes).map($type)
            }
        }
    )+};
}

wrappers! { JobId RequestId Token BootEpoch }

impl Pack for u8 {
    fn put(&self, out: &mut BytesMut) {
        out.put_u8(*self);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        bytes.try_get_u8().ok()
    }
}

impl Pack for u32 {
    fn put(&self, out: &mut BytesMut) {
        out.put_u32(*self);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        bytes.try_get_u32().ok()
    }
}

impl Pack for u64 {
    fn put(&self, out: &mut BytesMut) {
        out.put_u64(*self);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        bytes.try_get_u64().ok()
    }
}

impl Pack for bool {
    fn put(&self, out: &mut BytesMut) {
        u8::from(*self).put(out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        match u8::take(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl<const N: usize> Pack for [u8; N] {
    fn put(&self, out: &mut BytesMut) {
        out.put_slice(self);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        let mut taken = [0; N];
        bytes.try_copy_to_slice(&mut taken).ok()?;
        Some(taken)
    }
}

impl Pack for Bytes {
    fn put(&self, out: &mut BytesMut) {
        (self.len() as u32).put(out);
        out.put_slice(self);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        let length = u32::take(bytes)? as usize;
        (length <= bytes.len()).then(|| bytes.split_to(length))
    }
}

impl Pack for String {
    fn put(&self, out: &mut BytesMut) {
        (self.len() as u32).put(out);
        out.put_slice(self.as_bytes());
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Self::from_utf8(<Bytes as Pack>::take(bytes)?.into()).ok()
    }
}

impl Pack for NodeId {
    fn put(&self, out: &mut BytesMut) {
        self.get().put(out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Self::new(u64::take(bytes)?)
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn put(&self, out: &mut BytesMut) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some((A::take(bytes)?, B::take(bytes)?))
    }
}

impl<T: Pack> Pack for Option<T> {
    fn put(&self, out: &mut BytesMut) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        if bool::take(bytes)? { T::take(bytes).map(Some) } else { Some(None) }
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn put(&self, out: &mut BytesMut) {
        (self.len() as u32).put(out);
        for value in self {
            value.put(out);
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        (0..u32::take(bytes)?).map(|_| T::take(bytes)).collect()
    }
}

impl<T: Pack + Ord> Pack for BTreeSet<T> {
    fn put(&self, out: &mut BytesMut) {
        (self.len() as u32).put(out);
        for value in self {
            value.put(out);
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        (0..u32::take(bytes)?).map(|_| T::take(bytes)).collect()
    }
}

impl<K: Pack + Ord, V: Pack> Pack for BTreeMap<K, V> {
    fn put(&self, out: &mut BytesMut) {
        (self.len() as u32).put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        (0..u32::take(bytes)?).map(|_| <(K, V)>::take(bytes)).collect()
    }
}

/// A word is its number.
macro_rules! words {
    ($($type:ident { $($word:ident = $number:literal),+ $(,)? })+) => {$(
        impl Pack for $type {
            fn put(&self, out: &mut BytesMut) {
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
    DatacenterClass { Unhealthy = 1, Degraded = 2, Busy = 3, Healthy = 4 }
}

impl Pack for AttemptState {
    fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Running => 1u8.put(out),
            Self::Lost => 2u8.put(out),
            Self::Ended(status, result) => {
                3u8.put(out);
                status.put(out);
                result.put(out);
            }
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some(match u8::take(bytes)? {
            1 => Self::Running,
            2 => Self::Lost,
            3 => Self::Ended(Pack::take(bytes)?, Pack::take(bytes)?),
            _ => return None,
        })
    }
}

impl Pack for Values {
    fn put(&self, out: &mut BytesMut) {
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
    fn put(&self, out: &mut BytesMut) {
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
    fn put(&self, out: &mut BytesMut) {
        match self {
            Self::Running => 1u8.put(out),
            Self::Ended(end) => (2u8, *end).put(out),
            Self::Lost { late } => (3u8, *late).put(out),
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
