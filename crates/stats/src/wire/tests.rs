//! Windows and totals as bytes: read back the same, refused when they belong elsewhere, bounded whatever they say.

use std::fmt::Write as _;
use std::path::Path;

use hyperscale_types::rule::Phase;
use hyperscale_types::{ErrorKind, Phases, ReportedKind};

use super::number::{Sections, put, put_len};
use super::*;
use crate::histogram::Histogram;
use crate::layout::{CheckLayout, MetricKind, MetricLayout, StepKind, StepLayout};
use crate::result::{Status, WorkflowFacts, errors, workflow_result};
use crate::sample::{CallSample, StreamEvent};
use crate::saturation::Judged;

fn layout() -> Arc<Layout> {
    let name = |text: &str| text.parse::<Name>().unwrap();
    let step = |text, kind, setup| {
        let protocol = (kind == StepKind::Test).then_some("http");
        StepLayout { name: name(text), kind, protocol, setup }
    };
    Arc::new(Layout {
        steps: vec![
            step("login", StepKind::Test, true),
            step("order", StepKind::Test, false),
            step("basket", StepKind::Metric, false),
        ],
        checks: vec![CheckLayout { step: 1, name: name("status") }],
        metrics: vec![MetricLayout { step: 2, name: name("basket"), kind: MetricKind::Distribution }],
    })
}

fn codec() -> Codec {
    Codec::new(b"plan", &"Browse".parse().unwrap(), &layout())
}

/// A window in which everything happened that can be recorded.
fn window() -> Window {
    let mut window = Window::new(&layout());
    (window.seq, window.core) = (7, 3);
    (window.from_ns, window.to_ns) = (700_000_000, 800_000_000);
    (window.vus, window.busy_ns, window.waited_ns) = (12, 90_000_000, 6_000_000);
    window.judged = Some(Judged { from_ns: 0, exceeded: 0b101 });
    let mut phases = Phases::default();
    Phase::ALL.into_iter().zip(1..).for_each(|(phase, n)| phases.add(phase, n * 1_000));
    let ok = CallSample {
        latency_ns: 1_500_000,
        service_ns: 1_400_000,
        phases,
        status: 200,
        requests: 2,
        bytes_sent: 100,
        bytes_received: 5_000,
        answered: true,
        error: None,
    };
    window.call(1, &ok);
    window.call(1, &CallSample { latency_ns: 2_000_000_000, status: 503, ..ok });
    window.tagged(1, "region=eu", &ok);
    let failed = CallSample { error: Some(ErrorKind::Reset), status: 0, answered: false, ..ok };
    window.call(1, &failed);
    window.error_message(1, ErrorKind::Reset, "the peer reset the connection");
    window.skipped(1, 4);
    window.retries(1, 3);
    window.stream_event(1, StreamEvent::First(900));
    window.stream_event(1, StreamEvent::Next(90));
    window.check(0, true);
    window.check(0, false);
    for value in [-2.5, 0.0, 19.9, f64::NAN] {
        window.metric(0, value);
    }
    window.tagged_metric(0, "region=eu", 19.9);
    window.scheduled(3);
    (0..2).for_each(|_| window.started());
    window.completed();
    window.failed();
    window.dropped(1);
    window.late(1);
    window.lag(40_000);
    window
}

fn totals() -> Totals {
    let mut totals = Totals::new(&layout());
    totals.add(&window());
    let mut second = window();
    (second.core, second.seq) = (4, 8);
    totals.add(&second);
    totals.steps[1].detail.add_unknown_errors(37, 5);
    totals.steps[1].detail.add_unknown_phase(9, &second.lag);
    totals
}

#[test]
fn a_window_is_read_back_the_same() {
    let bytes = codec().encode_window(&window());
    let back = codec().decode_window(&bytes).unwrap();
    assert_eq!(codec().encode_window(&back), bytes);
    assert_eq!((back.seq, back.core, back.from_ns, back.to_ns), (7, 3, 700_000_000, 800_000_000));
    assert_eq!((back.vus, back.busy_ns, back.iterations), (12, 90_000_000, window().iterations));
    assert_eq!((back.waited_ns, back.judged), (window().waited_ns, window().judged));
    assert_eq!(back.steps()[1].latency, window().steps()[1].latency);
    let (mut sent, mut received) = (Totals::new(&layout()), Totals::new(&layout()));
    sent.add(&window());
    received.add(&back);
    assert_eq!(codec().encode_totals(&sent), codec().encode_totals(&received));
}

#[test]
fn totals_are_read_back_the_same() {
    let bytes = codec().encode_totals(&totals());
    let back = codec().decode_totals(&bytes).unwrap();
    assert_eq!(codec().encode_totals(&back), bytes);
    let facts = || WorkflowFacts {
        name: "Browse".parse().unwrap(),
        status: Status::Completed,
        reason: None,
        elapsed: std::time::Duration::from_secs(1),
        vus: 12,
        cores: 2,
    };
    assert_eq!(workflow_result(facts(), &back), workflow_result(facts(), &totals()));
}

#[test]
fn an_empty_window_is_a_few_bytes() {
    let bytes = codec().encode_window(&Window::new(&layout()));
    assert!(bytes.len() <= 20, "{} bytes", bytes.len());
    assert_eq!(codec().encode_window(&codec().decode_window(&bytes).unwrap()), bytes);
}

#[test]
fn statistics_of_another_layout_are_refused() {
    let bytes = codec().encode_window(&window());
    let workflow: Name = "Browse".parse().unwrap();
    let mut renamed = Layout::clone(&layout());
    renamed.steps[1].name = "pay".parse().unwrap();
    let mut moved = Layout::clone(&layout());
    moved.checks[0].step = 0;
    let mut other_kind = Layout::clone(&layout());
    other_kind.metrics[0].kind = MetricKind::Count;
    for other in [
        Codec::new(b"plan, changed", &workflow, &layout()),
        Codec::new(b"plan", &"Buy".parse().unwrap(), &layout()),
        Codec::new(b"plan", &workflow, &Arc::new(renamed)),
        Codec::new(b"plan", &workflow, &Arc::new(moved)),
        Codec::new(b"plan", &workflow, &Arc::new(other_kind)),
    ] {
        let refused = other.decode_window(&bytes).unwrap_err();
        assert_eq!(refused, DecodeError::Layout { theirs: codec().id(), ours: other.id() });
    }
    assert_eq!(codec().decode_totals(&bytes).err(), Some(DecodeError::Kind(WINDOW)));
    assert_eq!(codec().decode_window(&[2]).err(), Some(DecodeError::Version(2)));
}

#[test]
fn numbers_of_a_newer_version_are_kept_and_shown() {
    let mut merged = Totals::new(&layout());
    for _ in 0..2 {
        merged.merge(&codec().decode_totals(&codec().encode_totals(&totals())).unwrap());
    }
    let step = &merged.steps()[1];
    assert!(step.errors_by_kind().any(|seen| seen == (ReportedKind::Unknown(37), 10)));
    let shown = errors(&"Browse".parse().unwrap(), &merged);
    assert!(shown.iter().any(|error| error.kind == "unknown_37" && error.count == 10), "{shown:?}");
    let phases: Vec<_> = step.unknown_phases().map(|(number, phase)| (number, phase.count())).collect();
    assert_eq!(phases, [(9, 2)]);
}

#[test]
fn what_a_newer_version_adds_is_skipped() {
    let mut bytes = codec().head(WINDOW);
    let mut sections = Sections::default();
    sections.section(1, |out| {
        // A head with one counter more than this version knows.
        put_len(out, 7);
        (1..=7u8).for_each(|n| put(out, n));
    });
    sections.section(99, |out| out.extend([1, 2, 3]));
    sections.finish(&mut bytes);
    let window = codec().decode_window(&bytes).unwrap();
    assert_eq!((window.seq, window.core, window.from_ns, window.to_ns), (1, 2, 3, 7));
}

#[test]
fn every_cut_is_noticed_and_nothing_may_follow() {
    let bytes = codec().encode_totals(&totals());
    for cut in 0..bytes.len() {
        assert!(codec().decode_totals(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    assert_eq!(codec().decode_totals(&[bytes, vec![0]].concat()).err(), Some(DecodeError::Trailing));
}

#[test]
fn a_small_message_cannot_take_much_memory() {
    // A histogram of one sample in every power of two costs a chunk for each.
    let mut wide = Histogram::<u64>::new();
    (0..42).for_each(|bits| wide.record(1 << bits));
    let mut bytes = Vec::new();
    wide.encode(&mut bytes);
    let mut reader = Reader::new(&bytes, 100_000);
    assert_eq!(histogram::take_histogram::<u64>(&mut reader).err(), Some(DecodeError::TooLarge));
    let mut reader = Reader::new(&bytes, 200_000);
    assert!(histogram::take_histogram::<u64>(&mut reader).is_ok());
}

#[test]
fn a_count_beyond_a_window_is_refused() {
    let mut many = Histogram::<u64>::new();
    many.record(5);
    let moments = crate::histogram::Moments { count: 1 << 40, sum: 5 << 40, ..*many.moments() };
    let many = Histogram::<u64>::from_parts(moments, [(5, 1u64 << 40)]);
    let mut bytes = Vec::new();
    many.encode(&mut bytes);
    assert!(Histogram::<u64>::decode(&mut bytes.as_slice()).is_ok());
    assert_eq!(Histogram::<u32>::decode(&mut bytes.as_slice()).err(), Some(DecodeError::NumberTooLarge));
}

/// What version 1 wrote must be read for ever, and is still written the same. `HYPERSCALE_GOLDEN=write` writes files that
/// are missing; it never changes one.
#[test]
fn golden_bytes_are_written_and_read_the_same() {
    let golden = |name: &str, written: &[u8]| {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wire/golden").join(format!("{name}_v1.hex"));
        let mut hex = String::new();
        for line in written.chunks(32) {
            for byte in line {
                write!(hex, "{byte:02x}").unwrap();
            }
            hex.push('\n');
        }
        if !path.exists() && std::env::var_os("HYPERSCALE_GOLDEN").is_some_and(|value| value == "write") {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &hex).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), hex, "{name} is written differently");
    };
    golden("window", &codec().encode_window(&window()));
    golden("totals", &codec().encode_totals(&totals()));
}

/// As a test it replays `__fuzz__/statistics/corpus` and makes a short random run. The bytes stand behind a right head, so
/// that the run does not end there.
#[test]
fn fuzz_statistics() {
    bolero::check!(name = "statistics").for_each(|bytes: &[u8]| {
        let codec = codec();
        if let Ok(window) = codec.decode_window(&[&codec.head(WINDOW), bytes].concat()) {
            let written = codec.encode_window(&window);
            let again = codec.decode_window(&written).expect("what was read can be written");
            assert_eq!(codec.encode_window(&again), written);
        }
        if let Ok(totals) = codec.decode_totals(&[&codec.head(TOTALS), bytes].concat()) {
            let written = codec.encode_totals(&totals);
            let again = codec.decode_totals(&written).expect("what was read can be written");
            assert_eq!(codec.encode_totals(&again), written);
            let _ = totals.balance();
        }
    });
}
