//! Keys of a terminal in raw mode, read and decoded here.
//!
//! crossterm 0.29 has a reader too. It never returns from reading a terminal that was closed, and it loses a key that comes together
//! with a change of the size, as it asks the kernel for edges and looks at the first of several only.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};

use crate::input::Key;

/// Bytes read at once: more keys than a person presses between two looks. The rest is read with the next look.
const READ_MAX: usize = 256;

/// The keys that come within this time, none if a signal comes first. A terminal that was closed is an error.
pub(crate) fn next_keys(within: Duration) -> io::Result<Vec<Key>> {
    let stdin = io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::IN)];
    let within = Timespec { tv_sec: within.as_secs().cast_signed(), tv_nsec: within.subsec_nanos().into() };
    match poll(&mut waiting, Some(&within)) {
        Ok(0) | Err(Errno::INTR) => return Ok(Vec::new()),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    if !waiting[0].revents().contains(PollFlags::IN) {
        return Err(closed());
    }
    let mut bytes = [0; READ_MAX];
    match read(&stdin, &mut bytes) {
        Ok(0) => Err(closed()),
        Ok(count) => Ok(decode(&bytes[..count])),
        Err(Errno::INTR | Errno::AGAIN) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the terminal was closed")
}

/// The keys that these bytes stand for; what means nothing here is left out. Terminals send the bytes of a key together.
fn decode(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some((key, rest)) = first(bytes) {
        keys.extend(key);
        bytes = rest;
    }
    keys
}

/// The first key, if it is one of ours, and what follows it.
fn first(bytes: &[u8]) -> Option<(Option<Key>, &[u8])> {
    Some(match bytes {
        [] => return None,
        // Arrows are sent in both forms, by the mode of the terminal.
        [0x1b, b'[' | b'O', rest @ ..] => sequence(rest),
        [0x1b, rest @ ..] => (Some(Key::Escape), rest),
        [0x03, rest @ ..] => (Some(Key::Interrupt), rest),
        [b'\r' | b'\n', rest @ ..] => (Some(Key::Enter), rest),
        [b'\t', rest @ ..] => (Some(Key::Next), rest),
        [byte, rest @ ..] if byte.is_ascii_graphic() || *byte == b' ' => {
            (Some(Key::Char(char::from(*byte))), rest)
        }
        [_, rest @ ..] => (None, rest),
    })
}

/// A control sequence: parameters up to a final byte, which says what it is.
fn sequence(bytes: &[u8]) -> (Option<Key>, &[u8]) {
    let Some(end) = bytes.iter().position(|byte| (0x40..=0x7e).contains(byte)) else { return (None, &[]) };
    let key = match bytes[end] {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Next),
        b'D' | b'Z' => Some(Key::Previous),
        _ => None,
    };
    (key, &bytes[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_decoded_and_others_left_out() {
        for (bytes, keys) in [
            (&b"q+ "[..], &[Key::Char('q'), Key::Char('+'), Key::Char(' ')][..]),
            (b"\x1b", &[Key::Escape]),
            (b"\x1b[A\x1b[B\x1bOA", &[Key::Up, Key::Down, Key::Up]),
            (b"\x1b[C\t\x1b[D\x1b[Z", &[Key::Next, Key::Next, Key::Previous, Key::Previous]),
            (b"\x1b[1;5Ax", &[Key::Up, Key::Char('x')]),
            (b"\x1b[15~\x1b[3~y\r", &[Key::Char('y'), Key::Enter]),
            (b"\x03", &[Key::Interrupt]),
            ("ä\x01p".as_bytes(), &[Key::Char('p')]),
            (b"\x1b[", &[]),
            (b"", &[]),
        ] {
            assert_eq!(decode(bytes), keys, "{bytes:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_decoded(bytes: Vec<u8>) {
            proptest::prop_assert!(decode(&bytes).len() <= bytes.len());
        }
    }
}
