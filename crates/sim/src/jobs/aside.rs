//! Commands beside the running of segments: whoever leads a job makes a few at random, so that every kind of command meets
//! every fault. They name workflows without segments and datacenters that do not exist: the driver cares for none of them,
//! but ends the parts of a job before the job.

use bytes::Bytes;
use hyperscale_consensus::register::{
    Body, DatacenterClass, End, EndStatus, Group, Job, JobId, LoadChange, PartId, PartState, RequestId,
    VERSION, Values,
};
use hyperscale_types::{Now, Token};

use super::manager::{ManagerDriver, group_of};
use super::requests::Purpose;

/// One of so many looks at a job makes a command.
const ONE_OF: u8 = 12;
/// Workflows without segments.
const WORKFLOWS: [&str; 3] = ["aside-1", "aside-2", "aside-3"];
/// Datacenters that do not exist.
const DATACENTERS: [&str; 2] = ["east", "west"];
const CLASSES: [DatacenterClass; 4] =
    [DatacenterClass::Unhealthy, DatacenterClass::Degraded, DatacenterClass::Busy, DatacenterClass::Healthy];

impl ManagerDriver {
    /// Commands for some of the jobs that are led here.
    pub(super) fn make_asides(&mut self, now: Now) {
        let open = group_of(&self.replica).machine().register().jobs().filter(|(_, job)| job.end.is_none());
        let led = open.filter_map(|(id, job)| job.leader.filter(|it| it.0 == self.me).map(|it| (*id, it.1)));
        for (job, token) in led.collect::<Vec<_>>() {
            if self.rng.u8(..ONE_OF) == 0
                && let Some(body) = self.aside(job)
            {
                let token = if is_fenced(&body) { token } else { Token(0) };
                self.ask(now, Purpose::Other, token, body);
            }
        }
    }

    fn aside(&mut self, id: JobId) -> Option<Body> {
        let register = group_of(&self.replica).machine().register();
        let job = register.job(id)?;
        Some(match register.group() {
            _ if self.rng.u8(..8) == 0 => Body::ClusterVersion { version: VERSION },
            Group::Managers => manager_aside(&mut self.rng, id, job),
            Group::Gates if self.rng.u8(..3) == 0 => {
                let (class, proposer) = (*any(&mut self.rng, &CLASSES), self.me);
                Body::DcState { datacenter: (*any(&mut self.rng, &DATACENTERS)).to_owned(), class, proposer }
            }
            Group::Gates => part_aside(&mut self.rng, id, job),
        })
    }
}

fn manager_aside(rng: &mut fastrand::Rng, id: JobId, job: &Job) -> Body {
    let workflow = (*any(rng, &WORKFLOWS)).to_owned();
    let request = RequestId(rng.u128(..).to_be_bytes());
    match rng.u8(0..6) {
        0 | 1 => {
            let version = job.context(&workflow).map_or(1, |(version, _)| version + 1);
            let values = Values::Inline(Bytes::from(vec![rng.u8(..); rng.usize(..64)]));
            Body::Context { job: id, workflow, version, values }
        }
        2 => {
            let status = if rng.bool() { EndStatus::Completed } else { EndStatus::Failed };
            Body::WorkflowEnd { job: id, workflow, status, error: None }
        }
        3 => {
            let (workflows, reason, caller) = (vec![workflow], "an aside".to_owned(), String::new());
            Body::Cancel { job: id, workflows, request, reason, caller }
        }
        _ => {
            let (vus, rate) = (LoadChange::Vus(rng.u32(1..9)), LoadChange::RateMilli(rng.u64(1..9)));
            let change = *any(rng, &[vus, rate, LoadChange::Pause, LoadChange::Resume]);
            Body::Control { job: id, workflow, change, request }
        }
    }
}

/// A datacenter gets a part of the job, or something is heard of the one it had.
fn part_aside(rng: &mut fastrand::Rng, id: JobId, job: &Job) -> Body {
    let datacenter = (*any(rng, &DATACENTERS)).to_owned();
    let assign =
        |datacenter, try_number| Body::DcAssign { job: id, datacenter, try_number, share_ppm: 500_000 };
    let Some((token, part)) = job.part(&datacenter) else { return assign(datacenter, 1) };
    let is_running = part.state == PartState::Running;
    if !is_running && rng.bool() {
        return assign(datacenter, part.try_number + 1);
    }
    let status = *any(rng, &[EndStatus::Completed, EndStatus::Failed, EndStatus::Lost]);
    let part = PartId { job: id, datacenter, token };
    Body::DcEnd { part, end: End::new(status, None), is_late: !is_running }
}

/// Ends a part that still runs, if there is one.
pub(super) fn end_of_part(id: JobId, job: &Job) -> Option<Body> {
    let (datacenter, token, _) = job.parts().find(|(.., part)| part.state == PartState::Running)?;
    let part = PartId { job: id, datacenter: datacenter.to_owned(), token };
    Some(Body::DcEnd { part, end: End::new(EndStatus::Completed, None), is_late: false })
}

/// Whether only the leader of the job may say it.
fn is_fenced(body: &Body) -> bool {
    !matches!(body, Body::ClusterVersion { .. } | Body::DcState { .. } | Body::Cancel { .. })
}

fn any<'a, T>(rng: &mut fastrand::Rng, of: &'a [T]) -> &'a T {
    &of[rng.usize(..of.len())]
}
