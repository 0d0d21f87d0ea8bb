//! Windows and totals: what they have in common, and what only one of them has.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperscale_types::limits;

use super::DecodeError;
use super::histogram::{put_unless_empty, take_histogram};
use super::metric::{put_metric, take_metric};
use super::number::{Reader, Sections, ascending, put, put_counters, put_len};
use super::step::{put_step, take_step};
use crate::buckets::Count;
use crate::histogram::Histogram;
use crate::layout::Layout;
use crate::metric::MetricStats;
use crate::saturation::{Judged, Saturation};
use crate::step::StepStats;
use crate::totals::{CoreLoad, Totals};
use crate::window::{CheckStats, Iterations, Window};

/// Sections of both; the number 1 is the head, which differs.
const HEAD: u8 = 1;
const ITERATIONS: u8 = 2;
const LAG: u8 = 3;
const STEPS: u8 = 4;
const CHECKS: u8 = 5;
const METRICS: u8 = 6;
/// Of totals only.
const CORES: u8 = 7;
const SATURATION: u8 = 8;
/// Of windows only.
const JUDGED: u8 = 9;
/// Points wider than this belong to no run: eight points of it are a century.
const SATURATION_WIDTH_MAX: u64 = 1 << 29;

pub(super) fn put_window(out: &mut Vec<u8>, window: &Window) {
    let mut sections = Sections::default();
    let length_ns = window.to_ns.saturating_sub(window.from_ns);
    let head = [
        window.seq,
        u64::from(window.core),
        window.from_ns,
        length_ns,
        u64::from(window.vus),
        window.busy_ns,
        window.waited_ns,
    ];
    // Most windows of an idle machine have waited for nothing.
    let head = if window.waited_ns > 0 { &head[..] } else { &head[..head.len() - 1] };
    sections.section(HEAD, |out| put_counters(out, head));
    put_common(&mut sections, &Common::of_window(window));
    sections.section(JUDGED, |out| {
        if let Some(judged) = window.judged {
            put_counters(out, &[judged.from_ns, u64::from(judged.exceeded)]);
        }
    });
    sections.finish(out);
}

pub(super) fn put_totals(out: &mut Vec<u8>, totals: &Totals) {
    let mut sections = Sections::default();
    sections.section(HEAD, |out| put_counters(out, &[totals.windows]));
    put_common(&mut sections, &Common::of_totals(totals));
    sections.section(CORES, |out| {
        if !totals.cores.is_empty() {
            put_len(out, totals.cores.len());
        }
        for (core, load) in &totals.cores {
            put(out, *core);
            let vus = [load.vus, load.vus_peak].map(u64::from);
            let counters = [load.busy_ns, load.observed_ns, load.newest_ns, vus[0], vus[1], load.waited_ns];
            put_counters(out, &counters);
        }
    });
    sections.section(SATURATION, |out| put_saturation(out, &totals.saturation));
    sections.finish(out);
}

/// The parts that windows and totals share.
struct Common<'s, C: Count> {
    iterations: &'s Iterations,
    lag: &'s Histogram<C>,
    steps: &'s [StepStats<C>],
    checks: &'s [CheckStats],
    metrics: &'s [MetricStats<C>],
}

impl<'s> Common<'s, u32> {
    fn of_window(window: &'s Window) -> Self {
        let Window { iterations, lag, steps, checks, metrics, .. } = window;
        Common { iterations, lag, steps, checks, metrics }
    }
}

impl<'s> Common<'s, u64> {
    fn of_totals(totals: &'s Totals) -> Self {
        let Totals { iterations, lag, steps, checks, metrics, .. } = totals;
        Common { iterations, lag, steps, checks, metrics }
    }
}

fn put_common<C: Count>(sections: &mut Sections, common: &Common<'_, C>) {
    let i = common.iterations;
    sections.section(ITERATIONS, |out| {
        let counters =
            [i.scheduled, i.started, i.completed, i.failed, i.interrupted, i.dropped, i.late, i.missed];
        if counters != [0; 8] {
            put_counters(out, &counters);
        }
    });
    sections.section(LAG, |out| put_unless_empty(out, common.lag));
    sections.section(STEPS, |out| put_indexed(out, common.steps.iter().map(put_step)));
    sections.section(CHECKS, |out| {
        if common.checks.iter().any(|check| *check != CheckStats::default()) {
            put_len(out, common.checks.len());
            for check in common.checks {
                put(out, check.passed);
                put(out, check.failed);
            }
        }
    });
    sections.section(METRICS, |out| put_indexed(out, common.metrics.iter().map(put_metric)));
}

/// Those that have something, each with its position.
fn put_indexed(out: &mut Vec<u8>, items: impl Iterator<Item = Sections>) {
    let filled: Vec<(usize, Sections)> = items.enumerate().filter(|(_, item)| !item.is_empty()).collect();
    if !filled.is_empty() {
        put_len(out, filled.len());
    }
    for (index, item) in filled {
        put_len(out, index);
        item.finish(out);
    }
}

pub(super) fn take_window(reader: &mut Reader<'_>, layout: &Arc<Layout>) -> Result<Window, DecodeError> {
    charge_layout(reader, layout)?;
    let mut window = Window::new(layout);
    reader.sections(|number, section| {
        match number {
            HEAD => take_head(section, &mut window)?,
            JUDGED => {
                let [from_ns, exceeded] = section.counters()?;
                let exceeded = u8::try_from(exceeded).map_err(|_| DecodeError::NumberTooLarge)?;
                window.judged = (exceeded != 0).then_some(Judged { from_ns, exceeded });
            }
            _ => {
                let Window { iterations, lag, steps, checks, metrics, .. } = &mut window;
                return take_common(number, section, CommonMut { iterations, lag, steps, checks, metrics });
            }
        }
        Ok(true)
    })?;
    if window.judged.is_some_and(|judged| judged.from_ns > window.to_ns) {
        return Err(DecodeError::KeyOutOfRange);
    }
    Ok(window)
}

fn take_head(reader: &mut Reader<'_>, window: &mut Window) -> Result<(), DecodeError> {
    let [seq, core, from_ns, length_ns, vus, busy_ns, waited_ns] = reader.counters()?;
    (window.seq, window.from_ns, window.busy_ns, window.waited_ns) = (seq, from_ns, busy_ns, waited_ns);
    (window.core, window.vus) = (small(core)?, small(vus)?);
    window.to_ns = from_ns.checked_add(length_ns).ok_or(DecodeError::NumberTooLarge)?;
    Ok(())
}

pub(super) fn take_totals(reader: &mut Reader<'_>, layout: &Arc<Layout>) -> Result<Totals, DecodeError> {
    charge_layout(reader, layout)?;
    let mut totals = Totals::new(layout);
    reader.sections(|number, section| match number {
        HEAD => {
            [totals.windows] = section.counters()?;
            Ok(true)
        }
        CORES => {
            totals.cores = take_cores(section)?;
            Ok(true)
        }
        SATURATION => {
            totals.saturation = take_saturation(section)?;
            Ok(true)
        }
        _ => {
            let Totals { iterations, lag, steps, checks, metrics, .. } = &mut totals;
            take_common(number, section, CommonMut { iterations, lag, steps, checks, metrics })
        }
    })?;
    Ok(totals)
}

fn charge_layout(reader: &mut Reader<'_>, layout: &Layout) -> Result<(), DecodeError> {
    let each = size_of::<StepStats>() * layout.steps.len() + size_of::<MetricStats>() * layout.metrics.len();
    reader.charge(each + size_of::<CheckStats>() * layout.checks.len())
}

fn take_cores(reader: &mut Reader<'_>) -> Result<BTreeMap<u32, CoreLoad>, DecodeError> {
    let (mut cores, mut last) = (BTreeMap::new(), None);
    for _ in 0..reader.len()? {
        let core = reader.number()?;
        ascending(&mut last, core)?;
        reader.charge(2 * size_of::<CoreLoad>())?;
        let [busy_ns, observed_ns, newest_ns, vus, vus_peak, waited_ns] = reader.counters()?;
        let (vus, vus_peak) = (small(vus)?, small(vus_peak)?);
        cores.insert(core, CoreLoad { busy_ns, waited_ns, observed_ns, newest_ns, vus, vus_peak });
    }
    Ok(cores)
}

/// Width, then the points of each core as bytes.
fn put_saturation(out: &mut Vec<u8>, saturation: &Saturation) {
    if saturation.is_empty() {
        return;
    }
    put(out, saturation.width_s);
    put_len(out, saturation.cores.len());
    for (core, points) in &saturation.cores {
        put(out, *core);
        put_len(out, points.len());
        out.extend_from_slice(points);
    }
}

fn take_saturation(reader: &mut Reader<'_>) -> Result<Saturation, DecodeError> {
    let width_s: u64 = reader.number()?;
    if !width_s.is_power_of_two() || width_s > SATURATION_WIDTH_MAX {
        return Err(DecodeError::KeyOutOfRange);
    }
    let (mut cores, mut last) = (BTreeMap::new(), None);
    for _ in 0..reader.len()? {
        let core = reader.number()?;
        ascending(&mut last, core)?;
        let len = reader.len()?;
        if len > limits::SERIES_POINTS_MAX {
            return Err(DecodeError::KeyOutOfRange);
        }
        reader.charge(len)?;
        cores.insert(core, reader.slice(len)?.to_vec());
    }
    Ok(Saturation { width_s, cores })
}

fn small(number: u64) -> Result<u32, DecodeError> {
    u32::try_from(number).map_err(|_| DecodeError::NumberTooLarge)
}

/// The parts that windows and totals share, empty, to be filled.
struct CommonMut<'s, C: Count> {
    iterations: &'s mut Iterations,
    lag: &'s mut Histogram<C>,
    steps: &'s mut [StepStats<C>],
    checks: &'s mut [CheckStats],
    metrics: &'s mut [MetricStats<C>],
}

fn take_common<C: Count>(
    number: u8,
    reader: &mut Reader<'_>,
    to: CommonMut<'_, C>,
) -> Result<bool, DecodeError> {
    match number {
        ITERATIONS => {
            let i = to.iterations;
            [i.scheduled, i.started, i.completed, i.failed, i.interrupted, i.dropped, i.late, i.missed] =
                reader.counters()?;
        }
        LAG => *to.lag = take_histogram(reader)?,
        STEPS => take_indexed(reader, to.steps, take_step)?,
        CHECKS => {
            if reader.len()? != to.checks.len() {
                return Err(DecodeError::KeyOutOfRange);
            }
            for check in to.checks {
                *check = CheckStats { passed: reader.number()?, failed: reader.number()? };
            }
        }
        METRICS => take_indexed(reader, to.metrics, take_metric)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn take_indexed<T>(
    reader: &mut Reader<'_>,
    items: &mut [T],
    take: impl Fn(&mut Reader<'_>, &mut T) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut last = None;
    for _ in 0..reader.len()? {
        let index: usize = reader.number()?;
        ascending(&mut last, index)?;
        take(reader, items.get_mut(index).ok_or(DecodeError::KeyOutOfRange)?)?;
    }
    Ok(())
}
