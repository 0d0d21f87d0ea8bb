//! The death of others never makes a node think itself ill: when nothing is lost or late, the multiplier of a manager
//! stays at 2 or less, whoever dies. A manager that is cut off itself is not judged: it hears nobody.

use hyperscale_types::Role;

use super::{Invariant, Seen, Verdict, What};

/// What came from earlier trouble has passed by then.
const STILL_FOR_S: u64 = 60;
const LHM_MAX: u8 = 2;

#[derive(Debug)]
pub(super) struct Health;

impl Invariant for Health {
    fn name(&self) -> &'static str {
        "health"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let lhm = seen.swim.lhm();
        if lhm <= LHM_MAX || !matches!(seen.what, What::Handled) {
            return Ok(());
        }
        let is_manager = seen.truth.nodes[seen.node].role == Role::Manager;
        let is_cut_off = seen.truth.absent.contains(&seen.node);
        if is_manager && !is_cut_off && seen.truth.is_still(seen.at, STILL_FOR_S) {
            return Err(format!("health multiplier {lhm} though nothing is lost or late"));
        }
        Ok(())
    }
}
