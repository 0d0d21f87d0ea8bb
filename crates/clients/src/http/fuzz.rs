//! Fuzz harnesses of everything here that decodes bytes from outside.
//!
//! As tests they replay `__fuzz__/<name>/corpus` and make a short random run; `cargo bolero test <test>` runs the same
//! harness under libFuzzer for as long as one likes.

use hyperscale_plan::model::http::{Stream, StreamEvents};

use crate::http::auth::digest::{Challenge, DigestSession};
use crate::http::auth::oauth2::Token;
use crate::http::h1::reader::{Fed, Flow, Reader, Sink};
use crate::http::request::url::{self, Url};
use crate::http::response::decode::Codings;
use crate::http::response::stream::StreamReader;
use crate::http::session::cookies::CookieJar;

/// Whatever comes in, nothing but visible ASCII comes out, and a resolved redirect can be requested.
#[test]
fn fuzz_url() {
    bolero::check!(name = "url").for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let base = Url::parse("http://a/b/c?d").expect("valid");
        if let Ok(resolved) = url::resolve(&base, &text) {
            let url = Url::parse(&resolved).expect("resolved URLs are valid");
            assert!(resolved.bytes().all(|byte| byte.is_ascii_graphic()));
            assert!(url.path().starts_with('/'));
        }
        if let Ok(url) = Url::parse(&text) {
            let _ = (url.credentials(), url.origin().to_string());
        }
    });
}

/// Whatever a server sets, a request head stays one line and the limits hold.
#[test]
fn fuzz_cookies() {
    bolero::check!(name = "cookies").for_each(|bytes: &[u8]| {
        let url = Url::parse("https://a.b.example/x/y").expect("valid");
        let mut jar = CookieJar::new();
        for field in bytes.split(|byte| *byte == 0) {
            let _ = jar.store(&url, field, 1_000_000);
        }
        let mut header = Vec::new();
        jar.write_header(&url, 1_000_000, &mut header);
        assert!(header.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t'));
    });
}

/// Whatever a server streams and wherever it is cut, the same events are counted. The first byte says where.
#[test]
fn fuzz_stream() {
    bolero::check!(name = "stream").for_each(|bytes: &[u8]| {
        let Some((cut, body)) = bytes.split_first() else { return };
        let (before, after) = body.split_at(usize::from(*cut).min(body.len()));
        for events in [StreamEvents::Sse, StreamEvents::Lines] {
            let stream = Stream { events, max_events: None, until: Some("end".to_owned()), max_time: None };
            let count = |pieces: [&[u8]; 2]| {
                let mut reader = StreamReader::new(&stream);
                for piece in pieces {
                    let _ = reader.feed(piece, 0);
                }
                reader.finish(0).events
            };
            assert_eq!(count([before, after]), count([body, b""]));
        }
    });
}

/// Whatever a body claims to be, no more than the limit comes out. The first byte chooses the coding.
#[test]
fn fuzz_decode() {
    const LIMIT: usize = 64 << 10;
    bolero::check!(name = "decode").for_each(|bytes: &[u8]| {
        let Some((choice, body)) = bytes.split_first() else { return };
        let fields: [&[u8]; 5] = [b"gzip", b"deflate", b"br", b"zstd", b"deflate, gzip"];
        let mut codings = Codings::default();
        codings.add(fields[usize::from(*choice) % fields.len()]).expect("known");
        if let Ok(decoded) = codings.decode(body.to_vec(), LIMIT) {
            assert!(decoded.len() <= LIMIT);
        }
    });
}

/// Whatever a server asks for, the credentials stay one line.
#[test]
fn fuzz_digest() {
    bolero::check!(name = "digest").for_each(|bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(challenge) = Challenge::select(text.split('\0')) {
            let mut session = DigestSession::new(challenge.clone(), "user", "password", "nonce");
            assert!(!session.authorize("GET", "/").contains(char::is_control));
            session.renew(challenge, "other");
        }
    });
}

/// Whatever a token endpoint answers, a token can stand in a header field.
#[test]
fn fuzz_token() {
    bolero::check!(name = "token").for_each(|bytes: &[u8]| {
        if let Ok(token) = Token::parse(200, bytes, 1_000) {
            assert!(token.authorization.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' '));
        }
    });
}

/// Whatever a server answers and wherever it is cut, reading ends with a verdict, never hands out more body than is
/// allowed, and cuts change nothing. The first byte says where, the second whether it answers a HEAD request.
#[test]
fn fuzz_response() {
    bolero::check!(name = "response").for_each(|bytes: &[u8]| {
        let [cut, to_head, answer @ ..] = bytes else { return };
        let (before, after) = answer.split_at(usize::from(*cut).min(answer.len()));
        let read = |pieces: [&[u8]; 2]| {
            let mut reader = Reader::new(*to_head == b'H', RESPONSE_BODY_MAX);
            let mut seen = Seen::default();
            for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
                match reader.feed(piece, &mut seen) {
                    Ok(Fed::More) => {}
                    Ok(Fed::Complete | Fed::Stopped) => return Some((seen, true, piece.len())),
                    Err(_) => return None,
                }
            }
            let complete = reader.end();
            Some((seen, complete, after.len()))
        };
        let (whole, parts) = (read([answer, b""]), read([before, after]));
        if let (Some((whole, complete, _)), Some((parts, complete_too, last))) = (whole, parts) {
            // A complete answer may end at the cut; then the rest would have been surplus.
            if last == after.len() || after.is_empty() {
                assert_eq!((whole, complete), (parts, complete_too));
            }
        }
    });
}

/// Bytes that an answer's body may have in [`fuzz_response`].
const RESPONSE_BODY_MAX: u64 = 1000;

#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    status: u16,
    fields: usize,
    body: Vec<u8>,
}

impl Sink for Seen {
    fn head<'b>(&mut self, status: u16, fields: impl Iterator<Item = (&'b str, &'b [u8])>) {
        assert!(self.status == 0 && status != 0);
        self.status = status;
        self.fields = fields.count();
    }

    fn body(&mut self, bytes: &[u8]) -> Flow {
        self.body.extend_from_slice(bytes);
        assert!(self.body.len() as u64 <= RESPONSE_BODY_MAX);
        Flow::Read
    }
}
