//! The register as bytes: fields in order, numbers big-endian, lengths before what they count.
//!
//! Positional, hence the format number in front: a snapshot of a format this version does not know is refused.

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use hyperscale_types::{BootEpoch, NodeId, Token};

use super::Register;
use super::command::{EndStatus, JobId, RequestId, Segment, Values};
use super::job::{Attempt, AttemptState, Cancelled, Job, JobEnd};
use super::worker::Worker;
use crate::apply::RestoreError;
use crate::blob::BlobId;

const FORMAT: u8 = 1;

pub(super) fn write(register: &Register) -> Bytes {
    let mut out = BytesMut::new();
    out.put_u8(FORMAT);
    register.jobs.put(&mut out);
    register.keys.put(&mut out);
    register.workers.put(&mut out);
    register.version.put(&mut out);
    out.freeze()
}

/// Empty bytes are an empty register.
pub(super) fn read(register: &mut Register, mut bytes: Bytes) -> Result<(), RestoreError> {
    let fresh = |register: &Register| {
        let mut fresh = register.clone();
        (fresh.jobs, fresh.keys, fresh.workers, fresh.version) = Default::default();
        fresh
    };
    let mut read = fresh(register);
    if !bytes.is_empty() {
        let format = bytes.get_u8();
        if format != FORMAT {
            return Err(RestoreError(format!("unknown format {format} of the register")));
        }
        read_fields(&mut read, &mut bytes)
            .ok_or_else(|| RestoreError("the register is cut short".to_owned()))?;
        if bytes.has_remaining() {
            return Err(RestoreError("the register is followed by something".to_owned()));
        }
    }
    *register = read;
    Ok(())
}

fn read_fields(register: &mut Register, bytes: &mut Bytes) -> Option<()> {
    register.jobs = Pack::take(bytes)?;
    register.keys = Pack::take(bytes)?;
    register.workers = Pack::take(bytes)?;
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
    Job { key, plan, gate_token, leader, end, cancelled, segments, contexts, workflows }
    JobEnd { status, result, index }
    Cancelled { whole, workflows, requests }
    Attempt { number, worker, grant, cores, vus, state }
    Worker { boot, grant, lease_ms, cores, promised }
    Segment { job, workflow, number }
    BlobId { hash, length }
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

impl Pack for EndStatus {
    fn put(&self, out: &mut BytesMut) {
        let number: u8 = match self {
            Self::Completed => 1,
            Self::Partial => 2,
            Self::Failed => 3,
            Self::Cancelled => 4,
            Self::TimedOut => 5,
            Self::Skipped => 6,
            Self::Lost => 7,
            Self::Refused => 8,
        };
        number.put(out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some(match u8::take(bytes)? {
            1 => Self::Completed,
            2 => Self::Partial,
            3 => Self::Failed,
            4 => Self::Cancelled,
            5 => Self::TimedOut,
            6 => Self::Skipped,
            7 => Self::Lost,
            8 => Self::Refused,
            _ => return None,
        })
    }
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
