//! Which workflows run now and on how many cores: the same pure functions for local runs and clusters.
//!
//! | priority | least cores | most cores |
//! | --- | --- | --- |
//! | low | 1 | ⌈0.25 · total⌉ |
//! | normal | ⌈0.25 · total⌉ | ⌈0.75 · total⌉ |
//! | high | ⌈0.75 · total⌉ | total |
//! | exclusive | total | total; runs alone |
//! | auto | 1 | total |
//!
//! Both are capped by the VUs. A workflow without test steps always gets one core. Running workflows never shrink; what
//! is planned here only takes cores that are free.

use std::cmp::Reverse;

use hyperscale_types::{Name, Priority};

/// A workflow that is ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name; decides between equals.
    pub name: Name,
    /// Its priority.
    pub priority: Priority,
    /// Whether it has at least one test step.
    pub test: bool,
    /// Its VUs (`max_vus` in open models).
    pub vus: u32,
}

/// Cores that a workflow gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Position of its claim.
    pub index: usize,
    /// Cores it runs on.
    pub cores: u32,
    /// Cores that nobody else may use meanwhile: more than `cores` only if it is exclusive.
    pub reserved: u32,
}

/// How many cores a claim needs and can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Below this it waits.
    pub least: u32,
    /// More are of no use to it or not its due.
    pub most: u32,
}

impl Claim {
    /// Least and most cores out of `total`.
    pub fn bounds(&self, total: u32) -> Bounds {
        if !self.test {
            return Bounds { least: 1, most: 1 };
        }
        let (quarter, three_quarters) = (total.div_ceil(4), (u64::from(total) * 3).div_ceil(4) as u32);
        let (least, most) = match self.priority {
            Priority::Low => (1, quarter),
            Priority::Auto => (1, total),
            Priority::Normal => (quarter, three_quarters),
            Priority::High => (three_quarters, total),
            Priority::Exclusive => (total, total),
        };
        let cap = self.vus.max(1);
        Bounds { least: least.min(cap), most: most.min(cap) }
    }

    /// Whether nothing of lower rank may start while it waits.
    fn blocks(&self) -> bool {
        self.priority >= Priority::High
    }
}

/// The next batch of workflows to start, out of those that are ready, with their cores.
///
/// The batch is chosen as if all `total` cores were there, and it starts as a whole once its least cores are `free`;
/// until then the answer is empty. It always contains the claim of highest rank: a batch that waits is not overtaken.
pub fn plan_batch(ready: &[Claim], total: u32, free: u32) -> Vec<Grant> {
    let batch = choose(ready, total);
    let alone = batch.first().is_some_and(|index| ready[*index].priority == Priority::Exclusive);
    if alone {
        let index = batch[0];
        let cores = ready[index].bounds(total).most;
        return if free >= total { vec![Grant { index, cores, reserved: total }] } else { Vec::new() };
    }
    let bounds: Vec<Bounds> = batch.iter().map(|index| ready[*index].bounds(total)).collect();
    let least: u32 = bounds.iter().map(|bounds| bounds.least).sum();
    let Some(left) = free.checked_sub(least) else { return Vec::new() };
    let priorities: Vec<Priority> = batch.iter().map(|index| ready[*index].priority).collect();
    let cores = spread_left_over(&priorities, &bounds, left);
    batch.into_iter().zip(cores).map(|(index, cores)| Grant { index, cores, reserved: cores }).collect()
}

/// Positions of the claims of the next batch, by rank: priority, then test before non-test, then name.
fn choose(ready: &[Claim], total: u32) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ready.len()).collect();
    order.sort_by_key(|index| {
        let claim = &ready[*index];
        (Reverse(claim.priority), Reverse(claim.test), &claim.name)
    });
    let mut batch = Vec::new();
    let mut left = total;
    for index in order {
        let claim = &ready[index];
        if claim.priority == Priority::Exclusive {
            return if total > 0 { vec![index] } else { Vec::new() };
        }
        match left.checked_sub(claim.bounds(total).least) {
            Some(rest) => {
                left = rest;
                batch.push(index);
            }
            None if claim.blocks() => break,
            None => {}
        }
    }
    batch
}

/// Gives left-over cores to higher priorities first, one each in turn among equals, up to their most.
fn spread_left_over(priorities: &[Priority], bounds: &[Bounds], mut left: u32) -> Vec<u32> {
    let mut cores: Vec<u32> = bounds.iter().map(|bounds| bounds.least).collect();
    let mut begin = 0;
    for equals in priorities.chunk_by(|a, b| a == b) {
        let end = begin + equals.len();
        loop {
            let before = left;
            for (cores, bounds) in cores[begin..end].iter_mut().zip(&bounds[begin..end]) {
                if left > 0 && *cores < bounds.most {
                    *cores += 1;
                    left -= 1;
                }
            }
            if left == before {
                break;
            }
        }
        begin = end;
    }
    cores
}

#[cfg(test)]
mod tests;
