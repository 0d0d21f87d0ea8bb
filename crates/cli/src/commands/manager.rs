//! `hyperscale manager`: a manager in the foreground.

use std::sync::Arc;

use hyperscale_api::{Access, Limits, Listener, Server};
use hyperscale_node::launch::Manager;
use hyperscale_types::ExitCode;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::nodes::{self, Signals};
use crate::args::ManagerArgs;
use crate::cluster::backend::{Identity, ManagerBackend};
use crate::cluster::node::{self, NodeError};
use crate::errors::CommandError;
use crate::printer::Printer;

/// Runs a manager until SIGTERM, Ctrl-C, or until it cannot continue.
pub(crate) async fn manager(args: ManagerArgs, printer: Printer) -> Result<ExitCode, CommandError> {
    nodes::log_to_stderr(args.node.log);
    let mut signals = Signals::listen()?;
    let tls = node::api_tls(&args)?;
    let access = node::api_token()?.map_or(Access::Open, Access::Token);
    let listener =
        Listener::tcp(node::address(&args.node.http)?, access, tls).await.map_err(NodeError::from)?;
    let http = nodes::bound(&listener)?;
    let settings = node::settings(&args.node, Some(args.data), http, printer)?;
    let listen = settings.advertised.unwrap_or_else(|| settings.sockets.address());
    let founders = if args.peers.is_empty() { vec![listen] } else { node::peers(&args.peers)? };
    let (name, datacenter) = (settings.name.clone(), settings.datacenter.clone());
    let mut manager = Manager::start(settings, founders).map_err(NodeError::from)?;
    let identity =
        Identity { name: name.clone(), node: manager.node, boot: manager.boot.0, datacenter, listen, http };
    let handle = manager.handle.clone();
    let network = (manager.membership.clone(), manager.transport.clone());
    let (_, empty) = tokio::sync::mpsc::channel(1);
    let news = std::mem::replace(&mut manager.news, empty);
    let (backend, carrying) = ManagerBackend::new(identity, handle, network, news);
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    tasks.spawn(carrying);
    tasks.spawn(Server { listener, backend: Arc::new(backend), limits: Limits::NODE }.run(stopped));
    nodes::announce("manager", &name, listen, http, printer)?;
    let ended = tokio::select! {
        ended = manager.ended() => ended,
        () = signals.next() => {
            // Requests under way are answered before the manager goes.
            stop.send_replace(true);
            manager.stop();
            manager.ended().await
        }
    };
    stop.send_replace(true);
    ended.map_err(|error| NodeError::Ended(error.to_string()))?;
    Ok(ExitCode::Ok)
}
