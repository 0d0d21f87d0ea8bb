//! Clients: what they order and what they were told. They are outside of the cluster and never fail.
//!
//! A client repeats what is not answered, to any manager and under the same key. It remembers the first answer; a later one
//! that says something else breaks a promise.

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

/// One job that a client wants done.
#[derive(Clone, Debug)]
pub struct Errand {
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
}

/// All errands of a world.
#[derive(Debug, Default)]
pub struct Clients {
    /// One by one.
    pub errands: Vec<Errand>,
}

impl Clients {
    /// Draws so many errands in a cluster, within a span.
    pub fn draw(
        &mut self,
        rng: &mut Rng,
        cluster: u8,
        count: usize,
        within: (Moment, Duration),
        has_workers: bool,
    ) {
        for _ in 0..count {
            let at = within.0.plus(within.1.mul_f64(rng.f64()));
            let later = Duration::from_secs_f64(12.0 * rng.f64().powi(2));
            let cancels_at = (rng.u8(..CANCELLED) == 0).then(|| at.plus(later));
            let key = format!("client-{}", self.errands.len());
            let wanted = plan::draw(rng, has_workers);
            let open = (None, false, None);
            let (accepted, cancelled, ended) = open;
            self.errands.push(Errand { cluster, at, wanted, key, cancels_at, accepted, cancelled, ended });
        }
    }
}

impl Errand {
    /// What the client wants now; nothing once it knows the end.
    pub fn wish(&self, now: Moment) -> Option<Wish> {
        let Some(job) = self.accepted else {
            return Some(Wish::Submit { job: self.wanted, key: self.key.clone() });
        };
        if self.ended.is_some() {
            return None;
        }
        let cancels = !self.cancelled && self.cancels_at.is_some_and(|at| now >= at);
        Some(if cancels { Wish::Cancel(job) } else { Wish::Status(job) })
    }

    /// When the client looks again.
    pub fn next(&self, now: Moment) -> Moment {
        let again = now.plus(PATIENCE);
        self.cancels_at.filter(|at| *at > now && self.accepted.is_some()).map_or(again, |at| at.min(again))
    }
}
