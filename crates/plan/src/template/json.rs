//! JSON documents with templates in their strings, flattened to wire form when the plan is read.

use std::sync::Arc;

use minijinja::Value;

use super::text::write_text;
use super::{Escape, FillError, Hole, Piece, Resolver, Root, Scope, Template, TemplateProblem};

/// A JSON document with holes. A string that is nothing but one hole takes the type of its value; in a longer string
/// the value is text. Keys are constant. Cheap to clone.
#[derive(Clone, Debug)]
pub struct JsonTemplate {
    pieces: Arc<[JsonPiece]>,
}

/// A part of a flattened document.
#[derive(Clone, Debug)]
pub enum JsonPiece {
    /// Stands as it is.
    Const(Box<[u8]>),
    /// Is filled: a value of its own, or text inside a string.
    Hole(Hole, Escape),
}

impl JsonTemplate {
    /// Flattens a document. `parse` turns each string into a template; its error ends the reading.
    pub fn build<E>(
        document: &serde_json::Value,
        parse: &mut dyn FnMut(&str) -> Result<Template, E>,
    ) -> Result<Self, E> {
        let mut builder = Builder { pieces: Vec::new(), open: Vec::new() };
        builder.value(document, parse)?;
        builder.flush();
        Ok(JsonTemplate { pieces: builder.pieces.into() })
    }

    /// [`JsonTemplate::build`] with one resolver for all strings.
    pub fn parse(document: &serde_json::Value, resolver: &dyn Resolver) -> Result<Self, TemplateProblem> {
        Self::build(document, &mut |text| Template::parse(text, resolver))
    }

    /// Its parts in order.
    pub fn pieces(&self) -> &[JsonPiece] {
        &self.pieces
    }

    /// The document's bytes, if it has no holes.
    pub fn as_constant(&self) -> Option<&[u8]> {
        match &*self.pieces {
            [JsonPiece::Const(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Its holes in order.
    pub fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.pieces.iter().filter_map(|piece| match piece {
            JsonPiece::Const(_) => None,
            JsonPiece::Hole(hole, _) => Some(hole),
        })
    }

    /// All roots that its holes refer to.
    pub fn roots(&self) -> impl Iterator<Item = Root> + '_ {
        self.holes().flat_map(Hole::roots)
    }

    /// Writes the filled document. On an error `out` is as it was before.
    pub fn fill(&self, scope: &impl Scope, out: &mut Vec<u8>) -> Result<(), FillError> {
        let begin = out.len();
        for piece in &*self.pieces {
            match piece {
                JsonPiece::Const(bytes) => out.extend_from_slice(bytes),
                JsonPiece::Hole(hole, escape) => {
                    hole.fill(scope, *escape, out).inspect_err(|_| out.truncate(begin))?;
                }
            }
        }
        Ok(())
    }

    /// The filled document as a value.
    pub fn value(&self, scope: &impl Scope) -> Result<Value, FillError> {
        let mut bytes = Vec::new();
        self.fill(scope, &mut bytes)?;
        serde_json::from_slice(&bytes).map_err(|e| FillError::Failed {
            source_text: String::from_utf8_lossy(&bytes).into_owned(),
            message: e.to_string(),
        })
    }
}

struct Builder {
    pieces: Vec<JsonPiece>,
    /// Constant bytes not yet a piece.
    open: Vec<u8>,
}

impl Builder {
    fn value<E>(
        &mut self,
        value: &serde_json::Value,
        parse: &mut dyn FnMut(&str) -> Result<Template, E>,
    ) -> Result<(), E> {
        match value {
            serde_json::Value::String(text) => self.string(&parse(text)?),
            serde_json::Value::Array(items) => {
                self.open.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    self.comma(at);
                    self.value(item, parse)?;
                }
                self.open.push(b']');
            }
            serde_json::Value::Object(fields) => {
                self.open.push(b'{');
                for (at, (key, field)) in fields.iter().enumerate() {
                    self.comma(at);
                    self.constant(key, Escape::Json);
                    self.open.push(b':');
                    self.value(field, parse)?;
                }
                self.open.push(b'}');
            }
            plain => self.open.extend_from_slice(plain.to_string().as_bytes()),
        }
        Ok(())
    }

    fn comma(&mut self, at: usize) {
        if at > 0 {
            self.open.push(b',');
        }
    }

    fn constant(&mut self, text: &str, escape: Escape) {
        write_text(text, escape, &mut self.open).expect("every text can be a JSON string");
    }

    fn string(&mut self, template: &Template) {
        if let [Piece::Hole(hole)] = template.pieces() {
            self.flush();
            self.pieces.push(JsonPiece::Hole(hole.clone(), Escape::Json));
            return;
        }
        self.open.push(b'"');
        for piece in template.pieces() {
            match piece {
                Piece::Const(text) => self.constant(text, Escape::JsonString),
                Piece::Hole(hole) => {
                    self.flush();
                    self.pieces.push(JsonPiece::Hole(hole.clone(), Escape::JsonString));
                }
            }
        }
        self.open.push(b'"');
    }

    fn flush(&mut self) {
        if !self.open.is_empty() {
            self.pieces.push(JsonPiece::Const(std::mem::take(&mut self.open).into()));
        }
    }
}
