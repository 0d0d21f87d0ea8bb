//! How often progress is sent: as often as the manager that can take least of it allows.
//!
//! Managers say their level again every second while they are told progress; what one said is forgotten after [`HOLDS`], as it may
//! be gone, or lead no job of this worker any more.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::{NodeId, Now};

use crate::message::Backpressure;

/// How long a level holds that is not said again. Progress is sent every two seconds at least, and answered.
const HOLDS: Duration = Duration::from_secs(10);

/// What managers said.
#[derive(Debug, Default)]
pub(super) struct Pace {
    levels: BTreeMap<NodeId, (Backpressure, Now)>,
}

impl Pace {
    pub(super) fn heard(&mut self, now: Now, from: NodeId, level: Backpressure) {
        self.levels.insert(from, (level, now));
    }

    pub(super) fn forget(&mut self, now: Now) {
        self.levels.retain(|_, (_, heard)| now.since(*heard) < HOLDS);
    }

    /// The highest that was said.
    pub(super) fn level(&self) -> Backpressure {
        self.levels.values().map(|(level, _)| *level).max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_level_of_all_managers_holds_until_it_is_taken_back_or_old() {
        let manager = |number| NodeId::new(number).unwrap();
        let at = |seconds| Now::after_start(Duration::from_secs(seconds));
        let mut pace = Pace::default();
        assert_eq!(pace.level(), Backpressure::None);
        pace.heard(at(1), manager(1), Backpressure::Drop);
        pace.heard(at(2), manager(2), Backpressure::Slower);
        assert_eq!(pace.level(), Backpressure::Drop);
        pace.heard(at(3), manager(1), Backpressure::None);
        assert_eq!(pace.level(), Backpressure::Slower);
        pace.forget(at(11));
        assert_eq!(pace.level(), Backpressure::Slower);
        pace.forget(at(12));
        assert_eq!(pace.level(), Backpressure::None);
    }
}
