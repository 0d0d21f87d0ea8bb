//! What a command changes, for the rolling hash: everything it may touch is reported as it is afterwards, so that replicas
//! which differ in it notice at this entry. It is reported in the layout of snapshots.

use std::collections::BTreeSet;

use hyperscale_types::NodeId;

use super::Register;
use super::command::{Body, JobId};
use super::pack::{Pack, put_known};
use super::worker::Worker;
use crate::apply::Effects;

/// What a command may change beside what its outcome says.
#[derive(Default)]
pub(super) struct Touched {
    pub(super) jobs: BTreeSet<JobId>,
    workers: BTreeSet<NodeId>,
    datacenter: Option<String>,
}

impl Touched {
    fn job(job: JobId) -> Self {
        Self { jobs: BTreeSet::from([job]), ..Self::default() }
    }
}

impl Register {
    /// To be asked before the command is applied.
    pub(super) fn touched(&self, body: &Body) -> Touched {
        match body {
            Body::JobAccept(accept) => {
                let known = self.keys.get(&accept.key).copied();
                Touched { jobs: known.into_iter().chain([accept.job]).collect(), ..Touched::default() }
            }
            Body::JobLeader { job, .. }
            | Body::Context { job, .. }
            | Body::WorkflowEnd { job, .. }
            | Body::Cancel { job, .. }
            | Body::Control { job, .. }
            | Body::DcAssign { job, .. }
            | Body::JobEnd { job, .. }
            | Body::JobForget { job } => Touched::job(*job),
            Body::DcEnd { part, .. } => Touched::job(part.job),
            Body::AttemptEnd { segment, .. } => {
                let job = self.jobs.get(&segment.job);
                let attempt = job.and_then(|job| job.attempt(&segment.workflow, segment.number));
                let workers = attempt.map(|attempt| attempt.worker).into_iter().collect();
                Touched { workers, ..Touched::job(segment.job) }
            }
            Body::Assign(assign) => {
                Touched { workers: BTreeSet::from([assign.worker]), ..Touched::job(assign.segment.job) }
            }
            // Its attempts are lost, and with them something of their jobs.
            Body::WorkerGrant { worker, .. } | Body::WorkerGone { worker, .. } => {
                let current = self.workers.get(worker).into_iter().flat_map(Worker::promised);
                let former = self.former_of(*worker).flat_map(|(_, former)| former.promised());
                let jobs = current.chain(former).map(|(segment, _)| segment.job).collect();
                Touched { jobs, workers: BTreeSet::from([*worker]), datacenter: None }
            }
            Body::WorkerOwner { worker, .. } => {
                Touched { workers: BTreeSet::from([*worker]), ..Touched::default() }
            }
            Body::DcState { datacenter, .. } => {
                Touched { datacenter: Some(datacenter.clone()), ..Touched::default() }
            }
            Body::ClusterVersion { .. } => Touched::default(),
        }
    }

    pub(super) fn report(&self, touched: &Touched, effects: &mut Effects) {
        for job in &touched.jobs {
            job.put(effects);
            put_known(self.jobs.get(job), effects);
        }
        for worker in &touched.workers {
            worker.put(effects);
            put_known(self.workers.get(worker), effects);
            for (grant, former) in self.former_of(*worker) {
                grant.put(effects);
                former.put(effects);
            }
        }
        put_known(touched.datacenter.as_ref().and_then(|name| self.datacenters.get(name)), effects);
        let sizes =
            [self.jobs.len(), self.keys.len(), self.workers.len(), self.former.len(), self.datacenters.len()];
        for number in sizes.map(|size| size as u64).into_iter().chain([self.forgotten_early]) {
            number.put(effects);
        }
        self.version.put(effects);
    }
}
