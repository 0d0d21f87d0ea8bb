//! A workflow on one core of this thread against a network in memory: no sockets, no other threads.
//!
//! It is the production code of a core from pacing to recorder; only the network is a model. Tests use it for behaviour,
//! the counters of allocations and instructions for the cost of a request.

use std::io;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::time::{Duration, Instant};

use hyperscale_clients::lease::LeaseDeadline;
use hyperscale_clients::network::MemoryNetwork;
use hyperscale_job::layout::layout;
use hyperscale_job::{AttemptId, Directive, SegmentId, SegmentKind};
use hyperscale_plan::load::Share;
use hyperscale_plan::model::Plan;
use hyperscale_stats::{Totals, Window};
use tokio::runtime::{self, LocalOptions, LocalRuntime};
use tokio::sync::{mpsc, watch};

use crate::core::thread::{self, Work};
use crate::core::{Message, Slice, Windows};
use crate::segment::{Begin, CoreMessage, Identity, Messages};

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
    let runtime = runtime::Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    run_in(&runtime, plan, network, seed)
}

/// The same in a runtime of the caller, whose clock may be a model too: models in which virtual users loop keep time by
/// the runtime's clock alone.
pub fn run_in(
    runtime: &LocalRuntime,
    plan: Plan,
    network: MemoryNetwork,
    seed: u64,
) -> Result<Totals, MemoryError> {
    let (messages, received) = mpsc::channel(MESSAGES_MAX);
    let (spare_sender, spare) = std_mpsc::channel();
    let directive = watch::Sender::new(Directive { go: Some(Duration::ZERO), ..Directive::default() });
    let segment = segment(plan, seed, directive.subscribe(), messages, spare);
    let totals = Totals::new(&segment.layout);
    runtime.block_on(async {
        let gathering = tokio::task::spawn_local(gather(received, totals, spare_sender));
        let outcome = thread::run(segment, network.into(), Work::Load).await;
        outcome.map_err(|failure| MemoryError::Failed {
            reason: failure.kind.as_str(),
            message: failure.message,
        })?;
        Ok(gathering.await.expect("the gathering task neither panics nor is cut off"))
    })
}

/// The first workflow of a plan, all of it.
fn segment(
    plan: Plan,
    seed: u64,
    told: watch::Receiver<Directive>,
    messages: mpsc::Sender<CoreMessage>,
    spare: std_mpsc::Receiver<Box<Window>>,
) -> Slice {
    let workflow = &plan.workflows[0];
    let (layout, bases) = layout(workflow);
    let segment = SegmentId { workflow: 0, kind: SegmentKind::Load, index: 0 };
    Slice {
        workflow: 0,
        layout: Arc::new(layout),
        bases,
        share: Share { core: 0, cores: 1, vus: workflow.vus_max() },
        begin: Begin::default(),
        cpu: None,
        identity: Arc::new(Identity {
            job: "memory".into(),
            worker: "memory".into(),
            seed,
            epoch: Instant::now(),
        }),
        given: Arc::default(),
        data: plan.data.iter().map(|_| None).collect(),
        told,
        messages: Messages { attempt: AttemptId { segment, number: 1 }, sender: messages },
        windows: Windows { every: NEVER, spare },
        lease: LeaseDeadline::none(),
        plan: Arc::new(plan),
    }
}

async fn gather(
    mut messages: mpsc::Receiver<CoreMessage>,
    mut totals: Totals,
    spare: std_mpsc::Sender<Box<Window>>,
) -> Totals {
    while let Some(message) = messages.recv().await {
        if let Message::Window(mut window) = message.message {
            totals.add(&window);
            window.clear();
            // The core may have ended; then the window is simply freed.
            drop(spare.send(window));
        }
    }
    totals
}

#[cfg(test)]
mod tests {
    use hyperscale_plan::read::{Given, Source, load};

    use super::*;

    /// Turns of the runtime in which a workflow of a few calls in memory has certainly ended.
    const TURNS: usize = 200_000;

    #[test]
    fn a_check_that_stops_the_test_is_reported_also_to_a_host_that_is_behind() {
        let text = "name: t\nworkflows:\n  W: { vus: 1, duration: 1h, ramp: 0s, steps: { a: { http: 'http://x/', \
                    check: [{ name: mine, status: 404, stop: test }] } } }\n";
        let source = Source { name: "t.yaml", bytes: text.as_bytes(), format: None, folder: "".as_ref() };
        let plan = load(&source, &Given::default()).expect("the plan is valid").plan;
        // Room for `Prepared` only: the word of the check finds the queue full.
        let (messages, mut received) = mpsc::channel(1);
        let (_spare_sender, spare) = std_mpsc::channel();
        let directive = watch::Sender::new(Directive { go: Some(Duration::ZERO), ..Directive::default() });
        let segment = segment(plan, 1, directive.subscribe(), messages, spare);
        let network = MemoryNetwork::waiting("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(LocalOptions::default())
            .expect("a runtime");
        let ending = runtime.block_on(async {
            let reading = tokio::task::spawn_local(async move {
                for _ in 0..TURNS {
                    tokio::task::yield_now().await;
                }
                let mut ending = None;
                while let Some(message) = received.recv().await {
                    match message.message {
                        Message::Done { result, .. } => ending = Some(result),
                        Message::StopTest(_) => panic!("there was no room for it"),
                        _ => {}
                    }
                }
                ending
            });
            thread::run(segment, network.into(), Work::Load).await.expect("the workflow runs");
            reading.await.expect("the reader ends").expect("the core is done")
        });
        let stopped = ending.stopped.expect("the check is not lost");
        assert!(stopped.message.contains("`mine`") && stopped.message.contains("`a`"), "{}", stopped.message);
    }
}
