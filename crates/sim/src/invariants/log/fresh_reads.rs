//! A read that decides something sees everything that anybody had applied when it was asked for.
//!
//! Reads of clients and of gates are shown here. Those by which a manager proves that it leads, before it answers renewals, stay
//! inside of its core: what they decide is judged by `lease_not_outlived`.

use std::collections::BTreeMap;

use hyperscale_consensus::ReadId;

use super::Logged;
use crate::invariants::{Invariant, Seen, Verdict, What};

/// The last entry that was applied anywhere, per group, and what it was when each open read was asked for.
#[derive(Debug, Default)]
pub(in crate::invariants) struct FreshReads {
    frontier: BTreeMap<u8, u64>,
    asked: BTreeMap<(usize, ReadId), u64>,
}

impl Invariant for FreshReads {
    fn name(&self) -> &'static str {
        "fresh_reads"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Started => self.asked.retain(|(node, _), _| *node != seen.node),
            What::Log(Logged::Committed { index, .. }) => {
                self.frontier.insert(seen.cluster(), *index);
            }
            What::Log(Logged::ReadAsked(read)) => {
                let frontier = self.frontier.get(&seen.cluster()).copied().unwrap_or(0);
                self.asked.insert((seen.node, *read), frontier);
            }
            What::Log(Logged::ReadReady { read, applied }) => {
                let needed = self.asked.remove(&(seen.node, *read)).unwrap_or(0);
                if *applied < needed {
                    return Err(format!("read entry {applied}, and {needed} was applied when it asked"));
                }
            }
            _ => {}
        }
        Ok(())
    }
}
