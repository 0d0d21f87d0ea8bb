//! What decoding a message takes: counted by the allocator and held against what was reckoned before.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use bytes::Bytes;
use hyperscale_wire::counters::Counters;
use hyperscale_wire::kind::{Envelope, MessageError};
use hyperscale_wire::limits::{DECODED_MAX, MESSAGE_MAX, MESSAGE_PLAIN_MAX};
use hyperscale_wire::messages::{
    Bulk, Command, Control, CounterEntry, Error, ErrorDetails, JobProgress, JobRef, LeaseGrant, LeaseRenewed,
    LogEntry, MemberList, MemberUpdate, Membership, MergedWindow, RaftBatch, RaftMessage, SegmentRef,
    StatisticsGossip, bulk, command, control, membership,
};
use prost::Message;

use crate::samples;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let live = LIVE.get() + bytes;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

struct Counting;

#[expect(unsafe_code, reason = "an allocator that counts must implement the unsafe trait")]
// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    /// As if it always moved: both places are taken for a moment.
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.cast_signed());
        count(-layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The message, if the decoder takes the bytes, and what it allocated at most.
fn decode<M: Envelope>(bytes: &Bytes) -> (Option<M>, usize) {
    let bytes = bytes.clone();
    let before = LIVE.get();
    PEAK.set(before);
    let message = M::decode(bytes).ok();
    (message, (PEAK.get() - before).cast_unsigned())
}

/// Decodes bytes that pass, and checks the reckoning.
fn check<M: Envelope>(bytes: &Bytes) -> Result<(), MessageError> {
    let reckoned = M::measure(bytes)?;
    let (_, taken) = decode::<M>(bytes);
    assert!(taken <= reckoned && reckoned <= DECODED_MAX, "{taken} bytes were taken, {reckoned} reckoned");
    Ok(())
}

/// A field that holds other bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_key(number.into(), prost::encoding::WireType::LengthDelimited, &mut out);
    prost::encoding::encode_varint(content.len() as u64, &mut out);
    out.extend_from_slice(content);
    out
}

/// Lists of empty entries, of entries with such a list, of numbers and of letters, wherever a plane may have one.
fn lists_of_nothing<M: Envelope>(bodies: u8) {
    for (body, outer, inner) in every_place(bodies) {
        let empty = field(inner, &[]).repeat(300);
        let nested = field(inner, &field(outer, &[])).repeat(100);
        let once = field(inner, b"1234567");
        for content in [empty, nested, once] {
            for bytes in [field(outer, &content), content.clone(), field(outer, &content).repeat(9)] {
                let _refused = check::<M>(&field(body, &bytes).into());
            }
        }
    }
}

fn every_place(bodies: u8) -> impl Iterator<Item = (u8, u8, u8)> {
    let fields = || 1..=17u8;
    (4..=bodies)
        .flat_map(move |body| fields().flat_map(move |outer| fields().map(move |inner| (body, outer, inner))))
}

#[test]
fn no_message_takes_more_than_was_reckoned() {
    lists_of_nothing::<Control>(39);
    lists_of_nothing::<Bulk>(18);
    for message in samples::control() {
        check::<Control>(&message.encode_to_vec().into()).unwrap();
    }
    for message in samples::bulk() {
        check::<Bulk>(&message.encode_to_vec().into()).unwrap();
    }
    for message in samples::gossip() {
        check::<hyperscale_wire::messages::Gossip>(&message.encode_to_vec().into()).unwrap();
    }
}

#[test]
fn lists_of_empty_entries_are_refused_before_they_are_decoded() {
    let counters = field(18, &[0x22, 0x00].repeat(MESSAGE_PLAIN_MAX / 2 - 8));
    let entries = field(13, &field(2, &[0x3a, 0x00].repeat(MESSAGE_MAX / 2 - 8)));
    let voters = field(15, &field(2, &field(3, &field(1, &vec![0; MESSAGE_PLAIN_MAX - 64]))));
    let warnings = field(31, &[0x2a, 0x00].repeat(MESSAGE_MAX / 2 - 8));
    for bytes in [counters, voters].map(Bytes::from) {
        assert!(bytes.len() <= MESSAGE_PLAIN_MAX);
        PEAK.set(LIVE.get());
        assert_eq!(Bulk::decode_known(bytes, &mut Counters::default()).unwrap_err(), MessageError::Bloated);
        assert!(PEAK.get() - LIVE.get() < MESSAGE_PLAIN_MAX.cast_signed() + 4_096, "nothing was decoded");
    }
    assert_eq!(
        Control::decode_known(entries.into(), &mut Counters::default()).unwrap_err(),
        MessageError::Bloated
    );
    // Short texts in a list: large, but within the limit.
    check::<Control>(&warnings.into()).unwrap();
}

#[test]
fn messages_inside_each_other_without_end_are_refused() {
    // error.details.datacenters.error.details …
    let mut nested = Vec::new();
    for _ in 0..2_000 {
        nested = field(4, &field(6, &field(3, &nested)));
    }
    let bytes = Bytes::from(field(4, &nested));
    assert_eq!(Control::decode_known(bytes, &mut Counters::default()).unwrap_err(), MessageError::Malformed);
}

/// So many of what `make` makes that a message of this size is full.
fn full<T: Message>(most: usize, make: impl Fn(u64) -> T) -> Vec<T> {
    let each = make(most as u64).encoded_len() + 5;
    (0..(most / each) as u64).map(make).collect()
}

fn counter(number: u64) -> CounterEntry {
    let segment =
        SegmentRef { job_id: vec![7; 16].into(), workflow: "checkout".to_owned(), segment: number as u32 };
    CounterEntry {
        datacenter: "eu-west-1".to_owned(),
        worker: number | 1 << 60,
        worker_boot: 3,
        segment: Some(segment),
        attempt: 1,
        name: "requests_ok".to_owned(),
        value: number,
    }
}

fn bulk(body: bulk::Body) -> Bytes {
    Bulk { call_id: 1, body: Some(body), ..Bulk::default() }.encode_to_vec().into()
}

#[test]
fn the_largest_messages_of_the_bulk_plane_pass() {
    let window = |number| MergedWindow {
        datacenter: "eu-west-1".to_owned(),
        workflow: "checkout".to_owned(),
        window: number,
        statistics: vec![1; 2_000].into(),
        ..MergedWindow::default()
    };
    let most = MESSAGE_PLAIN_MAX - 1_024;
    let counters = JobProgress { counters: full(most, counter), ..JobProgress::default() };
    let windows = StatisticsGossip { windows: full(most, window), ..StatisticsGossip::default() };
    for body in [bulk::Body::JobProgress(counters), bulk::Body::Statistics(windows)] {
        let bytes = bulk(body);
        assert!(bytes.len() > MESSAGE_PLAIN_MAX / 2 && bytes.len() <= MESSAGE_PLAIN_MAX);
        check::<Bulk>(&bytes).unwrap();
        assert!(Bulk::decode_known(bytes, &mut Counters::default()).is_ok());
    }
}

fn member(number: u64) -> MemberUpdate {
    MemberUpdate {
        node_id: number + 1,
        address: "10.10.10.10:7000".to_owned(),
        role: 1,
        boot_epoch: 3,
        incarnation: 2,
        state: 1,
        accuser: number + 1,
    }
}

fn log_entry(number: u64) -> LogEntry {
    let body = command::Body::Assign(hyperscale_wire::messages::Assign::default());
    let command = Command { job_leader_token: number, body: Some(body) }.encode_to_vec();
    LogEntry {
        r#type: 1,
        term: 9,
        index: number,
        command: [command, vec![3; 30]].concat().into(),
        context: vec![1; 12].into(),
        ..LogEntry::default()
    }
}

fn refused_lease(number: u64) -> LeaseGrant {
    let details = ErrorDetails { current_token: Some(number), ..ErrorDetails::default() };
    let error =
        Error { code: 30, message: "stale token".to_owned(), details: Some(details), ..Error::default() };
    let job = JobRef { job_id: vec![7; 16].into(), datacenter: "eu-west-1".to_owned(), dc_token: 3 };
    LeaseGrant {
        kind: 2,
        holder: number,
        token: 9,
        job: Some(job),
        error: Some(error),
        ..LeaseGrant::default()
    }
}

#[test]
fn the_largest_messages_of_the_control_plane_pass() {
    let members = MemberList { members: (0..5_000).map(member).collect(), last: true };
    let members = Membership { body: Some(membership::Body::MemberList(members)), ..Membership::default() };
    let append = RaftMessage { entries: full(MESSAGE_MAX - 1_024, log_entry), ..RaftMessage::default() };
    let batch = RaftBatch { messages: vec![append], ..RaftBatch::default() };
    let grants = LeaseRenewed { grants: (0..10_000).map(refused_lease).collect() };
    for body in
        [control::Body::Membership(members), control::Body::Raft(batch), control::Body::LeaseRenewed(grants)]
    {
        let bytes =
            Bytes::from(Control { call_id: 1, body: Some(body), ..Control::default() }.encode_to_vec());
        assert!(bytes.len() <= MESSAGE_MAX, "{} bytes", bytes.len());
        check::<Control>(&bytes).unwrap();
        assert!(Control::decode_known(bytes, &mut Counters::default()).is_ok());
    }
}
