//! `hyperscale worker`: a worker in the foreground.

use std::sync::Arc;

use hyperscale_api::{Access, Limits, Listener, Server};
use hyperscale_engine::{available_cores, cpus};
use hyperscale_node::launch::{Worker, WorkerOffer};
use hyperscale_types::ExitCode;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::nodes::{self, Signals};
use crate::args::WorkerArgs;
use crate::cluster::node::{self, NodeError};
use crate::cluster::probes::WorkerProbes;
use crate::errors::CommandError;
use crate::printer::Printer;

/// Runs a worker until it has drained after SIGTERM or Ctrl-C; a second one ends it at once.
pub(crate) async fn worker(args: WorkerArgs, printer: Printer) -> Result<ExitCode, CommandError> {
    nodes::log_to_stderr(args.node.log);
    let mut signals = Signals::listen()?;
    let listener = Listener::tcp(node::address(&args.node.http)?, Access::Probes, None)
        .await
        .map_err(NodeError::from)?;
    let http = nodes::bound(&listener)?;
    let settings = node::settings(&args.node, args.data, http, printer)?;
    let listen = settings.advertised.unwrap_or_else(|| settings.sockets.address());
    let name = settings.name.clone();
    let offer = WorkerOffer {
        cores: args.cores.map_or_else(available_cores, Into::into),
        capabilities: args.capabilities.into_iter().collect(),
        cpus: cpus(),
    };
    // One manager that is reached names the others.
    let managers = node::resolved(&args.managers, 1, printer).await?;
    let mut worker = Worker::start(settings, managers, offer).map_err(NodeError::from)?;
    let probes = WorkerProbes {
        worker: worker.handle.clone(),
        membership: worker.membership.clone(),
        transport: worker.transport.clone(),
    };
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    tasks.spawn(Server { listener, backend: Arc::new(probes), limits: Limits::NODE }.run(stopped));
    nodes::announce("worker", &name, listen, http, printer)?;
    let mut is_draining = false;
    let ended = loop {
        tokio::select! {
            ended = worker.ended() => break ended,
            () = signals.next() => {
                if is_draining {
                    worker.stop();
                    continue;
                }
                is_draining = true;
                printer.note("draining: taking nothing new, finishing what runs; signal again to end at once");
                // A worker that has ended says so itself.
                let _ = worker.handle.drain().await;
            }
        }
    };
    stop.send_replace(true);
    ended.map_err(|error| NodeError::Ended(error.to_string()))?;
    Ok(ExitCode::Ok)
}
