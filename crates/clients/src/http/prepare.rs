//! Preparation: once per step and core, before measuring starts. Everything that does not depend on the iteration is
//! done here: names resolved, TLS configured, files read, URL, header block and body encoded.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Auth, Reuse, StatusSet};
use hyperscale_plan::model::step::Needs;
use hyperscale_plan::template::{Escape, FillError, Hole, Piece as TemplatePiece, Root, Scope, Template};

use super::auth::basic;
use super::body;
use super::core::HttpCore;
use super::network::Network;
use super::proxy::Proxy;
use super::route::{Link, Route};
use super::target::{FixedOrigin, UrlPiece, UrlTemplate};
use super::tls::TlsError;
use super::url::{Url, UrlError};
use super::wire::{Builder, Piece, Wire};

const USER_AGENT: &str =
    concat!("hyperscale/", env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Why a request cannot be prepared. Nothing was sent; the plan or its files must change.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A known value does not fit where it stands.
    #[error(transparent)]
    Template(#[from] FillError),
    /// Not a URL.
    #[error("`{url}`: {source}")]
    Url {
        /// The text.
        url: String,
        /// What is wrong.
        source: UrlError,
    },
    /// Not a proxy.
    #[error("proxy `{url}`: {message}")]
    Proxy {
        /// The text.
        url: String,
        /// What is wrong.
        message: String,
    },
    /// A file cannot be read.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// TLS cannot be configured.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
}

impl PrepareError {
    /// Whether a peer that is needed for preparation could not be reached: the plan itself may be fine.
    pub fn is_unreachable(&self) -> bool {
        match self {
            PrepareError::Template(_)
            | PrepareError::Url { .. }
            | PrepareError::Proxy { .. }
            | PrepareError::File { .. }
            | PrepareError::Tls(_) => false,
        }
    }
}

/// One HTTP step prepared for one core: constant pieces in wire form, holes to fill.
pub struct Prepared {
    pub(crate) wire: Wire,
    pub(crate) target: Target,
    pub(crate) is_head: bool,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) max_body: u64,
    pub(crate) reuse: Reuse,
    pub(crate) expect: StatusSet,
    pub(crate) needs: Needs,
}

/// Where a prepared request goes.
pub(crate) enum Target {
    /// Always to the same origin.
    Fixed(Rc<Route>),
    /// Where the filled URL says.
    Filled(UrlTemplate, Rc<Link>),
}

/// Which roots are known in preparation, and their values.
pub(crate) struct Known<'a, S> {
    scope: &'a S,
    known: &'a dyn Fn(Root) -> bool,
}

impl<S: Scope> Known<'_, S> {
    /// The hole's text, if everything it refers to is known and always gives the same.
    pub(crate) fn fill(&self, hole: &Hole, escape: Escape) -> Result<Option<Vec<u8>>, FillError> {
        if !hole.is_pure() || !hole.roots().all(self.known) {
            return Ok(None);
        }
        let mut text = Vec::new();
        hole.fill(self.scope, escape, &mut text)?;
        Ok(Some(text))
    }

    /// Appends a hole, or its text if that is known.
    pub(crate) fn append_hole(&self, hole: &Hole, escape: Escape, to: &mut Builder) -> Result<(), FillError> {
        match self.fill(hole, escape)? {
            Some(text) => to.bytes(text),
            None => to.piece(Piece::Hole(hole.clone(), escape)),
        }
        Ok(())
    }

    /// Appends a template. `constant` says how its constant text is written.
    pub(crate) fn append(
        &self,
        template: &Template,
        escape: Escape,
        constant: Escape,
        to: &mut Builder,
    ) -> Result<(), PrepareError> {
        for piece in template.pieces() {
            match piece {
                TemplatePiece::Hole(hole) => self.append_hole(hole, escape, to)?,
                TemplatePiece::Const(text) => {
                    let mut bytes = Vec::new();
                    let unfit = |what| FillError::Unfit { source_text: text.to_string(), what };
                    constant.write(text, &mut bytes).map_err(unfit)?;
                    to.bytes(bytes);
                }
            }
        }
        Ok(())
    }

    /// The template's text, if all of it is known.
    fn text(&self, template: &Template) -> Result<Option<String>, FillError> {
        let prepared = template.prepare(self.scope, self.known, Escape::None)?;
        Ok(prepared.as_constant().map(str::to_owned))
    }
}

impl Prepared {
    /// Prepares a request. `known` says which roots have their final value in `scope`.
    pub async fn new<N: Network>(
        core: &Rc<HttpCore<N>>,
        request: &HttpRequest,
        needs: Needs,
        scope: &impl Scope,
        known: impl Fn(Root) -> bool,
    ) -> Result<Prepared, PrepareError> {
        let known = Known { scope, known: &known };
        let url = UrlTemplate::build(request, &known)?;
        let proxy = read_proxy(request)?;
        let link = core.routes.link(&request.transport, proxy);
        let (wire, target) = match url.fixed_origin() {
            None => (encode(request, &known, None, &link)?, Target::Filled(url, link)),
            Some(fixed) => {
                let route = fixed_route(core, &link, &fixed).await?;
                (encode(request, &known, Some((&fixed, &route)), &link)?, Target::Fixed(route))
            }
        };
        Ok(Prepared {
            wire,
            target,
            is_head: request.method == "HEAD",
            timeout: request.timeout.to_duration(),
            connect_timeout: request.connect_timeout.to_duration(),
            max_body: request.max_body.0,
            reuse: request.transport.reuse,
            expect: request.expect.clone(),
            needs,
        })
    }
}

fn read_proxy(request: &HttpRequest) -> Result<Option<Proxy>, PrepareError> {
    let Some(url) = &request.transport.proxy else {
        return Ok(None);
    };
    Proxy::parse(url).map(Some).map_err(|message| PrepareError::Proxy { url: url.clone(), message })
}

/// The route of a constant origin, its name resolved and its TLS configured. A name that does not resolve is no reason
/// to stop: each call will say so.
async fn fixed_route<N: Network>(
    core: &HttpCore<N>,
    link: &Rc<Link>,
    fixed: &FixedOrigin<'_>,
) -> Result<Rc<Route>, PrepareError> {
    let url = parse(fixed.origin)?;
    let route = core.routes.route(link, &url, || core.random());
    if route.is_tls() {
        link.tls()?;
    }
    if link.settings.unix.is_none() {
        let host = link.proxy.as_ref().map_or(url.host, |proxy| &proxy.host);
        let _unresolved = core.addresses(host, link.settings.dns).await;
    }
    Ok(route)
}

fn parse(url: &str) -> Result<Url<'_>, PrepareError> {
    Url::parse(url).map_err(|source| PrepareError::Url { url: url.to_owned(), source })
}

/// The request in wire form.
fn encode<S: Scope>(
    request: &HttpRequest,
    known: &Known<'_, S>,
    fixed: Option<(&FixedOrigin<'_>, &Route)>,
    link: &Link,
) -> Result<Wire, PrepareError> {
    let body = body::encode(&request.body, known)?;
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
    for (name, value) in &request.headers {
        field(name, value, known, &mut head)?;
    }
    default_fields(request, &mut head);
    proxy_authorization(fixed.map(|(_, route)| route), link, &mut head);
    authorization(request, url.as_ref(), known, &mut head)?;
    body.fields(request, &mut head);
    cookies(request, known, &mut head)?;
    head.bytes("\r\n");
    let pieces = head.end_head();
    body.append(&mut head);
    Ok(head.finish(pieces))
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
        default("accept-encoding", "gzip, deflate, br, zstd");
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

fn authorization<S: Scope>(
    request: &HttpRequest,
    url: Option<&Url<'_>>,
    known: &Known<'_, S>,
    to: &mut Builder,
) -> Result<(), PrepareError> {
    if has(request, "authorization") {
        return Ok(());
    }
    match &request.auth {
        None => {
            if let Some((user, password)) = url.and_then(Url::credentials) {
                to.bytes(format!("authorization: {}\r\n", basic(&user, &password)));
            }
        }
        Some(Auth::Basic { user, password }) => {
            to.bytes("authorization: ");
            match (known.text(user)?, known.text(password)?) {
                (Some(user), Some(password)) => to.bytes(basic(&user, &password)),
                _ => to.piece(Piece::Basic(Box::new((user.clone(), password.clone())))),
            }
            to.bytes("\r\n");
        }
        Some(Auth::Bearer(token)) => {
            to.bytes("authorization: Bearer ");
            known.append(token, Escape::Header, Escape::Header, to)?;
            to.bytes("\r\n");
        }
        Some(Auth::Digest { .. } | Auth::OAuth2(_)) => {}
    }
    Ok(())
}

/// The plan's cookies. They come last so that those of the jar can follow in the same field.
fn cookies<S: Scope>(
    request: &HttpRequest,
    known: &Known<'_, S>,
    to: &mut Builder,
) -> Result<(), PrepareError> {
    let mut separator = "cookie: ";
    for (name, value) in &request.cookies {
        to.bytes(separator);
        to.bytes(name.as_str());
        to.bytes("=");
        known.append(value, Escape::Header, Escape::Header, to)?;
        separator = "; ";
    }
    if !request.cookies.is_empty() {
        to.bytes("\r\n");
    }
    Ok(())
}
