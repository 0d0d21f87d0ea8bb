//! The head of a request in wire form, in preparation: request line, the plan's fields, defaults, credentials, cookies.

use std::rc::Rc;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Auth, Reuse};
use hyperscale_plan::template::{Escape, Scope, Template};

use crate::http::auth::basic::basic;
use crate::http::auth::token::FreshToken;
use crate::http::request::body;
use crate::http::request::prepare::{Known, PrepareError, parse};
use crate::http::request::target::{FixedOrigin, UrlPiece};
use crate::http::request::url::Url;
use crate::http::request::wire::{Builder, Piece, Wire};
use crate::http::route::{Link, Route};

const USER_AGENT: &str =
    concat!("hyperscale/", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Content codings that are offered: those that can be decoded.
const ACCEPTED: &str = "gzip, deflate, br, zstd";

const COOKIE: &str = "cookie";

/// What a request is encoded from.
pub(crate) struct Plan<'a, S> {
    /// What the plan says.
    pub(crate) request: &'a HttpRequest,
    /// What is known by now.
    pub(crate) known: &'a Known<'a, S>,
    /// How peers are reached.
    pub(crate) link: &'a Link,
    /// The OAuth 2 token, if the plan wants one.
    pub(crate) token: Option<Rc<FreshToken>>,
    /// Separates the parts of a multipart body.
    pub(crate) boundary: &'a str,
}

impl<S: Scope> Plan<'_, S> {
    /// The request in wire form. `fixed`: its origin and route, if they are constant.
    pub(crate) fn encode(&self, fixed: Option<(&FixedOrigin<'_>, &Route)>) -> Result<Wire, PrepareError> {
        let Plan { request, known, .. } = *self;
        let body = body::encode(&request.body, self.boundary, known)?;
        let url = fixed.map(|(fixed, _)| parse(fixed.origin)).transpose()?;
        let mut head = Builder::default();
        head.bytes(&request.method);
        head.bytes(" ");
        match fixed {
            None => head.piece(Piece::Target),
            Some((fixed, route)) => request_target(fixed, route, url.as_ref(), &mut head),
        }
        head.bytes(" HTTP/1.1\r\n");
        if !has(request, "host") {
            head.bytes("host: ");
            match &url {
                None => head.piece(Piece::Authority),
                Some(url) => head.bytes(authority(url)),
            }
            head.bytes("\r\n");
        }
        for (name, value) in request.headers.iter().filter(|(name, _)| name != COOKIE) {
            field(name, value, known, &mut head)?;
        }
        default_fields(request, &mut head);
        proxy_authorization(fixed.map(|(_, route)| route), self.link, &mut head);
        self.authorization(url.as_ref(), &mut head)?;
        body.fields(request, &mut head);
        cookies(request, known, &mut head)?;
        head.bytes("\r\n");
        let pieces = head.end_head();
        body.append(&mut head);
        Ok(head.finish(pieces))
    }

    fn authorization(&self, url: Option<&Url<'_>>, to: &mut Builder) -> Result<(), PrepareError> {
        let Plan { request, known, .. } = *self;
        if has(request, "authorization") {
            return Ok(());
        }
        match (&request.auth, &self.token) {
            (None, _) => {
                if let Some((user, password)) = url.and_then(Url::credentials) {
                    to.bytes(format!("authorization: {}\r\n", basic(&user, &password)));
                }
            }
            (Some(Auth::Basic { user, password }), _) => {
                to.bytes("authorization: ");
                match (known.text(user)?, known.text(password)?) {
                    (Some(user), Some(password)) => to.bytes(basic(&user, &password)),
                    _ => to.piece(Piece::Basic(Box::new((user.clone(), password.clone())))),
                }
                to.bytes("\r\n");
            }
            (Some(Auth::Bearer(token)), _) => {
                to.bytes("authorization: Bearer ");
                known.append(token, Escape::Header, Escape::Header, to)?;
                to.bytes("\r\n");
            }
            (Some(Auth::OAuth2(_)), Some(token)) => {
                to.bytes("authorization: ");
                to.piece(Piece::Token(Rc::clone(token)));
                to.bytes("\r\n");
            }
            // Sent when the server has asked.
            (Some(Auth::Digest { .. }), _) | (Some(Auth::OAuth2(_)), None) => {}
        }
        Ok(())
    }
}

fn request_target(fixed: &FixedOrigin<'_>, route: &Route, url: Option<&Url<'_>>, to: &mut Builder) {
    if let Some(url) = url.filter(|_| route.is_forwarded()) {
        to.bytes("http://");
        to.bytes(authority(url));
    }
    to.bytes(&fixed.begin);
    for piece in fixed.rest {
        match piece {
            UrlPiece::Text(text) => to.bytes(text),
            UrlPiece::Hole(hole, escape) => to.piece(Piece::Hole(hole.clone(), *escape)),
        }
    }
}

fn authority(url: &Url<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    url.write_authority(&mut text);
    text
}

/// Whether the plan itself has this header field.
pub(crate) fn has(request: &HttpRequest, name: &str) -> bool {
    request.headers.iter().any(|(given, _)| given == name)
}

fn field<S: Scope>(
    name: &str,
    value: &Template,
    known: &Known<'_, S>,
    to: &mut Builder,
) -> Result<(), PrepareError> {
    to.bytes(name);
    to.bytes(": ");
    known.append(value, Escape::Header, Escape::Header, to)?;
    to.bytes("\r\n");
    Ok(())
}

fn default_fields(request: &HttpRequest, to: &mut Builder) {
    let mut default = |name: &str, value: &str| {
        if !has(request, name) {
            to.bytes(format!("{name}: {value}\r\n"));
        }
    };
    default("user-agent", USER_AGENT);
    default("accept", "*/*");
    if request.compression {
        default("accept-encoding", ACCEPTED);
    }
    if request.transport.reuse == Reuse::Call {
        default("connection", "close");
    }
}

/// A proxy that forwards requests wants its credentials with each; one that tunnels got them with `CONNECT`.
fn proxy_authorization(route: Option<&Route>, link: &Link, to: &mut Builder) {
    let Some(value) = link.proxy.as_ref().and_then(|proxy| proxy.authorization.as_deref()) else {
        return;
    };
    match route {
        None => to.piece(Piece::ProxyAuthorization(value.into())),
        Some(route) if route.is_forwarded() => to.bytes(format!("proxy-authorization: {value}\r\n")),
        Some(_) => {}
    }
}

/// All cookies of a request stand in one field (RFC 6265, section 5.4): those of `cookie` headers, the plan's `cookies`,
/// and, because it comes last, those of the jar.
fn cookies<S: Scope>(
    request: &HttpRequest,
    known: &Known<'_, S>,
    to: &mut Builder,
) -> Result<(), PrepareError> {
    let mut separator = "cookie: ";
    for (_, value) in request.headers.iter().filter(|(name, _)| name == COOKIE) {
        to.bytes(separator);
        known.append(value, Escape::Header, Escape::Header, to)?;
        separator = "; ";
    }
    for (name, value) in &request.cookies {
        to.bytes(separator);
        to.bytes(name.as_str());
        to.bytes("=");
        known.append(value, Escape::Header, Escape::Header, to)?;
        separator = "; ";
    }
    let begun = separator == "; ";
    to.extra(begun);
    if begun {
        to.bytes("\r\n");
    }
    Ok(())
}
