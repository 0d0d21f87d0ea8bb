//! A workflow on one core of this thread against a network in memory: no sockets, no other threads.
//!
//! It is the production code of a core from pacing to recorder; only the network is a model. Tests use it for behaviour,
//! the counters of allocations and instructions for the cost of a request.

use std::io;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

use hyperscale_clients::http::MemoryNetwork;
use hyperscale_plan::load::Share;
use hyperscale_plan::model::Plan;
use hyperscale_stats::Totals;
use tokio::runtime::{self, LocalOptions};
use tokio::sync::{mpsc, watch};

use crate::control::Directive;
use crate::core::thread::{self, Work};
use crate::core::{JobFacts, Message, Segment};
use crate::layout::layout;

/// Words that can wait: one window and a few more.
const MESSAGES_MAX: usize = 8;
/// There is one window, at the end: the cost of a request must not depend on how long it took.
const NEVER: Duration = Duration::from_hours(24);

/// Why a run in memory failed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The system gave no runtime.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The workflow could not run.
    #[error("{reason}: {message}")]
    Failed {
        /// A word for programs.
        reason: &'static str,
        /// A sentence for people.
        message: String,
    },
}

/// Runs the first workflow of a plan to its end and returns its statistics. Data files and contexts are not supported.
pub fn run(plan: Plan, network: MemoryNetwork, seed: u64) -> Result<Totals, MemoryError> {
    let workflow = &plan.workflows[0];
    let (numbering, bases) = layout(workflow);
    let numbering = Arc::new(numbering);
    let directive = watch::Sender::new(Directive { go: Some(Instant::now()), ..Directive::default() });
    let (messages, received) = mpsc::channel(MESSAGES_MAX);
    let (spare_sender, spare) = std_mpsc::channel();
    let segment = Segment {
        workflow: 0,
        layout: Arc::clone(&numbering),
        bases,
        share: Share { core: 0, cores: 1, vus: workflow.vus_max() },
        cpu: None,
        vus_before: 0,
        job: Arc::new(JobFacts { id: "memory".into(), worker: "memory".into(), seed, epoch: Instant::now() }),
        context: Arc::default(),
        setup: Arc::default(),
        data: plan.data.iter().map(|_| None).collect(),
        directive: directive.subscribe(),
        messages,
        tick: NEVER,
        spare,
        plan: Arc::new(plan),
    };
    let runtime = runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    runtime.block_on(async {
        let gathering = tokio::task::spawn_local(gather(received, Totals::new(&numbering), spare_sender));
        let outcome = thread::run(segment, network, Work::Load).await;
        outcome
            .map_err(|failure| MemoryError::Failed { reason: failure.reason, message: failure.message })?;
        Ok(gathering.await.expect("the gathering task neither panics nor is cut off"))
    })
}

async fn gather(
    mut messages: mpsc::Receiver<Message>,
    mut totals: Totals,
    spare: std_mpsc::Sender<Box<hyperscale_stats::Window>>,
) -> Totals {
    while let Some(message) = messages.recv().await {
        if let Message::Window { mut window, .. } = message {
            totals.add(&window);
            window.clear();
            // The core may have ended; then the window is simply freed.
            drop(spare.send(window));
        }
    }
    totals
}
