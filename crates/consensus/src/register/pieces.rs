//! Bytes that are appended to and can be shared at any time without copying them.
//!
//! A snapshot holds the chunk that is being filled, up to 8 MiB, and its view is taken between two heartbeats. What was appended
//! lies in pieces that are not written any more once they are full: a view shares those and copies only the last one.

use bytes::{Bytes, BytesMut};

use super::pack::{Pack, Sink};

/// A piece is full at this size. It bounds what sharing copies, and with one append on top what a piece holds.
const PIECE_BYTES: usize = 64 << 10;

/// The pieces in order. Where one ends depends only on what was appended, so that equal contents have equal pieces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pieces {
    full: Vec<Bytes>,
    last: BytesMut,
    len: usize,
}

impl Pieces {
    /// Bytes in all pieces.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends what is written, and shows it.
    pub(super) fn append(&mut self, write: impl FnOnce(&mut BytesMut), show: impl FnOnce(&[u8])) {
        let from = self.last.len();
        write(&mut self.last);
        show(&self.last[from..]);
        self.len += self.last.len() - from;
        if self.last.len() >= PIECE_BYTES {
            let full = std::mem::replace(&mut self.last, BytesMut::with_capacity(PIECE_BYTES));
            self.full.push(full.freeze());
        }
    }

    /// The same bytes as they are now.
    pub(super) fn share(&self) -> SharedPieces {
        let last = Bytes::copy_from_slice(&self.last);
        SharedPieces(self.full.iter().cloned().chain([last]).collect())
    }

    /// All bytes in one piece. Copies them.
    pub(super) fn join(&self) -> Bytes {
        let mut joined = BytesMut::with_capacity(self.len);
        for piece in self.full.iter().map(Bytes::as_ref).chain([self.last.as_ref()]) {
            joined.extend_from_slice(piece);
        }
        joined.freeze()
    }
}

/// Bytes in pieces that nobody appends to. Packed like the same bytes in one piece, and read back as one.
pub(super) struct SharedPieces(Vec<Bytes>);

impl SharedPieces {
    /// The bytes in one piece, without copying them if they are one already.
    pub(super) fn into_bytes(mut self) -> Bytes {
        if self.0.len() == 1 { self.0.swap_remove(0) } else { self.0.concat().into() }
    }
}

impl Pack for SharedPieces {
    fn put(&self, out: &mut impl Sink) {
        (self.0.iter().map(Bytes::len).sum::<usize>() as u32).put(out);
        for piece in &self.0 {
            out.put_slice(piece);
        }
    }
    fn take(bytes: &mut Bytes) -> Option<Self> {
        Some(Self(vec![Pack::take(bytes)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn appended(count: usize) -> Pieces {
        let mut pieces = Pieces::default();
        for number in 0..count {
            let text = vec![number as u8; 1000];
            pieces.append(|out| out.extend_from_slice(&text), |shown| assert_eq!(shown, text));
        }
        pieces
    }

    fn packed(value: &impl Pack) -> Bytes {
        let mut out = BytesMut::new();
        value.put(&mut out);
        out.freeze()
    }

    #[test]
    fn pieces_are_packed_like_one_and_read_back() {
        let pieces = appended(200);
        assert_eq!((pieces.len(), pieces.full.len()), (200_000, 3));
        let mut bytes = packed(&pieces.share());
        assert_eq!(bytes, packed(&pieces.join()));
        assert_eq!(SharedPieces::take(&mut bytes).unwrap().into_bytes(), pieces.join());
        assert_eq!(pieces.share().into_bytes(), pieces.join());
    }

    #[test]
    fn what_was_shared_stays_as_it_was_and_full_pieces_are_not_copied() {
        let mut pieces = appended(100);
        let (shared, before) = (pieces.share(), pieces.join());
        assert_eq!(shared.0[0].as_ptr(), pieces.full[0].as_ptr());
        pieces.append(|out| out.extend_from_slice(b"more"), |_| {});
        assert_eq!(shared.into_bytes(), before);
        assert_ne!(pieces.join(), before);
    }
}
