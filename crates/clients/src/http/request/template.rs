//! A request in parts, prepared once. Every version of the protocol writes its own form from it; none is read back.

use std::rc::Rc;

use hyperscale_plan::template::{FillError, Scope};

use super::message::Message;
use super::text::Text;
use super::url::Url;
use crate::fields::Fields;
use crate::http::route::Route;

/// The name of the field that all cookies share.
pub(crate) const COOKIE: &str = "cookie";

/// A prepared request. Its body is filled before its head, which says how long it is.
pub(crate) struct RequestTemplate {
    /// The method.
    pub(crate) method: Rc<str>,
    /// Path and query; `None` if they are those of a URL that is filled per call.
    pub(crate) target: Option<Text>,
    /// Host and port of a constant origin.
    pub(crate) authority: Option<Box<[u8]>>,
    /// Fields in order, names in lower case; `host` only if the plan has one of its own.
    pub(crate) fields: Vec<(Box<str>, Text)>,
    /// The plan's cookies, to which those of the jar are added.
    pub(crate) cookies: Option<Text>,
    /// The body.
    pub(crate) body: Text,
}

impl RequestTemplate {
    /// Whether filling it again gives the same, as long as the scope is the same.
    pub(crate) fn is_pure(&self) -> bool {
        let fields = self.fields.iter().map(|(_, value)| value);
        let rest = self.target.iter().chain(&self.cookies).chain([&self.body]);
        fields.chain(rest).all(Text::is_pure)
    }

    /// Whether the plan has a field of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(given, _)| &**given == name)
    }

    /// The request of one call, without what only that call knows. `url`: the one that was filled for it.
    pub(crate) fn fill(
        &self,
        scope: &impl Scope,
        url: Option<&Url<'_>>,
        route: &Route,
    ) -> Result<Message, FillError> {
        let mut body = Vec::new();
        self.body.fill(scope, 0, &mut body)?;
        let mut address = route.text.as_bytes().to_vec();
        match (&self.target, url) {
            (Some(target), _) => target.fill(scope, body.len(), &mut address)?,
            (None, Some(url)) => url.write_target(&mut address),
            (None, None) => address.push(b'/'),
        }
        let mut fields = Fields::default();
        let named = self.fields.iter().map(|(name, value)| (&**name, value));
        for (name, value) in named.chain(self.cookies.iter().map(|cookies| (COOKIE, cookies))) {
            fields.push_with(name, |out| value.fill(scope, body.len(), out))?;
        }
        let url = String::from_utf8_lossy(&address).into_owned();
        Ok(Message::new(Rc::clone(&self.method), url, fields, body))
    }
}
