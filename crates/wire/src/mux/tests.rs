mod credit;

use proptest::prelude::*;

use super::*;
use crate::counters::{Counters, Refusal};
use crate::limits::{
    CHUNK_MAX, CONTROL_CREDIT, MESSAGE_MAX, MESSAGE_PLAIN_MAX, QUEUE_BYTES_MAX, QUEUE_MESSAGES_MAX,
    STREAM_CREDIT, STREAMS_MAX, TRANSFER_BUFFER_MAX, TRANSFER_MAX,
};

fn body(length: usize, salt: u8) -> Bytes {
    // Does not compress well, so that sizes on the bulk lane are what they seem.
    let mut state = u32::from(salt) + 1;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect()
}

fn next(mux: &mut Mux) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    mux.next_chunk(&mut out).then_some(out)
}

fn stream_of(chunk: &[u8]) -> u64 {
    match Chunk::decode(chunk).unwrap() {
        Chunk::Data { stream, .. } => stream,
        other => panic!("expected data, got {other:?}"),
    }
}

/// Moves chunks both ways until both sides are silent; the application takes everything at once.
fn settle(a: &mut Mux, b: &mut Mux) -> Vec<Event> {
    let mut all = Vec::new();
    loop {
        let there = next(a);
        let back = next(b);
        if there.is_none() && back.is_none() {
            return all;
        }
        if let Some(chunk) = there {
            let mut events = Vec::new();
            b.handle(&chunk, &mut events).unwrap();
            for event in events {
                all.push(taken(b, event));
            }
        }
        if let Some(chunk) = back {
            a.handle(&chunk, &mut Vec::new()).unwrap();
        }
    }
}

/// Releases the credit of an event and leaves an empty one in its place.
fn taken(mux: &mut Mux, event: Event) -> Event {
    let none = || Credit::none();
    match event {
        Event::Message { stream, data, credit } => {
            mux.release(credit);
            Event::Message { stream, data, credit: none() }
        }
        Event::Begin { stream, head, credit } => {
            mux.release(credit);
            Event::Begin { stream, head, credit: none() }
        }
        Event::Data { stream, data, credit } => {
            mux.release(credit);
            Event::Data { stream, data, credit: none() }
        }
        other => other,
    }
}

fn messages(events: &[Event]) -> Vec<Bytes> {
    let open = |event: &Event| match event {
        Event::Message { data, .. } => Some(data.open(&mut Counters::default()).unwrap()),
        _ => None,
    };
    events.iter().filter_map(open).collect()
}

#[test]
fn a_control_message_waits_behind_one_chunk_at_most() {
    let (large, urgent) = (1, 2);
    let mut mux = Mux::new(Lane::Bulk);
    mux.send(Class::Data, body(MESSAGE_MAX, 1)).unwrap();
    assert_eq!(stream_of(&next(&mut mux).unwrap()), large);
    mux.send(Class::Control, body(10, 2)).unwrap();
    assert_eq!(stream_of(&next(&mut mux).unwrap()), urgent);

    // Also behind another control message, however large.
    let mut mux = Mux::new(Lane::Control);
    mux.send(Class::Control, body(MESSAGE_MAX, 1)).unwrap();
    assert_eq!(stream_of(&next(&mut mux).unwrap()), large);
    assert_eq!(stream_of(&next(&mut mux).unwrap()), large);
    mux.send(Class::Control, body(10, 2)).unwrap();
    assert_eq!(stream_of(&next(&mut mux).unwrap()), urgent);
    assert_eq!(stream_of(&next(&mut mux).unwrap()), large, "and the large one goes on");
}

#[test]
fn an_urgent_message_that_was_queued_later_begins_first_and_both_arrive() {
    let (mut a, mut b) = (Mux::new(Lane::Control), Mux::new(Lane::Control));
    a.send(Class::Data, body(10, 1)).unwrap();
    a.send(Class::Control, body(10, 2)).unwrap();
    assert_eq!(messages(&settle(&mut a, &mut b)), [body(10, 2), body(10, 1)]);
}

#[test]
fn a_stream_of_small_messages_does_not_starve_a_large_one() {
    let mut mux = Mux::new(Lane::Control);
    mux.send(Class::Control, body(3 * CHUNK_MAX, 1)).unwrap();
    let (large, mut turns) = (1, Vec::new());
    for _ in 0..6 {
        mux.send(Class::Control, body(10, 2)).unwrap();
        turns.push(stream_of(&next(&mut mux).unwrap()) == large);
    }
    assert_eq!(turns, [true, true, false, true, false, false]);
}

#[test]
fn messages_of_every_size_arrive_on_both_lanes() {
    for lane in [Lane::Control, Lane::Bulk] {
        let (mut a, mut b) = (Mux::new(lane), Mux::new(lane));
        let sizes = [0, 1, CHUNK_MAX - 1, CHUNK_MAX, CHUNK_MAX + 1, STREAM_CREDIT as usize + 1, MESSAGE_MAX];
        for (salt, size) in sizes.into_iter().enumerate() {
            a.send(Class::Control, body(size, salt as u8)).unwrap();
            let events = settle(&mut a, &mut b);
            assert_eq!(messages(&events), [body(size, salt as u8)], "{size} bytes");
        }
        assert_eq!((a.queued_bytes(), b.received_bytes()), (0, 0));
    }
}

#[test]
fn compressible_messages_travel_compressed_on_the_bulk_lane_only() {
    let text: Bytes = b"status 200 latency 12ms "
        .repeat(400)
        .into_iter()
        .enumerate()
        .map(|(i, b)| b ^ (i / 500) as u8)
        .collect();
    for (lane, smaller) in [(Lane::Control, false), (Lane::Bulk, true)] {
        let (mut a, mut b) = (Mux::new(lane), Mux::new(lane));
        a.send(Class::Data, text.clone()).unwrap();
        assert_eq!(a.queued_bytes() < text.len(), smaller);
        assert_eq!(messages(&settle(&mut a, &mut b)), std::slice::from_ref(&text));
    }
}

#[test]
fn a_slow_reader_stops_the_sender_and_control_still_passes() {
    let (mut a, mut b) = (Mux::new(Lane::Control), Mux::new(Lane::Control));
    for _ in 0..4 {
        a.send(Class::Data, body(MESSAGE_MAX, 1)).unwrap();
    }
    let mut held = Vec::new();
    while let Some(chunk) = next(&mut a) {
        b.handle(&chunk, &mut held).unwrap();
        while let Some(chunk) = next(&mut b) {
            a.handle(&chunk, &mut Vec::new()).unwrap();
        }
    }
    assert_eq!(held.len(), 1, "the second would leave no room for control");
    a.send(Class::Control, body(MESSAGE_MAX, 2)).unwrap();
    let events = settle(&mut a, &mut b);
    assert_eq!(messages(&events), [body(MESSAGE_MAX, 2)]);
    assert!(b.received_bytes() <= CONTROL_CREDIT as usize);
    for event in held {
        taken(&mut b, event);
    }
    assert_eq!(messages(&settle(&mut a, &mut b)).len(), 3);
}

#[test]
fn messages_that_every_receiver_would_take_for_a_bomb_are_not_sent() {
    // Packs to a twelfth.
    let plain = |length: usize| -> Bytes {
        let parts = body(length / 128 * 8, 3);
        parts.chunks(8).flat_map(|part| part.iter().copied().chain([b'a'; 120])).collect()
    };
    let (mut a, mut b) = (Mux::new(Lane::Bulk), Mux::new(Lane::Bulk));
    let largest = plain(MESSAGE_PLAIN_MAX);
    assert_eq!(largest.len(), MESSAGE_PLAIN_MAX);
    a.send(Class::Data, largest.clone()).unwrap();
    assert!(messages(&settle(&mut a, &mut b)) == [largest], "it arrives and is opened");
    assert_eq!(a.send(Class::Data, plain(MESSAGE_PLAIN_MAX + 128)), Err(SendError::TooLarge));
}

#[test]
fn queues_are_full_at_their_limits() {
    let mut mux = Mux::new(Lane::Control);
    for _ in 0..QUEUE_BYTES_MAX / MESSAGE_MAX {
        mux.send(Class::Dispatch, body(MESSAGE_MAX, 1)).unwrap();
    }
    assert_eq!(mux.send(Class::Dispatch, body(1, 1)), Err(SendError::Full));
    for _ in 0..QUEUE_MESSAGES_MAX {
        mux.send(Class::Control, Bytes::new()).unwrap();
    }
    assert_eq!(mux.send(Class::Control, Bytes::new()), Err(SendError::Full));
    assert_eq!(mux.send(Class::Data, body(MESSAGE_MAX + 1, 1)), Err(SendError::TooLarge));
    assert!(mux.send(Class::Data, body(1, 1)).is_ok(), "another class has a queue of its own");
}

/// Sends `total` bytes as a transfer, pushing whenever there is room; returns what arrived.
fn transfer(total: usize) -> (Mux, Mux, Vec<u8>) {
    let (mut a, mut b) = (Mux::new(Lane::Bulk), Mux::new(Lane::Bulk));
    let content = body(total, 9);
    let stream = a.begin(Class::Data, Bytes::from_static(b"head")).unwrap();
    let (mut rest, mut arrived, mut peak) = (content.clone(), Vec::new(), 0);
    loop {
        let part = rest.split_to(rest.len().min(a.room(stream)));
        a.push(stream, part).unwrap();
        peak = peak.max(a.queued_bytes());
        if rest.is_empty() {
            a.finish(stream).unwrap();
        }
        let mut ended = false;
        for event in settle(&mut a, &mut b) {
            match event {
                Event::Begin { head, .. } => {
                    assert_eq!(&head.open(&mut Counters::default()).unwrap()[..], b"head");
                }
                Event::Data { data, .. } => arrived.extend_from_slice(&data),
                Event::End { .. } => ended = true,
                other => panic!("unexpected {other:?}"),
            }
        }
        if ended {
            break;
        }
    }
    assert_eq!(arrived, content);
    assert!(peak <= TRANSFER_BUFFER_MAX + 4, "{peak} bytes waited");
    (a, b, arrived)
}

#[test]
fn transfers_are_streamed_in_bounded_memory() {
    for total in [0, 1, CHUNK_MAX, STREAM_CREDIT as usize + 1, 7 << 20] {
        let (a, b, arrived) = transfer(total);
        assert_eq!(arrived.len(), total);
        assert_eq!((a.queued_bytes(), b.received_bytes()), (0, 0));
    }
}

#[test]
fn a_transfer_ends_at_its_limit_on_both_sides() {
    let mut a = Mux::new(Lane::Bulk);
    let stream = a.begin(Class::Data, Bytes::new()).unwrap();
    assert_eq!(a.push(stream, body(TRANSFER_BUFFER_MAX + 1, 1)), Err(SendError::Full));
    let message = a.send(Class::Data, Bytes::new()).unwrap();
    assert_eq!(a.push(message, Bytes::new()), Err(SendError::NoTransfer));
    a.finish(stream).unwrap();
    assert_eq!(a.push(stream, Bytes::new()), Err(SendError::NoTransfer), "it is complete");

    let (mut a, mut b) = (Mux::new(Lane::Bulk), Mux::new(Lane::Bulk));
    let stream = a.begin(Class::Data, Bytes::new()).unwrap();
    let piece = body(TRANSFER_BUFFER_MAX, 1);
    for _ in 0..TRANSFER_MAX / TRANSFER_BUFFER_MAX as u64 {
        a.push(stream, piece.clone()).unwrap();
        settle(&mut a, &mut b);
    }
    assert_eq!(a.push(stream, Bytes::from_static(b"x")), Err(SendError::TooLarge));
    a.finish(stream).unwrap();
    assert_eq!(settle(&mut a, &mut b), [Event::End { stream: 1 }], "up to there it is a transfer");

    // A peer that ignores the limit of its side.
    let mut b = Mux::new(Lane::Bulk);
    let payload = body(CHUNK_MAX, 1);
    let first = crate::chunk::First { class: Class::Data, transfer: true, zstd: false };
    handle(&mut b, Chunk::Data { stream: 1, first: Some(first), last: false, payload: &[] }).unwrap();
    let mut accepted = 0;
    let refused = loop {
        match handle(&mut b, Chunk::Data { stream: 1, first: None, last: false, payload: &payload }) {
            Ok(events) => events.into_iter().for_each(|event| drop(taken(&mut b, event))),
            Err(error) => break error,
        }
        accepted += payload.len() as u64;
        while next(&mut b).is_some() {}
    };
    assert_eq!(refused, MuxError::TransferTooLarge);
    assert_eq!(accepted, TRANSFER_MAX / CHUNK_MAX as u64 * CHUNK_MAX as u64);
}

#[test]
fn the_head_of_a_transfer_is_one_chunk_at_most() {
    let (mut a, mut b) = (Mux::new(Lane::Bulk), Mux::new(Lane::Bulk));
    assert_eq!(a.begin(Class::Data, body(CHUNK_MAX + 1, 1)), Err(SendError::TooLarge));
    a.begin(Class::Data, body(CHUNK_MAX, 1)).unwrap();
    assert!(matches!(settle(&mut a, &mut b)[..], [Event::Begin { .. }]));
}

#[test]
fn either_side_can_give_a_transfer_up() {
    let (mut a, mut b) = (Mux::new(Lane::Bulk), Mux::new(Lane::Bulk));
    let never_sent = a.begin(Class::Data, Bytes::from_static(b"head")).unwrap();
    a.abort(never_sent).unwrap();
    assert_eq!(next(&mut a), None, "the peer never heard of it");

    let sending = a.begin(Class::Data, Bytes::from_static(b"head")).unwrap();
    settle(&mut a, &mut b);
    a.abort(sending).unwrap();
    assert_eq!(settle(&mut a, &mut b), [Event::Aborted { stream: 1 }]);

    let sending = a.begin(Class::Data, Bytes::from_static(b"head")).unwrap();
    a.push(sending, body(1_000, 1)).unwrap();
    settle(&mut a, &mut b);
    b.stop(2);
    let mut events = Vec::new();
    a.handle(&next(&mut b).unwrap(), &mut events).unwrap();
    assert_eq!(events, [Event::Stopped { sending }]);
    assert_eq!(a.push(sending, Bytes::new()), Err(SendError::NoTransfer));
    assert_eq!(settle(&mut a, &mut b), [], "the abort that answers it is no news");
    assert_eq!((a.queued_bytes(), b.received_bytes()), (0, 0));
}

#[test]
fn a_stopped_message_gives_its_credit_back() {
    let (mut a, mut b) = (Mux::new(Lane::Control), Mux::new(Lane::Control));
    for round in 0..20u8 {
        a.send(Class::Data, body(3 * CHUNK_MAX, round)).unwrap();
        let chunk = next(&mut a).unwrap();
        b.handle(&chunk, &mut Vec::new()).unwrap();
        b.stop(stream_of(&chunk));
        settle(&mut a, &mut b);
    }
    a.send(Class::Data, body(MESSAGE_MAX, 1)).unwrap();
    assert_eq!(messages(&settle(&mut a, &mut b)).len(), 1, "no credit was lost on the way");
}

fn handle(mux: &mut Mux, chunk: Chunk<'_>) -> Result<Vec<Event>, MuxError> {
    let (mut bytes, mut events) = (Vec::new(), Vec::new());
    chunk.encode(&mut bytes);
    mux.handle(&bytes, &mut events).map(|()| events)
}

fn data(stream: u64, first: bool, last: bool, payload: &[u8]) -> Chunk<'_> {
    let first = first.then_some(crate::chunk::First { class: Class::Data, transfer: false, zstd: false });
    Chunk::Data { stream, first, last, payload }
}

#[test]
fn peers_that_break_the_rules_are_refused_by_name() {
    let payload = vec![0; CHUNK_MAX];
    let mux = || Mux::new(Lane::Control);

    assert_eq!(handle(&mut mux(), data(1, false, false, b"x")), Err(MuxError::StreamUnknown(1)));
    assert_eq!(handle(&mut mux(), Chunk::Abort { stream: 1 }), Err(MuxError::StreamUnknown(1)));
    assert_eq!(handle(&mut mux(), Chunk::Credit { stream: 1, bytes: 1 }), Err(MuxError::StreamUnknown(1)));
    assert_eq!(handle(&mut mux(), Chunk::Stop { stream: 1 }), Err(MuxError::StreamUnknown(1)));
    assert_eq!(handle(&mut mux(), Chunk::Credit { stream: 0, bytes: 1 }), Err(MuxError::CreditOverflow));

    let mut twice = mux();
    handle(&mut twice, data(2, true, true, b"x")).unwrap();
    for stream in [1, 2] {
        assert_eq!(handle(&mut twice, data(stream, true, true, b"x")), Err(MuxError::StreamReused(stream)));
    }

    let mut many = mux();
    for stream in 1..=STREAMS_MAX as u64 {
        handle(&mut many, data(stream, true, false, b"x")).unwrap();
    }
    assert_eq!(handle(&mut many, data(1_000, true, false, b"x")), Err(MuxError::StreamsFull));

    let mut greedy = mux();
    handle(&mut greedy, data(1, true, false, &payload)).unwrap();
    let refused = (0..10).find_map(|_| handle(&mut greedy, data(1, false, false, &payload)).err());
    assert_eq!(refused, Some(MuxError::CreditExceeded), "it did not wait for credit");

    let mut endless = mux();
    handle(&mut endless, data(1, true, false, &payload)).unwrap();
    let refused = (0..100).find_map(|_| {
        while next(&mut endless).is_some() {}
        handle(&mut endless, data(1, false, false, &payload)).err()
    });
    assert_eq!(refused, Some(MuxError::MessageTooLarge));

    let zstd = crate::chunk::First { class: Class::Data, transfer: false, zstd: true };
    let packed = Chunk::Data { stream: 1, first: Some(zstd), last: true, payload: b"x" };
    assert_eq!(handle(&mut mux(), packed), Err(MuxError::CompressionForbidden));
    assert_eq!(MuxError::CompressionForbidden.refusal(), Refusal::CompressionForbidden);
}

#[test]
fn transfers_are_for_the_bulk_lane_only() {
    let transfer = crate::chunk::First { class: Class::Data, transfer: true, zstd: false };
    let head = Chunk::Data { stream: 1, first: Some(transfer), last: false, payload: b"head" };
    let mut control = Mux::new(Lane::Control);
    assert_eq!(control.begin(Class::Data, Bytes::new()), Err(SendError::TransferForbidden));
    assert_eq!(handle(&mut control, head), Err(MuxError::TransferForbidden));
    assert_eq!(MuxError::TransferForbidden.refusal(), Refusal::TransferForbidden);
    assert_eq!(handle(&mut Mux::new(Lane::Bulk), head).unwrap().len(), 1);
}

#[test]
fn credit_for_a_stream_that_has_just_ended_is_no_offence() {
    let mut mux = Mux::new(Lane::Control);
    mux.send(Class::Data, body(10, 1)).unwrap();
    let stream = stream_of(&next(&mut mux).unwrap());
    assert_eq!(handle(&mut mux, Chunk::Credit { stream, bytes: 10 }), Ok(vec![]));
    assert_eq!(handle(&mut mux, Chunk::Stop { stream }), Ok(vec![]));
}

/// One step of a random run.
#[derive(Clone, Debug)]
enum Step {
    Send { class: usize, size: usize },
    There,
    Back,
    Take,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![4 => 0usize..200, 4 => 0usize..200_000, 1 => Just(MESSAGE_MAX)];
    let step = prop_oneof![
        2 => (0usize..4, size).prop_map(|(class, size)| Step::Send { class, size }),
        8 => Just(Step::There),
        4 => Just(Step::Back),
        3 => Just(Step::Take),
    ];
    prop::collection::vec(step, 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_interleaving_reassembles_exactly_and_stays_within_its_limits(steps in steps(), bulk in any::<bool>()) {
        let lane = if bulk { Lane::Bulk } else { Lane::Control };
        let (mut a, mut b) = (Mux::new(lane), Mux::new(lane));
        let (mut sent, mut received, mut held) = (Vec::new(), Vec::new(), Vec::new());
        let take = |b: &mut Mux, event: Event, received: &mut Vec<Bytes>| {
            if let Event::Message { data, credit, .. } = event {
                received.push(data.open(&mut Counters::default()).unwrap());
                b.release(credit);
            }
        };
        for (salt, step) in steps.into_iter().enumerate() {
            match step {
                Step::Send { class, size } => {
                    let message = body(size, salt as u8);
                    if a.send(Class::ALL[class], message.clone()).is_ok() {
                        sent.push(message);
                    }
                }
                Step::There => if let Some(chunk) = next(&mut a) {
                    prop_assert!(chunk.len() <= CHUNK_MAX + crate::chunk::CHUNK_HEADER);
                    b.handle(&chunk, &mut held).unwrap();
                },
                Step::Back => if let Some(chunk) = next(&mut b) {
                    a.handle(&chunk, &mut Vec::new()).unwrap();
                },
                Step::Take => for event in held.drain(..) {
                    take(&mut b, event, &mut received);
                },
            }
            prop_assert!(b.received_bytes() <= lane.credit() as usize);
            prop_assert!(a.queued_bytes() <= 4 * QUEUE_BYTES_MAX);
        }
        for event in held {
            take(&mut b, event, &mut received);
        }
        for event in settle(&mut a, &mut b) {
            take(&mut b, event, &mut received);
        }
        received.sort();
        sent.sort();
        prop_assert!(received == sent, "everything arrives, nothing is stuck");
        prop_assert_eq!((a.queued_bytes(), b.received_bytes()), (0, 0));
    }
}
