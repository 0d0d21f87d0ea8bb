//! Where a server is: a URL, or the socket of a local run.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use hyper::Uri;

/// Servers that a client knows.
const SERVERS_MAX: usize = 64;

/// `http://host:port` or `https://host:port`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerUrl {
    is_tls: bool,
    /// A name or an address; IPv6 without brackets.
    host: String,
    port: u16,
}

/// Servers of one cluster, at least one, written with commas between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers(Vec<ServerUrl>);

/// Why a text does not name servers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServersError {
    /// Nothing is named.
    #[error("no server is named")]
    None,
    /// More than anybody has.
    #[error("more than {SERVERS_MAX} servers are named")]
    TooMany,
    /// Not a URL of a server.
    #[error("`{0}` is not the URL of a server; write http://host:port or https://host:port")]
    Url(String),
}

/// Something that a client can connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Unix(PathBuf),
    Tcp(ServerUrl),
}

impl ServerUrl {
    /// Whether it speaks TLS.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The server at this `host:port`, or URL, that speaks as this one does. `None` if it is none, or would no longer use
    /// TLS.
    pub(super) fn beside(&self, address: &str) -> Option<Self> {
        let scheme = if self.is_tls { "https" } else { "http" };
        let url = if address.contains("://") { address.to_owned() } else { format!("{scheme}://{address}") };
        url.parse().ok().filter(|other: &Self| other.is_tls || !self.is_tls)
    }

    /// The `host` header of requests.
    pub(super) fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for ServerUrl {
    type Err = ServersError;
    fn from_str(text: &str) -> Result<Self, ServersError> {
        // A password in a URL is not shown again.
        let wrong = || ServersError::Url(hyperscale_types::secret::masked(text));
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let is_tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let has_rest = !matches!(uri.path(), "" | "/") || uri.query().is_some();
        if host.is_empty() || has_rest || authority.as_str().contains('@') {
            return Err(wrong());
        }
        // `Authority::port` takes a number beyond 65 535 for none.
        let port = match authority.as_str()[authority.host().len()..].strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| wrong())?,
            None if is_tls => 443,
            None => 80,
        };
        Ok(Self { is_tls, host: host.to_owned(), port })
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.is_tls { "https" } else { "http" }, self.authority())
    }
}

impl Servers {
    /// The servers in the order in which they were named.
    pub fn iter(&self) -> impl Iterator<Item = &ServerUrl> {
        self.0.iter()
    }
}

impl From<ServerUrl> for Servers {
    fn from(server: ServerUrl) -> Self {
        Self(vec![server])
    }
}

impl FromStr for Servers {
    type Err = ServersError;
    fn from_str(text: &str) -> Result<Self, ServersError> {
        let mut servers = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let server: ServerUrl = part.parse()?;
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        match servers.len() {
            0 => Err(ServersError::None),
            1..=SERVERS_MAX => Ok(Self(servers)),
            _ => Err(ServersError::TooMany),
        }
    }
}

impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ServerUrl::to_string).collect();
        f.write_str(&all.join(","))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Tcp(url) => url.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_urls_with_commas_between_them() {
        let servers: Servers = "http://a:1, https://b,http://[::1]:9000/,http://a:1".parse().unwrap();
        assert_eq!(servers.to_string(), "http://a:1,https://b:443,http://[::1]:9000");
        assert_eq!(servers.0[2].host(), "::1");
    }

    #[test]
    fn other_texts_are_refused_and_passwords_not_shown() {
        assert_eq!(" , ".parse::<Servers>(), Err(ServersError::None));
        for text in ["a:1", "ftp://a", "http://", "http://a/rpc", "http://a?x", "http://a:", "http://a:99999"]
        {
            assert_eq!(text.parse::<ServerUrl>(), Err(ServersError::Url(text.into())), "{text}");
        }
        let error = "http://me:pw@host".parse::<ServerUrl>().unwrap_err();
        assert!(!error.to_string().contains("pw@"), "{error}");
        let many: Vec<String> = (0..=SERVERS_MAX).map(|at| format!("http://a:{}", at + 1)).collect();
        assert_eq!(many.join(",").parse::<Servers>(), Err(ServersError::TooMany));
    }

    #[test]
    fn leader_is_reached_as_its_group_is_and_never_without_tls_where_there_was() {
        let plain: ServerUrl = "http://a:1".parse().unwrap();
        let secure: ServerUrl = "https://a:1".parse().unwrap();
        let shown = |url: Option<ServerUrl>| url.map(|url| url.to_string());
        assert_eq!(shown(plain.beside("b:2")).as_deref(), Some("http://b:2"));
        assert_eq!(shown(secure.beside("b:2")).as_deref(), Some("https://b:2"));
        assert_eq!(shown(secure.beside("http://b:2")), None);
        assert_eq!(shown(plain.beside("b:2/evil")), None);
    }
}
