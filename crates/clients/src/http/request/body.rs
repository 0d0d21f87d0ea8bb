//! Request bodies in preparation.

use std::path::Path;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Body, Part, PartContent};
use hyperscale_plan::template::{Escape, JsonPiece, Scope, Template};

use crate::http::request::encode::has;
use crate::http::request::multipart::{Multipart, PartHead};
use crate::http::request::prepare::PrepareError;
use crate::http::request::text::{Piece, Text};
use crate::known::Known;

/// A body and what its header fields say.
pub(crate) struct Encoded {
    pub(crate) media_type: Option<String>,
    pub(crate) text: Text,
}

/// Encodes a body as far as it is known.
pub(crate) fn encode<S: Scope>(
    body: &Body,
    boundary: &str,
    known: &Known<'_, S>,
) -> Result<Encoded, PrepareError> {
    let mut parts = Text::default();
    let media_type = match body {
        Body::Empty => None,
        Body::Text(text) => {
            known.append(text, Escape::None, Escape::None, &mut parts)?;
            Some("text/plain; charset=utf-8".to_owned())
        }
        Body::Json(document) => {
            for piece in document.pieces() {
                match piece {
                    JsonPiece::Const(bytes) => parts.bytes(bytes),
                    JsonPiece::Hole(hole, escape) => known.append_hole(hole, *escape, &mut parts)?,
                }
            }
            Some("application/json".to_owned())
        }
        Body::Form(pairs) => {
            form(pairs, known, &mut parts)?;
            Some("application/x-www-form-urlencoded".to_owned())
        }
        Body::File(path) => {
            parts.bytes(read(path)?);
            Some("application/octet-stream".to_owned())
        }
        Body::Bytes(bytes) => {
            parts.bytes(bytes);
            Some("application/octet-stream".to_owned())
        }
        Body::Multipart(list) => Some(multipart(list, boundary, known, &mut parts)?),
    };
    Ok(Encoded { media_type, text: parts })
}

fn form<S: Scope>(
    pairs: &[(Template, Template)],
    known: &Known<'_, S>,
    to: &mut Text,
) -> Result<(), PrepareError> {
    for (at, (name, value)) in pairs.iter().enumerate() {
        if at > 0 {
            to.bytes("&");
        }
        known.append(name, Escape::Form, Escape::Form, to)?;
        to.bytes("=");
        known.append(value, Escape::Form, Escape::Form, to)?;
    }
    Ok(())
}

/// Appends the parts of a body; returns its media type.
fn multipart<S: Scope>(
    parts: &[Part],
    boundary: &str,
    known: &Known<'_, S>,
    to: &mut Text,
) -> Result<String, PrepareError> {
    let writer = Multipart::new(boundary)?;
    let mut bytes = Vec::new();
    for part in parts {
        let filename = match &part.content {
            PartContent::Text(_) => None,
            PartContent::File { filename, .. } => Some(filename.as_str()),
        };
        let head = PartHead { name: &part.name, filename, media_type: part.content_type.as_deref() };
        writer.begin_part(&head, &mut bytes)?;
        to.bytes(std::mem::take(&mut bytes));
        match &part.content {
            PartContent::Text(text) => known.append(text, Escape::None, Escape::None, to)?,
            PartContent::File { path, .. } => to.bytes(read(path)?),
        }
        writer.end_part(&mut bytes);
    }
    writer.finish(&mut bytes);
    to.bytes(bytes);
    Ok(writer.media_type())
}

fn read(path: &Path) -> Result<Vec<u8>, PrepareError> {
    std::fs::read(path).map_err(|source| PrepareError::File { path: path.to_owned(), source })
}

impl Encoded {
    /// The value of `content-length`, unless the plan says it or the request needs none.
    pub(crate) fn length(&self, request: &HttpRequest) -> Option<Text> {
        let is_empty = matches!(request.body, Body::Empty);
        let expected = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
        if has(request, "content-length") || (is_empty && !expected) {
            return None;
        }
        Some(match self.text.as_constant() {
            Some(bytes) => Text::constant(itoa::Buffer::new().format(bytes.len())),
            None => Text::of(Piece::ContentLength),
        })
    }
}
