//! At most one replica of a group leads in a term.

use std::collections::BTreeMap;

use hyperscale_consensus::RaftId;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// Who led, per group and term.
#[derive(Debug, Default)]
pub(in crate::invariants) struct LeaderPerTerm {
    leaders: BTreeMap<(u8, u64), RaftId>,
}

impl Invariant for LeaderPerTerm {
    fn name(&self) -> &'static str {
        "leader_per_term"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Leads { term, id }) = &seen.what else { return Ok(()) };
        let first = *self.leaders.entry((seen.cluster(), *term)).or_insert(*id);
        if first == *id { Ok(()) } else { Err(format!("{id} leads in term {term}, and {first} did")) }
    }
}
