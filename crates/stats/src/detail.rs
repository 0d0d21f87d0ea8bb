//! The part of a step's statistics that is rare or has no fixed set of keys: retries, statuses, error messages, tag sets,
//! and the numbers of error kinds and phases that another version reported. Everything in it is bounded.

use std::collections::BTreeMap;

use hyperscale_types::{ErrorKind, ReportedKind, limits};

use crate::bounded::{Bounded, Entry};
use crate::buckets::{Buckets, Count};
use crate::histogram::Histogram;
use crate::step::{StepStats, TagStats};

/// Bytes kept of an error message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 512;

/// Error messages of one kind with their counts.
pub(crate) type Messages = Bounded<u64, { limits::ERROR_MESSAGES_MAX }>;

/// What a step saw, by keys that are not known beforehand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Detail<C: Count> {
    /// Requests that were sent again.
    pub(crate) retries: u64,
    pub(crate) status: Buckets<C, 2>,
    pub(crate) messages: BTreeMap<ReportedKind, Messages>,
    pub(crate) tags: Bounded<TagStats<C>, { limits::TAG_SETS_MAX }>,
    /// Numbers of other versions. Cores of this build never record any, so it is hardly ever there.
    unknown: Option<Box<Unknown<C>>>,
}

/// By numbers that this version has no word for. A number has eight bits, which bounds both.
#[derive(Clone, Debug, Default)]
struct Unknown<C: Count> {
    errors: BTreeMap<u8, u64>,
    phases: BTreeMap<u8, Histogram<C>>,
}

impl<C: Count> StepStats<C> {
    pub(crate) fn error_message(&mut self, kind: ErrorKind, message: &str) {
        let message = &message[..message.floor_char_boundary(MESSAGE_BYTES_MAX)];
        *self.detail.messages.entry(kind.into()).or_default().entry(message) += 1;
    }
}

impl<C: Count> Detail<C> {
    pub(crate) fn unknown_errors(&self) -> impl Iterator<Item = (ReportedKind, u64)> + '_ {
        let unknown = self.unknown.iter().flat_map(|unknown| &unknown.errors);
        unknown.map(|(number, count)| (ReportedKind::Unknown(*number), *count))
    }

    pub(crate) fn unknown_phases(&self) -> impl Iterator<Item = (u8, &Histogram<C>)> {
        self.unknown.iter().flat_map(|unknown| &unknown.phases).map(|(number, phase)| (*number, phase))
    }

    /// Adds errors of a kind that this version does not know.
    pub(crate) fn add_unknown_errors(&mut self, number: u8, count: u64) {
        self.unknown.get_or_insert_default().errors.entry(number).or_default().absorb(&count);
    }

    /// Adds samples of a phase that this version does not know.
    pub(crate) fn add_unknown_phase<D: Count>(&mut self, number: u8, samples: &Histogram<D>) {
        self.unknown.get_or_insert_default().phases.entry(number).or_default().merge(samples);
    }

    /// Forgets everything; keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.retries = 0;
        self.status.clear();
        self.messages.values_mut().flat_map(Bounded::values_mut).for_each(|count| *count = 0);
        self.tags.values_mut().for_each(TagStats::clear);
        self.unknown = None;
    }

    pub(crate) fn merge<D: Count>(&mut self, other: &Detail<D>) {
        self.retries = self.retries.saturating_add(other.retries);
        self.status.merge(&other.status);
        for (kind, messages) in &other.messages {
            self.messages.entry(*kind).or_default().merge_with(messages, Entry::absorb);
        }
        self.tags.merge_with(&other.tags, TagStats::merge);
        for (kind, count) in other.unknown_errors() {
            self.add_unknown_errors(kind.number(), count);
        }
        for (number, samples) in other.unknown_phases() {
            self.add_unknown_phase(number, samples);
        }
    }
}
