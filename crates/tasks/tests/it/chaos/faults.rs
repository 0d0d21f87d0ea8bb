//! What is done to the processes and their database.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::ledger::Book;
use super::node::SETTINGS;
use super::{Fault, Scene};
use hyperscale_tasks::store::Store as _;

/// How long a process is stopped or cut off: past its leases, with time for others to take them.
const PAST_LEASE: Duration = SETTINGS.lease.saturating_add(Duration::from_millis(1_200));

/// Something that ends by itself.
pub(super) enum Pending {
    Wake(usize, Instant),
    Release(usize, Instant),
}

impl Scene {
    /// Injects one fault.
    pub(super) async fn inject(&mut self, fault: Fault) {
        println!("{:>7} ms: {fault:?}, {} completed", self.begun.elapsed().as_millis(), self.completed);
        match fault {
            Fault::KillWorker => {
                let victim = self.live_process().await;
                self.processes[victim].replace(None);
            }
            Fault::KillLeader => {
                if let Some(leader) = self.leader().await {
                    self.processes[leader].replace(None);
                }
            }
            Fault::Stop => {
                // Never all of them: a live process has to take the leases.
                if self.processes.iter().filter(|process| process.is_stopped).count() + 2
                    < self.processes.len()
                {
                    let victim = self.live_process().await;
                    self.processes[victim].signal(Signal::STOP);
                    self.pending.push(Pending::Wake(victim, Instant::now() + PAST_LEASE));
                }
            }
            Fault::StopLeader => {
                if let Some(leader) = self.leader().await.filter(|leader| !self.processes[*leader].is_stopped)
                {
                    self.processes[leader].signal(Signal::STOP);
                    self.pending.push(Pending::Wake(leader, Instant::now() + PAST_LEASE));
                }
            }
            Fault::RestartPostgres => self.server.restart().await,
            Fault::Terminate => self.server.cut_connections().await,
            Fault::Cut => self.proxies.iter().for_each(super::proxy::Proxy::cut),
            Fault::Hold => {
                let at = self.rng.usize(..self.proxies.len());
                self.proxies[at].hold();
                self.pending.push(Pending::Release(at, Instant::now() + PAST_LEASE));
            }
            Fault::Clock => {
                let victim = self.live_process().await;
                let clock = ["+1h", "-1h"][self.rng.usize(..2)];
                self.processes[victim].replace(Some(clock));
            }
        }
    }

    /// Ends what is over, and starts processes again that ended because the database was away.
    pub(super) fn tend(&mut self, now: Instant) {
        let (due, pending) =
            std::mem::take(&mut self.pending).into_iter().partition(|pending| match pending {
                Pending::Wake(_, at) | Pending::Release(_, at) => *at <= now,
            });
        self.pending = pending;
        let due: Vec<Pending> = due;
        for pending in due {
            match pending {
                Pending::Wake(at, _) => self.processes[at].signal(Signal::CONT),
                Pending::Release(at, _) => self.proxies[at].release(),
            }
        }
        for process in &mut self.processes {
            if process.has_ended() {
                self.restarted += 1;
                let clock = process.plan.clock;
                process.replace(clock);
            }
        }
    }

    /// A process that runs and does not lead, if there is one.
    async fn live_process(&mut self) -> usize {
        let leader = self.leader().await;
        let free = |at: &usize| Some(*at) != leader && !self.processes[*at].is_stopped;
        let free: Vec<usize> = (0..self.processes.len()).filter(free).collect();
        if free.is_empty() { 0 } else { free[self.rng.usize(..free.len())] }
    }

    /// The process that leads.
    async fn leader(&self) -> Option<usize> {
        let leader = self.store.leader().await.ok()??;
        let pid = *Book::read(self.folder.path()).boots.get(&leader.boot.0.to_string())?;
        self.processes.iter().position(|process| process.pid() == pid)
    }
}
