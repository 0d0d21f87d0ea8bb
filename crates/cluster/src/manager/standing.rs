//! What workers say of themselves, as this manager knows it.
//!
//! A worker says it with every renewal, to the manager that it renews with, and at once when its state changes. That manager tells the
//! others: of another state at once, of all that it hears from directly every [`TELL_ALL_EVERY`]. What is newer is decided by the
//! worker: by its grant and the number of the renewal. It is evidence for placement; a worker that is full or drains refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hyperscale_swim::{WorkerLoad, WorkerState};
use hyperscale_types::{NodeId, Now, Token};

use super::io::{Output, ToPeer};
use super::{JobMachine, Manager};
use crate::message::WorkerSaid;

/// How often other managers are told of everybody that is heard here directly, as a message may be lost and managers restart.
const TELL_ALL_EVERY: Duration = Duration::from_secs(5);
/// Workers in one message: 64 bytes each, of a message of 1 MiB.
const TOLD_MAX: usize = 8_192;

/// What workers said.
#[derive(Debug, Default)]
pub(super) struct Standings {
    said: BTreeMap<NodeId, Standing>,
    /// Workers whose state changed and whom other managers were not told about.
    news: BTreeSet<NodeId>,
    told_all: Option<Now>,
}

#[derive(Debug)]
struct Standing {
    said: WorkerSaid,
    /// Heard from the worker itself.
    is_direct: bool,
}

impl Standings {
    /// What a worker says under its grant.
    pub(super) fn of(&self, worker: NodeId, grant: Token) -> Option<&WorkerLoad> {
        self.said.get(&worker).filter(|it| it.said.grant == grant).map(|it| &*it.said.load)
    }

    /// Takes what a worker said. True if its state is another than before; one that was not heard of is taken for healthy.
    fn heard(&mut self, said: WorkerSaid, is_direct: bool) -> bool {
        let (worker, state) = (said.worker, said.load.state);
        let known = self.said.get(&worker);
        let age = |said: &WorkerSaid| (said.grant, said.number);
        if known.is_some_and(|known| age(&known.said) >= age(&said)) {
            return false;
        }
        let before = known.filter(|known| known.said.grant == said.grant).map(|known| known.said.load.state);
        let is_news = before.unwrap_or(WorkerState::Healthy) != state;
        self.said.insert(worker, Standing { said, is_direct });
        if is_news && is_direct {
            self.news.insert(worker);
        }
        is_news
    }

    /// What other managers are to be told now.
    fn take_news(&mut self, now: Now) -> Vec<WorkerSaid> {
        let is_all = self.told_all.is_none_or(|at| now.since(at) >= TELL_ALL_EVERY);
        let news = std::mem::take(&mut self.news);
        if is_all {
            self.told_all = Some(now);
        }
        let direct = self.said.iter().filter(|(_, it)| it.is_direct);
        let wanted = direct.filter(|(worker, _)| is_all || news.contains(worker));
        wanted.map(|(_, it)| it.said.clone()).collect()
    }
}

impl<M: JobMachine> Manager<M> {
    /// What a worker is fit for, as far as this manager knows: the log says who was asked to drain, a worker the rest.
    pub fn worker_state(&self, worker: NodeId) -> Option<WorkerState> {
        let known = self.register()?.worker(worker)?;
        if known.is_draining {
            return Some(WorkerState::Draining);
        }
        let load = self.standings.of(worker, known.grant);
        Some(load.map_or(WorkerState::Healthy, |load| load.state))
    }

    /// What a worker said of itself last.
    pub fn worker_load(&self, worker: NodeId) -> Option<&WorkerLoad> {
        self.standings.of(worker, self.register()?.worker(worker)?.grant)
    }

    pub(super) fn hear_worker(&mut self, said: WorkerSaid, is_direct: bool) {
        if self.standings.heard(said, is_direct) {
            self.pool.change();
        }
    }

    /// Tells the other managers what workers said.
    pub(super) fn tell_standings(&mut self, now: Now, out: &mut Vec<Output>) {
        let Some(group) = self.replica.group() else { return };
        let register = group.machine().register();
        self.standings.said.retain(|worker, it| register.has_grant(*worker, it.said.grant));
        let told = self.standings.take_news(now);
        let peers = group.roster().members().map(|member| member.node);
        for to in peers.filter(|node| *node != self.options.node && !self.is_dead(*node)) {
            for some in told.chunks(TOLD_MAX) {
                out.push(Output::SendPeer { to, message: ToPeer::Workers(some.to_vec()) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{CallNumber, examples};

    fn said(grant: u64, number: u64, state: WorkerState) -> WorkerSaid {
        let load = Box::new(examples::load(state));
        WorkerSaid { worker: NodeId::new(7).unwrap(), grant: Token(grant), number: CallNumber(number), load }
    }

    #[test]
    fn newest_word_of_a_worker_counts_whoever_passes_it_on() {
        let mut standings = Standings::default();
        assert!(!standings.heard(said(3, 1, WorkerState::Healthy), false), "it was taken for healthy");
        assert!(standings.heard(said(3, 5, WorkerState::Degraded), true));
        assert!(!standings.heard(said(3, 4, WorkerState::Healthy), false), "it is older");
        let worker = NodeId::new(7).unwrap();
        assert_eq!(standings.of(worker, Token(3)).unwrap().state, WorkerState::Degraded);
        assert_eq!(standings.of(worker, Token(4)), None, "of another life nothing is known");
        assert!(!standings.heard(said(4, 1, WorkerState::Healthy), true));
        assert!(!standings.heard(said(3, 9, WorkerState::Draining), true), "a former life speaks late");
    }

    #[test]
    fn others_are_told_of_another_state_at_once_and_of_all_now_and_then() {
        let at = |seconds| Now::after_start(Duration::from_secs(seconds));
        let mut standings = Standings::default();
        standings.heard(said(3, 1, WorkerState::Healthy), true);
        assert_eq!(standings.take_news(at(1)).len(), 1);
        assert_eq!(standings.take_news(at(2)).len(), 0);
        standings.heard(said(3, 2, WorkerState::Degraded), true);
        assert_eq!(standings.take_news(at(2)), [said(3, 2, WorkerState::Degraded)]);
        assert_eq!(standings.take_news(at(5)).len(), 0);
        assert_eq!(standings.take_news(at(6)).len(), 1);
        standings.heard(said(3, 3, WorkerState::Draining), false);
        assert_eq!(standings.take_news(at(20)).len(), 0, "who heard it directly tells it");
    }
}
