//! What the commands of all nodes share: signals, the ready line, the log.

use std::net::SocketAddr;

use hyperscale_api::Listener;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::LogFormat;
use crate::errors::CommandError;
use crate::printer::Printer;

/// Ctrl-C and SIGTERM.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, CommandError> {
        let on = |kind| signal(kind).map_err(CommandError::System);
        Ok(Self { interrupt: on(SignalKind::interrupt())?, terminate: on(SignalKind::terminate())? })
    }

    /// Waits for the next of them.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Where the API of a node was bound.
pub(super) fn bound(listener: &Listener) -> Result<SocketAddr, CommandError> {
    listener
        .address()
        .ok_or_else(|| CommandError::System(std::io::Error::other("the listener has no address")))
}

/// Says that the sockets are bound, in one line of JSON on stdout.
pub(super) fn announce(
    role: &str,
    id: &str,
    listen: SocketAddr,
    http: SocketAddr,
    printer: Printer,
) -> Result<(), CommandError> {
    let ready = json!({
        "ready": true, "role": role, "id": id, "listen": listen.to_string(), "http": http.to_string(),
    });
    printer.data(&format!("{ready}\n")).map_err(CommandError::Output)
}

/// Logs what concerns operators, from now on.
pub(super) fn log_to_stderr(format: LogFormat) {
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(tracing::Level::INFO);
    // Another log that was set up before stays.
    let _ = match format {
        LogFormat::Text => tracing::subscriber::set_global_default(log.with_ansi(false).finish()),
        LogFormat::Json => tracing::subscriber::set_global_default(log.json().finish()),
    };
}
