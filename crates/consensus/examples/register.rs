//! What the register costs: `register [JOBS]`.
//!
//! Assigns 1 000 to 4 000 segments of one job one by one, and keeps JOBS ended jobs in chunks beside a job of 4 000 running
//! segments: time, bytes of the snapshot and of the chunks, what a replica takes to read them, and what holds up heartbeats
//! longest. Prints one line each.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for measurements: the clock is its own, not the log's"
)]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyperscale_consensus::register::{
    Accept, Assign, AssignSegment, Body, Command, Elapsed, End, EndStatus, Group, JobId, JobOptions, Outcome,
    Register, SegmentKind,
};
use hyperscale_consensus::replica::BLOBS_PER_SLICE;
use hyperscale_consensus::{BlobId, Effects, Machine, NameCursor};
use hyperscale_types::{BootEpoch, NodeId, Token};

struct Log {
    register: Register,
    index: u64,
    chunks: Vec<(BlobId, Bytes)>,
    /// The longest that applying one command took.
    longest: Duration,
}

impl Log {
    fn apply(&mut self, token: Token, body: Body) {
        self.index += 1;
        let command = Command { token, body }.encode();
        let start = Instant::now();
        let outcome = self.register.apply(self.index, &command, &mut Effects::default());
        self.longest = self.longest.max(start.elapsed());
        assert!(!matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
        self.chunks.extend(self.register.take_sealed());
    }

    /// A job that is led, and its token.
    fn led(&mut self, number: u64) -> (JobId, Token) {
        let job = JobId(u128::from(number).to_be_bytes());
        let (key, plan) = (format!("key {number}"), BlobId::of(b"plan"));
        let (options, caller) = (JobOptions::default(), "bench".to_owned());
        let accept =
            Accept { job, key, plan, options, origin: None, caller, name: String::new(), submitted_at_ms: 0 };
        self.apply(Token(0), Body::JobAccept(Box::new(accept)));
        let leader = NodeId::new(1).unwrap();
        self.apply(
            Token(0),
            Body::JobLeader { job, leader, elapsed: Elapsed::default(), reason: String::new() },
        );
        (job, Token(self.index))
    }
}

fn segment(number: u32, grant: Token) -> AssignSegment {
    AssignSegment {
        workflow: "load".to_owned(),
        number,
        kind: SegmentKind::Load,
        attempt: 1,
        worker: NodeId::new(9).unwrap(),
        boot: BootEpoch(1),
        grant,
        group: 0,
        cores: 1,
        vus: 100,
        elapsed_ms: 0,
        iterations_left: None,
    }
}

fn log() -> Log {
    Log { register: Register::new(Group::Managers), index: 0, chunks: Vec::new(), longest: Duration::ZERO }
}

fn grant(log: &mut Log) -> Token {
    let (worker, boot, cores) = (NodeId::new(9).unwrap(), BootEpoch(1), u32::MAX);
    let capabilities = BTreeSet::new();
    log.apply(Token(0), Body::WorkerGrant { worker, boot, cores, lease_ms: 15_000, capabilities });
    Token(log.index)
}

fn assigned(count: u32) {
    let mut log = log();
    let (job, token) = log.led(1);
    let grant = grant(&mut log);
    let start = Instant::now();
    for number in 0..count {
        let segments = vec![segment(number, grant)];
        log.apply(token, Body::Assign(Assign { job, segments }));
    }
    let took = start.elapsed();
    println!("{count} segments one by one: {took:?}, {:?} each", took / count);
}

/// What is done between two heartbeats: the longest command, the view of a snapshot and a slice of the list of blobs. Encoding
/// is not.
fn held_up(log: &Log) {
    let start = Instant::now();
    let view = log.register.view();
    let viewed = start.elapsed();
    let start = Instant::now();
    let state = view.encode();
    let encoded = start.elapsed();
    let (mut next, mut slices, mut longest, mut names) = (Some(NameCursor::default()), 0, Duration::ZERO, 0);
    while let Some(from) = next {
        let mut listed = Vec::new();
        let start = Instant::now();
        next = log.register.named_blobs(from, BLOBS_PER_SLICE, &mut listed);
        longest = longest.max(start.elapsed());
        (slices, names) = (slices + 1, names + listed.len());
    }
    println!(
        "longest command {:?}; view {viewed:?}; {names} names in {slices} slices, the longest {longest:?}; encoded elsewhere in {encoded:?}, {} bytes",
        log.longest,
        state.len()
    );
}

/// All ended jobs are forgotten: the longest command from the first one until nothing of them is left in the tables.
fn forget(log: &mut Log) {
    log.longest = Duration::ZERO;
    let last = log.index;
    let mut commands = 0;
    while log.register.ended_jobs().next().is_some() || log.register.chunk_contents().next().is_some() {
        log.apply(Token(0), Body::JobForget { first: 1, last });
        commands += 1;
    }
    println!("all forgotten with {commands} commands, the longest {:?}", log.longest);
}

fn main() {
    for count in [1_000, 2_000, 4_000] {
        assigned(count);
    }
    let jobs: u64 = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(100_000);
    let mut log = log();
    let grant = grant(&mut log);
    let (running, token) = log.led(u64::MAX);
    for number in 0..4_000 {
        log.apply(token, Body::Assign(Assign { job: running, segments: vec![segment(number, grant)] }));
    }
    let start = Instant::now();
    for number in 0..jobs {
        let (job, token) = log.led(number);
        log.apply(token, Body::Assign(Assign { job, segments: vec![segment(0, grant)] }));
        let result = Some(BlobId { hash: [1; 32], length: 16 << 10 });
        let segment = hyperscale_consensus::register::Segment { job, workflow: "load".to_owned(), number: 0 };
        let end = End::new(EndStatus::Completed, result);
        log.apply(token, Body::AttemptEnd { segment, attempt: 1, end: end.clone() });
        log.apply(token, Body::JobEnd { job, end, elapsed_ms: 0 });
    }
    let took = start.elapsed();
    let sealed: u64 = log.chunks.iter().map(|(blob, _)| blob.length).sum();
    let snapshot = log.register.snapshot();
    println!("{jobs} jobs ended: {took:?}, {} entries", log.index);
    println!("snapshot {} bytes, {} chunks of {sealed} bytes", snapshot.len(), log.chunks.len());
    println!("logical bytes {}", log.register.logical_bytes());
    held_up(&log);
    let start = Instant::now();
    let mut register = Register::new(Group::Managers);
    register.restore(snapshot).unwrap();
    for (blob, bytes) in &log.chunks {
        register.supply(*blob, bytes).unwrap();
    }
    println!("snapshot and chunks read in {:?}; equal: {}", start.elapsed(), register == log.register);
    forget(&mut log);
}
