//! Numbers, texts and collections as bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use hyperscale_types::NodeId;

use super::{Pack, Sink, put_known};

impl Pack for u8 {
    fn put(&self, out: &mut impl Sink) {
        out.put_slice(&[*self]);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        bytes.try_get_u8().ok()
    }
}

impl Pack for u32 {
    fn put(&self, out: &mut impl Sink) {
        out.put_slice(&self.to_be_bytes());
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        bytes.try_get_u32().ok()
    }
}

impl Pack for i32 {
    fn put(&self, out: &mut impl Sink) {
        out.put_slice(&self.to_be_bytes());
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        bytes.try_get_i32().ok()
    }
}

impl Pack for u64 {
    fn put(&self, out: &mut impl Sink) {
        out.put_slice(&self.to_be_bytes());
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        bytes.try_get_u64().ok()
    }
}

impl Pack for bool {
    fn put(&self, out: &mut impl Sink) {
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
    fn put(&self, out: &mut impl Sink) {
        out.put_slice(self);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        let mut taken = [0; N];
        bytes.try_copy_to_slice(&mut taken).ok()?;
        Some(taken)
    }
}

impl Pack for Bytes {
    fn put(&self, out: &mut impl Sink) {
        (self.len() as u32).put(out);
        out.put_slice(self);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        let length = u32::take(bytes)? as usize;
        (length <= bytes.len()).then(|| bytes.split_to(length))
    }
}

impl Pack for String {
    fn put(&self, out: &mut impl Sink) {
        (self.len() as u32).put(out);
        out.put_slice(self.as_bytes());
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Self::from_utf8(<Bytes as Pack>::take(bytes)?.into()).ok()
    }
}

impl Pack for NodeId {
    fn put(&self, out: &mut impl Sink) {
        self.get().put(out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Self::new(u64::take(bytes)?)
    }
}

impl<A: Pack, B: Pack> Pack for (A, B) {
    fn put(&self, out: &mut impl Sink) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some((A::take(bytes)?, B::take(bytes)?))
    }
}

impl<T: Pack> Pack for Option<T> {
    fn put(&self, out: &mut impl Sink) {
        put_known(self.as_ref(), out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        if bool::take(bytes)? { T::take(bytes).map(Some) } else { Some(None) }
    }
}

impl<T: Pack> Pack for Vec<T> {
    fn put(&self, out: &mut impl Sink) {
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
    fn put(&self, out: &mut impl Sink) {
        (self.len() as u32).put(out);
        for value in self {
            value.put(out);
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        (0..u32::take(bytes)?).map(|_| T::take(bytes)).collect()
    }
}

/// Something shared is what it is.
impl<T: Pack> Pack for Arc<T> {
    fn put(&self, out: &mut impl Sink) {
        self.as_ref().put(out);
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        T::take(bytes).map(Self::new)
    }
}

impl<K: Pack + Ord, V: Pack> Pack for BTreeMap<K, V> {
    fn put(&self, out: &mut impl Sink) {
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
