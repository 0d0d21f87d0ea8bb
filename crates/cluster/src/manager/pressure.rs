//! What a manager does when it has too much to do: workers send progress less often, submissions are refused. What runs is finished.

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_swim::LoadLevel;
use hyperscale_types::{NodeId, Now};

use super::io::{Output, Rejection};
use super::{JobMachine, Manager};
use crate::message::{Backpressure, ToWorker};

/// A worker that sends progress is told the level again after this time, as a message may be lost.
const TELL_AGAIN: Duration = Duration::from_secs(1);
/// When a submission that was refused may be tried again: a load level falls by one a second.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How busy the host is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// How full the fullest queue of what arrives is, 0…100.
    pub queue_percent: u8,
    /// The load level of the node.
    pub level: LoadLevel,
}

/// How busy this manager is, and what workers know of it.
#[derive(Debug, Default)]
pub(super) struct Pressure {
    pub(super) busy: Busy,
    told: BTreeMap<NodeId, (Backpressure, Now)>,
}

impl Backpressure {
    /// The level for a queue that is this full.
    fn of(queue_percent: u8) -> Self {
        match queue_percent {
            0..70 => Self::None,
            70..85 => Self::Slower,
            85..95 => Self::Batch,
            _ => Self::Drop,
        }
    }
}

impl<M: JobMachine> Manager<M> {
    /// How often workers may send progress to this manager.
    pub fn backpressure(&self) -> Backpressure {
        Backpressure::of(self.pressure.busy.queue_percent)
    }

    /// A worker sent progress: it is told how often it may.
    pub(super) fn answer_progress(&mut self, now: Now, worker: NodeId, out: &mut Vec<Output>) {
        let level = self.backpressure();
        let told = self.pressure.told.get(&worker);
        if told.is_some_and(|(told, at)| *told == level && now.since(*at) < TELL_AGAIN) {
            return;
        }
        self.pressure.told.insert(worker, (level, now));
        out.push(Output::SendWorker { to: worker, message: ToWorker::Backpressure(level) });
    }

    /// Workers that are gone are forgotten.
    pub(super) fn forget_told(&mut self) {
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        self.pressure.told.retain(|worker, _| register.worker(*worker).is_some());
    }

    /// Why nothing new is taken.
    pub(super) fn refuses_work(&self) -> Option<Rejection> {
        if self.is_leaving() {
            return Some(Rejection::Draining);
        }
        let is_critical = self.pressure.busy.level.refuses_work();
        is_critical.then_some(Rejection::Overloaded { retry_after: RETRY_AFTER })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_follows_the_fill_of_the_queue() {
        let (none, slower) = (Backpressure::None, Backpressure::Slower);
        let (batch, drop) = (Backpressure::Batch, Backpressure::Drop);
        let table = [(0, none), (69, none), (70, slower), (84, slower), (85, batch), (94, batch), (95, drop)];
        for (percent, level) in table.into_iter().chain([(100, drop), (255, drop)]) {
            assert_eq!(Backpressure::of(percent), level, "{percent} %");
        }
    }
}
