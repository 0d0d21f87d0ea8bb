//! `hyperscale serve`: a node of the task plane in the foreground.

mod demo;

use hyperscale_api::{Access, ApiToken, Listener};
use hyperscale_types::ExitCode;
use tokio_util::sync::CancellationToken;

use self::demo::Demo;
use super::nodes::{self, Signals};
use crate::args::ServeArgs;
use crate::cluster::node::{self, NodeError};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::tasks::served::ServedNode;
use crate::tasks::settings;

/// Runs a node until SIGTERM, Ctrl-C, or until it cannot continue. What runs then gets ten seconds; a second signal ends it at once.
pub(crate) async fn serve(mut args: ServeArgs, printer: Printer) -> Result<ExitCode, CommandError> {
    nodes::log_to_stderr(args.log);
    let mut signals = Signals::listen()?;
    let demo = args.demo.then(|| Demo::prepare(&mut args)).transpose()?;
    let settings = settings::resolve(&args)?;
    let listener = listener(&args).await?;
    let address = nodes::bound(&listener)?;
    let (name, role) = (settings.name.clone(), settings.settings.role);
    let served = ServedNode::start(settings, (listener, address))?;
    let role = serde_json::to_value(role).ok().and_then(|role| role.as_str().map(str::to_owned));
    nodes::announce(&role.unwrap_or_default(), &name, address, address, printer)?;
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    printer.note(format_args!("tasks and dashboard at {scheme}://{address}; Ctrl-C ends the node"));
    let shutdown = CancellationToken::new();
    let mut running = std::pin::pin!(served.run(shutdown.clone()));
    let token = args.token.clone();
    let mut example = std::pin::pin!(async {
        match &demo {
            Some(demo) => Some(demo.submit(address, token).await),
            None => None,
        }
    });
    let mut is_shown = demo.is_none();
    loop {
        tokio::select! {
            submitted = example.as_mut(), if !is_shown => {
                is_shown = true;
                if let Some(created) = submitted.transpose()? {
                    printer.note(format_args!("follow the example at http://{address}/#/tasks/{}", created.tree));
                }
            }
            ended = running.as_mut() => {
                ended?;
                return Ok(ExitCode::Ok);
            }
            () = signals.next() => {
                if shutdown.is_cancelled() {
                    return Ok(ExitCode::Cancelled);
                }
                printer.note("stopping: what runs gets ten seconds; signal again to end at once");
                shutdown.cancel();
            }
        }
    }
}

async fn listener(args: &ServeArgs) -> Result<Listener, CommandError> {
    let tls = node::api_tls(args.tls_cert.as_ref(), args.tls_key.as_ref())?;
    let token = match &args.token {
        Some(text) => Some(text.parse::<ApiToken>().map_err(NodeError::from)?),
        None => node::api_token()?,
    };
    let access = token.map_or(Access::Open, Access::Token);
    Ok(Listener::tcp(node::address(&args.listen)?, access, tls).await.map_err(NodeError::from)?)
}
