//! Load of two attempts of a segment never overlaps: once a later attempt has sent, no earlier one sends any more.

use std::collections::BTreeMap;

use hyperscale_consensus::register::Segment;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The last attempt that sent, and its worker, per group and segment.
#[derive(Debug, Default)]
pub(in crate::invariants) struct LoadOverlap {
    last: BTreeMap<(u8, Segment), (u32, usize)>,
}

impl Invariant for LoadOverlap {
    fn name(&self) -> &'static str {
        "load_overlap"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Load { segment, attempt, .. }) = &seen.what else { return Ok(()) };
        let last = self.last.entry((seen.cluster(), (*segment).clone())).or_insert((*attempt, seen.node));
        if *attempt < last.0 || *attempt == last.0 && seen.node != last.1 {
            return Err(format!(
                "{segment:?}: attempt {attempt} sends load, and attempt {} did at node {}",
                last.0, last.1
            ));
        }
        *last = (*attempt, seen.node);
        Ok(())
    }
}
