//! Values of one metric.

use super::DecodeError;
use super::histogram::{put_distribution, take_distribution};
use super::number::{Reader, Sections, put, put_f64};
use super::step::{TAGS_BYTES_MAX, put_bounded, take_bounded};
use crate::bounded::Entry;
use crate::buckets::Count;
use crate::metric::{Last, MetricStats};

pub(super) fn put_metric<C: Count>(metric: &MetricStats<C>) -> Sections {
    let mut sections = Sections::default();
    sections.section(1, |out| {
        if !Entry::is_empty(metric) {
            put_values(out, metric);
        }
    });
    sections.section(2, |out| {
        if let Some(tags) = &metric.tags {
            put_bounded(out, tags, put_values);
        }
    });
    sections
}

fn put_values<C: Count>(out: &mut Vec<u8>, metric: &MetricStats<C>) {
    put_distribution(out, &metric.values);
    put_f64(out, metric.sum);
    put(out, metric.non_zero);
    put(out, metric.refused);
    put(out, u8::from(metric.last.is_some()));
    if let Some(last) = metric.last {
        put(out, last.at_ns);
        put(out, last.core);
        put_f64(out, last.value);
    }
}

pub(super) fn take_metric<C: Count>(
    reader: &mut Reader<'_>,
    metric: &mut MetricStats<C>,
) -> Result<(), DecodeError> {
    reader.sections(|number, section| {
        match number {
            1 => {
                let tags = metric.tags.take();
                *metric = MetricStats { tags, ..take_values(section)? };
            }
            2 => {
                let tags = metric.tags.get_or_insert_default();
                take_bounded(section, tags, TAGS_BYTES_MAX, take_values)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })
}

fn take_values<C: Count>(reader: &mut Reader<'_>) -> Result<MetricStats<C>, DecodeError> {
    let values = take_distribution(reader)?;
    let sum = reader.f64()?;
    let (non_zero, refused) = (reader.number()?, reader.number()?);
    let last = match reader.byte()? {
        0 => None,
        1 => {
            let (at_ns, core, value) = (reader.number()?, reader.number()?, reader.f64()?);
            Some(Last { at_ns, core, value })
        }
        _ => return Err(DecodeError::Contradiction),
    };
    let fits = non_zero <= values.count()
        && last.is_some() != values.is_empty()
        && last.is_none_or(|last| last.value.is_finite());
    if fits {
        Ok(MetricStats { values, sum, non_zero, refused, last, tags: None })
    } else {
        Err(DecodeError::Contradiction)
    }
}
