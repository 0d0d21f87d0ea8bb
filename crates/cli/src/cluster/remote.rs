//! The client of a cluster from arguments and environment.

use std::fs;
use std::path::PathBuf;

use hyperscale_api::{CallError, Client, ClientOptions, ClientTls, Servers};

use crate::args::ServerArgs;
use crate::errors::CommandError;

const SERVER: &str = "HYPERSCALE_SERVER";
const CA: &str = "HYPERSCALE_CA";

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RemoteError {
    /// No server was named.
    #[error("no server is named")]
    NoServer,
    /// The servers are not URLs.
    #[error("`{text}` does not name servers")]
    Servers {
        /// As it was written.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// The idempotency key cannot be one.
    #[error("the idempotency key `{key}` cannot be used")]
    Key {
        /// As it was written.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// Not the id of a task.
    #[error("`{0}` is not the id of a task")]
    TaskId(String),
    /// Not a place in the stream of events.
    #[error("`{0}` is not an event")]
    EventId(String),
    /// The token or the authorities cannot be used.
    #[error("the {what} of the server cannot be used")]
    Trust {
        /// Token or authorities.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The cluster did not do it.
    #[error("{}", .0.what())]
    Call(#[from] CallError),
}

impl RemoteError {
    pub(crate) fn exit_code(&self) -> hyperscale_types::ExitCode {
        match self {
            Self::Call(error) => error.exit_code(),
            _ => hyperscale_types::ExitCode::Usage,
        }
    }

    pub(crate) fn why(&self) -> String {
        match self {
            Self::NoServer => "the command asks a cluster".to_owned(),
            Self::TaskId(_) => "ids of tasks are UUIDs".to_owned(),
            Self::EventId(_) => "events are named by two numbers, TRANSACTION.EVENT".to_owned(),
            Self::Servers { why, .. } | Self::Key { why, .. } | Self::Trust { why, .. } => why.clone(),
            Self::Call(error) => error.why(),
        }
    }

    pub(crate) fn fix(&self) -> String {
        match self {
            Self::NoServer => format!("pass --server http://host:port, or set {SERVER}"),
            Self::Servers { .. } => {
                "write it as http://host:port or https://host:port, several separated by commas".to_owned()
            }
            Self::TaskId(_) => "see the ids with `hyperscale tasks list`".to_owned(),
            Self::EventId(_) => "see the events with `hyperscale tasks events --json`".to_owned(),
            Self::Key { .. } | Self::Trust { .. } => "correct it, or leave it out".to_owned(),
            Self::Call(error) => error.fix(),
        }
    }
}

/// The servers that were named, by flag or environment.
fn named(args: &ServerArgs) -> Option<String> {
    args.server.clone().or_else(|| std::env::var(SERVER).ok().filter(|text| !text.is_empty()))
}

/// The client of the cluster that was named; nothing, if none was.
pub(crate) fn client_if_named(args: &ServerArgs) -> Result<Option<Client>, CommandError> {
    named(args).map(|text| make(args, &text)).transpose()
}

/// The client of the cluster that was named.
pub(crate) fn client(args: &ServerArgs) -> Result<Client, CommandError> {
    client_if_named(args)?.ok_or_else(|| RemoteError::NoServer.into())
}

/// The client of the servers that were named, or else of this one.
pub(crate) fn client_or(args: &ServerArgs, server: &str) -> Result<Client, CommandError> {
    make(args, &named(args).unwrap_or_else(|| server.to_owned()))
}

/// A client of each server that was named.
pub(crate) fn clients(args: &ServerArgs) -> Result<Vec<(String, Client)>, CommandError> {
    let text = named(args).ok_or(RemoteError::NoServer)?;
    text.split(',').map(|server| Ok((server.trim().to_owned(), make(args, server)?))).collect()
}

/// The client of one server.
pub(crate) fn client_of(args: &ServerArgs, server: &str) -> Result<Client, CommandError> {
    make(args, server)
}

fn make(args: &ServerArgs, text: &str) -> Result<Client, CommandError> {
    let wrong = |why: String| RemoteError::Servers { text: text.to_owned(), why };
    let servers: Servers =
        text.parse().map_err(|error: hyperscale_api::client::ServersError| wrong(error.to_string()))?;
    let mut options = ClientOptions::new(servers);
    let token = args.token.clone().or_else(|| std::env::var(hyperscale_api::server::TOKEN_VARIABLE).ok());
    if let Some(token) = token {
        let token = token.parse().map_err(|error: hyperscale_api::token::ApiTokenError| {
            RemoteError::Trust { what: "token", why: error.to_string() }
        })?;
        options.token = Some(token);
    }
    let ca = args.ca.clone().or_else(|| std::env::var_os(CA).map(PathBuf::from));
    if let Some(path) = ca {
        let pem = fs::read(&path).map_err(|source| CommandError::Unreadable {
            what: "the CA file",
            path: path.clone(),
            source,
        })?;
        let tls = ClientTls::from_pem(&pem)
            .map_err(|error| RemoteError::Trust { what: "authorities", why: error.to_string() })?;
        options.tls = Some(tls);
    }
    let untrusted = |error: hyperscale_api::tls::TlsError| RemoteError::Trust {
        what: "authorities",
        why: error.to_string(),
    };
    Ok(Client::new(options).map_err(untrusted)?)
}
