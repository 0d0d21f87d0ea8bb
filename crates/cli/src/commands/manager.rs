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
    let tls = node::api_tls(args.tls_cert.as_ref(), args.tls_key.as_ref())?;
    let access = node::api_token()?.map_or(Access::Open, Access::Token);
    let listener =
        Listener::tcp(node::address(&args.node.http)?, access, tls).await.map_err(NodeError::from)?;
    let http = nodes::bound(&listener)?;
    let settings = node::settings(&args.node, Some(args.data.clone()), http, printer)?;
    let listen = settings.advertised.unwrap_or_else(|| settings.sockets.address());
    let founders = if args.peers.is_empty() {
        vec![listen]
    } else {
        node::resolved(&args.peers, args.peers.len(), printer).await?
    };
    let name = settings.name.clone();
    let mut manager = ServedManager::start(settings, founders, (listener, http))?;
    nodes::announce("manager", &name, listen, http, printer)?;
    let mut is_leaving = false;
    loop {
        tokio::select! {
            ended = manager.ended() => {
                ended?;
                break;
            }
            () = signals.next() => {
                // Without the flag the manager comes back, and its group counts on it meanwhile.
                if args.leave_on_term && !std::mem::replace(&mut is_leaving, true) {
                    match manager.leave().await {
                        Ok(()) => {
                            printer.note("leaving: handing over what this manager leads; signal again to end at once");
                            continue;
                        }
                        Err(why) => printer.note(format_args!("this manager cannot leave: {why}; it ends")),
                    }
                }
                manager.stop();
            }
        }
    }
    Ok(ExitCode::Ok)
}
