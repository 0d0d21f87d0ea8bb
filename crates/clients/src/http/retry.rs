//! Sending a request again that the server provably has not processed, if the plan says so. The cold part of a call.
//!
//! | cause | proof |
//! | --- | --- |
//! | `goaway` | the peer named the last stream it processes, and ours came after it; or ours was never written |
//! | `refused_stream` | the peer reset the stream with `REFUSED_STREAM`, and no byte of a response came |
//! | `stale` | a kept connection was closed, no byte of a response came, and the peer's kernel had acknowledged no byte of the request (HTTP/1.1), or none of it was written |
//!
//! No proof depends on the method or on what is in the body. A connection that is reset instead of closed proves nothing:
//! the peer may have read the request before.

use hyperscale_plan::model::http::Unprocessed;
use hyperscale_plan::template::Scope;
use hyperscale_types::rule::Phase;

use crate::clock;
use crate::http::call::{self, Flight, Sent};
use crate::http::dispatch::{self, Dispatch};
use crate::http::h1::reader::Reader;
use crate::http::route::Route;
use crate::http::route::connection::Connection;
use crate::outcome::CallError;

/// Sends the request again while `sent` says that it was not processed and the plan allows it.
pub(crate) async fn retry<'a, S: Scope>(
    flight: &mut Flight<'a>,
    dispatch: &mut Dispatch<'a>,
    mut sent: Result<Sent, CallError>,
    scope: &S,
) -> Result<Sent, CallError> {
    while let Err(error) = &sent
        && let Some(cause) = error.unprocessed
        && is_allowed(flight, cause)
    {
        begin_again(flight, dispatch, cause, scope)?;
        sent = call::send(flight, dispatch).await;
    }
    sent
}

/// Keeps a connection that takes further streams, for one that it refused.
#[cold]
pub(crate) fn keep(flight: &Flight<'_>, route: &Route, connection: Connection, error: &CallError) {
    let Flight { client, session, prepared, .. } = flight;
    if error.unprocessed == Some(Unprocessed::RefusedStream) && route.shared.is_none() {
        session.put(route.id, prepared.reuse, connection, client.routes.len());
    }
}

/// All hops of a call share its retries. A connection that was opened for the request is not stale: a peer that closes
/// every new connection is not asked again.
fn is_allowed(flight: &Flight<'_>, cause: Unprocessed) -> bool {
    let Some(retry) = &flight.prepared.limits.retry else { return false };
    let is_stale = cause == Unprocessed::Stale;
    retry.on.contains(&cause) && flight.meter.progress.retries() < retry.max && !(is_stale && flight.opened)
}

/// Puts the call back to where its request had not left. What was filled for this request only is sent again as it was;
/// what can be filled again is. The time since the last phase was spent waiting for a response.
fn begin_again<'a>(
    flight: &mut Flight<'a>,
    dispatch: &mut Dispatch<'a>,
    cause: Unprocessed,
    scope: &impl Scope,
) -> Result<(), CallError> {
    let Flight { client, session, prepared, .. } = *flight;
    client.shared.lease.check_now()?;
    flight.meter.progress.count_retry();
    if cause == Unprocessed::Stale {
        // What else is kept there has been idle for longer.
        session.forget(dispatch.route.id);
    }
    let now = clock::now();
    flight.meter.phases.add(Phase::Wait, now.nanos_since(flight.meter.since));
    flight.meter.since = now;
    flight.opened = false;
    flight.collector.reset();
    let is_head = dispatch.message.as_ref().map_or(prepared.is_head, |message| message.0.is_head());
    flight.reader = Reader::new(is_head, prepared.limits.max_body);
    if dispatch.message.is_none() {
        *dispatch = dispatch::fill(client, session, prepared, scope, now)?;
    }
    Ok(())
}
