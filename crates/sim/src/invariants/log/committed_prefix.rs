//! Committed prefixes are equal: whoever applies an entry, in whichever life, applies the same one with the same outcome.

use std::collections::BTreeMap;

use hyperscale_consensus::register::Outcome;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// Term and outcome, per group and place.
#[derive(Debug, Default)]
pub(in crate::invariants) struct CommittedPrefix {
    entries: BTreeMap<(u8, u64), (u64, Option<Outcome>)>,
}

impl Invariant for CommittedPrefix {
    fn name(&self) -> &'static str {
        "committed_prefix"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Log(Logged::Applied { index, term, outcome }) = &seen.what else { return Ok(()) };
        let first = self.entries.entry((seen.cluster(), *index)).or_insert_with(|| (*term, outcome.cloned()));
        if (first.0, first.1.as_ref()) == (*term, *outcome) {
            return Ok(());
        }
        Err(format!("applied entry {index} as {:?}, and it was {first:?}", (term, outcome)))
    }
}
