//! Hot: asked for every answer. Copies only a head that differs from the one before.
//!
//! Most answers to the same request begin with the very same head (its `date` changes once a second). A head that is
//! equal byte for byte says the same, so it is compared instead of parsed.

use crate::http::h1::head::Meaning;

/// A longer head is not remembered: comparing and copying it would cost more than it saves.
const HEAD_BYTES_MAX: usize = 2048;

/// What a head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// The bytes of the head.
    pub(crate) length: usize,
    /// The status code.
    pub(crate) status: u16,
    /// Whether it answers a HEAD request, which decides about the body.
    pub(crate) to_head: bool,
    /// About body and connection.
    pub(crate) meaning: Meaning,
}

/// The final head that came last.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    head: Vec<u8>,
    known: Option<Known>,
}

impl Memo {
    /// What the head at the beginning of these bytes says, if it is the remembered one.
    #[inline]
    pub(crate) fn recall(&self, input: &[u8], to_head: bool) -> Option<Known> {
        let known = self.known.filter(|known| known.to_head == to_head)?;
        (input.get(..known.length)? == self.head).then_some(known)
    }

    /// Remembers a head and what it says.
    pub(crate) fn remember(&mut self, head: &[u8], known: Known) {
        self.known = None;
        if head.len() <= HEAD_BYTES_MAX {
            self.head.clear();
            self.head.extend_from_slice(head);
            self.known = Some(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::h1::head::Framing;

    fn known(head: &[u8]) -> Known {
        let meaning = Meaning { framing: Framing::Length(2), keep_alive: true };
        Known { length: head.len(), status: 200, to_head: false, meaning }
    }

    #[test]
    fn only_the_whole_same_head_is_recalled() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
        let mut memo = Memo::default();
        assert_eq!(memo.recall(head, false), None);
        memo.remember(head, known(head));
        assert_eq!(memo.recall(head, false), Some(known(head)));
        assert_eq!(memo.recall(&[head, &b"ok"[..]].concat(), false), Some(known(head)));
        assert_eq!(memo.recall(head, true), None, "an answer to HEAD has no body");
        assert_eq!(memo.recall(&head[..head.len() - 1], false), None);
        assert_eq!(memo.recall(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc", false), None);
    }

    #[test]
    fn a_head_that_is_too_long_replaces_nothing_by_a_lie() {
        let (short, long) = (b"HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; HEAD_BYTES_MAX + 1]);
        let mut memo = Memo::default();
        memo.remember(short, known(short));
        memo.remember(&long, known(&long));
        assert_eq!(memo.recall(&long, false), None);
        assert_eq!(memo.recall(short, false), None);
    }
}
