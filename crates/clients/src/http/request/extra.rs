//! Header fields that only a call knows: cookies of the jar, responses to challenges.

use hyperscale_plan::template::{Escape, Scope, Template};

use super::message::Message;
use super::prepare::Prepared;
use super::template::COOKIE;
use super::url::Url;
use crate::http::dispatch::unfilled;
use crate::http::route::Route;
use crate::http::session::{Session, User};
use crate::outcome::CallError;

/// Whether a call may need such fields.
pub(crate) fn is_needed(session: &Session, prepared: &Prepared) -> bool {
    (prepared.cookie_jar && !session.cookies.borrow().is_empty())
        || (prepared.digest.is_some() && session.has_digests())
}

/// Fields of one request that only its call knows.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    /// Cookies of the jar, `a=1; b=2`; empty if it has none for the URL.
    pub(crate) cookies: Vec<u8>,
    /// The value of `authorization` for a server that has asked before.
    pub(crate) authorization: Option<String>,
}

/// The call that a request belongs to.
pub(crate) struct Call<'a> {
    pub(crate) session: &'a Session,
    pub(crate) prepared: &'a Prepared,
    pub(crate) route: &'a Route,
    pub(crate) now_s: u64,
}

impl Call<'_> {
    /// The fields of a request for `url`, whose target is sent as `target`.
    pub(crate) fn extra(&self, url: &Url<'_>, target: &str, scope: &impl Scope) -> Result<Extra, CallError> {
        let mut extra = Extra::default();
        if self.prepared.cookie_jar {
            self.session.cookies.borrow().write_header(url, self.now_s, &mut extra.cookies);
        }
        if let Some(credentials) = &self.prepared.digest {
            let credentials = Credentials::fill(credentials, scope)?;
            let method = &self.prepared.template.method;
            extra.authorization = self.session.authorize(&credentials.at(self.route), method, target);
        }
        Ok(extra)
    }
}

impl Extra {
    /// Writes the fields as they are inserted into an HTTP/1.1 head. After the plan's cookies the field is still open
    /// (`begun`): further cookies join it, further fields end it first.
    pub(crate) fn write(&self, begun: bool, out: &mut Vec<u8>) {
        if !self.cookies.is_empty() {
            out.extend_from_slice(if begun { b"; " } else { b"cookie: " });
            out.extend_from_slice(&self.cookies);
            out.extend_from_slice(if begun { b"" } else { b"\r\n" });
        }
        if let Some(value) = &self.authorization {
            let (open, close) = if begun { ("\r\n", "") } else { ("", "\r\n") };
            out.extend_from_slice(format!("{open}authorization: {value}{close}").as_bytes());
        }
    }

    /// All cookies of a request: the plan's, then those of the jar.
    pub(crate) fn all_cookies(&self, message: &Message) -> Vec<u8> {
        let mut cookies = message.fields().all(COOKIE).next().unwrap_or_default().to_vec();
        if !cookies.is_empty() && !self.cookies.is_empty() {
            cookies.extend_from_slice(b"; ");
        }
        cookies.extend_from_slice(&self.cookies);
        cookies
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
