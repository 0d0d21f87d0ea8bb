//! Where packed bytes go: a buffer, the rolling hash, or a count of them.

use bytes::{BufMut, Bytes, BytesMut};

use crate::apply::Effects;

/// How many bytes a value takes in a snapshot.
pub(in crate::register) fn packed(value: &impl Pack) -> usize {
    let mut count = Count(0);
    value.put(&mut count);
    count.0
}

/// Something that may be unknown, as an option would be put.
pub(in crate::register) fn put_known(value: Option<&impl Pack>, out: &mut impl Sink) {
    value.is_some().put(out);
    if let Some(value) = value {
        value.put(out);
    }
}

/// Where bytes go.
pub(in crate::register) trait Sink {
    fn put_slice(&mut self, bytes: &[u8]);
}

impl Sink for BytesMut {
    fn put_slice(&mut self, bytes: &[u8]) {
        BufMut::put_slice(self, bytes);
    }
}

impl Sink for Effects {
    fn put_slice(&mut self, bytes: &[u8]) {
        self.bytes(bytes);
    }
}

/// Counts what is put.
struct Count(usize);

impl Sink for Count {
    fn put_slice(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

pub(in crate::register) trait Pack: Sized {
    fn put(&self, out: &mut impl Sink);
    fn take(bytes: &mut Bytes) -> Option<Self>;
}
