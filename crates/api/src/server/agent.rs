//! A2A over HTTP: which version a request speaks, and the card that says what an agent can do.

use aws_lc_rs::digest::{SHA256, digest};
use hyper::header::{CACHE_CONTROL, ETAG, HOST, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH};
use hyper::{StatusCode, Uri};

use super::access::Gate;
use super::reply::{self, Reply};
use super::{Backend, Shared};
use crate::error::{ErrorCode, RpcError};
use crate::method::{A2aVersion, hex};

/// Where agents have their card.
pub(super) const CARD_PATH: &str = "/.well-known/agent-card.json";
const VERSION: HeaderName = HeaderName::from_static("a2a-version");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// How long a client may use a card without asking again.
const CACHE: HeaderValue = HeaderValue::from_static("max-age=60");
/// Characters of a host and its port.
const HOST_MAX: usize = 255;

/// The version of a request: that of its header, or of the parameter of the same name (specification, section 3.6.1).
pub(super) fn version(headers: &HeaderMap, uri: &Uri) -> Result<A2aVersion, RpcError> {
    let named = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case(VERSION.as_str()).then(|| value.to_owned())
    };
    let parameter = || uri.query()?.split('&').find_map(named);
    // A value that is not text is not the number of a version either.
    let header = headers.get(VERSION).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    A2aVersion::read(header.or_else(parameter).as_deref())
}

/// The card of the node. It holds nothing secret, so that it needs no token: it says that one is needed.
pub(super) fn card<B: Backend>(headers: &HeaderMap, shared: &Shared<B>) -> Result<Reply, RpcError> {
    if !shared.backend.is_agent() {
        return Err(RpcError::new(ErrorCode::NotFound, "this node is no agent"));
    }
    let url = url(headers, shared.is_tls)?;
    let card = shared.backend.agent_card(&url, matches!(shared.gate, Gate::Token(_))).to_string();
    let tag = format!("\"{}\"", hex(&digest(&SHA256, card.as_bytes()).as_ref()[..16]));
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut reply = if is_known {
        reply::nothing(StatusCode::NOT_MODIFIED)
    } else {
        reply::text(StatusCode::OK, "application/json", card)
    };
    reply.headers_mut().insert(CACHE_CONTROL, CACHE);
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        reply.headers_mut().insert(ETAG, tag);
    }
    Ok(reply)
}

/// Where the client reaches the node: the host it asked for. A proxy that ends TLS says so; only who asked sees the difference.
fn url(headers: &HeaderMap, is_tls: bool) -> Result<String, RpcError> {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).filter(|host| is_host(host));
    let wrong = || RpcError::new(ErrorCode::InvalidRequest, "the header `Host` must name this server");
    let host = host.ok_or_else(wrong)?;
    let is_forwarded = headers.get(FORWARDED_PROTO).is_some_and(|scheme| scheme.as_bytes() == b"https");
    let scheme = if is_tls || is_forwarded { "https" } else { "http" };
    Ok(format!("{scheme}://{host}/"))
}

fn is_host(text: &str) -> bool {
    let fits =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'[' | b']');
    (1..=HOST_MAX).contains(&text.len()) && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn header_wins_over_the_parameter() {
        let version =
            |header: &[(HeaderName, &str)], uri: &str| version(&headers(header), &uri.parse().unwrap());
        assert_eq!(version(&[], "/"), Ok(A2aVersion::V0_3));
        assert_eq!(version(&[(VERSION, "1.0")], "/"), Ok(A2aVersion::V1_0));
        assert_eq!(version(&[], "/?x=1&A2A-Version=1.0"), Ok(A2aVersion::V1_0));
        assert_eq!(version(&[(VERSION, "0.3")], "/?A2A-Version=1.0"), Ok(A2aVersion::V0_3));
        assert!(version(&[(VERSION, "7")], "/").is_err());
    }

    #[test]
    fn card_names_the_host_that_was_asked() {
        let url = |pairs: &[(HeaderName, &str)], is_tls| url(&headers(pairs), is_tls).ok();
        assert_eq!(url(&[(HOST, "10.0.0.1:7200")], false).as_deref(), Some("http://10.0.0.1:7200/"));
        assert_eq!(url(&[(HOST, "[::1]:7200")], true).as_deref(), Some("https://[::1]:7200/"));
        let proxied = [(HOST, "agent.example"), (FORWARDED_PROTO, "https")];
        assert_eq!(url(&proxied, false).as_deref(), Some("https://agent.example/"));
        for wrong in ["", "a/b", "a b", "a\"", "user@host"] {
            assert_eq!(url(&[(HOST, wrong)], false), None, "{wrong}");
        }
        assert_eq!(url(&[], false), None);
    }
}
