//! What a job was submitted with, as the log keeps it: whoever takes the job over knows it from here and from nowhere else.
//!
//! The proposer fills in what the client left out. The log has no defaults: two versions with other defaults would apply the
//! same entry differently.

use std::fmt;
use std::time::Duration;

/// How long an ended job is kept if its client says nothing else.
pub const RETAIN: Duration = Duration::from_hours(1);
/// The whole of a share, in millionths.
const WHOLE_PPM: u32 = 1_000_000;

/// What a worker or a datacenter does that cannot renew its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnIsolation {
    /// It stops its load before the lease ends.
    Stop,
    /// It finishes what it runs.
    Finish,
}

/// What becomes of a segment whose worker is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnWorkerLoss {
    /// The next attempt joins the load curve where the workflow is.
    Resume,
    /// It begins from zero.
    Restart,
    /// The workflow fails.
    Fail,
}

/// What each datacenter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// The whole plan.
    Replicate,
    /// Its share of users and rates.
    Divide,
}

/// Options of a job.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct JobOptions {
    /// Without contact.
    pub on_isolation: OnIsolation,
    /// Without a worker.
    pub on_worker_loss: OnWorkerLoss,
    /// From acceptance; none: no limit.
    pub timeout_ms: Option<u64>,
    /// How long it waits for the first worker.
    pub queue_timeout_ms: u64,
    /// Retries of one segment.
    pub max_retries: u32,
    /// Retries of all segments together.
    pub retry_budget: u32,
    /// Over as many workers as there are, rather than as few as possible.
    pub spread: bool,
    /// The datacenters that run it, and what each of them runs.
    pub routing: Routing,
    /// Where events are pushed to; empty: nowhere.
    pub callback: String,
    /// Among waiting jobs; empty: as the plan says.
    pub priority: String,
    /// How long it is kept after its end.
    pub retain_ms: u64,
    /// Share of this datacenter under `divide`, in millionths.
    pub share_ppm: u32,
}

/// The datacenters that run a job, and what each of them runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Routing {
    /// Exactly these datacenters; empty: as many as are counted.
    pub datacenters: Vec<String>,
    /// How many datacenters, if none is named.
    pub datacenter_count: u32,
    /// Datacenters that are chosen before others.
    pub prefer: Vec<String>,
    /// Others may take the place of the named ones.
    pub fallback: bool,
    /// Further tries of a datacenter that failed.
    pub datacenter_retries: u32,
    /// Whether each of them runs the whole plan or its share.
    pub split: Split,
}

impl Default for Routing {
    /// One datacenter, whichever, without another try.
    fn default() -> Self {
        Self {
            datacenters: Vec::new(),
            datacenter_count: 1,
            prefer: Vec::new(),
            fallback: false,
            datacenter_retries: 0,
            split: Split::Replicate,
        }
    }
}

impl Default for JobOptions {
    /// What a submission that says nothing gets.
    fn default() -> Self {
        Self {
            on_isolation: OnIsolation::Stop,
            on_worker_loss: OnWorkerLoss::Resume,
            timeout_ms: None,
            queue_timeout_ms: 300_000,
            max_retries: 3,
            retry_budget: 20,
            spread: false,
            routing: Routing::default(),
            callback: String::new(),
            priority: String::new(),
            retain_ms: RETAIN.as_millis() as u64,
            share_ppm: WHOLE_PPM,
        }
    }
}

/// Without the callback, whose address may carry a password.
impl fmt::Debug for JobOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobOptions")
            .field("on_isolation", &self.on_isolation)
            .field("on_worker_loss", &self.on_worker_loss)
            .field("timeout_ms", &self.timeout_ms)
            .field("max_retries", &self.max_retries)
            .field("routing", &self.routing)
            .field("callback_bytes", &self.callback.len())
            .field("retain_ms", &self.retain_ms)
            .finish_non_exhaustive()
    }
}
