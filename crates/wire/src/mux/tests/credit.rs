//! What everything costs, on both sides.

use super::*;
use crate::limits::{BULK_CREDIT, CHUNK_COST};

/// Chunks of a peer that ignores what it was told, until it is refused; what was accepted of them.
fn flood(mux: &mut Mux, chunks: impl Iterator<Item = Chunk<'static>>) -> (usize, MuxError) {
    let mut events = 0;
    for chunk in chunks {
        match handle(mux, chunk) {
            Ok(more) => events += more.len(),
            Err(error) => return (events, error),
        }
    }
    panic!("it was never refused, after {events} events");
}

#[test]
fn empty_messages_and_pieces_of_one_byte_cost_credit_too() {
    let most = (BULK_CREDIT / CHUNK_COST) as usize;
    let empty_messages = (1..300_000).map(|stream| data(stream, true, true, b""));
    let (events, refused) = flood(&mut Mux::new(Lane::Bulk), empty_messages);
    assert_eq!((events, refused), (most, MuxError::CreditExceeded));

    let transfer = crate::chunk::First { class: Class::Data, transfer: true, zstd: false };
    let empty_transfers =
        (1..300_000).map(|stream| Chunk::Data { stream, first: Some(transfer), last: true, payload: b"" });
    let (events, refused) = flood(&mut Mux::new(Lane::Bulk), empty_transfers);
    assert_eq!((events, refused), (2 * most, MuxError::CreditExceeded), "begin and end of each");

    let pieces = (0..300_000u32).map(|piece| Chunk::Data {
        stream: 1,
        first: (piece == 0).then_some(transfer),
        last: false,
        payload: b"x",
    });
    let (events, refused) = flood(&mut Mux::new(Lane::Bulk), pieces);
    assert_eq!((events, refused), ((STREAM_CREDIT / (CHUNK_COST + 1)) as usize, MuxError::CreditExceeded));
}

#[test]
fn messages_that_are_given_up_leave_no_events() {
    let mut mux = Mux::new(Lane::Bulk);
    for stream in 1..30_000 {
        assert_eq!(handle(&mut mux, data(stream, true, false, b"")), Ok(vec![]));
        assert_eq!(handle(&mut mux, Chunk::Abort { stream }), Ok(vec![]));
        while next(&mut mux).is_some() {}
    }
    assert_eq!(mux.received_bytes(), 0);
}

#[test]
fn a_number_that_another_class_used_is_refused_and_late_credit_meets_no_other_stream() {
    let mut mux = Mux::new(Lane::Bulk);
    let payload = vec![7; CHUNK_MAX];
    let first = |class, transfer| Some(crate::chunk::First { class, transfer, zstd: false });
    let begin = Chunk::Data { stream: 5, first: first(Class::Data, true), last: false, payload: &payload };
    let mut held = handle(&mut mux, begin).unwrap();
    held.extend(handle(&mut mux, data(5, false, true, &payload)).unwrap());
    for class in Class::ALL {
        let again = Chunk::Data { stream: 5, first: first(class, false), last: false, payload: &payload };
        assert_eq!(handle(&mut mux, again), Err(MuxError::StreamReused(5)));
    }
    for event in held {
        taken(&mut mux, event);
    }
    assert_eq!(mux.received_bytes(), 0);
    let note = next(&mut mux).unwrap();
    let bytes = 2 * (CHUNK_MAX as u32 + CHUNK_COST);
    assert_eq!(Chunk::decode(&note), Ok(Chunk::Credit { stream: 0, bytes }), "of the lane only");
    assert_eq!(next(&mut mux), None);
}

#[test]
fn both_sides_count_the_same_credit() {
    let (mut a, mut b) = (Mux::new(Lane::Bulk), Mux::new(Lane::Bulk));
    for round in 0..5_000usize {
        a.send(Class::ALL[round % 4], body(round % 300, 1)).unwrap();
        if round % 50 == 0 {
            let stream = a.begin(Class::Data, Bytes::new()).unwrap();
            a.push(stream, body(CHUNK_MAX + round, 2)).unwrap();
            settle(&mut a, &mut b);
            if round % 100 == 0 { a.finish(stream) } else { a.abort(stream) }.unwrap();
        }
        settle(&mut a, &mut b);
    }
    assert_eq!((a.queued_bytes(), b.received_bytes()), (0, 0));
    // All there is can still be used: three of the largest messages are under way at once.
    for _ in 0..3 {
        a.send(Class::Data, body(MESSAGE_MAX, 1)).unwrap();
    }
    let mut held = Vec::new();
    loop {
        let (there, back) = (next(&mut a), next(&mut b));
        if let Some(chunk) = &there {
            b.handle(chunk, &mut held).unwrap();
        }
        if let Some(chunk) = &back {
            a.handle(chunk, &mut Vec::new()).unwrap();
        }
        if there.is_none() && back.is_none() {
            break;
        }
    }
    assert_eq!(held.len(), 3);
}

#[test]
fn the_largest_control_message_passes_also_when_some_credit_was_not_given_back_yet() {
    let (mut a, mut b) = (Mux::new(Lane::Control), Mux::new(Lane::Control));
    let mut held = Vec::new();
    // A slow reader of data: it takes none of what there is room for.
    for _ in 0..300 {
        a.send(Class::Data, body(10_000, 1)).unwrap();
    }
    while let Some(chunk) = next(&mut a) {
        b.handle(&chunk, &mut held).unwrap();
        while let Some(chunk) = next(&mut b) {
            a.handle(&chunk, &mut Vec::new()).unwrap();
        }
    }
    // Taken and released, but too little to be told.
    a.send(Class::Control, body(CHUNK_MAX, 2)).unwrap();
    assert_eq!(messages(&settle(&mut a, &mut b)).len(), 1);
    a.send(Class::Control, body(MESSAGE_MAX, 3)).unwrap();
    assert_eq!(messages(&settle(&mut a, &mut b)), [body(MESSAGE_MAX, 3)]);
}
