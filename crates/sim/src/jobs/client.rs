//! Clients: what they order and what they were told. They are outside of the cluster and never fail.
//!
//! A client repeats what is not answered, to any manager and under the same key. Some repeat what was answered too, as a
//! client does that forgot the answer: after it, and after the end of the job. It remembers the first answer; a later one that
//! says something else breaks a promise.

use std::ops::Range;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_consensus::register::{JobEnd, JobId};

use super::plan;
use crate::log::letter::Wish;
use crate::moment::Moment;

/// A client that hears nothing asks somebody else after this time.
pub const PATIENCE: Duration = Duration::from_secs(3);
/// One of so many jobs is cancelled by its client.
const CANCELLED: u8 = 3;
/// Each repetition is made by one of so many clients.
const REPEATED: u8 = 4;
/// One in this many clients changes its job while it runs.
const CHANGED: u8 = 3;

/// What a client says again though it was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It submits a job that was accepted.
    Submit,
    /// It cancels a job whose cancel was acknowledged.
    Cancel,
    /// It submits a job that has ended.
    SubmitEnded,
    /// It cancels a job that has ended, whether it did so before or not.
    CancelEnded,
}

/// What a client may want changed about a job that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One of its workflows is cancelled.
    CancelWorkflow(u32),
    /// It gets other virtual users.
    Scale(u32),
    /// Nothing of it starts for a while.
    Pause,
}

/// One job that a client wants done.
#[derive(Clone, Debug)]
pub struct ClientJob {
    /// In which cluster.
    pub cluster: u8,
    /// When it is ordered.
    pub at: Moment,
    /// What it wants, as the first bytes of an id.
    pub wanted: JobId,
    /// The idempotency key.
    pub key: String,
    /// When it changes its mind.
    pub cancels_at: Option<Moment>,
    /// The job it was promised.
    pub accepted: Option<JobId>,
    /// Whether its cancel was acknowledged.
    pub cancelled: bool,
    /// How the job ended, as it was told.
    pub ended: Option<JobEnd>,
    /// What it will say again, once each.
    pub repeats: Vec<Repeat>,
    /// What it wants changed while the job runs, said once.
    pub changes: Vec<Change>,
    /// It has paused the job: every other time it looks it resumes it, as nobody tells it whether it runs again.
    pub resumes: Option<u32>,
    /// Nothing excuses another end than completion: it is ordered when all trouble is over, and never cancelled.
    pub must_complete: bool,
}

/// Which jobs to draw.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// The datacenter, or the gates.
    pub cluster: u8,
    /// How many.
    pub count: usize,
    /// From when on.
    pub from: Moment,
    /// And how long.
    pub within: Duration,
    /// Gates have none: their jobs have no segments.
    pub has_workers: bool,
    /// None of them is cancelled, and each must complete.
    pub must_complete: bool,
}

/// All jobs of a world.
#[derive(Debug, Default)]
pub struct Clients {
    /// All jobs that clients order, in the order of their numbers.
    pub client_jobs: Vec<ClientJob>,
}

impl Clients {
    /// Draws jobs; their places among all.
    pub fn draw(&mut self, rng: &mut Rng, orders: Orders) -> Range<usize> {
        let first = self.client_jobs.len();
        for _ in 0..orders.count {
            let at = orders.from.plus(orders.within.mul_f64(rng.f64()));
            let later = Duration::from_secs_f64(12.0 * rng.f64().powi(2));
            let cancels_at = (rng.u8(..CANCELLED) == 0 && !orders.must_complete).then(|| at.plus(later));
            let key = format!("client-{}", self.client_jobs.len());
            let wanted = plan::draw(rng, orders.has_workers, orders.must_complete);
            let mut repeats = Repeat::ALL.to_vec();
            repeats.retain(|_| rng.u8(..REPEATED) == 0);
            let workflow = rng.u32(..plan::workflows(wanted).max(1));
            let mut changes =
                vec![Change::Pause, Change::CancelWorkflow(workflow), Change::Scale(rng.u32(1..=3))];
            changes.retain(|_| rng.u8(..CHANGED) == 0 && !orders.must_complete);
            self.client_jobs.push(ClientJob {
                cluster: orders.cluster,
                at,
                wanted,
                key,
                cancels_at,
                accepted: None,
                cancelled: false,
                ended: None,
                repeats,
                changes,
                resumes: None,
                must_complete: orders.must_complete,
            });
        }
        first..self.client_jobs.len()
    }
}

impl Repeat {
    const ALL: [Repeat; 4] = [Repeat::Submit, Repeat::Cancel, Repeat::SubmitEnded, Repeat::CancelEnded];

    fn is_due(self, client_job: &ClientJob) -> bool {
        match self {
            Repeat::Submit => client_job.ended.is_none(),
            Repeat::Cancel => client_job.ended.is_none() && client_job.cancelled,
            Repeat::SubmitEnded | Repeat::CancelEnded => client_job.ended.is_some(),
        }
    }
}

impl ClientJob {
    /// What the client wants now; nothing once it knows the end and has said everything.
    pub fn wish(&mut self, now: Moment) -> Option<Wish> {
        let Some(job) = self.accepted else { return Some(self.submit()) };
        if let Some(due) = self.repeats.iter().position(|repeat| repeat.is_due(self)) {
            return Some(match self.repeats.remove(due) {
                Repeat::Submit | Repeat::SubmitEnded => self.submit(),
                Repeat::Cancel | Repeat::CancelEnded => Wish::Cancel(job),
            });
        }
        if self.ended.is_some() {
            return None;
        }
        if let Some(change) = self.changes.pop() {
            return Some(match change {
                Change::CancelWorkflow(number) => Wish::CancelWorkflow(job, number),
                Change::Scale(vus) => Wish::Scale(job, vus),
                Change::Pause => {
                    self.resumes = Some(0);
                    Wish::Pause(job)
                }
            });
        }
        if let Some(looks) = &mut self.resumes {
            *looks += 1;
            if looks.is_multiple_of(2) {
                return Some(Wish::Resume(job));
            }
        }
        let cancels = !self.cancelled && self.cancels_at.is_some_and(|at| now >= at);
        Some(if cancels { Wish::Cancel(job) } else { Wish::Status(job) })
    }

    /// When the client looks again.
    pub fn next(&self, now: Moment) -> Moment {
        let again = now.plus(PATIENCE);
        self.cancels_at.filter(|at| *at > now && self.accepted.is_some()).map_or(again, |at| at.min(again))
    }

    fn submit(&self) -> Wish {
        Wish::Submit { job: self.wanted, key: self.key.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyperscale_consensus::register::{End, EndStatus};

    fn client_jobs(count: usize) -> Vec<ClientJob> {
        let mut clients = Clients::default();
        clients.draw(&mut Rng::with_seed(1), orders(count, false));
        clients.client_jobs
    }

    fn orders(count: usize, must_complete: bool) -> Orders {
        let (from, within) = (Moment::ZERO, Duration::from_mins(1));
        Orders { cluster: 0, count, from, within, has_workers: true, must_complete }
    }

    #[test]
    fn jobs_that_must_complete_are_never_cancelled_by_their_clients() {
        let mut clients = Clients::default();
        assert_eq!(clients.draw(&mut Rng::with_seed(1), orders(30, false)), 0..30);
        assert_eq!(clients.draw(&mut Rng::with_seed(1), orders(30, true)), 30..60);
        let cancels = |jobs: &[ClientJob]| jobs.iter().filter(|job| job.cancels_at.is_some()).count();
        assert!(cancels(&clients.client_jobs[..30]) > 0 && cancels(&clients.client_jobs[30..]) == 0);
    }

    #[test]
    fn every_repetition_is_drawn_for_some_and_not_for_others() {
        let client_jobs = client_jobs(60);
        for repeat in Repeat::ALL {
            let with = client_jobs.iter().filter(|client_job| client_job.repeats.contains(&repeat)).count();
            assert!((5..30).contains(&with), "{repeat:?}: {with}");
        }
    }

    #[test]
    fn answered_client_says_everything_again_once_and_then_is_content() {
        let mut client_job = client_jobs(1).remove(0);
        let job = client_job.wanted;
        let (submit, cancel) = (client_job.submit(), Wish::Cancel(job));
        (client_job.repeats, client_job.cancels_at) = (Repeat::ALL.to_vec(), Some(Moment::ZERO));
        client_job.changes.clear();
        let wish = |client_job: &mut ClientJob| client_job.wish(Moment::seconds(1));
        assert_eq!(wish(&mut client_job), Some(submit.clone()), "it was not answered yet");
        client_job.accepted = Some(job);
        assert_eq!(
            [wish(&mut client_job), wish(&mut client_job)],
            [Some(submit.clone()), Some(cancel.clone())]
        );
        client_job.cancelled = true;
        assert_eq!(
            [wish(&mut client_job), wish(&mut client_job)],
            [Some(cancel.clone()), Some(Wish::Status(job))]
        );
        client_job.ended = Some(JobEnd { index: 9, how: End::new(EndStatus::Cancelled, None) });
        assert_eq!([wish(&mut client_job), wish(&mut client_job)], [Some(submit), Some(cancel)]);
        assert_eq!(wish(&mut client_job), None);
    }
}
