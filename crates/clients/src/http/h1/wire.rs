//! Hot: a request is filled per call. No allocation beyond the growth of reused buffers.
//!
//! A prepared request in HTTP/1.1 form: constant bytes in one block, and what is filled per call between them. Nobody
//! reads it back: where its parts are is known from writing them.

use std::ops::Range;

use hyperscale_plan::template::{FillError, Scope};

use crate::http::request::template::{COOKIE, RequestTemplate};
use crate::http::request::text::{Piece, Text};
use crate::http::request::url::Url;
use crate::http::route::{Link, Route};

/// A request with what is filled per call.
pub(crate) struct Wire {
    /// All constant bytes in order; the whole request if nothing is filled.
    block: Box<[u8]>,
    head: Box<[Part]>,
    body: Box<[Part]>,
    is_constant: bool,
    /// Where the parts of a constant request are.
    layout: Layout,
    /// Extra fields go into a `cookie` field that has begun, in front of its end.
    cookie_begun: bool,
}

/// Where the parts of a filled request are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// The request target.
    pub(crate) target: Range<usize>,
    /// Where fields that only a call knows go.
    pub(crate) extra_at: usize,
}

/// A part of a request.
enum Part {
    /// These bytes of the block.
    Const(Range<usize>),
    /// A filled piece of a text.
    Piece(Piece),
    /// Path and query of a URL that is filled per call; the whole URL for a forwarding proxy.
    Target,
    /// The target ends here.
    TargetEnd,
    /// Host and port of a URL that is filled per call.
    Authority,
    /// The credentials for a proxy, if the filled URL is forwarded by it.
    ProxyAuthorization(Box<str>),
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
    /// The HTTP/1.1 form of a request. `route`: where it goes, if that is constant; `link`: how peers are reached.
    pub(crate) fn new(template: &RequestTemplate, route: Option<&Route>, link: &Link) -> Self {
        let mut to = Builder::default();
        to.bytes(&*template.method);
        to.bytes(" ");
        to.layout.target.start = to.block.len();
        let authority = template.authority.as_deref();
        match &template.target {
            None => to.parts.push(Part::Target),
            Some(target) => {
                if let Some(authority) = authority.filter(|_| route.is_some_and(Route::is_forwarded)) {
                    to.bytes("http://");
                    to.bytes(authority);
                }
                to.text(target);
            }
        }
        to.layout.target.end = to.block.len();
        to.parts.push(Part::TargetEnd);
        to.bytes(" HTTP/1.1\r\n");
        if !template.has("host") {
            to.bytes("host: ");
            match authority {
                None => to.parts.push(Part::Authority),
                Some(authority) => to.bytes(authority),
            }
            to.bytes("\r\n");
        }
        to.proxy_authorization(route, link);
        for (name, value) in &template.fields {
            to.bytes(&**name);
            to.bytes(": ");
            to.text(value);
            to.bytes("\r\n");
        }
        to.cookies(template.cookies.as_ref());
        to.bytes("\r\n");
        let head = std::mem::take(&mut to.parts);
        to.text(&template.body);
        let is_filled = |part: &Part| !matches!(part, Part::Const(_) | Part::TargetEnd | Part::Extra);
        Wire {
            is_constant: !head.iter().chain(&to.parts).any(is_filled),
            layout: to.layout,
            cookie_begun: template.cookies.is_some(),
            block: to.block.into(),
            head: head.into(),
            body: to.parts.into(),
        }
    }

    /// The whole request, if nothing is filled.
    #[inline]
    pub(crate) fn as_constant(&self) -> Option<&[u8]> {
        self.is_constant.then_some(&*self.block)
    }

    /// Whether extra fields follow the plan's cookies in the same field.
    pub(crate) fn cookie_begun(&self) -> bool {
        self.cookie_begun
    }

    /// Writes the request to `out`, which is empty before, and says where its parts are. `body` is scratch space.
    pub(crate) fn fill(
        &self,
        scope: &impl Scope,
        given: &Given<'_>,
        out: &mut Vec<u8>,
        body: &mut Vec<u8>,
    ) -> Result<Layout, FillError> {
        if self.is_constant {
            out.extend_from_slice(&self.block);
            return Ok(self.layout.clone());
        }
        if let [Part::Const(range)] = &*self.body {
            let layout = self.fill_parts(&self.head, scope, given, range.len(), out)?;
            out.extend_from_slice(&self.block[range.clone()]);
            return Ok(layout);
        }
        self.fill_parts(&self.body, scope, given, 0, body)?;
        let layout = self.fill_parts(&self.head, scope, given, body.len(), out)?;
        out.extend_from_slice(body);
        Ok(layout)
    }

    fn fill_parts(
        &self,
        parts: &[Part],
        scope: &impl Scope,
        given: &Given<'_>,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<Layout, FillError> {
        let mut layout = self.layout.clone();
        for part in parts {
            match (part, &given.url) {
                (Part::Const(range), _) => out.extend_from_slice(&self.block[range.clone()]),
                (Part::Piece(piece), _) => piece.fill(scope, length, out)?,
                (Part::Target, Some(url)) => {
                    if given.forwarded {
                        out.extend_from_slice(b"http://");
                        url.write_authority(out);
                    }
                    url.write_target(out);
                }
                (Part::TargetEnd, _) => layout.target.end = out.len(),
                (Part::Authority, Some(url)) => url.write_authority(out),
                (Part::Target | Part::Authority, None) => {}
                (Part::ProxyAuthorization(value), _) => {
                    if given.forwarded {
                        out.extend_from_slice(b"proxy-authorization: ");
                        out.extend_from_slice(value.as_bytes());
                        out.extend_from_slice(b"\r\n");
                    }
                }
                (Part::Extra, _) => layout.extra_at = out.len(),
            }
        }
        Ok(layout)
    }
}

/// Puts a request together.
#[derive(Default)]
struct Builder {
    block: Vec<u8>,
    parts: Vec<Part>,
    layout: Layout,
}

impl Builder {
    fn bytes(&mut self, bytes: impl AsRef<[u8]>) {
        let begin = self.block.len();
        self.block.extend_from_slice(bytes.as_ref());
        match self.parts.last_mut() {
            _ if begin == self.block.len() => {}
            Some(Part::Const(range)) => range.end = self.block.len(),
            _ => self.parts.push(Part::Const(begin..self.block.len())),
        }
    }

    fn text(&mut self, text: &Text) {
        for part in text.parts() {
            match part {
                Ok(bytes) => self.bytes(bytes),
                Err(piece) => self.parts.push(Part::Piece(piece.clone())),
            }
        }
    }

    /// A proxy that forwards requests wants its credentials with each; one that tunnels got them with `CONNECT`.
    fn proxy_authorization(&mut self, route: Option<&Route>, link: &Link) {
        let Some(value) = link.proxy.as_ref().and_then(|proxy| proxy.authorization.as_deref()) else {
            return;
        };
        match route {
            None => self.parts.push(Part::ProxyAuthorization(value.into())),
            Some(route) if route.is_forwarded() => {
                self.bytes(format!("proxy-authorization: {value}\r\n"));
            }
            Some(_) => {}
        }
    }

    /// All cookies of a request stand in one field (RFC 6265, section 5.4): the plan's, and those of the jar behind them.
    fn cookies(&mut self, cookies: Option<&Text>) {
        if let Some(cookies) = cookies {
            self.bytes(COOKIE);
            self.bytes(": ");
            self.text(cookies);
        }
        self.layout.extra_at = self.block.len();
        self.parts.push(Part::Extra);
        if cookies.is_some() {
            self.bytes("\r\n");
        }
    }
}

/// Inserts fields that only a call knows into a filled request.
pub(crate) fn insert_extra(request: &mut Vec<u8>, at: usize, extra: &[u8]) {
    request.extend_from_slice(extra);
    request[at..].rotate_right(extra.len());
}
