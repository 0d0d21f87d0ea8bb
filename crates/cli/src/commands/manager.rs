//! `hyperscale manager`: a manager in the foreground.

use hyperscale_api::{Access, Listener};
use hyperscale_types::ExitCode;

use super::nodes::{self, Signals};
use crate::args::ManagerArgs;
use crate::cluster::node::{self, NodeError};
use crate::cluster::served::ServedManager;
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
    let name = settings.name.clone();
    let mut manager = ServedManager::start(settings, founders, (listener, http))?;
    nodes::announce("manager", &name, listen, http, printer)?;
    tokio::select! {
        ended = manager.ended() => ended?,
        () = signals.next() => {
            manager.stop();
            manager.ended().await?;
        }
    }
    Ok(ExitCode::Ok)
}
