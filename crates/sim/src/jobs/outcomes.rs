//! What becomes of what a manager asked its group for: blobs on a quorum, commands that were applied.

use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::{Body, CommandRefusal, Elapsed, End, Outcome};
use hyperscale_types::{Now, Token};

use super::driver::WHOLE_JOB;
use super::leases::LEASE;
use super::manager::{Answer, ManagerAction, ManagerDriver};
use super::requests::Purpose;
use crate::log::Letter;

impl ManagerDriver {
    /// A quorum has a blob: what names it is committed.
    pub(super) fn stored(&mut self, now: Now, purpose: Purpose, blob: BlobId) {
        match purpose {
            Purpose::StorePlan { client_job, accept } => {
                self.ask(now, Purpose::Accept { client_job }, Token(0), Body::JobAccept(accept));
            }
            Purpose::StoreResult { worker, segment, attempt, status } => {
                let job = self.group().machine().register().job(segment.job);
                let Some((_, token)) = job.and_then(|job| job.leader) else { return };
                let end = End::new(status, Some(blob));
                let body = Body::AttemptEnd { segment: segment.clone(), attempt, end };
                self.ask(now, Purpose::End { worker, segment, attempt }, token, body);
            }
            Purpose::StoreJobResult { job, token, status } => {
                let body = Body::JobEnd { job, end: End::new(status, Some(blob)), elapsed_ms: 0 };
                self.ask(now, Purpose::Step { job, place: WHOLE_JOB }, token, body);
            }
            _ => {}
        }
    }

    /// What became of a request.
    pub(super) fn decided(
        &mut self,
        now: Now,
        purpose: Purpose,
        outcome: Option<(u64, Outcome)>,
        out: &mut Vec<ManagerAction>,
    ) {
        match (purpose, outcome) {
            (Purpose::Accept { client_job }, Some((_, Outcome::Accepted { job, is_repeat }))) => {
                out.push(ManagerAction::Answer { client_job, answer: Answer::Accepted(job) });
                if !is_repeat {
                    let elapsed = Elapsed::default();
                    let lead =
                        Body::JobLeader { job, leader: self.me, elapsed, reason: "accepted".to_owned() };
                    self.ask(now, Purpose::Other, Token(0), lead);
                }
            }
            (Purpose::Cancel { client_job }, Some((_, outcome))) if settles_cancel(&outcome) => {
                out.push(ManagerAction::Answer { client_job, answer: Answer::Cancelled });
            }
            (Purpose::Grant { worker, boot, sent }, Some((index, Outcome::Granted(grant)))) => {
                let lease = (grant.0 == index).then_some(LEASE);
                self.leases.wants(now, worker, grant);
                out.push(ManagerAction::Send {
                    to: worker,
                    letter: Letter::Registered { boot, grant, lease, sent },
                });
            }
            (Purpose::End { worker, segment, attempt }, Some((_, outcome))) if settles_end(&outcome) => {
                out.push(ManagerAction::Send { to: worker, letter: Letter::Confirmed { segment, attempt } });
            }
            // What was refused is tried again after a while only.
            (Purpose::Step { .. }, Some((_, Outcome::Refused(_)))) => {}
            (Purpose::Step { job, place }, _) => self.driver.settled(job, place),
            _ => {}
        }
    }
}

/// Whether the end of an attempt was decided, so that its worker need not tell it again. Any other refusal decides nothing: a
/// stale token (the worker tells the new job leader), a command that not every build understands yet.
fn settles_end(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Refused(refusal) => matches!(
            refusal,
            CommandRefusal::Superseded | CommandRefusal::AlreadyEnded | CommandRefusal::UnknownJob
        ),
        _ => true,
    }
}

/// Whether a cancel is committed, or came too late.
fn settles_cancel(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Refused(refusal) => *refusal == CommandRefusal::AlreadyEnded,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_that_the_group_refused_to_read_is_told_again() {
        let unreadable = CommandRefusal::Unreadable { reason: "written by a newer build".to_owned() };
        let stale = CommandRefusal::StaleToken { current: Token(7) };
        for (refusal, end, cancel) in [
            (unreadable, false, false),
            (CommandRefusal::NotInForce { needed: 2 }, false, false),
            (stale, false, false),
            (CommandRefusal::Superseded, true, false),
            (CommandRefusal::AlreadyEnded, true, true),
            (CommandRefusal::UnknownJob, true, false),
        ] {
            let outcome = Outcome::Refused(refusal);
            assert_eq!((settles_end(&outcome), settles_cancel(&outcome)), (end, cancel), "{outcome:?}");
        }
        assert!(settles_end(&Outcome::Done) && settles_end(&Outcome::Repeated));
    }
}
