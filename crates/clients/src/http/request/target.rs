//! The URL of a request: cut into what is constant and what is filled, its origin found as early as possible.

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::template::{Escape, FillError, Hole, Piece as TemplatePiece, Scope, Template};

use crate::http::request::prepare::{Known, PrepareError};
use crate::http::request::url::{Url, UrlError};

/// A URL in pieces; neighbouring texts are joined.
pub(crate) struct UrlTemplate(Vec<UrlPiece>);

/// A part of a URL.
pub(crate) enum UrlPiece {
    /// Stands as it is.
    Text(String),
    /// Is filled.
    Hole(Hole, Escape),
}

/// A URL whose origin is constant.
pub(crate) struct FixedOrigin<'a> {
    /// The text of the origin, which [`Url::parse`] accepts.
    pub(crate) origin: &'a str,
    /// Constant begin of path and query; never empty.
    pub(crate) begin: String,
    /// What follows it.
    pub(crate) rest: &'a [UrlPiece],
}

impl UrlTemplate {
    /// URL and query of a request. A fragment is cut off: it is never sent.
    pub(crate) fn build<S: Scope>(request: &HttpRequest, known: &Known<'_, S>) -> Result<Self, PrepareError> {
        let mut url = UrlTemplate(Vec::new());
        for (piece, escape) in request.url.url_pieces() {
            match piece {
                TemplatePiece::Hole(hole) => url.hole(hole, escape, known)?,
                TemplatePiece::Const(text) => match text.split_once('#') {
                    None => url.text(text),
                    Some((before, _)) => {
                        url.text(before);
                        break;
                    }
                },
            }
        }
        let mut separator = if url.has_query() { "&" } else { "?" };
        for (name, value) in &request.query {
            url.text(separator);
            url.encoded(name, known)?;
            url.text("=");
            url.encoded(value, known)?;
            separator = "&";
        }
        url.check()?;
        Ok(url)
    }

    /// The constant origin and what follows it, if the origin does not depend on what is filled.
    pub(crate) fn fixed_origin(&self) -> Option<FixedOrigin<'_>> {
        let (first, rest) = self.0.split_first()?;
        let UrlPiece::Text(text) = first else {
            return None;
        };
        let authority = text.find("://")? + "://".len();
        let end = match text[authority..].find(['/', '?']) {
            Some(end) => authority + end,
            None if rest.is_empty() => text.len(),
            None => return None,
        };
        let slash = if text[end..].starts_with('/') { "" } else { "/" };
        Some(FixedOrigin { origin: &text[..end], begin: format!("{slash}{}", &text[end..]), rest })
    }

    /// Writes the filled URL. On an error `out` is in an unknown state.
    pub(crate) fn fill(&self, scope: &impl Scope, out: &mut Vec<u8>) -> Result<(), FillError> {
        for piece in &self.0 {
            match piece {
                UrlPiece::Text(text) => out.extend_from_slice(text.as_bytes()),
                UrlPiece::Hole(hole, escape) => hole.fill(scope, *escape, out)?,
            }
        }
        Ok(())
    }

    /// Whether filling it again gives the same, as long as the scope is the same.
    pub(crate) fn is_pure(&self) -> bool {
        self.0.iter().all(|piece| match piece {
            UrlPiece::Text(_) => true,
            UrlPiece::Hole(hole, _) => hole.is_pure(),
        })
    }

    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(UrlPiece::Text(before)) => before.push_str(text),
            _ => self.0.push(UrlPiece::Text(text.to_owned())),
        }
    }

    fn hole<S: Scope>(
        &mut self,
        hole: &Hole,
        escape: Escape,
        known: &Known<'_, S>,
    ) -> Result<(), PrepareError> {
        match known.fill(hole, escape)? {
            Some(bytes) => self.text(&String::from_utf8_lossy(&bytes)),
            None => self.0.push(UrlPiece::Hole(hole.clone(), escape)),
        }
        Ok(())
    }

    /// A name or value of the query: everything is encoded, constants too.
    fn encoded<S: Scope>(&mut self, template: &Template, known: &Known<'_, S>) -> Result<(), PrepareError> {
        for piece in template.pieces() {
            match piece {
                TemplatePiece::Hole(hole) => self.hole(hole, Escape::Url, known)?,
                TemplatePiece::Const(text) => {
                    let mut encoded = Vec::new();
                    Escape::Url.write(text, &mut encoded).expect("every text can be percent-encoded");
                    self.text(&String::from_utf8_lossy(&encoded));
                }
            }
        }
        Ok(())
    }

    fn has_query(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, UrlPiece::Text(text) if text.contains('?')))
    }

    /// Refuses constant parts that could not be sent.
    fn check(&self) -> Result<(), PrepareError> {
        let refused = |text: &str, source| PrepareError::Url { url: text.to_owned(), source };
        for piece in &self.0 {
            if let UrlPiece::Text(text) = piece
                && let Some(at) = text.bytes().position(|byte| !byte.is_ascii_graphic())
            {
                return Err(refused(text, UrlError::Byte(at)));
            }
        }
        match self.fixed_origin() {
            Some(fixed) => Url::parse(fixed.origin).map(drop).map_err(|source| refused(fixed.origin, source)),
            None => Ok(()),
        }
    }
}
