//! Hot: a prepared request filled for one call, and where it goes.

use std::rc::Rc;

use hyperscale_plan::template::{FillError, Scope};
use hyperscale_types::{ErrorKind, Now};

use crate::http::auth::basic::basic;
use crate::http::client::{HttpClient, Scratch};
use crate::http::h1::exchange::Request;
use crate::http::h1::wire::{self, Given};
use crate::http::h1::write;
use crate::http::request::extra::{self, Extra};
use crate::http::request::message::Message;
use crate::http::request::prepare::{Prepared, Target};
use crate::http::request::url::Url;
use crate::http::route::Route;
use crate::http::session::Session;
use crate::outcome::CallError;

/// A request and where it goes.
pub(crate) struct Dispatch<'a> {
    /// Where.
    pub(crate) route: Rc<Route>,
    /// In HTTP/1.1 form, unless it is written from the message.
    pub(crate) request: Request<'a>,
    /// In parts, with what only this request has. `None` if the prepared request can be filled again.
    pub(crate) message: Option<Box<(Message, Extra)>>,
}

/// The request and where it goes. Nothing may be awaited before bytes in the scratch buffer are written.
#[expect(
    clippy::inline_always,
    reason = "retries call it too: out of line it costs every request 50 instructions"
)]
#[inline(always)]
pub(super) fn fill<'a>(
    client: &HttpClient,
    session: &Session,
    prepared: &'a Prepared,
    scope: &impl Scope,
    started: Now,
) -> Result<Dispatch<'a>, CallError> {
    let has_extra = extra::is_needed(session, prepared);
    if !has_extra && let (Some(bytes), Target::Fixed(route)) = (prepared.wire.as_constant(), &prepared.target)
    {
        return Ok(Dispatch { route: Rc::clone(route), request: Request::Constant(bytes), message: None });
    }
    fill_parts(client, session, prepared, scope, started, has_extra)
}

/// Fills a request that is not constant: in HTTP/1.1 form if it can be filled again, in parts if not, or if parts are
/// what its connection wants.
fn fill_parts<'a>(
    client: &HttpClient,
    session: &Session,
    prepared: &'a Prepared,
    scope: &impl Scope,
    started: Now,
    has_extra: bool,
) -> Result<Dispatch<'a>, CallError> {
    let scratch = &mut *client.scratch.borrow_mut();
    scratch.clear();
    let Scratch { request, body, url, extra } = scratch;
    let (url, route) = resolve(client, prepared, scope, url)?;
    let call = extra::Call { session, prepared, route: &route, now_s: client.shared.unix_s(started) };
    let credentials = url.as_ref().and_then(|url| credentials(prepared, url));
    let has_extra = has_extra || credentials.is_some();
    if !prepared.is_pure || route.speaks_h2() {
        let message = message(prepared, scope, url.as_ref(), &route)?;
        let extra = if has_extra { extra_of(&call, &message, scope)? } else { Extra::default() };
        let message = Some(Box::new((message, extra)));
        return Ok(Dispatch { route, request: Request::Scratch, message });
    }
    let given = Given { url, forwarded: route.is_forwarded() };
    let layout = prepared.wire.fill(scope, &given, request, body).map_err(|error| unfilled(&error))?;
    if has_extra {
        let target = std::str::from_utf8(&request[layout.target]).map_err(|_| bad_url("not UTF-8"))?;
        let origin = if target.starts_with('/') { &*route.text } else { "" };
        let address = format!("{origin}{target}");
        let url = Url::parse(&address).map_err(|error| bad_url(&error.to_string()))?;
        let found = call.extra(&url, target, scope)?;
        let found = Extra { authorization: found.authorization.or(credentials), ..found };
        found.write(prepared.wire.cookie_begun(), extra);
        wire::insert_extra(request, layout.extra_at, extra);
    }
    Ok(Dispatch { route, request: Request::Scratch, message: None })
}

/// Where a request goes, and its URL if that was filled for this call.
fn resolve<'u>(
    client: &HttpClient,
    prepared: &Prepared,
    scope: &impl Scope,
    url: &'u mut Vec<u8>,
) -> Result<(Option<Url<'u>>, Rc<Route>), CallError> {
    match &prepared.target {
        Target::Fixed(route) => Ok((None, Rc::clone(route))),
        Target::Filled { url: template, link, .. } => {
            template.fill(scope, url).map_err(|error| unfilled(&error))?;
            let text = std::str::from_utf8(url).map_err(|_| bad_url("not UTF-8"))?;
            let url = Url::parse(text).map_err(|error| bad_url(&error.to_string()))?;
            let route = client.routes.route(link, &url, || client.shared.random());
            Ok((Some(url), route))
        }
    }
}

/// The prepared request filled in parts, without what only one request has.
pub(crate) fn fill_message(
    client: &HttpClient,
    prepared: &Prepared,
    scope: &impl Scope,
) -> Result<Message, CallError> {
    let mut text = Vec::new();
    let (url, route) = resolve(client, prepared, scope, &mut text)?;
    message(prepared, scope, url.as_ref(), &route)
}

/// A request in parts, with the credentials of its URL.
fn message(
    prepared: &Prepared,
    scope: &impl Scope,
    url: Option<&Url<'_>>,
    route: &Route,
) -> Result<Message, CallError> {
    let mut message = prepared.template.fill(scope, url, route).map_err(|error| unfilled(&error))?;
    if let Some(value) = url.and_then(|url| credentials(prepared, url)) {
        message.authorize(&value);
    }
    Ok(message)
}

/// What the credentials of a URL say, if nothing else says who calls.
fn credentials(prepared: &Prepared, url: &Url<'_>) -> Option<String> {
    let Target::Filled { takes_credentials: true, .. } = prepared.target else { return None };
    let (user, password) = url.credentials()?;
    Some(basic(&user, &password))
}

/// What only this request has, of one in parts.
pub(super) fn extra_of(
    call: &extra::Call<'_>,
    message: &Message,
    scope: &impl Scope,
) -> Result<Extra, CallError> {
    let url = message.url()?;
    let mut target = Vec::new();
    write::write_target(&url, call.route, &mut target);
    call.extra(&url, &String::from_utf8_lossy(&target), scope)
}

pub(crate) fn unfilled(error: &FillError) -> CallError {
    CallError::new(ErrorKind::Template, error.to_string())
}

fn bad_url(what: &str) -> CallError {
    CallError::new(ErrorKind::Template, format!("the filled URL is no URL: {what}"))
}
