//! Request bodies in preparation.

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::Body;
use hyperscale_plan::template::{Escape, JsonPiece, Scope, Template};

use super::prepare::{Known, PrepareError, has};
use super::wire::{Builder, Piece};

/// A body and what its header fields say.
pub(crate) struct Encoded {
    media_type: Option<String>,
    parts: Builder,
}

/// Encodes a body as far as it is known.
pub(crate) fn encode<S: Scope>(body: &Body, known: &Known<'_, S>) -> Result<Encoded, PrepareError> {
    let mut parts = Builder::default();
    let media_type = match body {
        Body::Empty => None,
        Body::Text(text) => {
            known.append(text, Escape::None, Escape::None, &mut parts)?;
            Some("text/plain; charset=utf-8")
        }
        Body::Json(document) => {
            for piece in document.pieces() {
                match piece {
                    JsonPiece::Const(bytes) => parts.bytes(bytes),
                    JsonPiece::Hole(hole, escape) => known.append_hole(hole, *escape, &mut parts)?,
                }
            }
            Some("application/json")
        }
        Body::Form(pairs) => {
            form(pairs, known, &mut parts)?;
            Some("application/x-www-form-urlencoded")
        }
        Body::File(path) => {
            let file = |source| PrepareError::File { path: path.clone(), source };
            parts.bytes(std::fs::read(path).map_err(file)?);
            Some("application/octet-stream")
        }
        Body::Multipart(_) => None,
    };
    Ok(Encoded { media_type: media_type.map(str::to_owned), parts })
}

fn form<S: Scope>(
    pairs: &[(Template, Template)],
    known: &Known<'_, S>,
    to: &mut Builder,
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

impl Encoded {
    /// Appends the header fields that describe the body.
    pub(crate) fn fields(&self, request: &HttpRequest, to: &mut Builder) {
        if let Some(media_type) = &self.media_type
            && !has(request, "content-type")
        {
            to.bytes(format!("content-type: {media_type}\r\n"));
        }
        let is_empty = matches!(request.body, Body::Empty);
        let expected = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
        if has(request, "content-length") || (is_empty && !expected) {
            return;
        }
        to.bytes("content-length: ");
        match self.parts.constant_length() {
            Some(length) => to.bytes(itoa::Buffer::new().format(length)),
            None => to.piece(Piece::ContentLength),
        }
        to.bytes("\r\n");
    }

    /// Appends the body itself.
    pub(crate) fn append(self, to: &mut Builder) {
        to.append(self.parts);
    }
}
