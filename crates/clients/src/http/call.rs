//! Hot: one call, from the prepared request to the outcome. What is not needed for every request – opening connections,
//! HTTP/2, redirects, cookies to keep – is boxed away, so that the future of a waiting call stays small.

use std::rc::Rc;

use hyperscale_plan::template::{FillError, Scope};
use hyperscale_types::{ErrorKind, Now, Phases};
use tokio::time::timeout_at;

use crate::clock;
use crate::errors;
use crate::http::follow;
use crate::http::h1::exchange::{self, Meter, Request};
use crate::http::h1::reader::Reader;
use crate::http::h2::multiplex;
use crate::http::request::extra;
use crate::http::request::prepare::{Prepared, Target};
use crate::http::request::url::Url;
use crate::http::request::wire::{self, Given};
use crate::http::response::collect::Collector;
use crate::http::route::Route;
use crate::http::route::connection::{self, Connection};
use crate::http::session::Session;
use crate::http::shared::{HttpCore, Scratch};
use crate::outcome::{CallError, Outcome, Progress};

/// A request and where it goes.
pub(crate) struct Dispatch<'a> {
    /// Where.
    pub(crate) route: Rc<Route>,
    /// What.
    pub(crate) request: Request<'a>,
    /// A copy without extra fields, if the request cannot be filled again.
    pub(crate) kept: Option<Vec<u8>>,
}

/// The state of a call that its hops share.
pub(crate) struct Flight<'a> {
    pub(crate) core: &'a HttpCore,
    pub(crate) session: &'a Session,
    pub(crate) prepared: &'a Prepared,
    pub(crate) reader: Reader,
    pub(crate) collector: Collector<'a>,
    pub(crate) meter: Meter<'a>,
}

/// Performs one call. Dropping the future cancels it: the connection in use is closed, `progress` tells how far it got.
pub async fn call<S: Scope>(
    core: &HttpCore,
    session: &Session,
    prepared: &Prepared,
    scope: &S,
    progress: &Progress,
) -> Outcome {
    let started = clock::now();
    progress.start(started);
    let deadline = session.deadline(started, prepared.end(started));
    let mut flight = Flight {
        core,
        session,
        prepared,
        reader: Reader::new(prepared.is_head, prepared.max_body),
        collector: Collector::new(prepared, started),
        meter: Meter { progress, deadline, phases: Phases::default(), since: started },
    };
    let result = match fill(core, session, prepared, scope, started) {
        Err(error) => Err(error),
        Ok(mut dispatch) => match send(&mut flight, &mut dispatch).await {
            Ok(()) if flight.collector.has_found() => {
                Box::pin(follow::follow(&mut flight, dispatch, scope)).await
            }
            result => result,
        },
    };
    conclude(flight, started, result)
}

/// Sends one request and reads its answer.
pub(crate) async fn send(flight: &mut Flight<'_>, dispatch: &mut Dispatch<'_>) -> Result<(), CallError> {
    let mut connection = match idle(flight.session, &dispatch.route) {
        Some(connection) => connection,
        None => Box::pin(open(flight, dispatch)).await?,
    };
    match &mut connection {
        Connection::H1(io) => {
            let Flight { core, reader, collector, meter, .. } = flight;
            exchange::exchange(core, io, &mut dispatch.request, reader, collector, meter).await?;
        }
        Connection::H2(shared) => {
            let request = h2_request(flight, dispatch)?;
            Box::pin(multiplex::exchange(shared, request, flight)).await?;
        }
    }
    if flight.reader.keep_alive() && dispatch.route.shared.is_none() {
        flight.session.put(dispatch.route.id, flight.prepared.reuse, connection);
    }
    Ok(())
}

/// The request's bytes and where they go. Nothing may be awaited before bytes in the scratch buffer are written.
#[inline]
fn fill<'a>(
    core: &HttpCore,
    session: &Session,
    prepared: &'a Prepared,
    scope: &impl Scope,
    started: Now,
) -> Result<Dispatch<'a>, CallError> {
    let has_extra = extra::is_needed(session, prepared);
    if !has_extra && let (Some(bytes), Target::Fixed(route)) = (prepared.wire.as_constant(), &prepared.target)
    {
        return Ok(Dispatch { route: Rc::clone(route), request: Request::Constant(bytes), kept: None });
    }
    let (route, extra_at) = fill_scratch(core, prepared, scope)?;
    let scratch = &mut *core.scratch.borrow_mut();
    let kept = prepared.keeps_request().then(|| scratch.request.clone());
    if has_extra {
        let call = extra::Call { session, prepared, route: &route, now_s: core.unix_s(started) };
        call.write(scope, scratch)?;
        wire::insert_extra(&mut scratch.request, extra_at, &scratch.extra);
    }
    Ok(Dispatch { route, request: Request::Scratch, kept })
}

/// Fills the request into the scratch buffer; says where it goes and where extra fields belong.
pub(crate) fn fill_scratch(
    core: &HttpCore,
    prepared: &Prepared,
    scope: &impl Scope,
) -> Result<(Rc<Route>, usize), CallError> {
    let scratch = &mut *core.scratch.borrow_mut();
    scratch.clear();
    let Scratch { request, body, url, .. } = scratch;
    let (given, route) = match &prepared.target {
        Target::Fixed(route) => (Given { url: None, forwarded: false }, Rc::clone(route)),
        Target::Filled(template, link) => {
            template.fill(scope, url).map_err(|error| unfilled(&error))?;
            let text = std::str::from_utf8(url).map_err(|_| bad_url("not UTF-8"))?;
            let url = Url::parse(text).map_err(|error| bad_url(&error.to_string()))?;
            let route = core.routes.route(link, &url, || core.random());
            (Given { url: Some(url), forwarded: route.is_forwarded() }, route)
        }
    };
    let extra_at = prepared.wire.fill(scope, &given, request, body).map_err(|error| unfilled(&error))?;
    Ok((route, extra_at))
}

/// A connection that is at hand: one of those that all share, or the best idle one of the session; those found dead are
/// closed.
#[inline]
fn idle(session: &Session, route: &Route) -> Option<Connection> {
    if let Some(pool) = &route.shared {
        return pool.at_hand().map(Connection::H2);
    }
    loop {
        let mut connection = session.take(route.id)?;
        let alive = match &mut connection {
            Connection::H2(_) => true,
            Connection::H1(io) => io.is_alive(),
        };
        if alive {
            return Some(connection);
        }
    }
}

/// A connection that is not at hand: one of those that all share, or a new one. A filled request is copied first,
/// because others fill theirs meanwhile.
async fn open(flight: &mut Flight<'_>, dispatch: &mut Dispatch<'_>) -> Result<Connection, CallError> {
    let Flight { core, prepared, meter, .. } = flight;
    if let Request::Scratch = dispatch.request {
        dispatch.request = Request::Owned(core.scratch.borrow().request.clone());
    }
    let route = &dispatch.route;
    let (limit, end) = (prepared.connect_timeout, meter.deadline.instant());
    let mut dial = async || connection::open(core, route, limit, end, &mut meter.phases).await;
    let connection = match &route.shared {
        None => dial().await?,
        Some(pool) => {
            let shared = pool.connection(async || multiplex::only_h2(dial().await?));
            Connection::H2(Box::pin(timeout_at(end, shared)).await.map_err(|_| errors::timeout())??)
        }
    };
    meter.since = clock::now();
    Ok(connection)
}

/// The request as HTTP/2 wants it. A constant one is turned once.
fn h2_request(flight: &Flight<'_>, dispatch: &Dispatch<'_>) -> Result<multiplex::Parts, CallError> {
    let tls = dispatch.route.is_tls();
    match &dispatch.request {
        Request::Owned(bytes) => multiplex::request(bytes, tls),
        Request::Scratch => multiplex::request(&flight.core.scratch.borrow().request, tls),
        Request::Constant(bytes) => {
            if let Some(parts) = flight.prepared.h2.get() {
                return Ok(parts.clone());
            }
            let parts = multiplex::request(bytes, tls)?;
            Ok(flight.prepared.h2.get_or_init(|| parts).clone())
        }
    }
}

/// The outcome of a call. One that succeeded ended with its last byte, whose time is already taken.
#[inline]
fn conclude(mut flight: Flight<'_>, started: Now, result: Result<(), CallError>) -> Outcome {
    let (prepared, status) = (flight.prepared, flight.reader.status());
    let ended = if result.is_ok() { flight.meter.since } else { clock::now() };
    let (complete, error) = match result {
        Ok(()) => (true, flight.collector.take_error()),
        // A stream that is left when its time is over is a success.
        Err(error) if error.kind == ErrorKind::Timeout && status != 0 && prepared.stream_time().is_some() => {
            (false, None)
        }
        Err(error) => (false, Some(error)),
    };
    let error = error.or_else(|| {
        let unexpected = !prepared.expect.contains(status);
        unexpected.then(|| CallError::new(ErrorKind::Status, format!("status {status}")))
    });
    flight.session.put_deadline(flight.meter.deadline);
    let (response, stream) = flight.collector.finish(ended, complete);
    Outcome { started, ended, status, error, phases: flight.meter.phases, response, stream }
}

pub(crate) fn unfilled(error: &FillError) -> CallError {
    CallError::new(ErrorKind::Template, error.to_string())
}

pub(crate) fn bad_url(what: &str) -> CallError {
    CallError::new(ErrorKind::Template, format!("the filled URL is no URL: {what}"))
}
