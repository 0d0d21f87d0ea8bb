//! Who may use the routes that are not probes.

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderName, ORIGIN};

use super::backend::{Caller, Source};
use super::listener::{Access, Bound};
use crate::error::{ErrorCode, RpcError};
use crate::server::TOKEN_VARIABLE;
use crate::token::ApiToken;

/// The rule of a listener.
#[derive(Clone, Debug)]
pub(super) enum Gate {
    /// The socket lets in only one user.
    User,
    /// There are only probes.
    Probes,
    /// Everybody on this machine, but not web pages that a browser on it shows.
    Loopback,
    /// Whoever knows the token.
    Token(ApiToken),
}

impl Gate {
    pub(super) fn of(bound: &Bound) -> Self {
        match bound {
            Bound::Unix { .. } => Self::User,
            Bound::Tcp { access: Access::Probes, .. } => Self::Probes,
            Bound::Tcp { access: Access::Open, .. } => Self::Loopback,
            Bound::Tcp { access: Access::Token(token), .. } => Self::Token(token.clone()),
        }
    }

    /// The caller, if it may use more than probes.
    pub(super) fn admit(&self, source: Source, headers: &HeaderMap) -> Result<Caller, RpcError> {
        match self {
            Self::User => Ok(Caller { source, is_authenticated: true }),
            Self::Probes => Err(RpcError::new(ErrorCode::NotFound, "this node serves probes only")),
            Self::Loopback if is_from_elsewhere(headers) => Err(foreign()),
            Self::Loopback => Ok(Caller { source, is_authenticated: false }),
            Self::Token(token) => match bearer(headers) {
                Some(text) if token.matches(text) => Ok(Caller { source, is_authenticated: true }),
                Some(_) => Err(unauthorized("the token is wrong")),
                None => Err(unauthorized("a token is required")),
            },
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

fn unauthorized(message: &str) -> RpcError {
    RpcError::new(ErrorCode::Unauthorized, message)
        .fix(format!("pass --token or set {TOKEN_VARIABLE} to the token of the servers"))
}

fn foreign() -> RpcError {
    RpcError::new(
        ErrorCode::Unauthorized,
        "without a token, requests of web pages and for other hosts are refused",
    )
    .fix(format!("use a loopback address as host, or set {TOKEN_VARIABLE} at the server"))
}

/// Whether a browser sends this for a page of somebody else: by its origin, or through a name that was made to resolve to
/// this machine.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST).unwrap_or_default();
    let is_local = is_loopback(host);
    let origin = text(ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, host)| host));
    !is_local || origin.is_some_and(|origin| origin != host)
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_the_right_token_of_the_right_scheme_is_admitted() {
        let gate = Gate::Token("0123456789abcdef".parse().unwrap());
        let admitted = |value: &str| gate.admit(Source::User(0), &headers(&[(AUTHORIZATION, value)])).is_ok();
        assert!(admitted("Bearer 0123456789abcdef") && admitted("bearer  0123456789abcdef"));
        for wrong in ["", "Bearer", "Bearer ", "Basic 0123456789abcdef", "0123456789abcdef", "Bearer 0123"] {
            assert!(!admitted(wrong), "{wrong}");
        }
        assert!(gate.admit(Source::User(0), &HeaderMap::new()).is_err());
    }

    #[test]
    fn open_loopback_refuses_other_hosts_and_origins() {
        let local = |pairs: &[(HeaderName, &str)]| !is_from_elsewhere(&headers(pairs));
        for host in ["127.0.0.1:80", "localhost:9000", "[::1]:80", "LOCALHOST", "127.8.0.1"] {
            assert!(local(&[(HOST, host)]), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example", "10.0.0.1:80", ""] {
            assert!(!local(&[(HOST, host)]), "{host}");
        }
        assert!(local(&[(HOST, "127.0.0.1:80"), (ORIGIN, "http://127.0.0.1:80")]));
        assert!(!local(&[(HOST, "127.0.0.1:80"), (ORIGIN, "https://evil.example")]));
        assert!(!local(&[(HOST, "127.0.0.1:80"), (ORIGIN, "null")]));
    }
}
