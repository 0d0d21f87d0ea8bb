//! A request that was sent, taken apart, so that the next hop can be made from it.

use crate::http::request::url::{self, Url};
use crate::http::route::Route;
use crate::http::session::cookies::CookieJar;
use crate::outcome::CallError;

/// Header fields of one request.
const FIELDS_MAX: usize = 128;

/// A request in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    method: String,
    /// Absolute, and [`Url::parse`] accepts it.
    pub(crate) url: String,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    /// It never left the origin of the first request.
    at_first_origin: bool,
}

impl Message {
    /// Takes a request apart that was sent along a route.
    pub(crate) fn parse(bytes: &[u8], route: &Route) -> Result<Message, CallError> {
        let mut room = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut room);
        let Ok(httparse::Status::Complete(length)) = request.parse(bytes) else {
            return Err(CallError::protocol(format!("more than {FIELDS_MAX} header fields in the request")));
        };
        let target = request.path.unwrap_or("/");
        let origin = if target.starts_with('/') { &*route.text } else { "" };
        Ok(Message {
            method: request.method.unwrap_or("GET").to_owned(),
            url: format!("{origin}{target}"),
            fields: request
                .headers
                .iter()
                .map(|field| (field.name.to_owned(), field.value.to_vec()))
                .collect(),
            body: bytes[length..].to_vec(),
            at_first_origin: true,
        })
    }

    /// The request's URL.
    pub(crate) fn parsed_url(&self) -> Result<Url<'_>, CallError> {
        Url::parse(&self.url).map_err(|error| CallError::protocol(error.to_string()))
    }

    /// The request that follows a redirect (RFC 9110, section 15.4): 303, and 301 and 302 after a POST, become a GET
    /// without body. Another origin gets neither credentials nor cookies of this one.
    pub(crate) fn redirected(mut self, status: u16, location: &[u8]) -> Result<Message, CallError> {
        let bad = |error: url::UrlError| CallError::protocol(format!("redirect to an unusable URL: {error}"));
        let location = String::from_utf8_lossy(location);
        let base = self.parsed_url()?;
        let target = url::resolve(&base, &location).map_err(bad)?;
        let same_origin = Url::parse(&target).map_err(bad)?.has_origin(&base.origin());
        if (status == 303 && self.method != "HEAD") || (matches!(status, 301 | 302) && self.method == "POST")
        {
            "GET".clone_into(&mut self.method);
            self.body.clear();
            self.remove(&["content-type", "content-length", "content-encoding"]);
        }
        if !same_origin {
            self.remove(&["authorization", "cookie", "host"]);
        }
        self.remove(&["proxy-authorization"]);
        self.url = target;
        self.at_first_origin &= same_origin;
        Ok(self)
    }

    /// Whether an answer to it has no body whatever it says.
    pub(crate) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Whether all redirects so far stayed at the origin of the first request.
    pub(crate) fn is_at_first_origin(&self) -> bool {
        self.at_first_origin
    }

    /// The request target as it is sent along a route.
    pub(crate) fn target(&self, route: &Route) -> Result<String, CallError> {
        let mut target = Vec::new();
        write_target(&self.parsed_url()?, route, &mut target);
        Ok(String::from_utf8_lossy(&target).into_owned())
    }

    /// The method.
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    /// Sets a field, whatever it was before.
    pub(crate) fn set(&mut self, name: &str, value: Vec<u8>) {
        self.remove(&[name]);
        self.fields.push((name.to_owned(), value));
    }

    /// The bytes to send along a route, with the jar's cookies.
    pub(crate) fn encode(&self, route: &Route, jar: &CookieJar, now_s: u64) -> Result<Vec<u8>, CallError> {
        let url = self.parsed_url()?;
        let mut out = self.method.clone().into_bytes();
        out.push(b' ');
        write_target(&url, route, &mut out);
        out.extend_from_slice(b" HTTP/1.1\r\n");
        if !self.fields.iter().any(|(name, _)| name == "host") {
            out.extend_from_slice(b"host: ");
            url.write_authority(&mut out);
            out.extend_from_slice(b"\r\n");
        }
        let proxy = route.link.proxy.as_ref().filter(|_| route.is_forwarded());
        if let Some(value) = proxy.and_then(|proxy| proxy.authorization.as_deref()) {
            write_field("proxy-authorization", value.as_bytes(), &mut out);
        }
        let mut cookies = Vec::new();
        for (name, value) in &self.fields {
            if name == "cookie" { cookies.clone_from(value) } else { write_field(name, value, &mut out) }
        }
        for pair in jar.pairs(&url, now_s) {
            if !cookies.is_empty() {
                cookies.extend_from_slice(b"; ");
            }
            cookies.extend_from_slice(pair);
        }
        if !cookies.is_empty() {
            write_field("cookie", &cookies, &mut out);
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
        Ok(out)
    }

    fn remove(&mut self, names: &[&str]) {
        self.fields.retain(|(name, _)| !names.contains(&name.as_str()));
    }
}

fn write_target(url: &Url<'_>, route: &Route, out: &mut Vec<u8>) {
    if route.is_forwarded() {
        out.extend_from_slice(b"http://");
        url.write_authority(out);
    }
    url.write_target(out);
}

fn write_field(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
