//! Request bodies.

use std::path::Path;

use super::super::Reader;
use super::super::fields::Fields;
use super::super::view::View;
use super::PAIRS_MAX;
use crate::document::{Kind, Node};
use crate::model::http::{Body, Part, PartContent};

const KINDS: [&str; 5] = ["json", "form", "multipart", "body", "file"];

impl Reader<'_> {
    /// One of `json`, `form`, `multipart`, `body` and `file`.
    pub(super) fn body(&self, fields: &Fields<'_>, view: View<'_>) -> Body {
        let given = fields.group(&KINDS);
        if let [(first, _), (second, _), ..] = &*given {
            let message = format!("a request has one body: `{}` or `{}`", first.text, second.text);
            self.problems.error(second.place, message);
        }
        let Some((key, node)) = given.first() else { return Body::Empty };
        let body = match &*key.text {
            "json" => self.json_template(node, &view).map(Body::Json),
            "form" => self
                .entries(node, "`form`")
                .map(|entries| Body::Form(self.pairs(entries.iter().map(|(key, node)| (key, node)), view))),
            "multipart" => Some(Body::Multipart(self.parts_of_body(node, view))),
            "body" => self.template(node, &view).map(Body::Text),
            _ => self.file(node, &view).map(Body::File),
        };
        body.unwrap_or(Body::Empty)
    }

    /// `{ title: "…", photo: { file: cat.jpg, content_type: image/jpeg } }`
    fn parts_of_body(&self, node: &Node, view: View<'_>) -> Vec<Part> {
        let entries = self.entries(node, "`multipart`").unwrap_or(&[]);
        if entries.is_empty() || entries.len() > PAIRS_MAX {
            self.problems.error(node.place, format!("`multipart` has 1 … {PAIRS_MAX} parts"));
        }
        let parts = entries.iter().take(PAIRS_MAX).filter_map(|(key, node)| {
            if key.text.contains(['\r', '\n', '"']) || key.text.contains("{{") {
                self.problems
                    .error(key.place, "the name of a part is constant, without quotes and line breaks");
            }
            self.part(key.text.to_string(), node, view)
        });
        parts.collect()
    }

    fn part(&self, name: String, node: &Node, view: View<'_>) -> Option<Part> {
        if !matches!(node.kind, Kind::Map(_)) {
            let content = PartContent::Text(self.template(node, &view)?);
            return Some(Part { name, content, content_type: None });
        }
        let what = format!("part `{name}`");
        let fields = self.fields(node, &what)?;
        let (text, file, filename) = (fields.take("text"), fields.take("file"), fields.take("filename"));
        let content_type = fields.take("content_type").and_then(|node| self.header_text(node, view));
        fields.finish(self, &what);
        let content = match (text, file) {
            (Some(text), None) => PartContent::Text(self.template(text, &view)?),
            (None, Some(file)) => {
                let path = self.file(file, &view)?;
                let filename = match filename {
                    Some(node) => self.header_text(node, view)?,
                    None => file_name(&path),
                };
                PartContent::File { path, filename }
            }
            _ => {
                self.problems.error(node.place, format!("{what} has either `text` or `file`"));
                return None;
            }
        };
        Some(Part { name, content, content_type })
    }

    fn header_text(&self, node: &Node, view: View<'_>) -> Option<String> {
        let text = self.constant(node, &view)?;
        if text.chars().any(|c| c.is_control() || c == '"') {
            self.problems.error(node.place, "quotes and control characters cannot stand here");
            return None;
        }
        Some(text)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "file".to_owned(), |name| name.to_string_lossy().into_owned())
}
