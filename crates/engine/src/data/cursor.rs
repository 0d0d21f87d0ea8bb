//! Which row an iteration gets, and the row itself. One cursor per core and file, so that cores share nothing.

use std::ops::Range;
use std::sync::Arc;

use hyperscale_plan::load::Share;
use hyperscale_plan::model::{DataEnd, DataOrder, DataSource};
use minijinja::Value;

use super::{DataFile, ROWS_PER_BLOCK};

/// Split blocks remembered per cursor: a million rows, 4 KiB each when they are used.
const BLOCKS_REMEMBERED: usize = 1024;

/// Hands out the rows of a file to the virtual users of one core.
#[derive(Debug)]
pub struct Cursor {
    file: Arc<DataFile>,
    order: Order,
    /// By block number modulo [`BLOCKS_REMEMBERED`].
    blocks: Vec<Option<Block>>,
}

/// A block of rows that was split.
#[derive(Debug)]
struct Block {
    number: usize,
    /// Where its rows begin, counted from its first byte.
    starts: Box<[u32]>,
}

impl Cursor {
    /// The cursor of one core.
    pub fn new(file: &Arc<DataFile>, source: &DataSource, share: Share) -> Self {
        let order = Order::new(source.order, source.on_end, file.rows(), share);
        let blocks = file.index.blocks.len().min(BLOCKS_REMEMBERED);
        Cursor { file: Arc::clone(file), order, blocks: (0..blocks).map(|_| None).collect() }
    }

    /// The next row of a virtual user: a map from column to text for CSV, an object for JSON lines. `None` when there is
    /// none left for it. `vu` is its number in the workflow, from 0, and one of this core; `random` a number of its own
    /// generator.
    pub fn next(&mut self, vu: u32, random: u64) -> Option<Value> {
        let row = self.order.next(vu, random)?;
        Some(self.row(row))
    }

    /// Whether a virtual user would get a row now.
    pub fn has_next(&self, vu: u32) -> bool {
        self.order.has_next(vu)
    }

    /// A row by its number, from 0; undefined beyond the last.
    pub fn row(&mut self, row: u64) -> Value {
        if row >= self.file.rows() {
            return Value::UNDEFINED;
        }
        let (number, at) = ((row / ROWS_PER_BLOCK) as usize, (row % ROWS_PER_BLOCK) as usize);
        let slot = number % self.blocks.len();
        let block = match &mut self.blocks[slot] {
            Some(block) if block.number == number => block,
            other => other.insert(Block { number, starts: self.file.split(number) }),
        };
        let bytes = &self.file.bytes[self.file.block(number)];
        let Some(begin) = block.starts.get(at) else {
            return Value::UNDEFINED;
        };
        let end = block.starts.get(at + 1).map_or(bytes.len(), |end| *end as usize);
        self.file.read(&bytes[*begin as usize..end])
    }
}

/// The numbers of the rows that come next on one core.
#[derive(Debug)]
enum Order {
    /// Any of so many.
    Random(u64),
    /// One after the other, to whoever asks.
    Shared { range: Range<u64>, next: u64, on_end: DataEnd },
    /// Each virtual user has a range of its own.
    Unique { rows: u64, share: Share, on_end: DataEnd, taken: Vec<u64> },
}

impl Order {
    fn new(order: DataOrder, on_end: DataEnd, rows: u64, share: Share) -> Self {
        let range = of_core(rows, share);
        let range = match (order, on_end) {
            (DataOrder::Random, _) => return Order::Random(rows),
            (DataOrder::Unique, _) => return Order::Unique { rows, share, on_end, taken: Vec::new() },
            (DataOrder::Sequential, DataEnd::Stop) => range,
            // With fewer rows than cores some would have none to begin again with.
            (DataOrder::Sequential, DataEnd::Recycle) => {
                let begin = range.start.min(rows.saturating_sub(1));
                begin..range.end.max(begin + 1)
            }
        };
        Order::Shared { next: range.start, range, on_end }
    }

    fn next(&mut self, vu: u32, random: u64) -> Option<u64> {
        match self {
            // The high half of the product is even over 0..rows (Lemire) without a division.
            Order::Random(rows) => Some(((u128::from(random) * u128::from(*rows)) >> 64) as u64),
            Order::Shared { range, next, on_end } => {
                if *next == range.end && *on_end == DataEnd::Recycle {
                    *next = range.start;
                }
                let row = *next;
                (row < range.end).then(|| {
                    *next += 1;
                    row
                })
            }
            Order::Unique { rows, share, on_end, taken } => {
                let (range, slot) = (of_vu(*rows, vu, share.vus), (vu / share.cores) as usize);
                if taken.len() <= slot {
                    taken.resize(slot + 1, 0);
                }
                let row = nth(&range, taken[slot], *on_end)?;
                taken[slot] += 1;
                Some(row)
            }
        }
    }

    fn has_next(&self, vu: u32) -> bool {
        match self {
            Order::Random(_) => true,
            Order::Shared { range, next, on_end } => *on_end == DataEnd::Recycle || *next < range.end,
            Order::Unique { rows, share, on_end, taken } => {
                let taken = taken.get((vu / share.cores) as usize).copied().unwrap_or(0);
                nth(&of_vu(*rows, vu, share.vus), taken, *on_end).is_some()
            }
        }
    }
}

/// The row after so many of a range were taken.
fn nth(range: &Range<u64>, taken: u64, on_end: DataEnd) -> Option<u64> {
    let length = range.end - range.start;
    match on_end {
        DataEnd::Stop => (taken < length).then(|| range.start + taken),
        DataEnd::Recycle => Some(range.start + taken.checked_rem(length)?),
    }
}

/// The rows of one virtual user, by its number from 0: contiguous, no two share a row, all together have every row. The
/// first ones get one more, so that with fewer rows than virtual users it is the first that have one. Virtual users beyond
/// the planned ones have none.
fn of_vu(rows: u64, vu: u32, vus: u32) -> Range<u64> {
    if vu >= vus {
        return 0..0;
    }
    let (vu, vus) = (u64::from(vu), u64::from(vus));
    let begin = |vu: u64| (rows / vus) * vu + vu.min(rows % vus);
    begin(vu)..begin(vu + 1)
}

/// The rows of one core, for whichever of its virtual users asks.
fn of_core(rows: u64, share: Share) -> Range<u64> {
    let before: u32 = (0..share.core).map(|core| Share { core, ..share }.own_vus()).sum();
    self::share(rows, before, share.own_vus(), share.vus)
}

/// The rows that belong to `vus_here` VUs which have `vus_before` in front of them, out of `vus_total`: contiguous, in
/// proportion to the VUs, and all parts together cover the file exactly once.
pub fn share(rows: u64, vus_before: u32, vus_here: u32, vus_total: u32) -> Range<u64> {
    if vus_total == 0 {
        return 0..0;
    }
    let up_to = |vus: u64| (u128::from(rows) * u128::from(vus) / u128::from(vus_total)) as u64;
    up_to(u64::from(vus_before))..up_to(u64::from(vus_before) + u64::from(vus_here))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take(order: &mut Order, count: usize) -> Vec<u64> {
        std::iter::from_fn(|| order.next(0, 0)).take(count).collect()
    }

    const ONE_CORE: Share = Share { core: 0, cores: 1, vus: 1 };

    #[test]
    fn rows_come_in_order_and_begin_again_or_stop() {
        let mut recycling = Order::new(DataOrder::Sequential, DataEnd::Recycle, 3, ONE_CORE);
        assert_eq!(take(&mut recycling, 7), [0, 1, 2, 0, 1, 2, 0]);
        let mut stopping = Order::new(DataOrder::Sequential, DataEnd::Stop, 3, ONE_CORE);
        assert_eq!(take(&mut stopping, 7), [0, 1, 2]);
        assert_eq!((stopping.has_next(0), stopping.next(0, 0)), (false, None));
    }

    #[test]
    fn a_recycling_core_always_has_rows() {
        for core in 0..3 {
            let share = Share { core, cores: 3, vus: 3 };
            let mut order = Order::new(DataOrder::Sequential, DataEnd::Recycle, 2, share);
            assert!(take(&mut order, 2).iter().all(|row| *row < 2));
            assert_eq!(take(&mut order, 5).len(), 5);
        }
    }

    #[test]
    fn unique_rows_stay_with_their_virtual_user_when_they_begin_again() {
        let mut order =
            Order::new(DataOrder::Unique, DataEnd::Recycle, 3, Share { core: 0, cores: 1, vus: 2 });
        let mut next = |vu| order.next(vu, 0);
        assert_eq!(
            [next(0), next(1), next(0), next(0), next(1), next(0)].map(Option::unwrap),
            [0, 2, 1, 0, 2, 1]
        );
    }

    #[test]
    fn with_fewer_rows_than_virtual_users_the_first_have_one_each() {
        for on_end in [DataEnd::Stop, DataEnd::Recycle] {
            let mut order = Order::new(DataOrder::Unique, on_end, 2, Share { core: 0, cores: 1, vus: 5 });
            let has: Vec<bool> = (0..5).map(|vu| order.has_next(vu)).collect();
            assert_eq!(has, [true, true, false, false, false]);
            let rows: Vec<Option<u64>> = (0..5).map(|vu| order.next(vu, 0)).collect();
            assert_eq!(rows, [Some(0), Some(1), None, None, None]);
            assert_eq!(order.has_next(0), on_end == DataEnd::Recycle);
        }
    }

    #[test]
    fn random_rows_reach_both_ends_and_nothing_else() {
        let mut order = Order::new(DataOrder::Random, DataEnd::Stop, 10, ONE_CORE);
        assert_eq!((order.next(0, 0), order.next(0, u64::MAX)), (Some(0), Some(9)));
        assert_eq!(order.next(0, u64::MAX / 2), Some(4));
    }

    proptest! {
        #[test]
        fn shares_cover_the_file_exactly_once(rows in 0u64..5_000, vus in proptest::collection::vec(0u32..50, 1..12)) {
            let total = vus.iter().sum();
            prop_assume!(total > 0);
            let (mut before, mut next) = (0, 0);
            for here in vus {
                let range = share(rows, before, here, total);
                prop_assert_eq!(range.start, next);
                let exact = rows as f64 * f64::from(here) / f64::from(total);
                prop_assert!((range.end - range.start).abs_diff(exact.round() as u64) <= 1, "{:?} {}", range, exact);
                (before, next) = (before + here, range.end);
            }
            prop_assert_eq!(next, rows);
        }

        #[test]
        fn a_unique_row_goes_to_one_virtual_user_and_none_is_left_over(
            rows in 1u64..2_000, cores in 1u32..9, vus in 1u32..200, recycle: bool,
        ) {
            let on_end = if recycle { DataEnd::Recycle } else { DataEnd::Stop };
            let mut owner = vec![None; rows as usize];
            for core in 0..cores {
                let mut order = Order::new(DataOrder::Unique, on_end, rows, Share { core, cores, vus });
                for vu in (core..vus).step_by(cores as usize) {
                    for row in std::iter::from_fn(|| order.next(vu, 0)).take(rows as usize + 1) {
                        prop_assert_eq!(*owner[row as usize].get_or_insert(vu), vu);
                    }
                }
            }
            prop_assert!(owner.iter().all(Option::is_some));
        }
    }
}
