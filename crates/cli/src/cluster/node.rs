//! Settings of a node from arguments and environment.

use std::env;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use hyperscale_api::ApiToken;
use hyperscale_node::launch::{Settings, Sockets, Timers};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::secret::{Secret, Secrets};

use crate::args::NodeArgs;
use crate::errors::CommandError;
use crate::printer::Printer;

const SECRET: &str = "HYPERSCALE_AUTH_SECRET";
const SECRET_PREVIOUS: &str = "HYPERSCALE_AUTH_SECRET_PREVIOUS";

/// Why a node cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeError {
    /// A name or the names of cluster and environment.
    #[error("{what} `{text}` cannot be used")]
    Name {
        /// Which of them.
        what: &'static str,
        /// As it was written.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// The node can be reached from elsewhere, and anybody could speak to it.
    #[error("{listen} is not a loopback address, and {SECRET} is not set")]
    SecretRequired {
        /// Where it would listen.
        listen: SocketAddr,
    },
    /// A secret that cannot be used.
    #[error("{variable} cannot be used")]
    Secret {
        /// The variable.
        variable: &'static str,
        /// What is wrong with it.
        source: hyperscale_wire::secret::SecretError,
    },
    /// The token of the API cannot be used.
    #[error("HYPERSCALE_API_TOKEN cannot be used")]
    Token(#[from] hyperscale_api::token::ApiTokenError),
    /// A profile of times that does not exist.
    #[error("there is no timer profile `{0}`")]
    Profile(String),
    /// The node did not start.
    #[error("the node cannot start")]
    Launch(#[from] hyperscale_node::launch::LaunchError),
    /// The API cannot listen.
    #[error("the API cannot listen")]
    Listen(#[from] hyperscale_api::server::ListenError),
    /// The node ended because it could not continue.
    #[error("the node has stopped")]
    Ended(String),
}

impl NodeError {
    pub(crate) fn is_usage(&self) -> bool {
        !matches!(self, Self::Launch(_) | Self::Ended(_))
    }

    pub(crate) fn why(&self) -> String {
        match self {
            Self::Name { why, .. } => why.clone(),
            Self::SecretRequired { .. } => "every node of a cluster has to show the same secret".to_owned(),
            Self::Secret { source, .. } => source.to_string(),
            Self::Token(error) => error.to_string(),
            Self::Profile(_) => "profiles are `lan` and `test`".to_owned(),
            Self::Launch(error) => error.to_string(),
            Self::Listen(error) => error.to_string(),
            Self::Ended(why) => why.clone(),
        }
    }

    pub(crate) fn fix(&self) -> String {
        match self {
            Self::Name { .. } => "use letters, digits, `-` and `_`".to_owned(),
            Self::SecretRequired { .. } | Self::Secret { .. } => {
                format!("make one with `hyperscale secret` and set {SECRET} on all nodes")
            }
            Self::Token(_) | Self::Listen(_) => {
                "set HYPERSCALE_API_TOKEN to a long random text, or listen on loopback".to_owned()
            }
            Self::Profile(_) => "leave --timers out".to_owned(),
            Self::Launch(_) => "correct it and start the node again".to_owned(),
            Self::Ended(_) => {
                "see the log above; a node that lost its disk is removed and added as new".to_owned()
            }
        }
    }
}

/// Everything a node is made from; `http` is where its API listens.
pub(crate) fn settings(
    args: &NodeArgs,
    data: Option<PathBuf>,
    http: SocketAddr,
    printer: Printer,
) -> Result<Settings, CommandError> {
    let named = |what, text: &str, why: String| NodeError::Name { what, text: text.to_owned(), why };
    let environment = args.environment.clone().unwrap_or_default();
    let domain = Domain::new(&args.cluster, &environment)
        .map_err(|error| named("the cluster or environment", &args.cluster, error.to_string()))?;
    let is_name = |text: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !text.is_empty() && text.len() <= 64 && text.bytes().all(is_plain)
    };
    for (what, text) in [("the id", &args.id), ("the datacenter", &args.dc)] {
        if !is_name(text) {
            return Err(
                named(what, text, "names have 1 to 64 letters, digits, `-`, `_` or `.`".to_owned()).into()
            );
        }
    }
    let listen = address(&args.listen)?;
    let sockets = Sockets::bind(listen)
        .map_err(|source| CommandError::Address { text: args.listen.clone(), source })?;
    let secrets = secrets(listen, domain.cluster(), printer)?;
    let advertised = args.advertise.as_deref().map(address).transpose()?;
    Ok(Settings {
        name: args.id.clone(),
        domain,
        datacenter: args.dc.clone(),
        secrets,
        certificates: None,
        timers: timers(args.timers.as_deref())?,
        data,
        sockets,
        advertised,
        api: Some(http),
    })
}

fn timers(profile: Option<&str>) -> Result<Timers, NodeError> {
    match profile {
        None | Some("lan") => Ok(Timers::lan()),
        Some("test") => Ok(Timers::test()),
        Some(other) => Err(NodeError::Profile(other.to_owned())),
    }
}

fn secrets(listen: SocketAddr, cluster: &str, printer: Printer) -> Result<Secrets, NodeError> {
    let read = |variable: &'static str| match env::var(variable) {
        Ok(text) => {
            Secret::parse(&text, cluster).map(Some).map_err(|source| NodeError::Secret { variable, source })
        }
        Err(_) => Ok(None),
    };
    let previous = read(SECRET_PREVIOUS)?;
    match read(SECRET)? {
        Some(current) => Ok(Secrets { current, previous }),
        None if listen.ip().is_loopback() => {
            printer.note(format_args!(
                "{SECRET} is not set: this node uses the development secret, on loopback only"
            ));
            Ok(Secrets { current: Secret::development(), previous })
        }
        None => Err(NodeError::SecretRequired { listen }),
    }
}

/// The token of the API, if one is set.
pub(crate) fn api_token() -> Result<Option<ApiToken>, NodeError> {
    match env::var(hyperscale_api::server::TOKEN_VARIABLE) {
        Ok(text) => Ok(Some(text.parse()?)),
        Err(_) => Ok(None),
    }
}

/// An address of this machine or another; names are resolved once.
pub(crate) fn address(text: &str) -> Result<SocketAddr, CommandError> {
    let wrong = |source| CommandError::Address { text: text.to_owned(), source };
    let mut found = text.to_socket_addrs().map_err(wrong)?;
    found.next().ok_or_else(|| wrong(io::Error::other("the name has no address")))
}

/// Peers as `id=host:port`, or `host:port` alone.
pub(crate) fn peers(texts: &[String]) -> Result<Vec<SocketAddr>, CommandError> {
    texts.iter().map(|text| address(text.split_once('=').map_or(text.as_str(), |(_, at)| at))).collect()
}
