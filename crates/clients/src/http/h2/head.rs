//! From a request head in HTTP/1.1 wire form to that of an HTTP/2 request (RFC 9113, section 8.2 and 8.3).
//!
//! The wire form is what requests are prepared in; a constant one is turned once and cloned per request, which shares
//! all texts.

use http::header::{HeaderName, HeaderValue};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use http::{Method, Request, Version};
use thiserror::Error;

/// Header fields of one request.
const FIELDS_MAX: usize = 128;

/// Why a request head cannot be sent over HTTP/2. Nothing was sent; a retry fails the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeadError {
    /// Not a complete HTTP/1.1 request head.
    #[error("not a request head")]
    Malformed,
    /// More fields than are allowed.
    #[error("more than {FIELDS_MAX} header fields")]
    Fields,
    /// No `host`, or one that is not an authority.
    #[error("no usable `host`")]
    Authority,
    /// The request target is not a path.
    #[error("the request target is not a path")]
    Target,
}

/// Turns the head of an HTTP/1.1 request into that of an HTTP/2 request; `tls` says whether the scheme is `https`.
/// Returns it with the length of the head: what follows is the body.
pub fn request_head(bytes: &[u8], tls: bool) -> Result<(Request<()>, usize), HeadError> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut parsed = httparse::Request::new(&mut fields);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Err(httparse::Error::TooManyHeaders) => return Err(HeadError::Fields),
        Ok(httparse::Status::Partial) | Err(_) => return Err(HeadError::Malformed),
    };
    let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
        return Err(HeadError::Malformed);
    };
    let mut request = Request::new(());
    *request.version_mut() = Version::HTTP_2;
    *request.method_mut() = Method::from_bytes(method.as_bytes()).map_err(|_| HeadError::Malformed)?;
    let mut authority = None;
    for field in parsed.headers.iter() {
        if field.name.eq_ignore_ascii_case("host") {
            authority = Authority::try_from(field.value).ok();
        } else if !is_for_the_connection(field) {
            let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| HeadError::Malformed)?;
            let value = HeaderValue::from_bytes(field.value).map_err(|_| HeadError::Malformed)?;
            request.headers_mut().append(name, value);
        }
    }
    let mut uri = http::uri::Parts::default();
    uri.scheme = Some(if tls { Scheme::HTTPS } else { Scheme::HTTP });
    uri.authority = Some(authority.ok_or(HeadError::Authority)?);
    uri.path_and_query = Some(PathAndQuery::try_from(target).map_err(|_| HeadError::Target)?);
    *request.uri_mut() = Uri::from_parts(uri).map_err(|_| HeadError::Target)?;
    Ok((request, length))
}

/// Fields that HTTP/2 forbids because they speak about one HTTP/1.1 connection.
fn is_for_the_connection(field: &httparse::Header<'_>) -> bool {
    const NAMES: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
    let te = field.name.eq_ignore_ascii_case("te") && !field.value.eq_ignore_ascii_case(b"trailers");
    te || NAMES.iter().any(|name| field.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudo_fields_come_from_request_line_and_host() {
        let wire = b"POST /a?b HTTP/1.1\r\nHost: h:81\r\nConnection: close\r\nTE: gzip\r\nX-A: 1\r\nx-a: 2\r\n\r\nbody";
        let (request, length) = request_head(wire, true).expect("valid");
        assert_eq!(&wire[length..], b"body");
        assert_eq!(
            (request.method(), request.uri().to_string().as_str()),
            (&Method::POST, "https://h:81/a?b")
        );
        let fields: Vec<_> =
            request.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(fields, [("x-a", &b"1"[..]), ("x-a", b"2")]);
    }

    #[test]
    fn heads_that_cannot_be_sent_are_refused() {
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS_MAX + 1));
        let table: [(&[u8], HeadError); 5] = [
            (b"GET / HTTP/1.1\r\nhost: a\r\n", HeadError::Malformed),
            (b"\r\n", HeadError::Malformed),
            (b"GET / HTTP/1.1\r\n\r\n", HeadError::Authority),
            (b"GET / HTTP/1.1\r\nhost: a b\r\n\r\n", HeadError::Authority),
            (many.as_bytes(), HeadError::Fields),
        ];
        for (wire, error) in table {
            assert_eq!(
                request_head(wire, false).map(|_| ()),
                Err(error),
                "{}",
                String::from_utf8_lossy(wire)
            );
        }
    }
}
