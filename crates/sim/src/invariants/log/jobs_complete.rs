//! A job that is submitted when all trouble is over completes, also while a minority of its group and some workers are away.
//!
//! Nothing but completion will do. Its client never cancels it, its datacenter has a worker with enough cores for each of its
//! segments, and attempts that are lost with workers that died or are cut off are tried again elsewhere. A driver that gives a
//! job up nevertheless, or lets it wait for ever, shows a bug: of the register (cores that are never free again, a claim that is
//! never served), of leases (grants that never end) or of the group (a leader that decides nothing).

use hyperscale_consensus::register::EndStatus;

use crate::jobs::client::ClientJob;
use crate::world::World;

/// The first job that must complete and has not, if there is any.
pub fn jobs_incomplete(world: &World) -> Option<String> {
    let client_job = world.clients.client_jobs.iter().find(|job| incomplete(job).is_some())?;
    let what = incomplete(client_job)?;
    let result = client_job.ended.as_ref().and_then(|end| world.result_of(client_job.cluster, end));
    let Some(result) = result else { return Some(what) };
    let workflows = result.workflows.iter().map(|it| format!("{} {}", it.name, it.status.as_str()));
    let (reason, workflows) = (&result.reason, workflows.collect::<Vec<_>>().join(", "));
    Some(format!("{what}; {reason:?}: {workflows}; {:?}, {:?}", result.errors, result.validity.loss))
}

fn incomplete(job: &ClientJob) -> Option<String> {
    if !job.must_complete {
        return None;
    }
    let key = &job.key;
    match (&job.accepted, &job.ended) {
        (None, _) => Some(format!("'{key}' was not accepted")),
        (Some(id), None) => Some(format!("'{key}' has not completed: {id:?}")),
        (Some(_), Some(end)) if end.how.status == EndStatus::Completed => None,
        (Some(id), Some(end)) => Some(format!("'{key}' ended otherwise: {id:?} {end:?}")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fastrand::Rng;
    use hyperscale_consensus::register::{End, JobEnd};

    use super::*;
    use crate::jobs::client::{Clients, Orders};
    use crate::moment::Moment;

    fn job(must_complete: bool) -> ClientJob {
        let (mut clients, from) = (Clients::default(), Moment::ZERO);
        let within = Duration::from_secs(1);
        let orders = Orders { cluster: 0, count: 1, from, within, has_workers: true, must_complete };
        clients.draw(&mut Rng::with_seed(1), orders);
        clients.client_jobs.remove(0)
    }

    fn ended(must_complete: bool, status: EndStatus) -> ClientJob {
        let mut job = job(must_complete);
        job.accepted = Some(job.wanted);
        job.ended = Some(JobEnd { index: 7, how: End::new(status, None) });
        job
    }

    #[test]
    fn nothing_but_completion_will_do() {
        assert!(incomplete(&job(true)).is_some(), "not accepted");
        let waits = ClientJob { ended: None, ..ended(true, EndStatus::Completed) };
        assert!(incomplete(&waits).is_some(), "not ended");
        assert!(incomplete(&ended(true, EndStatus::Failed)).is_some());
        assert!(incomplete(&ended(true, EndStatus::Cancelled)).is_some());
        assert_eq!(incomplete(&ended(true, EndStatus::Completed)), None);
    }

    #[test]
    fn jobs_of_the_safety_phase_may_fail() {
        assert_eq!(incomplete(&ended(false, EndStatus::Failed)), None);
        assert_eq!(incomplete(&job(false)), None);
    }
}
