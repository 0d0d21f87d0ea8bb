//! A filled request in parts: what the next hop is made from, and what each version writes.

use std::rc::Rc;

use super::url::{self, Url};
use crate::fields::Fields;
use crate::outcome::CallError;

/// A request in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    method: Rc<str>,
    /// Absolute.
    url: String,
    fields: Fields,
    body: Vec<u8>,
    /// It never left the origin of the first request.
    at_first_origin: bool,
}

impl Message {
    /// The first request of a call.
    pub(crate) fn new(method: Rc<str>, url: String, fields: Fields, body: Vec<u8>) -> Self {
        Message { method, url, fields, body, at_first_origin: true }
    }

    /// The request's URL.
    pub(crate) fn url(&self) -> Result<Url<'_>, CallError> {
        Url::parse(&self.url).map_err(|error| CallError::protocol(error.to_string()))
    }

    /// The request that follows a redirect (RFC 9110, section 15.4): 303, and 301 and 302 after a POST, become a GET
    /// without body. Another origin gets neither credentials nor cookies of this one.
    pub(crate) fn redirected(mut self, status: u16, location: &[u8]) -> Result<Message, CallError> {
        let bad = |error: url::UrlError| CallError::protocol(format!("redirect to an unusable URL: {error}"));
        let location = String::from_utf8_lossy(location);
        let base = self.url()?;
        let target = url::resolve(&base, &location).map_err(bad)?;
        let same_origin = Url::parse(&target).map_err(bad)?.has_origin(&base.origin());
        if (status == 303 && !self.is_head()) || (matches!(status, 301 | 302) && &*self.method == "POST") {
            self.method = "GET".into();
            self.body.clear();
            self.fields.remove(&["content-type", "content-length", "content-encoding"]);
        }
        if !same_origin {
            self.fields.remove(&["authorization", "cookie", "host"]);
        }
        self.url = target;
        self.at_first_origin &= same_origin;
        Ok(self)
    }

    /// Whether an answer to it has no body whatever it says.
    pub(crate) fn is_head(&self) -> bool {
        &*self.method == "HEAD"
    }

    /// Whether all redirects so far stayed at the origin of the first request.
    pub(crate) fn is_at_first_origin(&self) -> bool {
        self.at_first_origin
    }

    /// The method.
    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    /// Header fields in order; `host` only if the plan has one of its own, all cookies of the plan in one.
    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Says who calls.
    pub(crate) fn authorize(&mut self, value: &str) {
        self.fields.push("authorization", value.as_bytes());
    }
}
