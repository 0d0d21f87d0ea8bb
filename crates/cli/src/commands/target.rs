//! `hyperscale target`: the built-in test server in the foreground.

use std::fs;
use std::path::Path;

use hyperscale_target::{Handle, Identity, Options, Target, TlsOptions};
use hyperscale_types::ExitCode;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::TargetArgs;
use crate::cluster::node::address;
use crate::errors::CommandError;
use crate::printer::Printer;

/// Serves until Ctrl-C or SIGTERM.
pub(crate) async fn target(args: TargetArgs, printer: Printer) -> Result<ExitCode, CommandError> {
    let options = options(&args)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CommandError::System)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(CommandError::System)?;
    let is_tls = options.tls.is_some();
    let running = Target::bind(options)?.spawn().map_err(CommandError::System)?;
    let handle = running.handle();
    if let (Some(path), Some(pem)) = (&args.ca_out, handle.ca_pem()) {
        fs::write(path, pem).map_err(|source| CommandError::Unwritable { path: path.clone(), source })?;
    }
    announce(&handle, is_tls, printer)?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    let stats = handle.settled_stats().await;
    running.stop();
    printer.note(format_args!(
        "target stopped: {} requests on {} connections",
        stats.requests, stats.connections.opened
    ));
    Ok(ExitCode::Ok)
}

fn announce(handle: &Handle, is_tls: bool, printer: Printer) -> Result<(), CommandError> {
    let listen = handle.listen();
    let scheme = if is_tls { "https" } else { "http" };
    let ready = json!({
        "ready": true,
        "role": "target",
        "id": format!("target-{}", listen.port()),
        "listen": listen.to_string(),
        "http": listen.to_string(),
        "url": format!("{scheme}://{listen}"),
    });
    printer.data(&format!("{ready}\n")).map_err(CommandError::Output)?;
    printer.note(format_args!("target serves {scheme}://{listen}; counts at /__stats; Ctrl-C ends it"));
    Ok(())
}

fn options(args: &TargetArgs) -> Result<Options, CommandError> {
    let mut options = Options::new(address(&args.listen)?);
    options.unix.clone_from(&args.unix);
    options.latency = args.latency.unwrap_or_default();
    options.error_rate = args.error_rate.unwrap_or_default();
    options.stall = args.stall;
    options.body_size = args.body_size.map(|size| size.0);
    options.max_connections = args.max_connections;
    options.threads = args.threads;
    options.seed = args.seed;
    options.tls = tls(args)?;
    Ok(options)
}

fn tls(args: &TargetArgs) -> Result<Option<TlsOptions>, CommandError> {
    let identity = match (&args.cert, &args.key) {
        (Some(cert), Some(key)) => {
            Identity::Pem { chain: read("the certificate", cert)?, key: read("the key", key)? }
        }
        _ if args.tls => Identity::Generated,
        _ if args.ca_out.is_some() => {
            return Err(CommandError::Misplaced { flag: "--ca-out", belongs: "belongs to --tls" });
        }
        _ => return Ok(None),
    };
    Ok(Some(TlsOptions { identity, client_ca_pem: None }))
}

fn read(what: &'static str, path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(|source| CommandError::Unreadable {
        what,
        path: path.to_owned(),
        source,
    })
}
