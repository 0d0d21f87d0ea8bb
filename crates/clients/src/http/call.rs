//! Hot: one call, from the prepared request to the outcome. What is not needed for every request – opening connections,
//! HTTP/2, redirects, cookies to keep – is boxed away, so that the future of a waiting call stays small.

use hyperscale_plan::template::Scope;
use hyperscale_types::{ErrorKind, Now, Phases};
use tokio::time::timeout_at;

use crate::clock;
use crate::errors;
use crate::http::client::HttpClient;
use crate::http::dispatch::{Dispatch, extra_of, fill, fill_message, unfilled};
use crate::http::follow;
use crate::http::h1::exchange::{self, Meter, Request};
use crate::http::h1::reader::Reader;
use crate::http::h1::write;
use crate::http::h2::{self, Parts, multiplex};
use crate::http::request::extra::{self, Extra};
use crate::http::request::message::Message;
use crate::http::request::prepare::Prepared;
use crate::http::response::collect::Collector;
use crate::http::retry;
use crate::http::route::Route;
use crate::http::route::connection::{self, Attempt, Connection, UnderWay};
use crate::http::session::Session;
use crate::known::Nothing;
use crate::outcome::{CallError, Outcome, Progress};

/// The state of a call that its hops share.
pub(crate) struct Flight<'a> {
    pub(crate) client: &'a HttpClient,
    pub(crate) session: &'a Session,
    pub(crate) prepared: &'a Prepared,
    pub(crate) reader: Reader,
    pub(crate) collector: Collector<'a>,
    pub(crate) meter: Meter<'a>,
    /// An earlier hop was answered.
    pub(crate) answered: bool,
    /// The connection in use was opened for the request in hand.
    pub(crate) opened: bool,
}

/// Performs one call. Dropping the future cancels it: the connection in use is closed, `progress` tells how far it got.
pub(crate) async fn call<S: Scope>(
    client: &HttpClient,
    session: &Session,
    prepared: &Prepared,
    scope: &S,
    progress: &Progress,
) -> Outcome {
    let started = clock::now();
    progress.start(started);
    let deadline = session.deadline(started, prepared.end(started));
    let mut flight = Flight {
        client,
        session,
        prepared,
        reader: Reader::new(prepared.is_head, prepared.limits.max_body),
        collector: Collector::new(prepared, started),
        meter: Meter { progress, deadline, phases: Phases::default(), since: started },
        answered: false,
        opened: false,
    };
    let result = match fill(client, session, prepared, scope, started) {
        Err(error) => Err(error),
        Ok(mut dispatch) => match send(&mut flight, &mut dispatch).await {
            Ok(Sent::Answered) if !flight.collector.has_found() => Ok(()),
            Err(error) if prepared.limits.retry.is_none() => Err(error),
            sent => Box::pin(follow::follow(&mut flight, dispatch, sent, scope)).await,
        },
    };
    conclude(flight, started, result)
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It was sent, and its answer read.
    Answered,
    /// Nothing was sent: it was written for HTTP/1.1, and the connection wants it in parts.
    WantsParts,
}

/// Sends one request and reads its answer.
pub(crate) async fn send(flight: &mut Flight<'_>, dispatch: &mut Dispatch<'_>) -> Result<Sent, CallError> {
    // Bytes of the request that were written with opening the connection.
    let mut written = 0;
    let mut connection = match idle(flight.session, &dispatch.route) {
        Some(connection) => connection,
        None => match attempt(flight, dispatch)? {
            Attempt::Open(connection, taken) => {
                written = taken;
                connection
            }
            Attempt::NotOpen(under_way) => Box::pin(open(flight, dispatch, under_way)).await?,
        },
    };
    match &mut connection {
        Connection::H1(io) => {
            let Flight { client, reader, collector, meter, .. } = flight;
            if let Some(message) = &dispatch.message {
                write_message(client, &dispatch.route, message)?;
                dispatch.request = Request::Scratch;
            }
            exchange::exchange(client, io, &mut dispatch.request, written, reader, collector, meter).await?;
        }
        Connection::H2(shared) => {
            let Some(request) = h2_request(flight.prepared, dispatch)? else {
                flight.session.put(
                    dispatch.route.id,
                    flight.prepared.reuse,
                    connection,
                    flight.client.routes.len(),
                );
                return Ok(Sent::WantsParts);
            };
            if let Err(error) = Box::pin(multiplex::exchange(shared, request, flight)).await {
                retry::keep(flight, &dispatch.route, connection, &error);
                return Err(error);
            }
        }
    }
    if flight.reader.keep_alive() && dispatch.route.shared.is_none() {
        if written > 0 {
            connection.prepare_to_keep();
        }
        flight.session.put(dispatch.route.id, flight.prepared.reuse, connection, flight.client.routes.len());
    }
    Ok(Sent::Answered)
}

/// Sends a request in parts that was not sent in HTTP/1.1 form.
pub(crate) async fn send_parts<S: Scope>(
    flight: &mut Flight<'_>,
    dispatch: &mut Dispatch<'_>,
    scope: &S,
) -> Result<Sent, CallError> {
    let Flight { client, session, prepared, .. } = *flight;
    let message = fill_message(client, prepared, scope)?;
    let now_s = client.shared.unix_s(clock::now());
    let call = extra::Call { session, prepared, route: &dispatch.route, now_s };
    let extra = extra_of(&call, &message, scope)?;
    dispatch.message = Some(Box::new((message, extra)));
    flight.meter.since = clock::now();
    send(flight, dispatch).await
}

/// Writes a request in parts into the scratch buffer. Nothing may be awaited before it is sent.
fn write_message(
    client: &HttpClient,
    route: &Route,
    (message, extra): &(Message, Extra),
) -> Result<(), CallError> {
    let scratch = &mut *client.scratch.borrow_mut();
    scratch.clear();
    write::write(message, route, extra, &mut scratch.request)
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

/// Opens a connection and writes the request to it, as far as that goes without waiting.
fn attempt(flight: &mut Flight<'_>, dispatch: &Dispatch<'_>) -> Result<Attempt, CallError> {
    let Flight { client, meter, .. } = flight;
    let scratch = client.scratch.borrow();
    let request = match (&dispatch.message, &dispatch.request) {
        (Some(_), _) => return Ok(Attempt::NotOpen(None)),
        (None, Request::Constant(bytes)) => &bytes[..],
        (None, Request::Owned(bytes)) => &bytes[..],
        (None, Request::Scratch) => &scratch.request,
    };
    let attempt = connection::attempt(client, &dispatch.route, request, meter)?;
    flight.opened |= matches!(attempt, Attempt::Open(..));
    Ok(attempt)
}

/// A connection that is not at hand: one of those that all share, or a new one. A filled request is copied first,
/// because others fill theirs meanwhile.
async fn open(
    flight: &mut Flight<'_>,
    dispatch: &mut Dispatch<'_>,
    under_way: Option<UnderWay>,
) -> Result<Connection, CallError> {
    let Flight { client, session, prepared, meter, .. } = flight;
    if let (Request::Scratch, None) = (&dispatch.request, &dispatch.message) {
        dispatch.request = Request::Owned(client.scratch.borrow().request.clone());
    }
    let route = &dispatch.route;
    let limit = prepared.limits.connect_timeout;
    let Meter { deadline, phases, .. } = &mut *meter;
    let dial = async || connection::open(client, session, route, under_way, limit, deadline, phases).await;
    let connection = match &route.shared {
        None => dial().await?,
        Some(pool) => {
            let end = deadline.instant(clock::now());
            let shared = pool.connection(async || multiplex::only_h2(dial().await?));
            Connection::H2(Box::pin(timeout_at(end, shared)).await.map_err(|_| errors::timeout())??)
        }
    };
    route.opened(matches!(connection, Connection::H2(_)));
    meter.since = clock::now();
    flight.opened = true;
    Ok(connection)
}

/// The request as HTTP/2 wants it; `None` if there are no parts that it could be made from. A constant one is turned
/// once.
fn h2_request(prepared: &Prepared, dispatch: &Dispatch<'_>) -> Result<Option<Parts>, CallError> {
    let turn = |message: &Message, extra: &Extra| {
        h2::request(message, &message.url()?, extra).map_err(|error| CallError::protocol(error.to_string()))
    };
    match (&dispatch.message, &dispatch.request) {
        (Some(message), _) => turn(&message.0, &message.1).map(Some),
        (None, Request::Scratch | Request::Owned(_)) => Ok(None),
        (None, Request::Constant(_)) => {
            if let Some(parts) = prepared.h2.get() {
                return Ok(Some(parts.clone()));
            }
            let filled = prepared.template.fill(&Nothing, None, &dispatch.route);
            let parts = turn(&filled.map_err(|error| unfilled(&error))?, &Extra::default())?;
            Ok(Some(prepared.h2.get_or_init(|| parts).clone()))
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
        Err(error)
            if error.kind == ErrorKind::Timeout && status.is_some() && prepared.stream_time().is_some() =>
        {
            (false, None)
        }
        Err(error) => (false, Some(error)),
    };
    let error = error.or_else(|| unexpected(prepared, status));
    flight.session.put_deadline(flight.meter.deadline);
    let (response, stream) = flight.collector.finish(ended, complete);
    let answered = flight.answered || status.is_some();
    Outcome { started, ended, answered, status, error, phases: flight.meter.phases, response, stream }
}

/// The error of a response whose status the plan does not expect.
#[inline]
fn unexpected(prepared: &Prepared, status: Option<u16>) -> Option<CallError> {
    let status = status.filter(|status| !prepared.expect.contains(*status))?;
    Some(CallError::new(ErrorKind::Status, format!("status {status}")))
}
