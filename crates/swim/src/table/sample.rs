//! Drawing distinct members at random.

use fastrand::Rng;

use super::Slot;

/// Lists up to this length are filtered whole: in small clusters the only eligible member must never be missed.
const SCAN_MAX: usize = 64;
/// Draws per wanted member before a long list is scanned.
const DRAWS_PER_PICK: usize = 8;

/// Adds up to `count` distinct eligible slots of `list` to `picks`; fewer only if there are no more.
pub(crate) fn sample(
    rng: &mut Rng,
    list: &[Slot],
    count: usize,
    mut eligible: impl FnMut(Slot) -> bool,
    picks: &mut Vec<Slot>,
) {
    let wanted = picks.len() + count;
    if list.len() > SCAN_MAX {
        for _ in 0..count * DRAWS_PER_PICK {
            if picks.len() == wanted {
                return;
            }
            let slot = list[rng.usize(..list.len())];
            if !picks.contains(&slot) && eligible(slot) {
                picks.push(slot);
            }
        }
        let start = rng.usize(..list.len());
        scan(list[start..].iter().chain(&list[..start]), wanted, eligible, picks);
        return;
    }
    let mut candidates = [Slot(0); SCAN_MAX];
    let mut len = 0;
    for slot in list.iter().filter(|slot| !picks.contains(slot) && eligible(**slot)) {
        candidates[len] = *slot;
        len += 1;
    }
    for taken in 0..count.min(len) {
        candidates.swap(taken, rng.usize(taken..len));
        picks.push(candidates[taken]);
    }
}

fn scan<'a>(
    slots: impl Iterator<Item = &'a Slot>,
    wanted: usize,
    mut eligible: impl FnMut(Slot) -> bool,
    picks: &mut Vec<Slot>,
) {
    for slot in slots {
        if picks.len() == wanted {
            return;
        }
        if !picks.contains(slot) && eligible(*slot) {
            picks.push(*slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(count: u32) -> Vec<Slot> {
        (0..count).map(Slot).collect()
    }

    #[test]
    fn only_eligible_helper_is_never_missed() {
        for size in [3, 64, 65, 5000] {
            let list = slots(size);
            for seed in 0..200 {
                let mut picks = Vec::new();
                sample(&mut Rng::with_seed(seed), &list, 3, |slot| slot.0 == 1, &mut picks);
                assert_eq!(picks, [Slot(1)], "{size} members, seed {seed}");
            }
        }
    }

    #[test]
    fn picks_are_distinct_and_as_many_as_wanted() {
        for size in [3, 10, 1000] {
            let mut picks = Vec::new();
            sample(&mut Rng::with_seed(7), &slots(size), 3, |_| true, &mut picks);
            picks.sort();
            picks.dedup();
            assert_eq!(picks.len(), 3);
        }
    }

    #[test]
    fn every_member_is_drawn_about_equally_often() {
        let mut rng = Rng::with_seed(1);
        let mut counts = [0u32; 10];
        for _ in 0..10_000 {
            let mut picks = Vec::new();
            sample(&mut rng, &slots(10), 3, |_| true, &mut picks);
            for slot in picks {
                counts[slot.index()] += 1;
            }
        }
        assert!(counts.iter().all(|count| (2800..3200).contains(count)), "{counts:?}");
    }
}
