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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invariants::scene::Scene;

    fn leads(term: u64, id: u64) -> What<'static> {
        What::Log(Logged::Leads { term, id: RaftId::new(id).unwrap() })
    }

    #[test]
    fn second_leader_of_a_term_is_objected_to() {
        let (scene, mut judge) = (Scene::of(&[0, 0]), LeaderPerTerm::default());
        assert!(scene.ask(&mut judge, 0, 1, leads(4, 1)).is_ok());
        assert!(scene.ask(&mut judge, 1, 2, leads(4, 2)).is_err());
    }

    #[test]
    fn leaders_of_other_terms_and_groups_are_fine() {
        let (scene, mut judge) = (Scene::of(&[0, 0, 1]), LeaderPerTerm::default());
        for (node, term, id) in [(0, 4, 1), (0, 4, 1), (1, 5, 2), (2, 4, 3)] {
            assert!(scene.ask(&mut judge, node, 1, leads(term, id)).is_ok());
        }
    }
}
