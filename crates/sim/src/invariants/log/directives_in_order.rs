//! A directive that was overtaken by a newer one is never obeyed: what an attempt is told follows from more and more decisions.

use std::collections::BTreeMap;

use hyperscale_cluster::message::JobAttempt;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// How many decisions the newest directive follows from, per worker in its present life and attempt.
#[derive(Debug, Default)]
pub(in crate::invariants) struct DirectivesInOrder {
    newest: BTreeMap<(usize, JobAttempt), u64>,
}

impl Invariant for DirectivesInOrder {
    fn name(&self) -> &'static str {
        "directives_in_order"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.newest.retain(|(node, _), _| *node != seen.node),
            What::Log(Logged::Directed { attempt, decisions }) => {
                let newest = self.newest.entry((seen.node, *attempt)).or_insert(*decisions);
                if decisions < newest {
                    return Err(format!(
                        "{attempt:?} obeys a directive that follows from {decisions} decisions after one that follows from {newest}"
                    ));
                }
                *newest = *decisions;
            }
            _ => {}
        }
        Ok(())
    }
}
