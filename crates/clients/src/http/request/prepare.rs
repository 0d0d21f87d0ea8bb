//! Preparation: once per step and core, before measuring starts. Everything that does not depend on the iteration is
//! done here: names resolved, TLS configured, files read, URL, header block and body encoded.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Auth, Retry, Reuse, StatusSet, Stream};
use hyperscale_plan::model::step::Needs;
use hyperscale_plan::template::{Escape, FillError, Hole, Piece as TemplatePiece, Scope, Template};
use hyperscale_types::limits::BODY_MAX;
use hyperscale_types::{ErrorKind, Now};

use crate::contract::{self, Terms};
use crate::http::auth::oauth2::TokenError;
use crate::http::auth::token;
use crate::http::client::HttpClient;
use crate::http::h1::memo::Memo;
use crate::http::h1::wire::Wire;
use crate::http::h2::Parts;
use crate::http::request::encode;
use crate::http::request::multipart::{self, MultipartError};
use crate::http::request::target::{FixedOrigin, UrlTemplate};
use crate::http::request::template::RequestTemplate;
use crate::http::request::text::{Piece, Text};
use crate::http::request::url::{Url, UrlError};
use crate::http::route::proxy::Proxy;
use crate::http::route::{Link, Route};
use crate::known::Known;
use crate::outcome::CallError;
use crate::tls::TlsError;

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
    /// A multipart body cannot be written.
    #[error(transparent)]
    Multipart(#[from] MultipartError),
    /// The token endpoint gave no answer.
    #[error("no token from {url}: {error}")]
    TokenCall {
        /// Who was asked.
        url: String,
        /// Why there is no answer.
        error: CallError,
    },
    /// The token endpoint gave no token.
    #[error("no token from {url}: {error}")]
    Token {
        /// Who was asked.
        url: String,
        /// What is wrong.
        error: TokenError,
    },
}

impl From<PrepareError> for contract::PrepareError {
    fn from(error: PrepareError) -> Self {
        contract::PrepareError { message: error.to_string(), is_unreachable: error.is_unreachable() }
    }
}

impl PrepareError {
    /// Whether a peer that is needed for preparation could not be reached: the plan itself may be fine.
    pub fn is_unreachable(&self) -> bool {
        match self {
            PrepareError::Template(_)
            | PrepareError::Url { .. }
            | PrepareError::Proxy { .. }
            | PrepareError::File { .. }
            | PrepareError::Tls(_)
            | PrepareError::Multipart(_)
            | PrepareError::Token { .. } => false,
            PrepareError::TokenCall { error, .. } => matches!(
                error.kind,
                ErrorKind::Dns | ErrorKind::ConnectRefused | ErrorKind::ConnectTimeout | ErrorKind::Timeout
            ),
        }
    }
}

/// One HTTP call prepared for one core.
pub struct Prepared {
    pub(crate) template: RequestTemplate,
    /// The same in HTTP/1.1 form.
    pub(crate) wire: Wire,
    pub(crate) target: Target,
    pub(crate) is_head: bool,
    /// Filling it again gives the same.
    pub(crate) is_pure: bool,
    pub(crate) limits: Limits,
    pub(crate) reuse: Reuse,
    pub(crate) expect: StatusSet,
    pub(crate) needs: Needs,
    pub(crate) cookie_jar: bool,
    pub(crate) stream: Option<Stream>,
    /// User and password for a server that asks.
    pub(crate) digest: Option<Box<(Template, Template)>>,
    /// The request as HTTP/2 wants it, if it is constant.
    pub(crate) h2: OnceCell<Parts>,
    /// The head of the last answer.
    pub(crate) memo: RefCell<Memo>,
}

/// What bounds a call.
pub(crate) struct Limits {
    timeout: Duration,
    /// Nanoseconds after which a call ends: its time-out, or less for a stream that is left earlier.
    time_ns: u64,
    pub(crate) connect_timeout: Duration,
    pub(crate) max_body: u64,
    pub(crate) redirects: u32,
    /// When a request that was not processed is sent again.
    pub(crate) retry: Option<Retry>,
}

impl Limits {
    fn new(request: &HttpRequest, terms: Terms) -> Self {
        let timeout = terms.timeout.map_or(request.limits.timeout, |step| step.min(request.limits.timeout));
        let stream_time = request.stream.as_ref().and_then(|stream| stream.max_time);
        Limits {
            timeout: timeout.to_duration(),
            time_ns: stream_time.map_or(timeout, |time| time.min(timeout)).as_nanos(),
            connect_timeout: request.limits.connect_timeout.to_duration(),
            max_body: match request.limits.max_body {
                Some(size) => size.0,
                None if terms.needs.body => BODY_MAX.0,
                None => u64::MAX,
            },
            redirects: request.limits.redirects,
            retry: request.retry.clone(),
        }
    }
}

/// Where a prepared request goes.
pub(crate) enum Target {
    /// Always to the same origin.
    Fixed(Rc<Route>),
    /// Where the filled URL says.
    Filled {
        url: UrlTemplate,
        link: Rc<Link>,
        /// Nothing else says who calls: credentials of the URL do.
        takes_credentials: bool,
    },
}

impl<S: Scope> Known<'_, S> {
    /// Appends a hole, or its text if that is known.
    pub(crate) fn append_hole(&self, hole: &Hole, escape: Escape, to: &mut Text) -> Result<(), FillError> {
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
        to: &mut Text,
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
}

impl Prepared {
    /// Prepares a request.
    pub(crate) async fn new<S: Scope>(
        client: &Rc<HttpClient>,
        request: &HttpRequest,
        terms: Terms,
        known: &Known<'_, S>,
    ) -> Result<Prepared, PrepareError> {
        let url = UrlTemplate::build(request, known)?;
        let proxy = read_proxy(request)?;
        let link = client.routes.link(&request.transport, proxy);
        let url_is_pure = url.is_pure();
        let route = match url.fixed_origin() {
            None => None,
            Some(fixed) => Some(fixed_route(client, &link, &fixed).await?),
        };
        let token = match &request.auth {
            Some(Auth::OAuth2(settings)) => Some(token::token(client, settings, &request.transport).await?),
            _ => None,
        };
        let boundary = multipart::boundary([client.shared.random(), client.shared.random()]);
        let plan = encode::Plan { request, known, token, boundary: &boundary };
        let template = plan.encode(url.fixed_origin().as_ref())?;
        let wire = Wire::new(&template, route.as_deref(), &link);
        let takes_credentials = request.auth.is_none() && !encode::has(request, "authorization");
        let target = match route {
            Some(route) => Target::Fixed(route),
            None => Target::Filled { url, link, takes_credentials },
        };
        let is_pure = template.is_pure() && url_is_pure;
        Ok(Prepared {
            template,
            wire,
            target,
            is_head: request.method == "HEAD",
            is_pure,
            limits: Limits::new(request, terms),
            reuse: request.transport.reuse,
            expect: request.expect.clone(),
            needs: terms.needs,
            cookie_jar: request.cookie_jar,
            stream: request.stream.clone(),
            digest: digest(request),
            h2: OnceCell::new(),
            memo: RefCell::default(),
        })
    }

    /// When a call that started then must end.
    #[inline]
    pub(crate) fn end(&self, started: Now) -> Now {
        Now(started.0.saturating_add(self.limits.time_ns))
    }

    /// How long a stream is read before it is left, if that is earlier than the time-out.
    pub(crate) fn stream_time(&self) -> Option<Duration> {
        let time = self.stream.as_ref()?.max_time?.to_duration();
        (time < self.limits.timeout).then_some(time)
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
async fn fixed_route(
    client: &HttpClient,
    link: &Rc<Link>,
    fixed: &FixedOrigin<'_>,
) -> Result<Rc<Route>, PrepareError> {
    let url = parse(fixed.origin)?;
    let route = client.routes.route(link, &url, || client.shared.random());
    if route.is_tls() {
        link.tls()?;
    }
    if link.settings.unix.is_none() {
        let host = link.proxy.as_ref().map_or(url.host, |proxy| &proxy.host);
        let _unresolved = client.shared.addresses(host, link.settings.dns).await;
    }
    Ok(route)
}

fn digest(request: &HttpRequest) -> Option<Box<(Template, Template)>> {
    match &request.auth {
        Some(Auth::Digest { user, password }) => Some(Box::new((user.clone(), password.clone()))),
        _ => None,
    }
}

pub(crate) fn parse(url: &str) -> Result<Url<'_>, PrepareError> {
    Url::parse(url).map_err(|source| PrepareError::Url { url: url.to_owned(), source })
}
