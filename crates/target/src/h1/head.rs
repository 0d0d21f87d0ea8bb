//! Request heads: from bytes to what the connection needs to know (RFC 9112, 2 to 6).

use std::mem::MaybeUninit;

use httparse::{Header, Status};

use crate::request::Request;
use crate::routes::{self, CONTROL_PREFIX};

/// Headers of one request; more are answered with 431.
const HEADERS_MAX: usize = 128;

/// How the end of a request's body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
}

/// What kind of work the request is.
#[derive(Debug)]
pub(super) enum Work {
    /// `/` itself: answered from prepared bytes, nothing of the head is kept.
    Index,
    /// A `/__` route, not counted.
    Control(Request),
    /// Everything else.
    Route(Request),
}

/// How the answer is to be framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    pub(super) keep_alive: bool,
    /// HTTP/1.0: no chunks, and a kept connection has to be confirmed.
    pub(super) is_old: bool,
    /// HEAD: no body in the answer.
    pub(super) is_head: bool,
}

/// A complete request head.
#[derive(Debug)]
pub(super) struct Head {
    /// Bytes it took.
    pub(super) length: usize,
    pub(super) framing: Framing,
    pub(super) manner: Manner,
    pub(super) expects_continue: bool,
    pub(super) work: Work,
}

/// Why bytes are not a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadError {
    /// No HTTP at all: the head cannot be read.
    Malformed,
    /// More headers than the limit.
    TooLarge,
}

/// What a complete head says that forbids to go on with the connection. The request counts, for its head was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rejected(pub(super) &'static str);

/// Reads a head from the start of `bytes`. `None`: it is not complete yet. `count` is told the path as soon as the
/// head is known to be complete, before anything in it is judged.
pub(super) fn parse(
    bytes: &[u8],
    count: impl FnOnce(&str),
) -> Result<Option<Result<Head, Rejected>>, HeadError> {
    // Uninitialised, because clearing four kilobytes per request would cost more than reading it.
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut []);
    let length = match parsed.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooLarge),
        Err(_) => return Err(HeadError::Malformed),
    };
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(HeadError::Malformed);
    };
    let (path, query) = split_target(target);
    count(path);
    Ok(Some(judge(length, method, path, query, minor, parsed.headers)))
}

fn judge(
    length: usize,
    method: &str,
    path: &str,
    query: &str,
    minor: u8,
    headers: &[Header<'_>],
) -> Result<Head, Rejected> {
    let facts = Facts::gather(headers)?;
    let is_old = minor == 0;
    if !is_old && !facts.has_host {
        return Err(Rejected("a request of HTTP/1.1 needs a host header\n"));
    }
    let request = || Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        version: if is_old { "HTTP/1.0" } else { "HTTP/1.1" },
        headers: headers.iter().map(owned).collect(),
        body: Vec::new(),
    };
    let work = if path == "/" {
        Work::Index
    } else if path.starts_with(CONTROL_PREFIX) {
        Work::Control(request())
    } else {
        Work::Route(request())
    };
    Ok(Head {
        length,
        framing: facts.framing.unwrap_or(Framing::Length(0)),
        manner: Manner {
            keep_alive: facts.persistence.map_or(!is_old, |wish| wish == Persistence::KeepAlive),
            is_old,
            is_head: method == "HEAD",
        },
        expects_continue: facts.expects_continue && !is_old,
        work,
    })
}

fn owned(header: &Header<'_>) -> (String, String) {
    (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned())
}

/// Path and query of a request target; scheme and authority of the absolute form are dropped.
fn split_target(target: &str) -> (&str, &str) {
    let target = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => rest.find('/').map_or("/", |start| &rest[start..]),
        _ => target,
    };
    target.split_once('?').unwrap_or((target, ""))
}

/// The headers that steer the connection.
#[derive(Default)]
struct Facts {
    has_host: bool,
    persistence: Option<Persistence>,
    framing: Option<Framing>,
    expects_continue: bool,
}

/// What a connection header asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Persistence {
    KeepAlive,
    Close,
}

impl Facts {
    fn gather(headers: &[Header<'_>]) -> Result<Self, Rejected> {
        let mut facts = Self::default();
        for header in headers {
            // By length first: most headers are none of these.
            match header.name.len() {
                4 if header.name.eq_ignore_ascii_case("host") => facts.has_host = true,
                6 if header.name.eq_ignore_ascii_case("expect") => {
                    facts.expects_continue = header.value.eq_ignore_ascii_case(b"100-continue");
                }
                10 if header.name.eq_ignore_ascii_case("connection") => facts.add_wish(header.value),
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    facts.add_framing(Framing::Length(parse_length(header.value)?))?;
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    if !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                        return Err(Rejected("only the transfer coding chunked is understood\n"));
                    }
                    facts.add_framing(Framing::Chunked)?;
                }
                _ => {}
            }
        }
        Ok(facts)
    }

    /// Close wins, whatever else is asked for.
    fn add_wish(&mut self, value: &[u8]) {
        if has_token(value, b"close") {
            self.persistence = Some(Persistence::Close);
        } else if has_token(value, b"keep-alive") {
            self.persistence.get_or_insert(Persistence::KeepAlive);
        }
    }

    /// Several framings are fine only if they agree (RFC 9112, 6.3).
    fn add_framing(&mut self, framing: Framing) -> Result<(), Rejected> {
        match self.framing.replace(framing) {
            Some(earlier) if earlier != framing => {
                Err(Rejected("the length of the body is given in two ways\n"))
            }
            _ => Ok(()),
        }
    }
}

fn parse_length(value: &[u8]) -> Result<u64, Rejected> {
    std::str::from_utf8(value.trim_ascii())
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .ok_or(Rejected("content-length is not a number\n"))
}

fn has_token(list: &[u8], token: &[u8]) -> bool {
    list.split(|byte| *byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(token))
}

impl Head {
    /// Whether the body of this request has to be kept for its route.
    pub(super) fn keeps_body(&self) -> bool {
        matches!(&self.work, Work::Route(request) if routes::reads_body(&request.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Head, Rejected> {
        parse(text.as_bytes(), |_| {}).expect("well-formed").expect("complete")
    }

    #[test]
    fn incomplete_heads_are_not_counted() {
        let whole = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
        for end in 0..whole.len() {
            let parsed =
                parse(&whole.as_bytes()[..end], |path| panic!("counted {path}")).expect("well-formed");
            assert!(parsed.is_none(), "{end} bytes");
        }
        let mut counted = None;
        assert!(
            parse(whole.as_bytes(), |path| counted = Some(path.to_owned())).expect("well-formed").is_some()
        );
        assert_eq!(counted.as_deref(), Some("/x"));
    }

    /// Whatever a client sends: it is refused, or incomplete and not counted, or a head that says the same however much
    /// follows it. Corpus and longer runs: see `docs/ARCHITECTURE.md`, Testing.
    #[test]
    fn fuzz_request_head() {
        bolero::check!(name = "request_head").for_each(|bytes: &[u8]| {
            let mut counted = 0;
            let parsed = parse(bytes, |_| counted += 1);
            assert_eq!(counted, usize::from(matches!(parsed, Ok(Some(_)))));
            let Ok(Some(Ok(head))) = parsed else { return };
            assert!(head.length <= bytes.len());
            let alone = parse(&bytes[..head.length], |_| {}).expect("well-formed").expect("complete");
            assert_eq!(format!("{alone:?}"), format!("{:?}", Ok::<_, Rejected>(head)));
        });
    }

    #[test]
    fn connection_is_kept_by_version_and_header() {
        for (text, kept) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n", false),
            ("GET / HTTP/1.0\r\n\r\n", false),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ] {
            assert_eq!(head(text).expect("accepted").manner.keep_alive, kept, "{text}");
        }
    }

    #[test]
    fn contradicting_heads_are_rejected() {
        for (text, part) in [
            ("GET / HTTP/1.1\r\n\r\n", "host"),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two ways"),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", "number"),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "two ways",
            ),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "chunked"),
        ] {
            let Err(Rejected(message)) = head(text) else { panic!("accepted {text}") };
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn targets_lose_their_authority() {
        assert_eq!(split_target("http://a:1/b?c=d"), ("/b", "c=d"));
        assert_eq!(split_target("http://a"), ("/", ""));
        assert_eq!(split_target("/redirect-to?url=http://a/b"), ("/redirect-to", "url=http://a/b"));
        assert_eq!(split_target("*"), ("*", ""));
    }
}
