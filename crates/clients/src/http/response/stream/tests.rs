use proptest::prelude::*;

use super::*;

/// The events of a body fed in pieces that end at the given places.
fn events(kind: StreamEvents, body: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut splitter = Splitter::new(kind, EVENT_BYTES_MAX);
    let mut events = Vec::new();
    let mut on_event = |data: &[u8]| {
        events.push(String::from_utf8_lossy(data).into_owned());
        Flow::Continue
    };
    let mut begin = 0;
    for end in cuts.iter().copied().chain([body.len()]) {
        splitter.split(&body[begin..end], &mut on_event).expect("within limits");
        begin = end;
    }
    if let Some(line) = splitter.finish() {
        on_event(&line);
    }
    events
}

fn stream(events: StreamEvents, max_events: Option<u64>, until: Option<&str>) -> Stream {
    Stream { events, max_events, until: until.map(str::to_owned), max_time: None }
}

#[test]
fn server_sent_events_follow_the_standard() {
    let table: [(&str, &[&str]); 12] = [
        ("data: a\n\n", &["a"]),
        ("data: a\ndata: b\n\n", &["a\nb"]),
        ("data:a\n\ndata:  b\n\n", &["a", " b"]),
        ("\u{feff}data: a\n\n", &["a"]),
        ("data: a\n\n\u{feff}data: b\n\n", &["a"]),
        (": comment\n\ndata: a\n\n", &["a"]),
        ("event: x\nid: 7\nretry: 10\ndata: a\n\n", &["a"]),
        ("event: x\n\ndata: a\n\n", &["a"]),
        ("data\n\ndata\ndata\n\ndata:", &["", "\n"]),
        ("data: a\r\rdata: b\r\n\r\ndata: c\n\r", &["a", "b", "c"]),
        ("data: a\n", &[]),
        ("Data: a\n\ndatax: b\n\n\n\n", &[]),
    ];
    for (body, expected) in table {
        assert_eq!(events(StreamEvents::Sse, body.as_bytes(), &[]), expected, "{body:?}");
    }
}

#[test]
fn lines_end_in_three_ways_and_empty_ones_are_no_events() {
    assert_eq!(events(StreamEvents::Lines, b"a\nb\r\n\r\n\nc\rd", &[]), ["a", "b", "c", "d"]);
    assert_eq!(events(StreamEvents::Lines, b"\n\r", &[]), [""; 0]);
}

#[test]
fn chunks_are_the_reads() {
    assert_eq!(events(StreamEvents::Chunks, b"abcdef", &[2, 2, 5]), ["ab", "cde", "f"]);
}

#[test]
fn the_count_stops_the_stream_within_a_read() {
    let stream = stream(StreamEvents::Lines, Some(2), None);
    let mut reader = StreamReader::new(&stream);
    assert_eq!(reader.feed(b"a\n", 5), Ok(Flow::Continue));
    assert_eq!(reader.feed(b"b\nc\nd\n", 9), Ok(Flow::Stop));
    assert_eq!(reader.feed(b"e\n", 11), Ok(Flow::Stop));
    assert_eq!(reader.finish(12).events, 2);
}

#[test]
fn the_text_stops_the_stream_and_its_event_counts() {
    let stream = stream(StreamEvents::Sse, None, Some("[DONE]"));
    let mut reader = StreamReader::new(&stream);
    assert_eq!(reader.feed(b"data: a\n\n: [DONE]\n\ndata: [DO", 1), Ok(Flow::Continue));
    assert_eq!(reader.feed(b"NE]\n\ndata: b\n\n", 2), Ok(Flow::Stop));
    assert_eq!(reader.feed(b"data: c\n\n", 3), Ok(Flow::Stop));
    assert_eq!(reader.into_stats().events, 2);
}

#[test]
fn a_text_over_two_chunks_is_found() {
    let stream = stream(StreamEvents::Chunks, None, Some("needle"));
    let mut reader = StreamReader::new(&stream);
    for piece in [&b"xneed"[..], b"l", b"nee", b"d"] {
        assert_eq!(reader.feed(piece, 0), Ok(Flow::Continue));
    }
    assert_eq!(reader.feed(b"le", 0), Ok(Flow::Stop));
}

#[test]
fn a_last_line_without_end_counts() {
    let stream = stream(StreamEvents::Lines, None, Some("b"));
    let mut reader = StreamReader::new(&stream);
    assert_eq!(reader.feed(b"a\nb", 1), Ok(Flow::Continue));
    let stats = reader.finish(2);
    assert_eq!((stats.events, stats.gaps_ns), (2, vec![1]));
}

#[test]
fn first_event_and_gaps_are_timed() {
    let stream = stream(StreamEvents::Lines, None, None);
    let mut reader = StreamReader::new(&stream);
    for (bytes, at_ns) in [(&b"a"[..], 3), (b"\n", 10), (b"b\nc\n", 25), (b"d\n", 125)] {
        reader.feed(bytes, at_ns).expect("within limits");
    }
    let stats = reader.into_stats();
    assert_eq!((stats.events, stats.first_event_ns), (4, Some(10)));
    assert_eq!(stats.gaps_ns, [15, 0, 100]);
    assert_eq!((stats.gaps_sum_ns, stats.gap_max_ns), (115, 100));
}

#[test]
fn gaps_beyond_the_limit_only_go_into_sum_and_maximum() {
    let stream = stream(StreamEvents::Chunks, None, None);
    let mut reader = StreamReader::new(&stream);
    let events = GAPS_MAX as u64 + 10;
    for at in 0..events {
        reader.feed(b"x", at * 2).expect("within limits");
    }
    let stats = reader.into_stats();
    assert_eq!((stats.events, stats.gaps_ns.len()), (events, GAPS_MAX));
    assert_eq!((stats.gaps_sum_ns, stats.gap_max_ns), ((events - 1) * 2, 2));
}

#[test]
fn endless_events_are_refused() {
    let too_long = Err(EventTooLong);
    let mut on_event = |_: &[u8]| Flow::Continue;
    let mut lines = Splitter::new(StreamEvents::Lines, 8);
    assert_eq!(lines.split(b"12345678\n1234", &mut on_event), Ok(Flow::Continue));
    assert_eq!(lines.split(b"56789", &mut on_event), too_long);
    assert_eq!(Splitter::new(StreamEvents::Lines, 8).split(b"123456789\n", &mut on_event), too_long);
    let mut sse = Splitter::new(StreamEvents::Sse, 8);
    assert_eq!(sse.split(b"data: 12345678\n\ndata: 1234\n", &mut on_event), Ok(Flow::Continue));
    assert_eq!(sse.split(b"data: 1234\n", &mut on_event), too_long);
    assert_eq!(Splitter::new(StreamEvents::Sse, 8).split(&[b':'; 64], &mut on_event), too_long);
}

proptest! {
    #[test]
    fn events_do_not_depend_on_how_bytes_are_cut(
        body in "((data|event|id|)?:? ?[a-c\u{e9}:]{0,3}(\n|\r|\r\n){0,2}){0,12}",
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        let body = body.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        cuts.sort_unstable();
        for kind in [StreamEvents::Sse, StreamEvents::Lines] {
            prop_assert_eq!(events(kind, body, &cuts), events(kind, body, &[]));
        }
    }
}
