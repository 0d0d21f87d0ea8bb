//! Values that a workflow provides to others, gathered on one core.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_job::segment::Provided;
use hyperscale_plan::model::workflow::Pick;
use hyperscale_types::limits;
use minijinja::Value;

use super::Core;
use super::scope::VuScope;
use super::values::plain;
use super::vu::Vu;

/// A provided value and when it was produced, on the job clock. It becomes plain data at the end.
#[derive(Clone, Debug)]
struct Produced {
    at: Duration,
    value: Value,
}

/// What the virtual users of one core have provided so far. A value is taken when an iteration completes, so that
/// neither one that failed nor a virtual user that is cut off changes or loses it.
#[derive(Debug, Default)]
pub(crate) struct Providing {
    /// By position in the workflow's `provides` and, for `pick: all`, by virtual user.
    values: BTreeMap<(usize, u32), Produced>,
    /// How many there are for each position.
    counts: Vec<usize>,
}

impl Providing {
    /// A virtual user completed an iteration.
    pub(crate) fn iteration_ends(&mut self, core: &Core, vu: &Vu) {
        for (at, provide) in core.workflow().provides.iter().enumerate() {
            let key = (at, if provide.pick == Pick::All { vu.id } else { 0 });
            if !provide.from_stats
                && self.wants(provide.pick, key)
                && let Some(value) = produce(core, vu, at)
            {
                self.put(key, value);
            }
        }
    }

    /// Whether a new value would be kept.
    fn wants(&self, pick: Pick, key: (usize, u32)) -> bool {
        match pick {
            Pick::Last => true,
            Pick::First => !self.values.contains_key(&key),
            Pick::All => {
                let count = self.counts.get(key.0).copied().unwrap_or(0);
                count < limits::PICK_ALL_MAX || self.values.contains_key(&key)
            }
        }
    }

    fn put(&mut self, key: (usize, u32), value: Produced) {
        if self.values.insert(key, value).is_none() {
            let least = self.counts.len().max(key.0 + 1);
            self.counts.resize(least, 0);
            self.counts[key.0] += 1;
        }
    }

    /// Everything, as plain data.
    pub(crate) fn take(&mut self) -> Vec<Provided> {
        let values = std::mem::take(self).values.into_iter();
        let plain = |((provide, _), produced): ((usize, u32), Produced)| {
            Some(Provided { provide, produced: produced.at, value: plain(&produced.value)? })
        };
        values.filter_map(plain).collect()
    }
}

/// The value as this virtual user sees it; `None` if it refers to something that does not exist.
fn produce(core: &Core, vu: &Vu, provide: usize) -> Option<Produced> {
    let value = core.workflow().provides[provide].value.value(&VuScope { core, vu }).ok()?;
    Some(Produced { at: core.time.now(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: u32) -> Produced {
        Produced { at: Duration::ZERO, value: Value::from(text) }
    }

    #[test]
    fn each_virtual_user_has_one_value_up_to_the_limit() {
        let mut providing = Providing::default();
        for vu in 0..limits::PICK_ALL_MAX as u32 {
            assert!(providing.wants(Pick::All, (0, vu)));
            providing.put((0, vu), value(vu));
            providing.put((0, vu), value(vu + 1));
        }
        assert!(!providing.wants(Pick::All, (0, limits::PICK_ALL_MAX as u32)), "one more virtual user");
        assert!(providing.wants(Pick::All, (0, 7)), "a newer value of a known one");
        assert!(providing.wants(Pick::All, (1, 0)), "another key");
        let all = providing.take();
        assert_eq!(all.len(), limits::PICK_ALL_MAX);
        assert_eq!(all[7].value, 8, "the newest of each");
    }

    #[test]
    fn the_first_stays_and_the_last_is_replaced() {
        let mut providing = Providing::default();
        assert!(providing.wants(Pick::First, (0, 0)) && providing.wants(Pick::Last, (0, 0)));
        providing.put((0, 0), value(1));
        assert!(!providing.wants(Pick::First, (0, 0)) && providing.wants(Pick::Last, (0, 0)));
    }
}
