//! Commands beside the life of a job: whichever gate leads one makes a few at random, so that every kind of command meets every
//! fault. They name datacenters that do not exist: the gate cares for none of them, but ends the parts of a job before the job.

use hyperscale_consensus::register::{
    Body, DatacenterClass, End, EndStatus, Job, JobId, PartId, PartState, VERSION,
};
use hyperscale_types::{Now, Token};

use super::gate::{Gate, Purpose, group_of};

/// One of so many looks at a job makes a command.
const ONE_OF: u8 = 12;
/// Datacenters that do not exist.
const DATACENTERS: [&str; 2] = ["east", "west"];
const CLASSES: [DatacenterClass; 4] =
    [DatacenterClass::Unhealthy, DatacenterClass::Degraded, DatacenterClass::Busy, DatacenterClass::Healthy];

impl Gate {
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
        Some(match self.rng.u8(..8) {
            0 => Body::ClusterVersion { version: VERSION },
            1..=3 => {
                let (class, proposer) = (*any(&mut self.rng, &CLASSES), self.me);
                Body::DcState { datacenter: (*any(&mut self.rng, &DATACENTERS)).to_owned(), class, proposer }
            }
            _ => part_aside(&mut self.rng, id, job),
        })
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
    !matches!(body, Body::ClusterVersion { .. } | Body::DcState { .. })
}

fn any<'a, T>(rng: &mut fastrand::Rng, of: &'a [T]) -> &'a T {
    &of[rng.usize(..of.len())]
}
