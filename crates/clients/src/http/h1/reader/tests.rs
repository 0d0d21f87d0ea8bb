use proptest::prelude::*;

use super::*;

/// Everything that an answer consists of.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    status: u16,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    stop_at: Option<usize>,
}

impl Sink for Seen {
    fn head<'b>(&mut self, status: u16, fields: impl Iterator<Item = (&'b str, &'b [u8])>) {
        assert_eq!(self.status, 0, "one final head");
        self.status = status;
        self.fields = fields.map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
    }

    fn body(&mut self, bytes: &[u8]) -> Flow {
        assert!(!bytes.is_empty());
        self.body.extend_from_slice(bytes);
        if self.stop_at.is_some_and(|stop_at| self.body.len() >= stop_at) { Flow::Stop } else { Flow::Read }
    }
}

/// Feeds an answer cut at the given places; `None` if it is not complete before the peer closes.
fn read(input: &[u8], cuts: &[usize], to_head: bool, max: u64) -> Result<Option<(Seen, bool)>, Malformed> {
    let mut reader = Reader::new(to_head, max);
    let mut seen = Seen::default();
    let mut begin = 0;
    for end in cuts.iter().copied().chain([input.len()]) {
        if end <= begin {
            continue;
        }
        if reader.feed(&input[begin..end], &mut seen)? == Fed::Complete {
            assert!(reader.has_begun());
            return if end == input.len() {
                Ok(Some((seen, reader.keep_alive())))
            } else {
                Err(Malformed::Surplus)
            };
        }
        begin = end;
    }
    Ok(reader.end().then(|| (seen, reader.keep_alive())))
}

const ANSWERS: &[(&str, bool, u16, &str, bool)] = &[
    ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx: y\r\n\r\nhello", false, 200, "hello", true),
    (
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 Made\r\ncontent-length: 2\r\n\r\nok",
        false,
        201,
        "ok",
        true,
    ),
    (
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n1;a=b\r\n!\r\n0\r\nx: y\r\n\r\n",
        false,
        200,
        "hello!",
        true,
    ),
    ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", false, 200, "", true),
    ("HTTP/1.0 200 OK\r\n\r\nuntil the end", false, 200, "until the end", false),
    ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n", true, 200, "", true),
    ("HTTP/1.1 204 Nothing\r\n\r\n", false, 204, "", true),
    ("HTTP/1.1 304 Same\r\ncontent-length: 9\r\n\r\n", false, 304, "", true),
    ("HTTP/1.1 500 \r\ncontent-length: 0\r\nconnection: close\r\n\r\n", false, 500, "", false),
    ("\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false, 200, "", true),
    ("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", false, 101, "", false),
];

fn check(input: &str, cuts: &[usize], to_head: bool, status: u16, body: &str, keep_alive: bool) {
    let (seen, kept) = read(input.as_bytes(), cuts, to_head, 1 << 20)
        .unwrap_or_else(|error| panic!("{input:?} cut at {cuts:?}: {error}"))
        .unwrap_or_else(|| panic!("{input:?} cut at {cuts:?} is not complete"));
    assert_eq!(
        (seen.status, seen.body.as_slice(), kept),
        (status, body.as_bytes(), keep_alive),
        "{input:?} at {cuts:?}"
    );
}

#[test]
fn every_answer_is_read_whole_byte_by_byte_and_at_every_single_cut() {
    for (input, to_head, status, body, keep_alive) in ANSWERS {
        check(input, &[], *to_head, *status, body, *keep_alive);
        check(input, &(1..input.len()).collect::<Vec<_>>(), *to_head, *status, body, *keep_alive);
        for cut in 1..input.len() {
            check(input, &[cut], *to_head, *status, body, *keep_alive);
        }
    }
}

proptest! {
    #[test]
    fn cuts_never_change_what_is_read(which in 0..ANSWERS.len(), mut cuts in prop::collection::vec(0usize..140, 0..12)) {
        let (input, to_head, status, body, keep_alive) = ANSWERS[which];
        cuts.retain(|cut| *cut < input.len());
        cuts.sort_unstable();
        check(input, &cuts, to_head, status, body, keep_alive);
    }

    #[test]
    fn any_bytes_are_read_or_refused_and_cuts_do_not_matter(
        tail in prop::collection::vec(any::<u8>(), 0..200),
        head in prop::sample::select(vec!["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"]),
        cut in 0usize..200,
    ) {
        let input = [head.as_bytes(), &tail].concat();
        let whole = read(&input, &[], false, 1 << 20);
        let cut = read(&input, &[cut.min(input.len())], false, 1 << 20);
        // A cut may let a complete answer be seen before the surplus that would spoil it.
        if whole.is_ok() && cut.is_ok() {
            prop_assert_eq!(whole, cut);
        }
    }
}

#[test]
fn what_is_not_an_answer_is_refused() {
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(257));
    let long = format!("HTTP/1.1 200 OK\r\na: {}", "b".repeat(RESPONSE_HEAD_MAX));
    let interim = "HTTP/1.1 100 Go\r\n\r\n".repeat(33);
    for (input, error) in [
        ("SSH-2.0-OpenSSH\r\n", Malformed::NotHttp),
        ("HTTP/1.1 abc\r\n\r\n", Malformed::NotHttp),
        ("HTTP/2.0 200 OK\r\n\r\n", Malformed::NotHttp),
        ("HTTP/1.1 200 OK\r\nbad header\r\n\r\n", Malformed::Field),
        ("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", Malformed::ContentLength),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab", Malformed::Surplus),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\n", Malformed::Surplus),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", Malformed::Chunk),
        (&many, Malformed::Fields),
        (&long, Malformed::HeadLength),
        (&interim, Malformed::Interim),
    ] {
        assert_eq!(
            read(input.as_bytes(), &[], false, 1 << 20),
            Err(error),
            "{}",
            &input[..40.min(input.len())]
        );
    }
}

#[test]
fn a_body_over_the_limit_is_refused_in_every_framing() {
    for input in [
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nabcdef",
    ] {
        assert_eq!(read(input.as_bytes(), &[], false, 5), Err(Malformed::BodyLength), "{input}");
        assert!(read(input.as_bytes(), &[], false, 6).is_ok(), "{input}");
    }
}

#[test]
fn an_answer_that_ends_early_is_not_complete() {
    for input in [
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n",
    ] {
        assert_eq!(read(input.as_bytes(), &[], false, 99), Ok(None), "{input}");
    }
}

#[test]
fn a_sink_that_has_enough_ends_the_answer_and_the_connection() {
    for input in [
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n",
        "HTTP/1.1 200 OK\r\n\r\nabc",
    ] {
        let mut reader = Reader::new(false, 99);
        let mut seen = Seen { stop_at: Some(3), ..Seen::default() };
        assert_eq!(reader.feed(input.as_bytes(), &mut seen), Ok(Fed::Stopped), "{input}");
        assert_eq!((seen.body.as_slice(), reader.keep_alive()), (&b"abc"[..], false));
    }
}
