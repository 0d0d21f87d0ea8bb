//! Hot: filled per call. A text of a request in pieces: constant bytes in one block, and what is filled between them.

use std::ops::Range;
use std::rc::Rc;

use hyperscale_plan::template::{Escape, FillError, Hole, Scope, Template};

use crate::http::auth::basic;
use crate::http::auth::token::FreshToken;

/// A target, the value of a field, or a body.
#[derive(Default)]
pub(crate) struct Text {
    block: Vec<u8>,
    pieces: Vec<Piece>,
}

/// A part of a text.
#[derive(Clone)]
pub(crate) enum Piece {
    /// These bytes of the block.
    Const(Range<usize>),
    /// Is filled.
    Hole(Hole, Escape),
    /// User and password of which at least one is filled.
    Basic(Box<(Template, Template)>),
    /// An access token, renewed now and then.
    Token(Rc<FreshToken>),
    /// The length of a body that is filled.
    ContentLength,
}

impl Text {
    /// A text without holes.
    pub(crate) fn constant(bytes: impl AsRef<[u8]>) -> Self {
        let mut text = Text::default();
        text.bytes(bytes);
        text
    }

    /// A text that is one filled piece.
    pub(crate) fn of(piece: Piece) -> Self {
        Text { block: Vec::new(), pieces: vec![piece] }
    }

    /// Appends constant bytes.
    pub(crate) fn bytes(&mut self, bytes: impl AsRef<[u8]>) {
        let begin = self.block.len();
        self.block.extend_from_slice(bytes.as_ref());
        match self.pieces.last_mut() {
            _ if begin == self.block.len() => {}
            Some(Piece::Const(range)) => range.end = self.block.len(),
            _ => self.pieces.push(Piece::Const(begin..self.block.len())),
        }
    }

    /// Appends something that is filled.
    pub(crate) fn piece(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// Its pieces, constant ones as bytes.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Result<&[u8], &Piece>> {
        self.pieces.iter().map(|piece| match piece {
            Piece::Const(range) => Ok(&self.block[range.clone()]),
            filled => Err(filled),
        })
    }

    /// All of it, if nothing is filled.
    pub(crate) fn as_constant(&self) -> Option<&[u8]> {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Const(_))).then_some(&self.block)
    }

    /// Whether filling it again gives the same, as long as the scope is the same.
    pub(crate) fn is_pure(&self) -> bool {
        self.pieces.iter().all(Piece::is_pure)
    }

    /// Writes it. `length` is that of the request's body.
    pub(crate) fn fill(&self, scope: &impl Scope, length: usize, out: &mut Vec<u8>) -> Result<(), FillError> {
        self.parts().try_for_each(|part| match part {
            Ok(bytes) => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            Err(piece) => piece.fill(scope, length, out),
        })
    }
}

impl Piece {
    /// Writes what is filled; constant bytes are the text's business.
    #[inline]
    pub(crate) fn fill(&self, scope: &impl Scope, length: usize, out: &mut Vec<u8>) -> Result<(), FillError> {
        match self {
            Piece::Const(_) => {}
            Piece::Hole(hole, escape) => hole.fill(scope, *escape, out)?,
            Piece::Basic(pair) => basic::fill_basic(&pair.0, &pair.1, scope, out)?,
            Piece::Token(token) => token.write(out),
            Piece::ContentLength => {
                out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
            }
        }
        Ok(())
    }

    fn is_pure(&self) -> bool {
        match self {
            Piece::Hole(hole, _) => hole.is_pure(),
            Piece::Basic(pair) => pair.0.holes().chain(pair.1.holes()).all(Hole::is_pure),
            Piece::Const(_) | Piece::Token(_) | Piece::ContentLength => true,
        }
    }
}
