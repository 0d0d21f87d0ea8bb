//! What a command changed, for the rolling hash: every record it changed is reported as it is afterwards, so that replicas
//! which differ in it notice at this entry. It is reported in the layout of snapshots, record by record, so that a command
//! costs what it changes and not what its job weighs.

use hyperscale_types::{NodeId, Token};

use super::Register;
use super::command::{JobId, Segment};
use super::pack::{Pack, put_known};
use super::worker::Promises;
use crate::apply::Effects;

/// A record that was changed, added or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A job without its workflows, cancel marks, changes of load, decisions and parts.
    Job(JobId),
    /// The cancel marks of a job.
    Cancelled(JobId),
    /// The last change of a job's load.
    Control(JobId),
    /// The last decision of a job's core.
    Decision(JobId),
    /// A workflow without its segments.
    Workflow(JobId, String),
    /// A segment with its attempts.
    Segment(Segment),
    Part(JobId, String, Token),
    Claim(JobId),
    /// A worker without what is promised of it.
    Worker(NodeId),
    /// A former grant without what is promised under it.
    Former(NodeId, Token),
    /// What is promised to a segment under a grant.
    Promise(NodeId, Token, Segment),
    Datacenter(String),
    /// A chunk, by its number.
    Chunk(u64),
}

#[cfg(test)]
impl Register {
    /// Applies a command and says how many bytes it reported: what it costs, without a clock.
    pub(super) fn apply_counted(&mut self, index: u64, command: &bytes::Bytes) -> usize {
        let mut effects = Effects::default();
        crate::apply::Machine::apply(self, index, command, &mut effects);
        effects.reported()
    }
}

impl Register {
    pub(super) fn report(&mut self, effects: &mut Effects) {
        for change in std::mem::take(&mut self.changes) {
            self.report_one(&change, effects);
        }
        let sizes = [self.jobs.len(), self.workers.len(), self.former.len()];
        let more = [self.datacenters.len(), self.claims.by_job.len(), self.ended.chunks().len()];
        for number in sizes.into_iter().chain(more) {
            (number as u64).put(effects);
        }
        self.ended.filling.is_some().put(effects);
        if let Some(filling) = &self.ended.filling {
            filling.report(effects);
        }
        self.account.logical.put(effects);
        self.version.put(effects);
    }

    fn report_one(&self, change: &Change, effects: &mut Effects) {
        let job = |id: &JobId| self.jobs.get(id);
        match change {
            Change::Job(id) => {
                (1u8, *id).put(effects);
                job(id).is_some().put(effects);
                if let Some(job) = job(id) {
                    job.put_head(effects);
                }
            }
            Change::Cancelled(id) => {
                (2u8, *id).put(effects);
                put_known(job(id).map(|job| &job.cancelled), effects);
            }
            Change::Control(id) => {
                (3u8, *id).put(effects);
                put_known(job(id).and_then(|job| job.controls.last()), effects);
            }
            Change::Workflow(id, name) => {
                (4u8, (*id, name.clone())).put(effects);
                let workflow = job(id).and_then(|job| job.workflow(name));
                workflow.is_some().put(effects);
                if let Some(workflow) = workflow {
                    workflow.put_head(effects);
                }
            }
            Change::Segment(segment) => {
                (5u8, segment.clone()).put(effects);
                let record = job(&segment.job).and_then(|job| job.segment(&segment.workflow, segment.number));
                put_known(record, effects);
            }
            Change::Part(id, datacenter, token) => {
                let key = (datacenter.clone(), *token);
                (6u8, *id).put(effects);
                put_known(job(id).and_then(|job| job.parts.get(&key)), effects);
                key.put(effects);
            }
            Change::Claim(id) => {
                (7u8, *id).put(effects);
                put_known(self.claim(*id), effects);
            }
            Change::Datacenter(name) => {
                (8u8, name.clone()).put(effects);
                put_known(self.datacenters.get(name), effects);
            }
            Change::Chunk(number) => {
                (9u8, *number).put(effects);
                put_known(self.ended.chunk(*number), effects);
            }
            Change::Decision(id) => {
                (13u8, *id).put(effects);
                put_known(job(id).and_then(|job| job.decisions.last()), effects);
            }
            Change::Worker(..) | Change::Former(..) | Change::Promise(..) => {
                self.report_worker(change, effects);
            }
        }
    }

    fn report_worker(&self, change: &Change, effects: &mut Effects) {
        match change {
            Change::Worker(id) => {
                (10u8, *id).put(effects);
                self.workers.contains_key(id).put(effects);
                if let Some(worker) = self.workers.get(id) {
                    worker.put_head(effects);
                    worker.promised.cores().put(effects);
                }
            }
            Change::Former(id, grant) => {
                (11u8, (*id, *grant)).put(effects);
                let former = self.former.get(&(*id, *grant));
                put_known(former.map(|former| (former.boot, former.promised.cores())).as_ref(), effects);
            }
            Change::Promise(id, grant, segment) => {
                (12u8, (*id, *grant)).put(effects);
                segment.put(effects);
                let current = self.workers.get(id).filter(|worker| worker.grant == *grant);
                let former = self.former.get(&(*id, *grant)).map(|former| &former.promised);
                let promised = current.map(|worker| &worker.promised).or(former);
                put_known(promised.and_then(|promised| promised.of(segment)), effects);
                promised.map_or(0, Promises::cores).put(effects);
            }
            _ => {}
        }
    }
}
