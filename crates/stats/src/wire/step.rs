//! Statistics of one step.

use hyperscale_types::ErrorKind;
use hyperscale_types::error_kind::ReportedKind;
use hyperscale_types::rule::Phase;

use super::DecodeError;
use super::histogram::{put_runs, put_unless_empty, take_histogram, take_runs};
use super::number::{Reader, Sections, ascending, put, put_counters, put_len, put_text};
use crate::bounded::{Bounded, Entry};
use crate::buckets::Count;
use crate::detail::{Detail, MESSAGE_BYTES_MAX, Messages};
use crate::histogram::Histogram;
use crate::step::{STATUS_END, StepStats, TagStats};

/// Bytes of a tag set that is accepted from outside.
pub(super) const TAGS_BYTES_MAX: usize = 4 << 10;
/// Phases of other versions that a step may have: each takes the memory of a histogram.
const UNKNOWN_PHASES_MAX: usize = 16;

pub(super) fn put_step<C: Count>(step: &StepStats<C>) -> Sections {
    let mut sections = Sections::default();
    sections.section(1, |out| {
        let counters = [
            step.count,
            step.ok,
            step.failed,
            step.skipped,
            step.requests,
            step.bytes_sent,
            step.bytes_received,
            step.answered,
        ];
        if counters != [0; 8] {
            put_counters(out, &counters);
        }
    });
    sections.section(2, |out| put_errors(out, step));
    sections.section(3, |out| put_unless_empty(out, &step.latency));
    sections.section(4, |out| put_unless_empty(out, &step.service));
    sections.section(5, |out| put_unless_empty(out, &step.failed_latency));
    sections.section(6, |out| put_phases(out, step));
    sections.section(7, |out| put_unless_empty(out, &step.stream.first_event));
    sections.section(8, |out| put_unless_empty(out, &step.stream.between_events));
    sections.section(9, |out| {
        if step.detail.status.iter().next().is_some() {
            put_runs(out, step.detail.status.iter());
        }
    });
    sections.section(10, |out| put_messages(out, &step.detail));
    sections.section(11, |out| put_bounded(out, &step.detail.tags, put_tag_stats));
    sections.section(12, |out| {
        if step.detail.retries > 0 {
            put(out, step.detail.retries);
        }
    });
    sections
}

fn put_errors<C: Count>(out: &mut Vec<u8>, step: &StepStats<C>) {
    let mut errors: Vec<(u8, u64)> =
        step.errors_by_kind().map(|(kind, count)| (kind.number(), count)).collect();
    errors.sort_unstable();
    if !errors.is_empty() {
        put_len(out, errors.len());
    }
    for (number, count) in errors {
        put(out, number);
        put(out, count);
    }
}

fn put_phases<C: Count>(out: &mut Vec<u8>, step: &StepStats<C>) {
    let known = Phase::ALL.iter().map(|phase| phase.number()).zip(&step.phases);
    let all = known.chain(step.unknown_phases());
    let mut phases: Vec<(u8, &Histogram<C>)> = all.filter(|(_, phase)| !phase.is_empty()).collect();
    phases.sort_unstable_by_key(|(number, _)| *number);
    if !phases.is_empty() {
        put_len(out, phases.len());
    }
    for (number, phase) in phases {
        put(out, number);
        phase.encode(out);
    }
}

fn put_messages<C: Count>(out: &mut Vec<u8>, detail: &Detail<C>) {
    let recorded = detail.messages.iter().filter(|(_, texts)| !texts.is_empty());
    let mut kinds: Vec<(u8, &Messages)> = recorded.map(|(kind, texts)| (kind.number(), texts)).collect();
    kinds.sort_unstable_by_key(|(number, _)| *number);
    if !kinds.is_empty() {
        put_len(out, kinds.len());
    }
    for (number, texts) in kinds {
        put(out, number);
        put_bounded(out, texts, |out, count| put(out, *count));
    }
}

/// The texts of a bounded map with their values, then the rest; nothing at all if nothing was recorded.
pub(super) fn put_bounded<V: Entry, const MAX: usize>(
    out: &mut Vec<u8>,
    map: &Bounded<V, MAX>,
    put_value: impl Fn(&mut Vec<u8>, &V),
) {
    if map.is_empty() {
        return;
    }
    put_len(out, map.iter().count());
    for (text, value) in map.iter() {
        put_text(out, text);
        put_value(out, value);
    }
    put_value(out, map.rest());
}

fn put_tag_stats<C: Count>(out: &mut Vec<u8>, stats: &TagStats<C>) {
    for counter in [stats.count, stats.ok, stats.failed] {
        put(out, counter);
    }
    stats.latency.encode(out);
}

pub(super) fn take_step<C: Count>(
    reader: &mut Reader<'_>,
    step: &mut StepStats<C>,
) -> Result<(), DecodeError> {
    reader.sections(|number, section| {
        match number {
            1 => take_counters(section, step)?,
            2 => take_errors(section, step)?,
            3 => step.latency = take_histogram(section)?,
            4 => step.service = take_histogram(section)?,
            5 => step.failed_latency = take_histogram(section)?,
            6 => take_phases(section, step)?,
            7 => step.stream.first_event = take_histogram(section)?,
            8 => step.stream.between_events = take_histogram(section)?,
            9 => {
                let buckets = take_runs::<C>(section, usize::from(STATUS_END) + 1)?;
                for (status, count) in buckets {
                    step.detail.status.add(status, count);
                }
            }
            10 => take_messages(section, &mut step.detail)?,
            11 => take_bounded(section, &mut step.detail.tags, TAGS_BYTES_MAX, take_tag_stats)?,
            12 => step.detail.retries = section.number()?,
            _ => return Ok(false),
        }
        Ok(true)
    })
}

fn take_counters<C: Count>(reader: &mut Reader<'_>, step: &mut StepStats<C>) -> Result<(), DecodeError> {
    [
        step.count,
        step.ok,
        step.failed,
        step.skipped,
        step.requests,
        step.bytes_sent,
        step.bytes_received,
        step.answered,
    ] = reader.counters()?;
    Ok(())
}

fn take_errors<C: Count>(reader: &mut Reader<'_>, step: &mut StepStats<C>) -> Result<(), DecodeError> {
    let mut last = None;
    for _ in 0..reader.len()? {
        let (number, count): (u8, u64) = (reader.number()?, reader.number()?);
        ascending(&mut last, number)?;
        if count == 0 {
            return Err(DecodeError::Contradiction);
        }
        match ErrorKind::of_number(number) {
            Some(kind) => step.errors[kind.index()] = count,
            None => step.detail.add_unknown_errors(number, count),
        }
    }
    Ok(())
}

fn take_phases<C: Count>(reader: &mut Reader<'_>, step: &mut StepStats<C>) -> Result<(), DecodeError> {
    let (mut last, mut unknown) = (None, 0);
    for _ in 0..reader.len()? {
        let number: u8 = reader.number()?;
        ascending(&mut last, number)?;
        let samples = take_histogram(reader)?;
        if let Some(phase) = Phase::of_number(number) {
            step.phases[phase as usize] = samples;
            continue;
        }
        unknown += 1;
        if unknown > UNKNOWN_PHASES_MAX {
            return Err(DecodeError::TooLarge);
        }
        step.detail.add_unknown_phase(number, &samples);
    }
    Ok(())
}

fn take_messages<C: Count>(reader: &mut Reader<'_>, detail: &mut Detail<C>) -> Result<(), DecodeError> {
    let mut last = None;
    for _ in 0..reader.len()? {
        let number: u8 = reader.number()?;
        ascending(&mut last, number)?;
        let texts = detail.messages.entry(ReportedKind::of_number(number)).or_default();
        take_bounded(reader, texts, MESSAGE_BYTES_MAX, Reader::number)?;
    }
    Ok(())
}

/// Reads what [`put_bounded`] wrote, into an empty map.
pub(super) fn take_bounded<'b, V: Entry, const MAX: usize>(
    reader: &mut Reader<'b>,
    map: &mut Bounded<V, MAX>,
    bytes_max: usize,
    mut take_value: impl FnMut(&mut Reader<'b>) -> Result<V, DecodeError>,
) -> Result<(), DecodeError> {
    let mut last = None;
    let count = reader.len()?;
    if count > MAX {
        return Err(DecodeError::KeyOutOfRange);
    }
    for _ in 0..count {
        let text = reader.text(bytes_max)?;
        ascending(&mut last, text)?;
        reader.charge(text.len() + size_of::<V>())?;
        let value = take_value(reader)?;
        if value.is_empty() {
            return Err(DecodeError::Contradiction);
        }
        *map.entry(text) = value;
    }
    map.set_rest(take_value(reader)?);
    if map.is_empty() { Err(DecodeError::Contradiction) } else { Ok(()) }
}

fn take_tag_stats<C: Count>(reader: &mut Reader<'_>) -> Result<TagStats<C>, DecodeError> {
    let (count, ok, failed) = (reader.number()?, reader.number()?, reader.number()?);
    Ok(TagStats { count, ok, failed, latency: take_histogram(reader)? })
}
