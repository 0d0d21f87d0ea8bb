//! URLs: absolute, with the constant part checked and percent-encoded.

use std::fmt::Write as _;

use super::super::Reader;
use super::super::value::VarScope;
use super::super::view::View;
use crate::authority::Authority;
use crate::document::{Node, Place};
use crate::template::{Piece, Root, Template, percent_encode};

/// Bytes of a URL as it is written in a plan.
const URL_BYTES_MAX: usize = 16 << 10;

impl Reader<'_> {
    /// An absolute URL, possibly with holes.
    pub(super) fn url(&self, node: &Node, view: View<'_>) -> Option<Template> {
        let text = self.text(node, "a URL")?.trim();
        if text.len() > URL_BYTES_MAX {
            self.problems.error(node.place, format!("the URL is longer than {URL_BYTES_MAX} bytes"));
            return None;
        }
        let template = self.template_of(text, node.place, &view)?;
        let encoded = self.encoded(&template, node.place, &view)?;
        self.check_start(&template, node.place, &view)?;
        Some(encoded)
    }

    /// A constant URL (a proxy, a token server).
    pub(super) fn constant_url(&self, node: &Node, view: View<'_>) -> Option<String> {
        let url = self.constant(node, &view)?;
        self.check_url(&url, true, node.place)?;
        Some(url)
    }

    /// Percent-encodes what cannot stand in a URL, outside of holes.
    fn encoded(&self, template: &Template, place: Place, view: &View<'_>) -> Option<Template> {
        let mut url = String::new();
        let mut changed = false;
        for piece in template.pieces() {
            match piece {
                Piece::Const(text) => {
                    if text.chars().any(char::is_control) {
                        self.problems.error(place, "a URL has no line breaks or control characters");
                        return None;
                    }
                    if text.contains('#') {
                        self.problems.error(place, "the part of a URL after `#` is never sent; remove it");
                        return None;
                    }
                    let encoded = encode(text);
                    changed |= encoded != **text;
                    url.push_str(&encoded);
                }
                Piece::Hole(hole) => {
                    let _ = write!(url, "{{{{ {} }}}}", hole.source());
                }
            }
        }
        if changed { self.template_of(&url, place, view) } else { Some(template.clone()) }
    }

    /// Checks scheme, host and port as far as variables and constants tell them.
    fn check_start(&self, template: &Template, place: Place, view: &View<'_>) -> Option<()> {
        let known = match template.prepare_url(&VarScope(view.vars()), Root::is_constant) {
            Ok(known) => known,
            Err(problem) => return self.fill_problem(&problem, place, view.vars()),
        };
        match known.pieces() {
            [] => self.check_url("", true, place),
            [Piece::Const(start), rest @ ..] => self.check_url(start, rest.is_empty(), place),
            [Piece::Hole(_), ..] => Some(()),
        }
    }

    fn check_url(&self, start: &str, whole: bool, place: Place) -> Option<()> {
        let wrong = |message: String, hint: &str| {
            let problem = self.problems.error(place, message);
            if !hint.is_empty() {
                problem.hint(hint);
            }
            None
        };
        let Some((scheme, rest)) = start.split_once("://") else {
            if !whole
                && start.bytes().all(|b| b.is_ascii_alphanumeric() || b == b':' || b == b'/')
                && !start.starts_with('/')
            {
                return Some(()); // `http{{ s }}://…`
            }
            let hint =
                "it begins with http:// or https://; put the common part into a variable: `{{ base }}/users`";
            return wrong(format!("`{start}` is not an absolute URL"), hint);
        };
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => {}
            other => return wrong(format!("the URL scheme `{other}` is not supported"), "use http or https"),
        }
        let end = rest.find(['/', '?']);
        if end.is_none() && !whole {
            return Some(());
        }
        let authority = &rest[..end.unwrap_or(rest.len())];
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        match Authority::parse(host) {
            Ok(_) => Some(()),
            Err(error) => wrong(error.to_string(), ""),
        }
    }
}

/// Percent-encodes what cannot stand in a URL; what is encoded stays.
fn encode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(text.len());
    percent_encode(text, &mut out, |at, byte| match byte {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => true,
        _ => b"-._~:/?#[]@!$&'()*+,;=".contains(&byte),
    });
    String::from_utf8(out).expect("percent-encoded text is ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_parts_are_percent_encoded_once() {
        assert_eq!(encode("/a b/ü?q=%20&x=%zz"), "/a%20b/%C3%BC?q=%20&x=%25zz");
    }
}
