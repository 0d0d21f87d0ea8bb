//! A filled request as HTTP/2 wants it (RFC 9113, sections 8.2 and 8.3). A constant one is turned once and cloned per
//! request, which shares all texts.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{Method, Request, Version};
use thiserror::Error;

use crate::http::request::extra::Extra;
use crate::http::request::message::Message;
use crate::http::request::template::COOKIE;
use crate::http::request::url::Url;

/// Head and body of a request.
pub(crate) type Parts = (Request<()>, Bytes);

/// Why a request cannot be sent over HTTP/2. Nothing was sent; a retry fails the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeadError {
    /// The method is no token, or a field has a name or value that HTTP/2 does not allow.
    #[error("a method or header field that HTTP/2 does not allow")]
    Malformed,
    /// A `host` that is not an authority.
    #[error("no usable `host`")]
    Authority,
    /// The request target is not a path.
    #[error("the request target is not a path")]
    Target,
}

/// Turns a request for `url`, which is the message's, into that of HTTP/2.
pub(crate) fn request(message: &Message, url: &Url<'_>, extra: &Extra) -> Result<Parts, HeadError> {
    let mut request = Request::new(());
    *request.version_mut() = Version::HTTP_2;
    *request.method_mut() =
        Method::from_bytes(message.method().as_bytes()).map_err(|_| HeadError::Malformed)?;
    *request.uri_mut() = uri(message, url)?;
    let mut append = |name: &str, value: &[u8]| {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HeadError::Malformed)?;
        let value = HeaderValue::from_bytes(value).map_err(|_| HeadError::Malformed)?;
        request.headers_mut().append(name, value);
        Ok(())
    };
    for (name, value) in message.fields().iter().filter(|(name, value)| is_sent(name, value)) {
        append(name, value)?;
    }
    if let Some(value) = &extra.authorization {
        append("authorization", value.as_bytes())?;
    }
    let cookies = extra.all_cookies(message);
    if !cookies.is_empty() {
        append(COOKIE, &cookies)?;
    }
    Ok((request, Bytes::copy_from_slice(message.body())))
}

fn uri(message: &Message, url: &Url<'_>) -> Result<Uri, HeadError> {
    let mut authority = Vec::new();
    match message.fields().all("host").next() {
        Some(host) => authority.extend_from_slice(host),
        None => url.write_authority(&mut authority),
    }
    let mut target = Vec::new();
    url.write_target(&mut target);
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(if url.scheme.is_tls() { Scheme::HTTPS } else { Scheme::HTTP });
    uri.authority = Some(Authority::try_from(&*authority).map_err(|_| HeadError::Authority)?);
    uri.path_and_query = Some(PathAndQuery::try_from(&*target).map_err(|_| HeadError::Target)?);
    Uri::from_parts(uri).map_err(|_| HeadError::Target)
}

/// Whether a field is sent as it is. HTTP/2 forbids those that speak about one HTTP/1.1 connection; `host` is the
/// authority, and all cookies are one field.
fn is_sent(name: &str, value: &[u8]) -> bool {
    const NAMES: [&str; 7] =
        ["host", COOKIE, "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
    let is_te = name == "te" && !value.eq_ignore_ascii_case(b"trailers");
    !is_te && !NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Fields;

    fn turn(url: &str, fields: &[(&str, &str)]) -> Result<Parts, HeadError> {
        let mut list = Fields::default();
        for (name, value) in fields {
            list.push(name, value.as_bytes());
        }
        let message = Message::new("POST".into(), url.to_owned(), list, b"body".to_vec());
        request(&message, &message.url().expect("a URL"), &Extra::default())
    }

    #[test]
    fn pseudo_fields_come_from_url_and_host() {
        let fields = [("connection", "close"), ("te", "gzip"), ("x-a", "1"), ("cookie", "c=1"), ("x-a", "2")];
        let (head, body) = turn("https://h:81/a?b", &fields).expect("valid");
        assert_eq!(&*body, b"body");
        assert_eq!((head.method(), head.uri().to_string().as_str()), (&Method::POST, "https://h:81/a?b"));
        let fields: Vec<_> =
            head.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(fields, [("x-a", &b"1"[..]), ("x-a", b"2"), ("cookie", b"c=1")]);
        let (head, _) = turn("http://h/", &[("host", "other.example")]).expect("valid");
        assert_eq!(head.uri().to_string(), "http://other.example/");
    }

    #[test]
    fn heads_that_cannot_be_sent_are_refused() {
        assert_eq!(turn("http://h/", &[("host", "a b")]).map(drop), Err(HeadError::Authority));
        assert_eq!(turn("http://h/", &[("a b", "c")]).map(drop), Err(HeadError::Malformed));
        assert_eq!(turn("http://h/", &[("a", "c\nd")]).map(drop), Err(HeadError::Malformed));
    }
}
