//! Who a request says it is from.

use super::super::Reader;
use super::super::view::View;
use crate::document::Node;
use crate::model::http::{Auth, OAuth2};
use crate::template::Template;

const KINDS: [&str; 4] = ["basic", "bearer", "digest", "oauth2"];

impl Reader<'_> {
    /// `{ basic: … }`, `{ bearer: … }`, `{ digest: … }` or `{ oauth2: … }`.
    pub(super) fn auth(&self, node: &Node, view: View<'_>) -> Option<Auth> {
        let fields = self.fields(node, "`auth`")?;
        let given: Vec<_> = KINDS.iter().filter_map(|kind| fields.entry(kind)).collect();
        fields.finish(self, "`auth`");
        let [(kind, node)] = *given else {
            self.problems.error(node.place, format!("`auth` has exactly one of {}", KINDS.join(", ")));
            return None;
        };
        match &*kind.text {
            "basic" => {
                self.user(node, view, "`basic`").map(|(user, password)| Auth::Basic { user, password })
            }
            "digest" => {
                self.user(node, view, "`digest`").map(|(user, password)| Auth::Digest { user, password })
            }
            "bearer" => self.header_value(node, view).map(Auth::Bearer),
            _ => self.oauth2(node, view).map(|oauth2| Auth::OAuth2(Box::new(oauth2))),
        }
    }

    fn user(&self, node: &Node, view: View<'_>, what: &str) -> Option<(Template, Template)> {
        let fields = self.fields(node, what)?;
        let (user, password) = (fields.take("user"), fields.take("password"));
        fields.finish(self, what);
        let (Some(user), Some(password)) = (user, password) else {
            self.problems.error(node.place, format!("{what} needs `user` and `password`"));
            return None;
        };
        Some((self.template(user, &view)?, self.template(password, &view)?))
    }

    fn oauth2(&self, node: &Node, view: View<'_>) -> Option<OAuth2> {
        let fields = self.fields(node, "`oauth2`")?;
        let required = |key: &'static str| {
            let found = fields.take(key);
            if found.is_none() {
                self.problems.error(node.place, format!("`oauth2` needs `{key}`"));
            }
            found
        };
        let token_url = required("token_url").and_then(|node| self.constant_url(node, view));
        let client_id = required("client_id").and_then(|node| self.constant(node, &view));
        let client_secret = required("client_secret").and_then(|node| self.constant(node, &view));
        let scopes = fields.take("scopes").map(Node::items).unwrap_or_default();
        let scopes = scopes.iter().filter_map(|node| self.constant(node, &view)).collect();
        let refresh_token = fields.take("refresh_token").and_then(|node| self.constant(node, &view));
        fields.finish(self, "`oauth2`");
        Some(OAuth2 {
            token_url: token_url?,
            client_id: client_id?,
            client_secret: client_secret?,
            scopes,
            refresh_token,
        })
    }
}
