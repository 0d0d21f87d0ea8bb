//! Settings of a node from arguments and environment.

use std::env;
use std::fs;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use hyperscale_api::server::ListenError;
use hyperscale_api::{ApiToken, ServerTls};
use hyperscale_node::launch::{Settings, Sockets, Timers};
use hyperscale_node::transport::{CertificateError, CertificateFiles, Certificates};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::secret::{Secret, Secrets};

use crate::args::NodeArgs;
use crate::errors::CommandError;
use crate::printer::Printer;

pub(crate) const SECRET: &str = "HYPERSCALE_AUTH_SECRET";
const SECRET_PREVIOUS: &str = "HYPERSCALE_AUTH_SECRET_PREVIOUS";
/// How often names without an address are looked up again.
const NAMES_AGAIN: std::time::Duration = std::time::Duration::from_secs(1);
const VERIFY_HOSTNAME: &str = "HYPERSCALE_TLS_VERIFY_HOSTNAME";

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
    /// An address that others cannot connect to.
    #[error("other nodes cannot reach {0}")]
    NoAddress(SocketAddr),
    /// The founders do not include this manager.
    #[error("--peers does not name {0}, where this manager is reached")]
    NotAPeer(SocketAddr),
    /// Another node that has no address.
    #[error("`{text}` is no address of a node")]
    Peer {
        /// As it was written.
        text: String,
        /// What is wrong with it.
        source: io::Error,
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
    /// Files of mutual TLS that cannot be used.
    #[error("the certificate of this node cannot be used")]
    Certificates(#[from] CertificateError),
    /// Files of the API's TLS that cannot be used.
    #[error("the certificate of the API cannot be used")]
    ApiTls(#[from] hyperscale_api::tls::TlsError),
    /// Neither yes nor no.
    #[error("`{0}` is not true or false for {VERIFY_HOSTNAME}")]
    VerifyHostname(String),
    /// A profile of times that does not exist.
    #[error("there is no timer profile `{0}`")]
    Profile(String),
    /// The node did not start.
    #[error("the node cannot start")]
    Launch(#[from] hyperscale_node::launch::LaunchError),
    /// The API cannot listen.
    #[error("the API cannot listen")]
    Listen(#[from] ListenError),
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
            Self::NoAddress(_) => "it is every address of this machine, or no port".to_owned(),
            Self::NotAPeer(_) => {
                "all managers that found the group are in the list, and it is the same on all of them"
                    .to_owned()
            }
            Self::Peer { source, .. } => source.to_string(),
            Self::Token(error) => error.to_string(),
            Self::Certificates(error) => error.to_string(),
            Self::ApiTls(error) => error.to_string(),
            Self::VerifyHostname(_) => {
                "it says whether certificates of nodes have to name their addresses".to_owned()
            }
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
            Self::Token(_) | Self::Listen(ListenError::TokenRequired(_)) => {
                "set HYPERSCALE_API_TOKEN to a long random text, or listen on loopback".to_owned()
            }
            Self::Listen(ListenError::Bind { .. }) => {
                "choose a free address of this machine; port 0 picks a free port".to_owned()
            }
            Self::Certificates(error) => certificate_fix(error).to_owned(),
            Self::ApiTls(_) => {
                "pass a PEM certificate chain with --tls-cert and its PEM key with --tls-key".to_owned()
            }
            Self::NoAddress(_) => "say where it is reached with --advertise HOST:PORT".to_owned(),
            Self::NotAPeer(_) => "add it to --peers, or correct --listen or --advertise".to_owned(),
            Self::VerifyHostname(_) => "leave it out, or set it to true or false".to_owned(),
            Self::Peer { .. } => {
                "write HOST:PORT or ID=HOST:PORT, with a name or an address of its host".to_owned()
            }
            Self::Profile(_) => "leave --timers out".to_owned(),
            Self::Launch(_) => "correct it and start the node again".to_owned(),
            Self::Ended(_) => {
                "see the log above; a node that lost its disk is removed and added as new".to_owned()
            }
        }
    }
}

fn certificate_fix(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Pem { .. } | CertificateError::Authority(_) | CertificateError::Authorities(_) => {
            "pass PEM files with --node-cert, --node-key and --node-ca"
        }
        CertificateError::Identity(_) => {
            "make a certificate with one URI name hyperscale://CLUSTER/ROLE/NODE, NODE in hexadecimal digits"
        }
        CertificateError::Key(_) => "pass the key of the certificate in --node-cert with --node-key",
        CertificateError::Rejected(_) => {
            "pass a certificate that is in date and signed by an authority in --node-ca"
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
    let domain = names(args)?;
    let sockets = sockets(&args.listen)?;
    let secrets = secrets(sockets.address(), domain.cluster())?;
    if secrets.current == Secret::development() {
        printer.note(format_args!(
            "{SECRET} is not set: this node uses the development secret, on loopback only"
        ));
    }
    let advertised = advertised(args, sockets.address())?;
    Ok(Settings {
        name: args.id.clone(),
        domain,
        datacenter: args.dc.clone(),
        secrets,
        certificates: certificates(args)?,
        timers: timers(args.timers.as_deref())?,
        data,
        sockets,
        advertised,
        api: Some(http),
    })
}

/// Cluster and environment, once all names of a node can be used.
pub(crate) fn names(args: &NodeArgs) -> Result<Domain, NodeError> {
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
            let why = "names have 1 to 64 letters, digits, `-`, `_` or `.`".to_owned();
            return Err(named(what, text, why));
        }
    }
    Ok(domain)
}

/// The sockets of a node, bound.
pub(crate) fn sockets(text: &str) -> Result<Sockets, CommandError> {
    let wrong = |source| CommandError::Address { text: text.to_owned(), source };
    Sockets::bind(address(text)?).map_err(wrong)
}

/// Where others reach a node, if that is not where it is bound.
pub(crate) fn advertised(args: &NodeArgs, bound: SocketAddr) -> Result<Option<SocketAddr>, CommandError> {
    let advertised = args.advertise.as_deref().map(address).transpose()?;
    let reached = advertised.unwrap_or(bound);
    if reached.ip().is_unspecified() || reached.port() == 0 {
        return Err(NodeError::NoAddress(reached).into());
    }
    Ok(advertised)
}

/// Mutual TLS between nodes, if files of it are named.
pub(crate) fn certificates(args: &NodeArgs) -> Result<Option<Certificates>, CommandError> {
    let (Some(chain), Some(key), Some(authorities)) = (&args.node_cert, &args.node_key, &args.node_ca) else {
        return Ok(None);
    };
    let chain = file("the certificate of the node", chain)?;
    let key = file("the key of the node", key)?;
    let authorities = file("the CA file of the nodes", authorities)?;
    let files = CertificateFiles { chain: &chain, key: &key, authorities: &authorities };
    let made = Certificates::from_pem(files, verifies_names()?);
    Ok(Some(made.map_err(NodeError::from)?))
}

/// TLS of the API, if files of it are named.
pub(crate) fn api_tls(
    cert: Option<&PathBuf>,
    key: Option<&PathBuf>,
) -> Result<Option<ServerTls>, CommandError> {
    let (Some(chain), Some(key)) = (cert, key) else { return Ok(None) };
    let chain = file("the certificate of the API", chain)?;
    let key = file("the key of the API", key)?;
    Ok(Some(ServerTls::from_pem(&chain, &key).map_err(NodeError::from)?))
}

fn file(what: &'static str, path: &Path) -> Result<Vec<u8>, CommandError> {
    fs::read(path).map_err(|source| CommandError::Unreadable { what, path: path.to_owned(), source })
}

/// Whether the address of a peer must be among the names of its certificate.
fn verifies_names() -> Result<bool, NodeError> {
    match env::var(VERIFY_HOSTNAME).as_deref() {
        Err(_) | Ok("true" | "1") => Ok(true),
        Ok("false" | "0") => Ok(false),
        Ok(other) => Err(NodeError::VerifyHostname(other.to_owned())),
    }
}

/// Times of a node.
pub(crate) fn timers(profile: Option<&str>) -> Result<Timers, NodeError> {
    match profile {
        None | Some("lan") => Ok(Timers::lan()),
        Some("test") => Ok(Timers::test()),
        Some(other) => Err(NodeError::Profile(other.to_owned())),
    }
}

/// Secrets of the environment; on loopback the development secret is enough.
pub(crate) fn secrets(listen: SocketAddr, cluster: &str) -> Result<Secrets, NodeError> {
    let read = |variable: &'static str| match env::var(variable) {
        Ok(text) => {
            Secret::parse(&text, cluster).map(Some).map_err(|source| NodeError::Secret { variable, source })
        }
        Err(_) => Ok(None),
    };
    let previous = read(SECRET_PREVIOUS)?;
    match read(SECRET)? {
        Some(current) => Ok(Secrets { current, previous }),
        None if listen.ip().is_loopback() => Ok(Secrets { current: Secret::development(), previous }),
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
    texts.iter().map(|text| Ok(peer(text).map_err(|source| not_a_node(text, source))?)).collect()
}

/// The same, once at least `least` of them have an address. Waits for names that cannot be resolved yet: nodes start in any order, and
/// so do their DNS records.
pub(crate) async fn resolved(
    texts: &[String],
    least: usize,
    printer: Printer,
) -> Result<Vec<SocketAddr>, CommandError> {
    let mut is_told = false;
    loop {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for text in texts {
            match peer(text) {
                Ok(address) => known.push(address),
                Err(source) if source.kind() == io::ErrorKind::InvalidInput => {
                    return Err(not_a_node(text, source).into());
                }
                Err(_) => unknown.push(text.as_str()),
            }
        }
        if known.len() >= least {
            return Ok(known);
        }
        if !std::mem::replace(&mut is_told, true) {
            printer.note(format_args!("waiting for the addresses of {}", unknown.join(", ")));
        }
        tokio::time::sleep(NAMES_AGAIN).await;
    }
}

fn peer(text: &str) -> io::Result<SocketAddr> {
    let address = text.split_once('=').map_or(text, |(_, at)| at);
    address.to_socket_addrs()?.next().ok_or_else(|| io::Error::other("the name has no address"))
}

fn not_a_node(text: &str, source: io::Error) -> NodeError {
    NodeError::Peer { text: text.to_owned(), source }
}
