//! A map from text to statistics with a limit on the number of texts.
//!
//! When there are more texts than the limit, those that are smallest in byte order are kept and the others are merged
//! into one rest. This makes the merge of two maps associative and commutative: a text that belongs to the kept ones
//! of everything also belongs to the kept ones of every part, so it is never lost on the way. "First seen" would
//! depend on which core was faster.

use std::collections::BTreeMap;

/// What can be kept in a [`Bounded`].
pub(crate) trait Entry: Default {
    /// Adds all of `other`.
    fn absorb(&mut self, other: &Self);
    /// Whether nothing was recorded.
    fn is_empty(&self) -> bool;
}

impl Entry for u64 {
    fn absorb(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }
    fn is_empty(&self) -> bool {
        *self == 0
    }
}

/// At most `MAX` texts, and the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounded<V, const MAX: usize> {
    kept: BTreeMap<Box<str>, V>,
    rest: V,
}

impl<V: Entry, const MAX: usize> Bounded<V, MAX> {
    /// Where to record what belongs to `text`.
    pub(crate) fn entry(&mut self, text: &str) -> &mut V {
        if !self.kept.contains_key(text) && !self.admit(text) {
            return &mut self.rest;
        }
        self.kept.get_mut(text).expect("present, or admitted just above")
    }

    /// Every text with something recorded, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        self.kept.iter().filter(|(_, value)| !value.is_empty()).map(|(text, value)| (text.as_ref(), value))
    }

    /// What was recorded under texts beyond the limit.
    pub(crate) fn rest(&self) -> &V {
        &self.rest
    }

    /// Whether nothing was recorded at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.iter().next().is_none()
    }

    /// Replaces what was recorded under texts beyond the limit.
    pub(crate) fn set_rest(&mut self, rest: V) {
        self.rest = rest;
    }

    /// The same for the kept texts, to clear them in place.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.kept.values_mut().chain(std::iter::once(&mut self.rest))
    }

    /// Makes room for a new text, or says that there is none.
    fn admit(&mut self, text: &str) -> bool {
        if self.kept.len() >= MAX {
            let Some(last) = self.kept.last_entry().filter(|last| text < last.key()) else { return false };
            self.rest.absorb(&last.remove());
        }
        self.kept.insert(text.into(), V::default());
        true
    }
}

impl<V: Entry, const MAX: usize> Bounded<V, MAX> {
    /// Adds all of a map whose values convert by `absorb`.
    pub(crate) fn merge_with<W: Entry>(&mut self, other: &Bounded<W, MAX>, absorb: impl Fn(&mut V, &W)) {
        for (text, value) in other.iter() {
            absorb(self.entry(text), value);
        }
        absorb(&mut self.rest, other.rest());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Counts = Bounded<u64, 3>;

    fn of(words: &[String]) -> Counts {
        let mut counts = Counts::default();
        for word in words {
            *counts.entry(word) += 1;
        }
        counts
    }

    fn merged(parts: &[&Counts]) -> Counts {
        let mut all = Counts::default();
        for part in parts {
            all.merge_with(part, Entry::absorb);
        }
        all
    }

    proptest! {
        #[test]
        fn merging_in_any_order_is_the_same_as_recording_all(
            a in proptest::collection::vec("[a-f]", 0..12),
            b in proptest::collection::vec("[a-f]", 0..12),
            c in proptest::collection::vec("[a-f]", 0..12),
        ) {
            let (x, y, z) = (of(&a), of(&b), of(&c));
            let all = of(&[a, b, c].concat());
            prop_assert_eq!(&merged(&[&x, &y, &z]), &all);
            prop_assert_eq!(&merged(&[&z, &merged(&[&y, &x])]), &all);
        }
    }

    #[test]
    fn what_does_not_fit_is_counted_in_the_rest() {
        let counts = of(&["d", "c", "b", "a", "d"].map(String::from));
        assert_eq!(
            counts.iter().map(|(text, n)| (text, *n)).collect::<Vec<_>>(),
            [("a", 1), ("b", 1), ("c", 1)]
        );
        assert_eq!(*counts.rest(), 2);
    }
}
