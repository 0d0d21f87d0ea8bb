//! Header fields, cookies, and other lists of names and values.

use super::super::Reader;
use super::super::fields::Fields;
use super::super::view::View;
use super::PAIRS_MAX;
use crate::document::{Key, Kind, Node, Place};
use crate::template::{Piece, Template};

/// Fields that the client writes by itself.
const OWN: [(&str, &str); 2] =
    [("content-length", "it follows from the body"), ("transfer-encoding", "it follows from the body")];

/// A token of RFC 9110, section 5.6.2.
pub(super) fn is_token(text: &str) -> bool {
    let tchar = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(tchar)
}

impl Reader<'_> {
    /// A valid header name, in lower case.
    pub(in crate::read) fn header_name(&self, text: &str, place: Place) -> Option<String> {
        if !is_token(text) {
            self.problems.error(place, format!("`{text}` is not a header name"));
            return None;
        }
        Some(text.to_ascii_lowercase())
    }

    /// Header fields of all layers, merged by name. A step removes a default with `null`.
    pub(super) fn headers(&self, fields: &Fields<'_>, view: View<'_>) -> Vec<(String, Template)> {
        let mut headers: Vec<(String, Template)> = Vec::new();
        for (key, node) in self.merged(fields, "headers", str::to_ascii_lowercase) {
            let Some(name) = self.header_name(&key.text, key.place) else { continue };
            if let Some((_, why)) = OWN.iter().find(|(own, _)| *own == name) {
                self.problems.error(key.place, format!("`{name}` cannot be set: {why}"));
                continue;
            }
            for item in node.items() {
                headers.extend(self.header_value(item, view).map(|value| (name.clone(), value)));
            }
        }
        self.not_too_many(headers.len(), fields, "header fields");
        headers
    }

    /// A value without line breaks.
    pub(super) fn header_value(&self, node: &Node, view: View<'_>) -> Option<Template> {
        let value = self.template(node, &view)?;
        for piece in value.pieces() {
            if let Piece::Const(text) = piece
                && text.chars().any(|c| c.is_control() && c != '\t')
            {
                self.problems.error(node.place, "a header value has no line breaks or control characters");
                return None;
            }
        }
        Some(value)
    }

    /// Cookies of all layers, merged by name.
    pub(super) fn cookies(&self, fields: &Fields<'_>, view: View<'_>) -> Vec<(String, Template)> {
        let mut cookies = Vec::new();
        for (key, node) in self.merged(fields, "cookies", str::to_owned) {
            if !is_token(&key.text) {
                self.problems.error(key.place, format!("`{}` is not the name of a cookie", key.text));
                continue;
            }
            if matches!(node.kind, Kind::Null) {
                continue;
            }
            let Some(value) = self.header_value(node, view) else { continue };
            if value
                .pieces()
                .iter()
                .any(|piece| matches!(piece, Piece::Const(text) if text.contains([';', ','])))
            {
                self.problems.error(node.place, "the value of a cookie has no `;` and no `,`");
            }
            cookies.push((key.text.to_string(), value));
        }
        self.not_too_many(cookies.len(), fields, "cookies");
        cookies
    }

    /// Query parameters of all layers, merged by name.
    pub(super) fn merged_pairs(
        &self,
        fields: &Fields<'_>,
        key: &'static str,
        view: View<'_>,
    ) -> Vec<(Template, Template)> {
        let entries = self.merged(fields, key, str::to_owned);
        let pairs = self.pairs(entries.into_iter(), view);
        self.not_too_many(pairs.len(), fields, "query parameters");
        pairs
    }

    /// Names and values, both with holes; a list of values repeats the name.
    pub(super) fn pairs<'n>(
        &self,
        entries: impl Iterator<Item = (&'n Key, &'n Node)>,
        view: View<'_>,
    ) -> Vec<(Template, Template)> {
        let mut pairs = Vec::new();
        for (key, node) in entries {
            let Some(name) = self.template_of(&key.text, key.place, &view) else { continue };
            for item in node.items() {
                pairs.extend(self.template(item, &view).map(|value| (name.clone(), value)));
            }
        }
        pairs
    }

    /// The entries of a map under a key in all layers; what an upper layer has, a lower one does not add.
    fn merged<'n>(
        &self,
        fields: &Fields<'n>,
        key: &'static str,
        same: impl Fn(&str) -> String,
    ) -> Vec<(&'n Key, &'n Node)> {
        let mut seen = std::collections::HashSet::new();
        let mut merged: Vec<(&'n Key, &'n Node)> = Vec::new();
        for (at, (_, node)) in fields.each(key).enumerate() {
            for (name, value) in self.entries(node, &format!("`{key}`")).unwrap_or(&[]) {
                if seen.insert(same(&name.text)) {
                    merged.push((name, value));
                } else if at == 0 {
                    self.problems.error(name.place, format!("`{}` is there twice", name.text));
                }
            }
        }
        merged
    }

    fn not_too_many(&self, count: usize, fields: &Fields<'_>, what: &str) {
        if count > PAIRS_MAX {
            self.problems.error(fields.place, format!("a request has at most {PAIRS_MAX} {what}"));
        }
    }
}
