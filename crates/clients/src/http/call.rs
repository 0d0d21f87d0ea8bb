//! Hot: one call, from the prepared request to the outcome. Opening connections is boxed away, so that the future of a
//! waiting call stays small.

use std::rc::Rc;
use std::time::Instant;

use hyperscale_plan::template::{FillError, Scope};
use hyperscale_types::ErrorKind;

use super::collect::Collector;
use super::connection::{self, Connection};
use super::core::{HttpCore, Scratch};
use super::exchange::{self, Meter, Request};
use super::network::Network;
use super::outcome::{CallError, Outcome, Phases, Progress};
use super::prepare::{Prepared, Target};
use super::reader::Reader;
use super::route::Route;
use super::session::Session;
use super::url::Url;
use super::wire::Given;

/// Performs one call. Dropping the future cancels it: the connection in use is closed, `progress` tells how far it got.
pub async fn call<N: Network, S: Scope>(
    core: &HttpCore<N>,
    session: &Session<N>,
    prepared: &Prepared,
    scope: &S,
    progress: &Progress,
) -> Outcome {
    let started = Instant::now();
    progress.start(started);
    let deadline = session.deadline((started + prepared.timeout).into());
    let mut meter = Meter { progress, deadline, phases: Phases::default(), since: started, reading: false };
    let mut reader = Reader::new(prepared.is_head, prepared.max_body);
    let mut collector = Collector::new(prepared.needs);
    let result = first_hop(core, session, prepared, scope, &mut reader, &mut collector, &mut meter).await;
    // A successful call ends with the last byte, whose time is already taken.
    let ended = if result.is_ok() { meter.since } else { Instant::now() };
    session.put_deadline(meter.deadline);
    let status = reader.status();
    Outcome {
        started,
        ended,
        status,
        error: result.err().or_else(|| unexpected_status(prepared, status)),
        phases: meter.phases,
        response: collector.into_response(),
        stream: None,
    }
}

async fn first_hop<N: Network, S: Scope>(
    core: &HttpCore<N>,
    session: &Session<N>,
    prepared: &Prepared,
    scope: &S,
    reader: &mut Reader,
    collector: &mut Collector,
    meter: &mut Meter<'_>,
) -> Result<(), CallError> {
    let (mut request, route) = fill(core, prepared, scope)?;
    let mut connection = if let Some(connection) = idle(session, route.id).await {
        connection
    } else {
        if let Request::Scratch = request {
            request = Request::Owned(core.scratch.borrow().request.clone());
        }
        let (limit, end) = (prepared.connect_timeout, meter.deadline.at());
        let connection = Box::pin(connection::open(core, &route, limit, end, &mut meter.phases)).await?;
        meter.since = Instant::now();
        connection
    };
    let Connection::H1(io) = &mut connection;
    exchange::exchange(core, io, &request, reader, collector, meter).await?;
    if reader.keep_alive() {
        session.put(route.id, prepared.reuse, connection);
    }
    Ok(())
}

/// The request's bytes and where they go. Nothing may be awaited before bytes in the scratch buffer are written.
fn fill<'a, N: Network>(
    core: &HttpCore<N>,
    prepared: &'a Prepared,
    scope: &impl Scope,
) -> Result<(Request<'a>, Rc<Route>), CallError> {
    if let (Some(bytes), Target::Fixed(route)) = (prepared.wire.as_constant(), &prepared.target) {
        return Ok((Request::Constant(bytes), Rc::clone(route)));
    }
    let scratch = &mut *core.scratch.borrow_mut();
    scratch.clear();
    let Scratch { request, body, url } = scratch;
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
    prepared.wire.fill(scope, &given, request, body).map_err(|error| unfilled(&error))?;
    Ok((Request::Scratch, route))
}

/// The best idle connection of the session; those found dead are closed.
async fn idle<N: Network>(session: &Session<N>, route: u32) -> Option<Connection<N::Stream>> {
    loop {
        let mut connection = session.take(route)?;
        let Connection::H1(io) = &mut connection;
        if exchange::is_alive(io).await {
            return Some(connection);
        }
    }
}

fn unfilled(error: &FillError) -> CallError {
    CallError::new(ErrorKind::Template, error.to_string())
}

fn bad_url(what: &str) -> CallError {
    CallError::new(ErrorKind::Template, format!("the filled URL is no URL: {what}"))
}

fn unexpected_status(prepared: &Prepared, status: u16) -> Option<CallError> {
    let unexpected = !prepared.expect.contains(status);
    unexpected.then(|| CallError::new(ErrorKind::Status, format!("status {status}")))
}
