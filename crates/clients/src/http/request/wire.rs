//! Hot: a request is filled per call. No allocation beyond the growth of reused buffers.
//!
//! A request in HTTP/1.1 wire form: constant bytes in one block, and what is filled per call between them. It is the
//! one form that all versions of the protocol start from.

use std::ops::Range;
use std::rc::Rc;

use hyperscale_plan::template::{Escape, FillError, Hole, Scope, Template};

use crate::http::auth::basic;
use crate::http::auth::token::FreshToken;
use crate::http::request::url::Url;

/// A request with what is filled per call.
pub(crate) struct Wire {
    /// All constant bytes in order; the whole request if nothing is filled.
    block: Box<[u8]>,
    head: Box<[Piece]>,
    body: Box<[Piece]>,
    is_constant: bool,
    is_pure: bool,
    /// Where fields that only a call knows go, in a constant request.
    extra_at: usize,
    /// Those go into a `cookie` field that has begun, in front of its end.
    cookie_begun: bool,
}

/// A part of a request.
pub(crate) enum Piece {
    /// These bytes of the block.
    Const(Range<usize>),
    /// Is filled.
    Hole(Hole, Escape),
    /// Path and query of a URL that is filled per call; the whole URL for a forwarding proxy.
    Target,
    /// Host and port of a URL that is filled per call.
    Authority,
    /// The credentials for a proxy, if the filled URL is forwarded by it.
    ProxyAuthorization(Box<str>),
    /// User and password of which at least one is filled.
    Basic(Box<(Template, Template)>),
    /// An access token, renewed now and then.
    Token(Rc<FreshToken>),
    /// The length of a body that is filled.
    ContentLength,
    /// Here go fields that only a call knows: cookies of the jar, authentication.
    Extra,
}

/// What a call knows when it fills a request.
pub(crate) struct Given<'a> {
    /// The URL, if it was filled for this call.
    pub(crate) url: Option<Url<'a>>,
    /// The request names the whole URL.
    pub(crate) forwarded: bool,
}

impl Wire {
    /// The whole request, if nothing is filled.
    pub(crate) fn as_constant(&self) -> Option<&[u8]> {
        self.is_constant.then_some(&*self.block)
    }

    /// Whether filling it again gives the same, as long as the scope is the same.
    pub(crate) fn is_pure(&self) -> bool {
        self.is_pure
    }

    /// Whether extra fields follow the plan's cookies in the same field.
    pub(crate) fn cookie_begun(&self) -> bool {
        self.cookie_begun
    }

    /// Writes the request to `out`, which is empty before, and says where extra fields go. `body` is scratch space.
    pub(crate) fn fill(
        &self,
        scope: &impl Scope,
        given: &Given<'_>,
        out: &mut Vec<u8>,
        body: &mut Vec<u8>,
    ) -> Result<usize, FillError> {
        if self.is_constant {
            out.extend_from_slice(&self.block);
            return Ok(self.extra_at);
        }
        if let [Piece::Const(range)] = &*self.body {
            let extra_at = self.fill_pieces(&self.head, scope, given, range.len(), out)?;
            out.extend_from_slice(&self.block[range.clone()]);
            return Ok(extra_at);
        }
        self.fill_pieces(&self.body, scope, given, 0, body)?;
        let extra_at = self.fill_pieces(&self.head, scope, given, body.len(), out)?;
        out.extend_from_slice(body);
        Ok(extra_at)
    }

    fn fill_pieces(
        &self,
        pieces: &[Piece],
        scope: &impl Scope,
        given: &Given<'_>,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, FillError> {
        let mut extra_at = 0;
        for piece in pieces {
            match (piece, &given.url) {
                (Piece::Const(range), _) => out.extend_from_slice(&self.block[range.clone()]),
                (Piece::Hole(hole, escape), _) => hole.fill(scope, *escape, out)?,
                (Piece::Target, Some(url)) => {
                    if given.forwarded {
                        out.extend_from_slice(b"http://");
                        url.write_authority(out);
                    }
                    url.write_target(out);
                }
                (Piece::Authority, Some(url)) => url.write_authority(out),
                (Piece::Target | Piece::Authority, None) => {}
                (Piece::Basic(pair), _) => basic::fill_basic(&pair.0, &pair.1, scope, out)?,
                (Piece::ProxyAuthorization(value), _) => {
                    if given.forwarded {
                        out.extend_from_slice(b"proxy-authorization: ");
                        out.extend_from_slice(value.as_bytes());
                        out.extend_from_slice(b"\r\n");
                    }
                }
                (Piece::Token(token), _) => token.write(out),
                (Piece::ContentLength, _) => {
                    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
                }
                (Piece::Extra, _) => extra_at = out.len(),
            }
        }
        Ok(extra_at)
    }
}

/// Puts a request together.
#[derive(Default)]
pub(crate) struct Builder {
    block: Vec<u8>,
    pieces: Vec<Piece>,
    extra_at: usize,
    cookie_begun: bool,
}

impl Builder {
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

    /// Marks where extra fields go; in front of the end of a `cookie` field if that has begun.
    pub(crate) fn extra(&mut self, cookie_begun: bool) {
        self.extra_at = self.block.len();
        self.cookie_begun = cookie_begun;
        self.pieces.push(Piece::Extra);
    }

    /// Appends everything of another builder.
    pub(crate) fn append(&mut self, other: Builder) {
        for piece in other.pieces {
            match piece {
                Piece::Const(range) => self.bytes(&other.block[range]),
                filled => self.pieces.push(filled),
            }
        }
    }

    /// How many bytes there are, if nothing is filled.
    pub(crate) fn constant_length(&self) -> Option<usize> {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Const(_))).then_some(self.block.len())
    }

    /// Takes the pieces so far, which end the head.
    pub(crate) fn end_head(&mut self) -> Box<[Piece]> {
        std::mem::take(&mut self.pieces).into()
    }

    /// The request; what came after the head is its body.
    pub(crate) fn finish(self, head: Box<[Piece]>) -> Wire {
        let pieces = || head.iter().chain(&self.pieces);
        let is_constant = pieces().all(|piece| matches!(piece, Piece::Const(_) | Piece::Extra));
        let is_pure = pieces().all(Piece::is_pure);
        Wire {
            is_constant,
            is_pure,
            extra_at: self.extra_at,
            cookie_begun: self.cookie_begun,
            block: self.block.into(),
            body: self.pieces.into(),
            head,
        }
    }
}

impl Piece {
    fn is_pure(&self) -> bool {
        match self {
            Piece::Hole(hole, _) => hole.is_pure(),
            Piece::Basic(pair) => pair.0.holes().chain(pair.1.holes()).all(Hole::is_pure),
            Piece::Const(_)
            | Piece::Target
            | Piece::Authority
            | Piece::ProxyAuthorization(_)
            | Piece::Token(_)
            | Piece::ContentLength
            | Piece::Extra => true,
        }
    }
}

/// Inserts fields that only a call knows into a filled request.
pub(crate) fn insert_extra(request: &mut Vec<u8>, at: usize, extra: &[u8]) {
    request.extend_from_slice(extra);
    request[at..].rotate_right(extra.len());
}
