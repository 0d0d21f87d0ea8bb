//! Workers and clients: those who are outside of the group and write to it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_cluster::bundle::Bundle;
use hyperscale_cluster::message::{JobAttempt, ToWorker};
use hyperscale_cluster::model::WINDOW;
use hyperscale_cluster::record::WindowsLeft;
use hyperscale_cluster::worker::Readings;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::{AttemptState, EndStatus, JobEnd, JobId, OnWorkerLoss, Segment};
use hyperscale_job::layout::layout;
use hyperscale_stats::result::RunResult;
use hyperscale_stats::wire::Codec;
use hyperscale_swim::Command;
use hyperscale_types::{BootEpoch, NodeId, Now, Role};

use super::{Happening, World};
use crate::invariants::{Logged, LostKnown};
use crate::jobs::{Answer, WorkerDeed, WorkerHost};
use crate::log::Letter;
use crate::log::letter::ClientLetter;
use crate::moment::Moment;
use crate::paths::Path;
use crate::world::node::{id_of, index_of};

/// One way between a client and a manager.
const CLIENT_DELAY: Duration = Duration::from_millis(2);

impl World {
    /// Lets a worker do something in one of its lives: the present one, or one that runs on beside it.
    fn with_worker(
        &mut self,
        index: usize,
        boot: BootEpoch,
        work: impl FnOnce(&mut WorkerHost, Now, Moment),
    ) {
        let at = self.kernel.now();
        let is_present = self.is_life(index, boot);
        let node = &mut self.nodes[index];
        let now = node.clock.read(at);
        let worker = if is_present {
            node.worker.as_deref_mut()
        } else {
            node.outlived.as_mut().filter(|(first, _)| *first == boot).map(|(_, worker)| &mut **worker)
        };
        let Some(worker) = worker else { return };
        work(worker, now, at);
        let deeds = worker.take();
        for deed in deeds {
            self.follow_worker(index, boot, now, deed);
        }
    }

    fn with_present_worker(&mut self, index: usize, work: impl FnOnce(&mut WorkerHost, Now, Moment)) {
        let boot = self.truth.nodes[index].process.boot;
        self.with_worker(index, boot, work);
    }

    pub(super) fn worker_timer(&mut self, index: usize, boot: BootEpoch) {
        self.with_worker(index, boot, WorkerHost::timer);
    }

    pub(super) fn worker_message(&mut self, index: usize, from: NodeId, message: ToWorker) {
        self.with_present_worker(index, |worker, now, at| worker.message(now, at, from, message));
    }

    /// The machine of a worker shows something else.
    pub(in crate::world) fn press_worker(&mut self, index: usize, readings: Readings) {
        self.with_present_worker(index, |worker, now, at| worker.press(now, at, readings));
    }

    /// Membership says that a manager is gone, or there; or its connections broke.
    pub(super) fn worker_gossip(&mut self, index: usize, node: NodeId, is_gone: bool) {
        if self.truth.nodes.get(index_of(node)).is_none_or(|fact| fact.role != Role::Manager) {
            return;
        }
        self.with_present_worker(index, |worker, now, at| {
            if is_gone {
                worker.manager_gone(now, at, node);
            } else {
                worker.manager_seen(now, at, node);
            }
        });
    }

    /// A worker dials the managers that it knows; those that take the connection can be asked.
    pub(in crate::world) fn reach_managers(&mut self, index: usize) {
        let (now, cluster) = (self.kernel.now(), self.truth.nodes[index].cluster);
        for manager in self.known_managers(cluster) {
            let to = index_of(manager);
            let is_up = self.truth.nodes[to].process.is_up();
            let connects = self.network.reaches(now, index, to) && self.network.reaches(now, to, index);
            if is_up && connects {
                self.worker_gossip(index, manager, false);
            }
        }
    }

    /// The time of a window has passed for an attempt.
    pub(in crate::world) fn step_attempt(&mut self, index: usize, boot: BootEpoch, attempt: JobAttempt) {
        let cluster = self.truth.nodes[index].cluster;
        let node = &self.nodes[index];
        let present = node.worker.as_deref().filter(|_| self.is_life(index, boot));
        let outlived = node.outlived.as_ref().filter(|(first, _)| *first == boot).map(|(_, it)| &**it);
        let wanted = present.or(outlived).and_then(|worker| worker.plan_wanted(attempt));
        // How a plan gets to its workers is not looked at here: it is there as soon as any manager has it.
        let plan = wanted
            .and_then(|blob| self.all_hosts_of(cluster).find_map(|(_, host)| host.blobs.get(&blob).cloned()));
        self.with_worker(index, boot, |worker, now, at| worker.step(now, at, attempt, plan.as_ref()));
    }

    fn follow_worker(&mut self, index: usize, boot: BootEpoch, now: Now, deed: WorkerDeed) {
        match deed {
            WorkerDeed::Send { to, message } => self.post(index, to, Letter::ToManager(message)),
            WorkerDeed::Timer(at) => {
                let moment = self.nodes[index].clock.moment_of(at);
                self.kernel.at(moment, Happening::Tick { node: index, boot, at });
            }
            WorkerDeed::Step(attempt) => {
                self.kernel.after(WINDOW, Happening::Step { node: index, boot, attempt });
            }
            WorkerDeed::Obeyed { job, token } => self.show_log(index, Logged::Obeyed { job, token }),
            WorkerDeed::Directed { attempt, decisions } => {
                self.show_log(index, Logged::Directed { attempt, decisions });
            }
            WorkerDeed::Overtaken => self.paths.take(Path::DirectiveOvertaken),
            WorkerDeed::Starts { attempt } => {
                self.recorder.note(self.kernel.now(), index, || format!("starts {attempt:?}"));
                self.show_log(index, Logged::Starts { attempt });
            }
            WorkerDeed::Load { segment, attempt, grant, requests, job_time, planned } => {
                let load = || format!("load {segment:?} {attempt} {grant}");
                self.recorder.note(self.kernel.now(), index, load);
                let segment = &segment;
                let load = Logged::Load { segment, attempt, grant, requests, job_time, planned };
                self.show_log(index, load);
            }
            // What was over when the answer came, after a sleep or a jump, is not used at all.
            WorkerDeed::Renewed { until, .. } if until <= now => {}
            WorkerDeed::Renewed { grant, until, lease, asked } => {
                let until = self.nodes[index].clock.moment_of(until);
                self.show_log(index, Logged::Renewed { grant, until, asked, lease });
            }
            WorkerDeed::GivenBack { grant, until } => {
                let until = self.nodes[index].clock.moment_of(until);
                self.show_log(index, Logged::GivenBack { grant, until });
            }
            WorkerDeed::Offline => self.tell(index, Command::Leave),
        }
    }

    /// A client that was told the end of a job reads its result, from any manager that has it.
    fn read_result(&mut self, node: usize, cluster: u8, job: JobId, result: Option<BlobId>) {
        if cluster >= self.setup.shape.datacenters {
            return;
        }
        let bytes = result
            .and_then(|blob| self.all_hosts_of(cluster).find_map(|(_, host)| host.blobs.get(&blob).cloned()));
        let what = match bytes.map(|bytes| serde_json::from_slice(&bytes)) {
            Some(Ok(result)) => return self.show_result(node, cluster, job, &result),
            Some(Err(error)) => format!("the result of {job:?} cannot be read: {error}"),
            None => format!("nobody has the result of {job:?}, {result:?}"),
        };
        self.judges.object("result_kept", self.kernel.now(), None, what);
    }

    /// The result of a job that has ended, if anybody has it.
    pub(crate) fn result_of(&self, cluster: u8, end: &JobEnd) -> Option<RunResult> {
        let blob = end.how.result?;
        let bytes = self.all_hosts_of(cluster).find_map(|(_, host)| host.blobs.get(&blob))?;
        serde_json::from_slice(bytes).ok()
    }

    fn show_result(&mut self, node: usize, cluster: u8, job: JobId, result: &RunResult) {
        if result.validity.loss.windows_lost > 0 {
            self.paths.take(Path::WindowsLost);
        }
        let known = match self.lost_known(cluster, job).transpose() {
            Ok(known) => known,
            Err(what) => return self.judges.object("windows_kept", self.kernel.now(), None, what),
        };
        self.show_log(node, Logged::Result { job, result, known: known.as_ref() });
    }

    /// What a group has committed about attempts of a job that were lost; nothing if no manager runs that knows its end, an error if
    /// nobody has what was committed.
    fn lost_known(&self, cluster: u8, id: JobId) -> Option<Result<LostKnown, String>> {
        let managers = self.all_hosts_of(cluster).filter_map(|(_, host)| host.manager());
        let mut jobs = managers.filter_map(|it| it.replica().group()).filter_map(|it| it.machine().job(id));
        let job = jobs.find(|job| job.end.is_some())?;
        let restarts = job.options.on_worker_loss == OnWorkerLoss::Restart;
        let mut known = LostKnown { requests: BTreeMap::new(), restarts };
        let blob_of = |blob: BlobId| self.all_hosts_of(cluster).find_map(|(_, host)| host.blobs.get(&blob));
        for (name, workflow) in job.workflows() {
            for (number, record) in workflow.segments() {
                for attempt in record.attempts() {
                    let Some(blob) = windows_of(&attempt.state) else { continue };
                    let segment = Segment { job: id, workflow: name.to_owned(), number };
                    let both = blob_of(job.plan).zip(blob_of(blob));
                    let requests = both.and_then(|(plan, it)| requests_in(plan, name, job.plan, it));
                    let Some(requests) = requests else {
                        return Some(Err(format!("nobody has the windows of {segment:?}, {blob:?}")));
                    };
                    known.requests.insert((segment, attempt.number), requests);
                }
            }
        }
        Some(Ok(known))
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
                let result = end.how.result;
                self.show_log(node, Logged::Told { job, end });
                self.read_result(node, cluster, job, result);
            }
        }
    }
}

/// The blob of a lost attempt's windows.
fn windows_of(state: &AttemptState) -> Option<BlobId> {
    match state {
        AttemptState::Lost { windows } => *windows,
        AttemptState::Ended(end) if end.status == EndStatus::Lost => end.result,
        AttemptState::Ended(_) | AttemptState::Running => None,
    }
}

/// Requests in the windows of an attempt of this workflow.
fn requests_in(bundle: &Bytes, workflow: &str, plan: BlobId, windows: &Bytes) -> Option<u64> {
    let loaded = Bundle::decode(bundle).ok()?.load().ok()?;
    let workflow = loaded.plan.workflows.iter().find(|it| it.name.as_str() == workflow)?;
    let codec = Codec::new(&plan.hash, &workflow.name, &Arc::new(layout(workflow).0));
    let windows = WindowsLeft::decode(windows).ok()?;
    Some(codec.decode_totals(&windows.totals).ok()?.load().requests)
}
