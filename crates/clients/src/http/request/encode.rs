//! A request in parts, in preparation: target, the plan's fields, defaults, credentials, cookies, body.

use std::rc::Rc;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Auth, Reuse};
use hyperscale_plan::template::{Escape, Scope, Template};

use crate::http::auth::basic::basic;
use crate::http::auth::token::FreshToken;
use crate::http::request::body;
use crate::http::request::prepare::{PrepareError, parse};
use crate::http::request::target::{FixedOrigin, UrlPiece};
use crate::http::request::template::{COOKIE, RequestTemplate};
use crate::http::request::text::{Piece, Text};
use crate::http::request::url::Url;
use crate::known::Known;

const USER_AGENT: &str =
    concat!("hyperscale/", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Content codings that are offered: those that can be decoded.
const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// What a request is encoded from.
pub(crate) struct Plan<'a, S> {
    /// What the plan says.
    pub(crate) request: &'a HttpRequest,
    /// What is known by now.
    pub(crate) known: &'a Known<'a, S>,
    /// The OAuth 2 token, if the plan wants one.
    pub(crate) token: Option<Rc<FreshToken>>,
    /// Separates the parts of a multipart body.
    pub(crate) boundary: &'a str,
}

impl<S: Scope> Plan<'_, S> {
    /// The request in parts. `fixed`: its origin, if that is constant.
    pub(crate) fn encode(&self, fixed: Option<&FixedOrigin<'_>>) -> Result<RequestTemplate, PrepareError> {
        let Plan { request, known, .. } = *self;
        let body = body::encode(&request.body, self.boundary, known)?;
        let url = fixed.map(|fixed| parse(fixed.origin)).transpose()?;
        let mut fields = Fields(Vec::new());
        for (name, value) in request.headers.iter().filter(|(name, _)| name != COOKIE) {
            fields.push(name, field_text(value, known)?);
        }
        default_fields(request, &mut fields);
        if let Some(authorization) = self.authorization(url.as_ref())? {
            fields.push("authorization", authorization);
        }
        if let Some(media_type) = body.media_type.as_ref().filter(|_| !has(request, "content-type")) {
            fields.push("content-type", Text::constant(media_type));
        }
        if let Some(length) = body.length(request) {
            fields.push("content-length", length);
        }
        Ok(RequestTemplate {
            method: request.method.as_str().into(),
            target: fixed.map(target),
            authority: url.map(|url| authority(&url).into()),
            fields: fields.0,
            cookies: cookies(request, known)?,
            body: body.text,
        })
    }

    fn authorization(&self, url: Option<&Url<'_>>) -> Result<Option<Text>, PrepareError> {
        let Plan { request, known, .. } = *self;
        if has(request, "authorization") {
            return Ok(None);
        }
        Ok(match (&request.auth, &self.token) {
            (None, _) => {
                let credentials = url.and_then(Url::credentials);
                credentials.map(|(user, password)| Text::constant(basic(&user, &password)))
            }
            (Some(Auth::Basic { user, password }), _) => {
                Some(match (known.text(user)?, known.text(password)?) {
                    (Some(user), Some(password)) => Text::constant(basic(&user, &password)),
                    _ => Text::of(Piece::Basic(Box::new((user.clone(), password.clone())))),
                })
            }
            (Some(Auth::Bearer(token)), _) => {
                let mut text = Text::constant("Bearer ");
                known.append(token, Escape::Header, Escape::Header, &mut text)?;
                Some(text)
            }
            (Some(Auth::OAuth2(_)), Some(token)) => Some(Text::of(Piece::Token(Rc::clone(token)))),
            // Sent when the server has asked.
            (Some(Auth::Digest { .. }), _) | (Some(Auth::OAuth2(_)), None) => None,
        })
    }
}

/// Fields so far.
struct Fields(Vec<(Box<str>, Text)>);

impl Fields {
    fn push(&mut self, name: &str, value: Text) {
        self.0.push((name.into(), value));
    }
}

fn target(fixed: &FixedOrigin<'_>) -> Text {
    let mut text = Text::constant(&fixed.begin);
    for piece in fixed.rest {
        match piece {
            UrlPiece::Text(constant) => text.bytes(constant),
            UrlPiece::Hole(hole, escape) => text.piece(Piece::Hole(hole.clone(), *escape)),
        }
    }
    text
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

fn field_text<S: Scope>(value: &Template, known: &Known<'_, S>) -> Result<Text, PrepareError> {
    let mut text = Text::default();
    known.append(value, Escape::Header, Escape::Header, &mut text)?;
    Ok(text)
}

fn default_fields(request: &HttpRequest, to: &mut Fields) {
    let mut default = |name: &str, value: &str| {
        if !has(request, name) {
            to.push(name, Text::constant(value));
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

/// The plan's cookies as one value: those of `cookie` headers, then `cookies`.
fn cookies<S: Scope>(request: &HttpRequest, known: &Known<'_, S>) -> Result<Option<Text>, PrepareError> {
    let headers = request.headers.iter().filter(|(name, _)| name == COOKIE).map(|(_, value)| (None, value));
    let cookies = request.cookies.iter().map(|(name, value)| (Some(name), value));
    let mut text = None;
    for (name, value) in headers.chain(cookies) {
        let text = match &mut text {
            None => text.insert(Text::default()),
            Some(text) => {
                text.bytes("; ");
                text
            }
        };
        if let Some(name) = name {
            text.bytes(name);
            text.bytes("=");
        }
        known.append(value, Escape::Header, Escape::Header, text)?;
    }
    Ok(text)
}
