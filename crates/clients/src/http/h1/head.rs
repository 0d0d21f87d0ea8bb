//! Hot: run for every answer. No allocation.
//!
//! The head of an answer: what it says about the body that follows and about the connection (RFC 9112, sections 6
//! and 9.3).

use std::borrow::Cow;
use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};
use hyperscale_types::limits::RESPONSE_HEADERS_MAX;

/// Why bytes are not an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    /// Not HTTP/1.x at all.
    #[error("the answer is not HTTP/1.x")]
    NotHttp,
    /// A field that the grammar does not allow.
    #[error("malformed header field")]
    Field,
    /// More fields than [`RESPONSE_HEADERS_MAX`].
    #[error("more than {RESPONSE_HEADERS_MAX} header fields")]
    Fields,
    /// A longer head than [`hyperscale_types::limits::RESPONSE_HEAD_MAX`].
    #[error("the answer's head is longer than 64 KiB")]
    HeadLength,
    /// `content-length` is no number, or there are several.
    #[error("bad content-length")]
    ContentLength,
    /// The chunked coding is broken.
    #[error("bad chunked encoding")]
    Chunk,
    /// More interim answers than anybody sends.
    #[error("too many 1xx answers")]
    Interim,
    /// Bytes after the end of the answer, though nothing was asked.
    #[error("bytes after the end of the answer")]
    Surplus,
    /// The body is longer than `max_body`.
    #[error("the body is larger than max_body")]
    BodyLength,
}

/// How the end of a body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// After so many bytes.
    Length(u64),
    /// By the last chunk.
    Chunked,
    /// When the peer closes the connection.
    Close,
}

/// A head with its fields, borrowed from the bytes it was read from.
pub(crate) struct Head<'h, 'b> {
    /// Its length in bytes.
    pub(crate) length: usize,
    /// The status code.
    pub(crate) status: u16,
    /// Whether the version is 1.1, not 1.0.
    pub(crate) http11: bool,
    /// The fields.
    pub(crate) fields: &'h [Header<'b>],
}

/// Room for the fields of a head, on the stack and never initialised.
pub(crate) type Fields<'b> = [MaybeUninit<Header<'b>>; RESPONSE_HEADERS_MAX];

/// Room for fields.
pub(crate) const fn fields<'b>() -> Fields<'b> {
    [const { MaybeUninit::uninit() }; RESPONSE_HEADERS_MAX]
}

impl<'h, 'b> Head<'h, 'b> {
    /// Reads a head; `None` if it is not complete yet.
    pub(crate) fn parse(bytes: &'b [u8], room: &'h mut Fields<'b>) -> Result<Option<Self>, Malformed> {
        let mut response = httparse::Response::new(&mut []);
        let mut config = ParserConfig::default();
        // Old servers fold long fields; RFC 9112, section 5.2, wants them read.
        config.allow_obsolete_multiline_headers_in_responses(true);
        let parsed = config.parse_response_with_uninit_headers(&mut response, bytes, room);
        match parsed {
            Ok(Status::Partial) => Ok(None),
            Ok(Status::Complete(length)) => Ok(Some(Head {
                length,
                status: response.code.ok_or(Malformed::NotHttp)?,
                http11: response.version == Some(1),
                fields: response.headers,
            })),
            Err(httparse::Error::TooManyHeaders) => Err(Malformed::Fields),
            Err(httparse::Error::HeaderName | httparse::Error::HeaderValue) => Err(Malformed::Field),
            Err(_) => Err(Malformed::NotHttp),
        }
    }

    /// What the head says about body and connection. `to_head`: it answers a HEAD request.
    pub(crate) fn meaning(&self, to_head: bool) -> Result<Meaning, Malformed> {
        let mut length = None;
        let mut coding = None;
        let mut keep_alive = self.http11;
        for field in self.fields {
            if is_named(field.name, b"content-length") {
                length = Some(one_length(length, field.value)?);
            } else if is_named(field.name, b"connection") {
                keep_alive = says_keep_alive(field.value, keep_alive);
            } else if is_named(field.name, b"transfer-encoding") {
                coding = Some(last_is_chunked(field.value));
            }
        }
        let framing = match (coding, length) {
            _ if to_head || matches!(self.status, 100..=199 | 204 | 304) => Framing::Length(0),
            (Some(true), _) => Framing::Chunked,
            (None, Some(length)) => Framing::Length(length),
            (Some(false), _) | (None, None) => Framing::Close,
        };
        // Both length and coding: RFC 9112, section 6.1, wants the connection closed after it.
        let both = coding.is_some() && length.is_some();
        let keep_alive = keep_alive && framing != Framing::Close && !both && self.status != 101;
        Ok(Meaning { framing, keep_alive })
    }
}

/// A value without its line ends: each fold is a space.
pub(crate) fn unfolded(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'\n') {
        return Cow::Borrowed(value);
    }
    let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    Cow::Owned(lines.collect::<Vec<_>>().join(&b' '))
}

/// Whether a field has this lower-case name, which has letters and `-` only. The length is known when compiling and no
/// byte ends the comparison early: it becomes a few instructions.
#[inline]
pub(crate) fn is_named<const N: usize>(name: &str, lower: &[u8; N]) -> bool {
    let Ok(name) = <&[u8; N]>::try_from(name.as_bytes()) else {
        return false;
    };
    // Setting this bit turns capitals into small letters and leaves `-` alone; no other character of a name becomes one.
    name.iter().zip(lower).fold(0, |different, (byte, lower)| different | ((byte | 0x20) ^ lower)) == 0
}

/// What a head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// How the body's end is found.
    pub(crate) framing: Framing,
    /// Whether the connection can be used again afterwards.
    pub(crate) keep_alive: bool,
}

/// Reads a `content-length`; a list or a second field is only accepted with equal numbers.
fn one_length(before: Option<u64>, value: &[u8]) -> Result<u64, Malformed> {
    let mut length = before;
    for item in value.split(|byte| *byte == b',') {
        let item = parse_decimal(item.trim_ascii()).ok_or(Malformed::ContentLength)?;
        if length.is_some_and(|before| before != item) {
            return Err(Malformed::ContentLength);
        }
        length = Some(item);
    }
    length.ok_or(Malformed::ContentLength)
}

fn parse_decimal(digits: &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for byte in digits {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    (!digits.is_empty()).then_some(number)
}

fn last_is_chunked(value: &[u8]) -> bool {
    let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
    last.trim_ascii().eq_ignore_ascii_case(b"chunked")
}

/// `connection` is a list; `close` wins over everything.
fn says_keep_alive(value: &[u8], before: bool) -> bool {
    let mut keep_alive = before;
    for option in value.split(|byte| *byte == b',') {
        let option = option.trim_ascii();
        if option.eq_ignore_ascii_case(b"close") {
            return false;
        }
        keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
    }
    keep_alive
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(text: &str, to_head: bool) -> Result<Meaning, Malformed> {
        let mut room = fields();
        Head::parse(text.as_bytes(), &mut room)?.expect("a complete head").meaning(to_head)
    }

    #[test]
    fn body_and_connection_follow_from_the_head() {
        use Framing::{Chunked, Close, Length};
        for (head, framing, keep_alive) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Length(5), true),
            ("HTTP/1.1 200\r\ncontent-length: 5, 5\r\ncontent-length: 5\r\n\r\n", Length(5), true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n", Chunked, true),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\ncontent-length: 3\r\n\r\n", Chunked, false),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", Close, false),
            ("HTTP/1.1 200 OK\r\n\r\n", Close, false),
            ("HTTP/1.1 204 No\r\n\r\n", Length(0), true),
            ("HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n", Length(0), true),
            ("HTTP/1.1 101 Up\r\nconnection: upgrade\r\n\r\n", Length(0), false),
            (
                "HTTP/1.1 200 OK\r\nconnection: Keep-Alive, Close\r\ncontent-length: 0\r\n\r\n",
                Length(0),
                false,
            ),
            ("HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\n", Length(1), false),
            ("HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\n", Length(1), true),
        ] {
            assert_eq!(meaning(head, false), Ok(Meaning { framing, keep_alive }), "{head}");
        }
        let to_head = meaning("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true);
        assert_eq!(to_head, Ok(Meaning { framing: Length(0), keep_alive: true }));
    }

    #[test]
    fn names_are_compared_without_case() {
        assert!(is_named("Content-Length", b"content-length") && is_named("COOKIE", b"cookie"));
        for other in ["content-lengths", "content_length", "ontent-length", "", "content-lengtg"] {
            assert!(!is_named(other, b"content-length"), "{other}");
        }
    }

    #[test]
    fn lengths_that_contradict_or_are_no_numbers_are_refused() {
        for value in ["", "x", "-1", "+1", "1, 2", "1,", "99999999999999999999", "0x5"] {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {value}\r\n\r\n");
            assert_eq!(meaning(&head, false), Err(Malformed::ContentLength), "{value}");
        }
        let twice = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n";
        assert_eq!(meaning(twice, false), Err(Malformed::ContentLength));
    }
}
