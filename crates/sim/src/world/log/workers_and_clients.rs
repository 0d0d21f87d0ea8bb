//! Workers and clients: those who are outside of the group and write to it.

use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId};

use super::lives::DUTY;
use super::{Happening, World};
use crate::invariants::Logged;
use crate::jobs::{Answer, WorkerAction};
use crate::log::Letter;
use crate::log::letter::ClientLetter;
use crate::moment::Moment;
use crate::world::node::{id_of, index_of};

/// One way between a client and a manager.
const CLIENT_DELAY: Duration = Duration::from_millis(2);

impl World {
    pub(super) fn worker_duty(&mut self, index: usize) {
        let managers = self.known_managers(self.truth.nodes[index].cluster);
        let now = self.nodes[index].clock.read(self.kernel.now());
        let mut actions = Vec::new();
        if let Some(worker) = &mut self.nodes[index].worker {
            worker.duty(now, &managers, &mut actions);
        }
        self.follow_worker_actions(index, actions);
    }

    /// The first of two processes under one id goes on until its lease ends.
    pub(super) fn outlived_duty(&mut self, index: usize, boot: BootEpoch) {
        let Some((_, mut worker)) = self.nodes[index].outlived.take_if(|(first, _)| *first == boot) else {
            return;
        };
        let managers = self.known_managers(self.truth.nodes[index].cluster);
        let now = self.nodes[index].clock.read(self.kernel.now());
        let mut actions = Vec::new();
        if worker.outlive(now, &managers, &mut actions) {
            self.nodes[index].outlived = Some((boot, worker));
            self.kernel.after(DUTY, Happening::Duty { node: index, boot });
        }
        self.follow_worker_actions(index, actions);
    }

    pub(super) fn worker_letter(&mut self, index: usize, from: NodeId, letter: Letter) {
        let now = self.nodes[index].clock.read(self.kernel.now());
        let mut actions = Vec::new();
        if let Some(worker) = &mut self.nodes[index].worker {
            worker.letter(now, from, letter, &mut actions);
        }
        self.follow_worker_actions(index, actions);
    }

    fn follow_worker_actions(&mut self, index: usize, actions: Vec<WorkerAction>) {
        let now = self.nodes[index].clock.read(self.kernel.now());
        for action in actions {
            match action {
                WorkerAction::Send { to, letter } => self.post(index, to, letter),
                WorkerAction::Obeyed { job, token } => self.show_log(index, Logged::Obeyed { job, token }),
                WorkerAction::Load { segment, attempt, grant } => {
                    self.recorder
                        .note(self.kernel.now(), index, || format!("load {segment:?} {attempt} {grant}"));
                    self.show_log(index, Logged::Load { segment: &segment, attempt, grant });
                }
                // What was over when the answer came, after a sleep or a jump, is not used at all.
                WorkerAction::Renewed { until, .. } if until <= now => {}
                WorkerAction::Renewed { until, lease, arrived } => {
                    let until = self.nodes[index].clock.moment_of(until);
                    self.show_log(index, Logged::Renewed { until, arrived, lease });
                }
            }
        }
    }

    /// Whom workers and clients know in a cluster.
    fn known_managers(&self, cluster: u8) -> Vec<NodeId> {
        self.truth.voters(cluster).map(id_of).collect()
    }

    /// A client looks at its job.
    pub(in crate::world) fn client(&mut self, client_job: usize) {
        let now = self.kernel.now();
        let it = &mut self.clients.client_jobs[client_job];
        let Some(wish) = it.wish(now) else { return };
        let (next, cluster) = (it.next(now), it.cluster);
        let managers = self.known_managers(cluster);
        self.kernel.at(next, Happening::Client { client_job });
        let Some(log) = &mut self.log else { return };
        if managers.is_empty() {
            return;
        }
        let to = index_of(managers[log.rng.usize(..managers.len())]);
        if let Some(at) = self.client_delay() {
            let (boot, letter) = (self.truth.nodes[to].process.boot, ClientLetter { client_job, wish });
            let letter = Box::new(Letter::Client(letter));
            self.kernel.at(at, Happening::Letter { from: to, to, boot, letter });
        }
    }

    /// When something between a client and a manager arrives, if it does.
    pub(super) fn client_delay(&mut self) -> Option<Moment> {
        let (now, loss) = (self.kernel.now(), self.network.weather().loss);
        let log = self.log.as_mut()?;
        (log.rng.f64() >= loss).then(|| now.plus(CLIENT_DELAY.mul_f64(0.5 + log.rng.f64())))
    }

    /// A client is answered.
    pub(in crate::world) fn answered(&mut self, client_job: usize, answer: Answer) {
        // Clients are nowhere: what they are told is shown at any node of the cluster.
        let cluster = self.clients.client_jobs[client_job].cluster;
        let Some(node) = self.truth.nodes.iter().position(|fact| fact.cluster == cluster) else { return };
        let it = &mut self.clients.client_jobs[client_job];
        match answer {
            Answer::Accepted(job) => {
                it.accepted.get_or_insert(job);
                let key = it.key.clone();
                self.show_log(node, Logged::Acknowledged { key: &key, job });
            }
            Answer::Cancelled => it.cancelled = true,
            Answer::Ended(end) => {
                it.ended.get_or_insert_with(|| end.clone());
                let job = it.accepted.unwrap_or(it.wanted);
                self.show_log(node, Logged::Told { job, end });
            }
        }
    }
}
