//! What nodes want done, and what that leads to.

use std::time::Duration;

use hyperscale_cluster::manager;
use hyperscale_cluster::message::{JobAttempt, ToManager, ToWorker};
use hyperscale_cluster::model::{Attempt, Step, WINDOW};
use hyperscale_cluster::worker;
use hyperscale_consensus::register::Outcome;
use hyperscale_consensus::replica;
use hyperscale_consensus::storage::LogStorage;
use hyperscale_job::Report;
use hyperscale_types::NodeId;

use super::{Cluster, Happening, SOON, WRITE};

impl Cluster {
    pub(super) fn manager_input(&mut self, node: NodeId, life: u64, input: manager::Input) {
        let now = self.now;
        let Some(it) = self.managers.get_mut(&node).filter(|it| it.life == life) else { return };
        let mut out = Vec::new();
        let begin = (self.clock)();
        it.core.handle(now, input, &mut out);
        *self.spent.entry(node).or_default() += (self.clock)().saturating_sub(begin);
        self.manager_outputs(node, out);
    }

    pub(super) fn manager_outputs(&mut self, node: NodeId, out: Vec<manager::Output>) {
        let life = self.managers[&node].life;
        for output in out {
            match output {
                manager::Output::Replica(output) => self.replica_output(node, output),
                manager::Output::SendPeer { to, message } => {
                    let input = |message| manager::Input::Peer { from: node, message };
                    self.send(node, to, |life| Happening::Manager(to, life, input(message.clone())));
                }
                manager::Output::SendWorker { to, message } => {
                    if let ToWorker::Confirmed { attempt } = &message {
                        self.confirmed.push(*attempt);
                    }
                    let input = |message| worker::Input::Message { from: node, message };
                    self.send(node, to, |life| Happening::Worker(to, life, input(message.clone())));
                }
                manager::Output::ReadBlob { read, blob } => {
                    let bytes = self.blobs[&node].get(&blob).cloned();
                    self.soon_manager(node, manager::Input::BlobRead { read, bytes });
                }
                manager::Output::Respond { request, response } => {
                    assert!(self.responses.insert(request, response).is_none(), "answered twice");
                }
                manager::Output::Emit { job, event, .. } => self.events.push((node, job, *event)),
                manager::Output::Timer(at) => {
                    self.managers.get_mut(&node).unwrap().timer = at;
                    let after = at.since(self.now);
                    self.later(after, Happening::ManagerTimer(node, life, at));
                }
                // It leaves membership, and its process ends.
                manager::Output::Left => {
                    self.left.push(node);
                    return self.kill_manager(node);
                }
            }
        }
    }

    fn replica_output(&mut self, node: NodeId, output: replica::Output<Outcome>) {
        let life = self.managers[&node].life;
        let back = |input| Happening::Manager(node, life, manager::Input::Replica(input));
        match output {
            replica::Output::Persist(batch) => {
                let disk = self.disks.get_mut(&node).unwrap();
                disk.write(&batch).unwrap();
                disk.sync().unwrap();
                self.later(WRITE, back(replica::Input::Persisted(batch.ticket)));
            }
            replica::Output::Send { to, lane, message } => {
                if self.reaches(node, to) && self.managers.contains_key(&to) {
                    let input =
                        |message| manager::Input::Replica(replica::Input::Message { from: node, message });
                    self.send(node, to, |life| Happening::Manager(to, life, input(message.clone())));
                } else {
                    self.later(SOON, back(replica::Input::Undelivered { to, lane }));
                }
            }
            replica::Output::PutBlob { blob, bytes } => {
                self.blobs.get_mut(&node).unwrap().insert(blob, bytes);
                self.later(WRITE, back(replica::Input::BlobStored(blob)));
            }
            replica::Output::ReadBlob { blob, to } => {
                let bytes = self.blobs[&node].get(&blob).cloned();
                self.later(WRITE, back(replica::Input::BlobRead { blob, to, bytes }));
            }
            replica::Output::RemoveBlob(blob) => {
                self.blobs.get_mut(&node).unwrap().remove(&blob);
            }
            replica::Output::MakeSnapshot(job) => {
                self.later(WRITE, back(replica::Input::SnapshotMade(job.run())));
            }
            replica::Output::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }

    pub(super) fn worker_input(&mut self, node: NodeId, life: u64, input: worker::Input) {
        let now = self.now;
        let Some(it) = self.workers.get_mut(&node).filter(|it| it.life == life) else { return };
        let mut out = Vec::new();
        it.core.handle(now, input, &mut out);
        for output in out {
            self.worker_output(node, life, output);
        }
    }

    fn worker_output(&mut self, node: NodeId, life: u64, output: worker::Output) {
        match output {
            worker::Output::Send { to, message } => self.worker_sends(node, to, &message),
            worker::Output::Start(start) => {
                let bundle = self.blobs.values().find_map(|blobs| blobs.get(&start.plan)).unwrap().clone();
                let attempt = Attempt::new(self.now, *start, &bundle).unwrap();
                let id = attempt.id();
                self.started.push((node, id));
                self.workers.get_mut(&node).unwrap().attempts.insert(id, attempt);
                let prepared = worker::Input::Report { attempt: id, report: Report::Prepared };
                self.later(Duration::from_millis(20), Happening::Worker(node, life, prepared));
                self.later(WINDOW, Happening::Step(node, life, id));
            }
            worker::Output::Direct { attempt, directive } => {
                if let Some(attempt) = self.workers.get_mut(&node).unwrap().attempts.get_mut(&attempt) {
                    attempt.direct(directive);
                }
            }
            worker::Output::CutOff { attempt } => {
                if let Some(attempt) = self.workers.get_mut(&node).unwrap().attempts.get_mut(&attempt) {
                    attempt.cut_off();
                }
            }
            worker::Output::Load(_) => {}
            worker::Output::Lease { until } => self.workers.get_mut(&node).unwrap().lease = until,
            worker::Output::Timer(at) => {
                let after = at.since(self.now);
                self.later(after, Happening::Worker(node, life, worker::Input::Timer));
            }
            worker::Output::Offline => {
                self.workers.remove(&node);
            }
        }
    }

    fn worker_sends(&mut self, from: NodeId, to: NodeId, message: &ToManager) {
        self.progress_sent += u64::from(matches!(message, ToManager::Progress { .. }));
        if matches!(message, ToManager::Ended { .. }) {
            self.told = Some(message.clone());
        }
        if matches!(message, ToManager::Progress { windows, .. } if !windows.is_empty()) {
            self.progress.insert(from, message.clone());
        }
        let input = |message| manager::Input::Worker { from, message };
        self.send(from, to, |life| Happening::Manager(to, life, input(message.clone())));
    }

    pub(super) fn step(&mut self, node: NodeId, life: u64, id: JobAttempt) {
        let now = self.now;
        let Some(it) = self.workers.get_mut(&node).filter(|it| it.life == life) else { return };
        let lease = it.lease;
        let Some(attempt) = it.attempts.get_mut(&id) else { return };
        // Every core compares the clock with the lease itself; the worker says the same at once.
        let is_over = attempt.is_bound_to_lease() && now >= lease;
        assert!(!is_over || attempt.is_cut_off() || now.since(lease) < WINDOW, "load after the lease");
        let step = if is_over && !attempt.is_cut_off() { Step::Waits } else { attempt.step(now) };
        match step {
            Step::Waits => {}
            Step::Ran(windows, requests) => {
                *self.seen.entry(id.job).or_default() += requests;
                *self.seen_of.entry(id).or_default() += requests;
                for window in windows {
                    self.worker_input(node, life, worker::Input::Window { attempt: id, window });
                }
            }
            Step::Ended(left) => {
                it.attempts.remove(&id);
                return self.worker_input(node, life, worker::Input::Ended { attempt: id, left });
            }
        }
        self.later(WINDOW, Happening::Step(node, life, id));
    }
}
