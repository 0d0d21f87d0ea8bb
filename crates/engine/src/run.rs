//! Starting a run and getting its result.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use hyperscale_job::{JobCore, JobFacts};
use hyperscale_plan::model::Plan;
use hyperscale_stats::result::RunResult;
use tokio::sync::mpsc;

use crate::control::{Command, Control};
use crate::data::{self, DataError};
use crate::event::{EVENTS_MAX, Event};
use crate::local::{self, Host};
use crate::machine;
use crate::segment::Identity;

/// Messages from cores waiting for the host. Each core sends ten windows per second; a host that is this far behind
/// makes cores keep longer windows.
const MESSAGES_MAX: usize = 256;

/// How a plan is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Cores to use, at least one.
    pub cores: u32,
    /// Decides everything random in the run.
    pub seed: u64,
    /// The job's id, visible as `job.id`.
    pub job: String,
    /// This worker's id, visible as `worker.id`.
    pub worker: String,
    /// When the run began, RFC 3339; shown in the result.
    pub started_at: String,
    /// Shown in the result.
    pub environment: BTreeMap<String, String>,
    /// Shown in the result.
    pub options: BTreeMap<String, String>,
}

/// Why a run could not start. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A data file cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The system gave no thread or runtime.
    #[error("the engine cannot start: {0}")]
    System(#[from] io::Error),
}

/// A run that is under way. Dropping it cuts the run off.
#[derive(Debug)]
pub struct Run {
    control: Control,
    events: mpsc::Receiver<Event>,
    warnings: Vec<String>,
    host: thread::JoinHandle<RunResult>,
}

impl Run {
    /// Opens the data files and starts the run.
    pub fn start(mut plan: Arc<Plan>, options: RunOptions) -> Result<Run, StartError> {
        let data = data::open(&plan)?;
        let mut warnings = data::warnings(&plan, &data);
        data::limit_vus(&mut plan, &data);
        let vus = plan.workflows.iter().map(|workflow| u64::from(workflow.vus_max())).sum();
        warnings.extend(machine::raise_file_limit(vus));
        let (control, orders) = Control::new();
        let (event_sender, events) = mpsc::channel(EVENTS_MAX);
        let (messages, received) = mpsc::channel(MESSAGES_MAX);
        let identity = Identity {
            job: options.job.clone(),
            worker: options.worker,
            seed: options.seed,
            epoch: Instant::now(),
        };
        let facts = JobFacts {
            id: options.job,
            started_at: options.started_at,
            timeout: None,
            environment: options.environment,
            options: options.options,
            ..JobFacts::default()
        };
        let core = JobCore::new(plan, facts);
        let host = Host::new(core, data, identity, options.cores, messages, event_sender);
        let host = thread::Builder::new().name("local-run".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .expect("a runtime without I/O needs nothing that the system could refuse");
            runtime.block_on(local::run(host, orders, received))
        })?;
        Ok(Run { control, events, warnings, host })
    }

    /// A handle for steering the run.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// What should be told to the person before anything else.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The next event; `None` after [`Event::Finished`].
    pub async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Waits for the end and returns the result.
    pub fn join(self) -> RunResult {
        drop(self.events);
        match self.host.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// Cuts the run off.
    pub fn abort(&self) {
        self.control.send(Command::Abort);
    }
}
