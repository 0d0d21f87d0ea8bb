//! HOT: statistics of one step. [`StepStats::call`] runs once per request: no allocation after first use.

use hyperscale_types::rule::Phase;
use hyperscale_types::{ErrorKind, Phases, ReportedKind};

use crate::bounded::Entry;
use crate::buckets::{Count, SUB};
use crate::detail::Detail;
use crate::histogram::Histogram;
use crate::sample::{CallSample, StreamEvent};

/// Statuses from here on have no count of their own.
pub const STATUS_END: u16 = 1_000;

/// Statistics of one step. `C` is the counter of a histogram's bucket: `u32` in windows, `u64` in totals.
#[derive(Clone, Debug, Default)]
pub struct StepStats<C: Count = u64> {
    /// Calls that began.
    pub count: u64,
    /// Calls that were ok.
    pub ok: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Times it did not run because a predecessor failed or its condition was false.
    pub skipped: u64,
    /// Requests handed to the kernel.
    pub requests: u64,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// Calls that got any response.
    pub answered: u64,
    /// Failed calls by kind, in the order of [`ErrorKind::ALL`]; [`StepStats::errors_by_kind`] has all of them.
    pub errors: [u64; ErrorKind::COUNT],
    /// From the intended start to the end, of calls that were ok.
    pub latency: Histogram<C>,
    /// From the actual start to the end, of calls that were ok.
    pub service: Histogram<C>,
    /// From the intended start to the end, of calls that failed.
    pub failed_latency: Histogram<C>,
    /// Parts of the service time of calls that were ok, in the order of [`Phase::ALL`].
    pub phases: [Histogram<C>; Phase::ALL.len()],
    /// Events of streamed responses.
    pub stream: StreamStats<C>,
    /// What is rare or has no fixed set of keys: retries, statuses, messages, tags, numbers of other versions.
    pub(crate) detail: Detail<C>,
}

/// Statistics of the calls of a step that carry the same tags.
#[derive(Clone, Debug, Default)]
pub struct TagStats<C: Count = u64> {
    /// Calls that began.
    pub count: u64,
    /// Calls that were ok.
    pub ok: u64,
    /// Calls that failed.
    pub failed: u64,
    /// Latency of calls that were ok.
    pub latency: Histogram<C>,
}

/// Events of streamed responses.
#[derive(Clone, Debug, Default)]
pub struct StreamStats<C: Count = u64> {
    /// From the start of a call to its first event.
    pub first_event: Histogram<C>,
    /// From one event to the next.
    pub between_events: Histogram<C>,
}

impl StepStats {
    /// Latency of all calls.
    pub fn latency_all(&self) -> Histogram {
        let mut all = self.latency.clone();
        all.merge(&self.failed_latency);
        all
    }
}

impl<C: Count> StepStats<C> {
    /// Records one call.
    #[inline]
    pub(crate) fn call(&mut self, sample: &CallSample) {
        self.count += 1;
        self.requests += u64::from(sample.requests);
        self.bytes_sent += sample.bytes_sent;
        self.bytes_received += sample.bytes_received;
        self.answered += u64::from(sample.answered);
        if sample.status != 0 {
            let status = usize::from(sample.status.min(STATUS_END));
            self.detail.status.add_one(status / SUB, status % SUB);
        }
        let Some(kind) = sample.error else { return self.ok(sample) };
        self.failed += 1;
        self.errors[kind.index()] += 1;
        self.failed_latency.record(sample.latency_ns);
    }

    #[inline]
    fn ok(&mut self, sample: &CallSample) {
        self.ok += 1;
        self.latency.record(sample.latency_ns);
        self.service.record(sample.service_ns);
        // Written out, because a loop over the phases stays a loop with a jump table in it.
        let [connect, tls, auth, write, wait, read] = &mut self.phases;
        let phases = &sample.phases;
        record_if(connect, phases.present & Phases::CONNECT, phases.connect_ns);
        record_if(tls, phases.present & Phases::TLS, phases.tls_ns);
        record_if(auth, phases.present & Phases::AUTH, phases.auth_ns);
        record_if(write, phases.present & Phases::WRITE, phases.write_ns);
        record_if(wait, phases.present & Phases::WAIT, phases.wait_ns);
        record_if(read, phases.present & Phases::READ, phases.read_ns);
    }

    pub(crate) fn stream_event(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::First(ns) => self.stream.first_event.record(ns),
            StreamEvent::Next(ns) => self.stream.between_events.record(ns),
        }
    }

    pub(crate) fn tagged(&mut self, tags: &str, sample: &CallSample) {
        let stats = self.detail.tags.entry(tags);
        stats.count += 1;
        if sample.error.is_some() {
            stats.failed += 1;
        } else {
            stats.ok += 1;
            stats.latency.record(sample.latency_ns);
        }
    }

    /// Forgets everything; keeps the memory.
    pub(crate) fn clear(&mut self) {
        for counter in [
            &mut self.count,
            &mut self.ok,
            &mut self.failed,
            &mut self.skipped,
            &mut self.requests,
            &mut self.bytes_sent,
            &mut self.bytes_received,
            &mut self.answered,
        ] {
            *counter = 0;
        }
        self.errors.fill(0);
        let timings = [&mut self.latency, &mut self.service, &mut self.failed_latency];
        let stream = [&mut self.stream.first_event, &mut self.stream.between_events];
        for histogram in timings.into_iter().chain(stream).chain(&mut self.phases) {
            histogram.clear();
        }
        self.detail.clear();
    }

    /// Adds all of `other`.
    pub fn merge<D: Count>(&mut self, other: &StepStats<D>) {
        for (mine, theirs) in [
            (&mut self.count, other.count),
            (&mut self.ok, other.ok),
            (&mut self.failed, other.failed),
            (&mut self.skipped, other.skipped),
            (&mut self.requests, other.requests),
            (&mut self.bytes_sent, other.bytes_sent),
            (&mut self.bytes_received, other.bytes_received),
            (&mut self.answered, other.answered),
        ]
        .into_iter()
        .chain(self.errors.iter_mut().zip(other.errors))
        {
            *mine = mine.saturating_add(theirs);
        }
        self.latency.merge(&other.latency);
        self.service.merge(&other.service);
        self.failed_latency.merge(&other.failed_latency);
        for (mine, theirs) in self.phases.iter_mut().zip(&other.phases) {
            mine.merge(theirs);
        }
        self.stream.first_event.merge(&other.stream.first_event);
        self.stream.between_events.merge(&other.stream.between_events);
        self.detail.merge(&other.detail);
    }

    /// Requests that were sent again because the server had not processed them.
    pub fn retries(&self) -> u64 {
        self.detail.retries
    }

    /// Every status that was seen with its count; [`STATUS_END`] stands for all from there on.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        self.detail.status.iter().map(|(status, count)| (status as u16, count))
    }

    /// Failed calls by kind, without kinds that did not occur; kinds of other versions come last.
    pub fn errors_by_kind(&self) -> impl Iterator<Item = (ReportedKind, u64)> + '_ {
        let known = ErrorKind::ALL.into_iter().map(ReportedKind::Known).zip(self.errors);
        known.chain(self.detail.unknown_errors()).filter(|(_, count)| *count > 0)
    }

    /// Every kept error message with its count.
    pub fn messages(&self) -> impl Iterator<Item = (ReportedKind, &str, u64)> {
        let messages = self.detail.messages.iter();
        messages.flat_map(|(kind, texts)| texts.iter().map(move |(text, count)| (*kind, text, *count)))
    }

    /// How many messages were given for a kind, kept or not.
    pub fn messages_of(&self, kind: impl Into<ReportedKind>) -> u64 {
        let texts = self.detail.messages.get(&kind.into());
        texts.map_or(0, |texts| texts.iter().map(|(_, n)| *n).sum::<u64>().saturating_add(*texts.rest()))
    }

    /// Phases of other versions by their number, of calls that were ok.
    pub fn unknown_phases(&self) -> impl Iterator<Item = (u8, &Histogram<C>)> {
        self.detail.unknown_phases()
    }

    /// Every kept tag set (`k=v,k2=v2`) with its statistics.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &TagStats<C>)> {
        self.detail.tags.iter()
    }

    /// The calls whose tag sets were beyond the limit.
    pub fn other_tags(&self) -> &TagStats<C> {
        self.detail.tags.rest()
    }
}

#[inline]
fn record_if<C: Count>(histogram: &mut Histogram<C>, present: u8, ns: u64) {
    if present != 0 {
        histogram.record(ns);
    }
}

impl<C: Count> TagStats<C> {
    pub(crate) fn merge<D: Count>(&mut self, other: &TagStats<D>) {
        self.count = self.count.saturating_add(other.count);
        self.ok = self.ok.saturating_add(other.ok);
        self.failed = self.failed.saturating_add(other.failed);
        self.latency.merge(&other.latency);
    }

    pub(crate) fn clear(&mut self) {
        (self.count, self.ok, self.failed) = (0, 0, 0);
        self.latency.clear();
    }
}

impl<C: Count> Entry for TagStats<C> {
    fn absorb(&mut self, other: &Self) {
        self.merge(other);
    }
    fn is_empty(&self) -> bool {
        self.count == 0
    }
}
