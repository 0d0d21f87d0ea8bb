//! Header fields that only a call knows: cookies of the jar, answers to challenges.

use hyperscale_plan::template::{Escape, Scope, Template};

use crate::http::call::{bad_url, unfilled};
use crate::http::request::prepare::Prepared;
use crate::http::request::url::Url;
use crate::http::route::Route;
use crate::http::session::{Session, User};
use crate::http::shared::Scratch;
use crate::outcome::CallError;

/// Whether a call may need such fields.
pub(crate) fn is_needed(session: &Session, prepared: &Prepared) -> bool {
    (prepared.cookie_jar && !session.cookies.borrow().is_empty())
        || (prepared.digest.is_some() && session.has_digests())
}

/// The call whose request is in the scratch buffer.
pub(crate) struct Call<'a> {
    pub(crate) session: &'a Session,
    pub(crate) prepared: &'a Prepared,
    pub(crate) route: &'a Route,
    pub(crate) now_s: u64,
}

impl Call<'_> {
    /// Writes the fields into their scratch buffer.
    pub(crate) fn write(&self, scope: &impl Scope, scratch: &mut Scratch) -> Result<(), CallError> {
        let Scratch { request, url, extra, .. } = scratch;
        // After the plan's cookies the field is still open: further cookies join it, further fields end it first.
        let begun = self.prepared.wire.cookie_begun();
        if self.prepared.cookie_jar {
            let url = self.url(request, url)?;
            let before = extra.len();
            extra.extend_from_slice(if begun { b"; " } else { b"cookie: " });
            if self.session.cookies.borrow().write_header(&url, self.now_s, extra) {
                extra.extend_from_slice(if begun { b"" } else { b"\r\n" });
            } else {
                extra.truncate(before);
            }
        }
        if let Some(credentials) = &self.prepared.digest {
            let (method, target) = request_line(request);
            let credentials = Credentials::fill(credentials, scope)?;
            if let Some(value) = self.session.authorize(&credentials.at(self.route), method, target) {
                let (open, close) = if begun { ("\r\n", "") } else { ("", "\r\n") };
                extra.extend_from_slice(format!("{open}authorization: {value}{close}").as_bytes());
            }
        }
        Ok(())
    }

    /// The absolute URL of the request.
    fn url<'u>(&self, request: &[u8], url: &'u mut Vec<u8>) -> Result<Url<'u>, CallError> {
        let (_, target) = request_line(request);
        url.clear();
        if target.starts_with('/') {
            url.extend_from_slice(self.route.text.as_bytes());
        }
        url.extend_from_slice(target.as_bytes());
        let text = std::str::from_utf8(url).map_err(|_| bad_url("not UTF-8"))?;
        Url::parse(text).map_err(|error| bad_url(&error.to_string()))
    }
}

/// User and password of a call.
pub(crate) struct Credentials {
    user: String,
    password: String,
}

impl Credentials {
    /// Fills them.
    pub(crate) fn fill(
        (user, password): &(Template, Template),
        scope: &impl Scope,
    ) -> Result<Self, CallError> {
        let text = |template: &Template| {
            let mut text = Vec::new();
            template.fill(scope, Escape::Header, &mut text).map_err(|error| unfilled(&error))?;
            Ok::<_, CallError>(String::from_utf8_lossy(&text).into_owned())
        };
        Ok(Credentials { user: text(user)?, password: text(password)? })
    }

    /// The user at a server.
    pub(crate) fn at(&self, route: &Route) -> User<'_> {
        User { route: route.id, name: &self.user, password: &self.password }
    }
}

/// Method and target of a request.
fn request_line(request: &[u8]) -> (&str, &str) {
    let mut words =
        request.splitn(3, |byte| *byte == b' ').map(|word| std::str::from_utf8(word).unwrap_or_default());
    (words.next().unwrap_or_default(), words.next().unwrap_or_default())
}
