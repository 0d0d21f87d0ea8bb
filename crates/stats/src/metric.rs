//! Values of the user's own: counts, rates, samples, distributions and timings.

use hyperscale_types::limits;
use hyperscale_types::rule::Stat;

use crate::bounded::{Bounded, Entry};
use crate::buckets::Count;
use crate::distribution::Distribution;
use crate::layout::MetricKind;

/// All values of one metric. What they mean is said by its [`MetricKind`].
#[derive(Clone, Debug, Default)]
pub struct MetricStats<C: Count = u64> {
    pub(crate) values: Distribution<C>,
    pub(crate) sum: f64,
    pub(crate) non_zero: u64,
    pub(crate) refused: u64,
    pub(crate) last: Option<Last>,
    /// The same values by their tags; not there before the first value that has any.
    pub(crate) tags: Option<Box<Tags<C>>>,
}

/// Values by their tags (`k=v,k2=v2`).
pub(crate) type Tags<C> = Bounded<MetricStats<C>, { limits::TAG_SETS_MAX }>;

/// The newest value, and where it comes from, so that "newest" does not depend on the order of merging.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Last {
    pub(crate) at_ns: u64,
    pub(crate) core: u32,
    pub(crate) value: f64,
}

impl Last {
    fn newest(self, other: Last) -> Last {
        let order = (self.at_ns, self.core).cmp(&(other.at_ns, other.core));
        if order.then(self.value.total_cmp(&other.value)).is_ge() { self } else { other }
    }
}

impl<C: Count> MetricStats<C> {
    /// Records one value; what is not a finite number is refused and counted.
    pub(crate) fn record(&mut self, value: f64) {
        if !self.values.record(value) {
            self.refused += 1;
            return;
        }
        self.sum += value;
        self.non_zero += u64::from(value != 0.0);
        self.last = Some(Last { at_ns: 0, core: 0, value });
    }

    /// Records the same value once more under its tags.
    pub(crate) fn tagged(&mut self, tags: &str, value: f64) {
        self.tags.get_or_insert_default().entry(tags).record(value);
    }

    pub(crate) fn clear(&mut self) {
        self.values.clear();
        (self.sum, self.non_zero, self.refused, self.last) = (0.0, 0, 0, None);
        self.tags.iter_mut().flat_map(|tags| tags.values_mut()).for_each(MetricStats::clear);
    }

    /// Adds a window's values, whose last one was recorded on `core` before `at_ns`.
    pub(crate) fn add<D: Count>(&mut self, other: &MetricStats<D>, at_ns: u64, core: u32) {
        self.add_values(other, other.last.map(|last| Last { at_ns, core, ..last }));
        if let Some(tags) = &other.tags {
            let add = |mine: &mut Self, theirs: &MetricStats<D>| mine.add(theirs, at_ns, core);
            self.tags.get_or_insert_default().merge_with(tags, add);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.add_values(other, other.last);
        if let Some(tags) = &other.tags {
            self.tags.get_or_insert_default().merge_with(tags, Self::merge);
        }
    }

    fn add_values<D: Count>(&mut self, other: &MetricStats<D>, last: Option<Last>) {
        self.values.merge(&other.values);
        self.sum += other.sum;
        self.non_zero = self.non_zero.saturating_add(other.non_zero);
        self.refused = self.refused.saturating_add(other.refused);
        self.last = match (self.last, last) {
            (Some(mine), Some(theirs)) => Some(mine.newest(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.values.count()
    }

    /// Values that were no finite numbers and are in nothing else.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// All values added up.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// The share of values that are not zero.
    pub fn rate(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.non_zero as f64 / self.count() as f64)
    }

    /// The newest value.
    pub fn last(&self) -> Option<f64> {
        self.last.map(|last| last.value)
    }

    /// All values as a distribution.
    pub fn values(&self) -> &Distribution<C> {
        &self.values
    }

    /// Every kept tag set (`k=v,k2=v2`) with its values.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &MetricStats<C>)> {
        self.tags.iter().flat_map(|tags| tags.iter())
    }

    /// The values whose tag sets were beyond the limit.
    pub fn other_tags(&self) -> Option<&MetricStats<C>> {
        self.tags.as_ref().map(|tags| tags.rest()).filter(|rest| rest.count() > 0)
    }

    /// A statistic as thresholds ask for it: `count` of a counter is its sum, `mean` of a rate is its share.
    pub fn stat(&self, kind: MetricKind, stat: Stat) -> Option<f64> {
        match (kind, stat) {
            _ if self.count() == 0 => None,
            (MetricKind::Count, Stat::Count) => Some(self.sum),
            (MetricKind::Rate, Stat::Mean) => self.rate(),
            (_, Stat::Count) => Some(self.count() as f64),
            (_, Stat::Mean) => self.values.mean(),
            (_, Stat::Min) => self.values.min(),
            (_, Stat::Max) => self.values.max(),
            (_, Stat::Stdev) => self.values.stdev(),
            (_, Stat::Percentile(percent)) => self.values.percentile(percent),
        }
    }
}

impl<C: Count> Entry for MetricStats<C> {
    fn absorb(&mut self, other: &Self) {
        self.merge(other);
    }
    fn is_empty(&self) -> bool {
        self.count() == 0 && self.refused == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> MetricStats<u32> {
        let mut stats = MetricStats::default();
        for value in values {
            stats.record(*value);
        }
        stats
    }

    #[test]
    fn each_kind_answers_in_its_own_way() {
        let stats = of(&[1.0, 0.0, 5.0, 0.0]);
        assert_eq!(stats.stat(MetricKind::Count, Stat::Count), Some(6.0));
        assert_eq!(stats.stat(MetricKind::Rate, Stat::Mean), Some(0.5));
        assert_eq!(stats.stat(MetricKind::Sample, Stat::Max), Some(5.0));
        assert_eq!(stats.stat(MetricKind::Distribution, Stat::Count), Some(4.0));
        assert_eq!(stats.last(), Some(0.0));
        assert_eq!(of(&[]).stat(MetricKind::Count, Stat::Count), None);
    }

    #[test]
    fn the_newest_value_wins_in_any_order_of_merging() {
        let (old, new) = (of(&[1.0]), of(&[2.0]));
        for windows in [[(&old, 10), (&new, 20)], [(&new, 20), (&old, 10)]] {
            let mut all = MetricStats::<u64>::default();
            for (window, at_ns) in windows {
                all.add(window, at_ns, 0);
            }
            assert_eq!(all.last(), Some(2.0));
        }
    }

    #[test]
    fn what_is_not_a_number_is_counted_apart() {
        let stats = of(&[f64::NAN, 1.0]);
        assert_eq!((stats.count(), stats.refused()), (1, 1));
    }
}
