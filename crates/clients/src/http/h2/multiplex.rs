//! A call's exchange on an HTTP/2 connection.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use http::{HeaderMap, StatusCode};
use hyperscale_types::Now;
use hyperscale_types::rule::Phase;

use crate::errors;
use crate::http::call::Flight;
use crate::http::h1::exchange::{Meter, malformed};
use crate::http::h1::head::Malformed;
use crate::http::h1::reader::{Flow, Sink};
use crate::http::h2::{Answer, H2Connection, H2Error, Next, Parts, Traffic};
use crate::http::response::collect::Collector;
use crate::http::route::connection::Connection;
use crate::outcome::{CallError, Progress};

/// What an HTTP/2 error means for a call.
pub(crate) fn h2_error(error: H2Error) -> CallError {
    CallError { kind: error.kind, message: error.message, unprocessed: error.unprocessed }
}

/// A new connection that is to be shared.
pub(crate) fn only_h2(connection: Connection) -> Result<H2Connection, CallError> {
    match connection {
        Connection::H2(connection) => {
            Ok(Rc::into_inner(connection).expect("nobody else has a new connection"))
        }
        Connection::H1(_) => Err(CallError::protocol("the peer does not speak HTTP/2")),
    }
}

/// Sends a request and reads its answer.
pub(crate) async fn exchange(
    connection: &H2Connection,
    (head, body): Parts,
    flight: &mut Flight<'_>,
) -> Result<(), CallError> {
    let Flight { prepared, collector, meter, reader, .. } = flight;
    let Meter { progress, deadline, .. } = &mut *meter;
    let mut answer = Adapter {
        collector,
        progress,
        traffic: Traffic::default(),
        status: 0,
        body_left: prepared.limits.max_body,
        error: None,
    };
    let result = {
        let mut exchange = pin!(connection.exchange(head, body, &mut answer));
        poll_fn(|cx| match exchange.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(result.map(drop).map_err(h2_error)),
            Poll::Pending if deadline.poll_over(cx) => Poll::Ready(Err(errors::timeout())),
            Poll::Pending => Poll::Pending,
        })
        .await
    };
    let Adapter { traffic, status, error, .. } = answer;
    measure(&traffic, meter);
    reader.set_answer(status, connection.is_open());
    match error {
        Some(error) => Err(malformed(error)),
        None => result,
    }
}

/// Phases from what the wire saw. A peer may answer before it has the whole request.
fn measure(traffic: &Traffic, meter: &mut Meter<'_>) {
    let mut until = |phase: Phase, at: Option<Now>| {
        if let Some(at) = at {
            let at = at.max(meter.since);
            meter.phases.add(phase, at.nanos_since(meter.since));
            meter.since = at;
        }
    };
    until(Phase::Write, traffic.sent.into_iter().chain(traffic.first).min());
    until(Phase::Wait, traffic.first);
    until(Phase::Read, traffic.ended);
}

/// Hands an answer to the collector and counts.
struct Adapter<'a, 'c> {
    collector: &'a mut Collector<'c>,
    progress: &'a Progress,
    traffic: Traffic,
    status: u16,
    body_left: u64,
    error: Option<Malformed>,
}

impl Answer for Adapter<'_, '_> {
    #[inline]
    fn since(&self) -> Now {
        self.progress.started().unwrap_or(Now::NEVER)
    }

    fn head(&mut self, status: StatusCode, fields: &HeaderMap) -> Next {
        self.status = status.as_u16();
        self.collector
            .head(self.status, fields.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        Next::Read
    }

    fn body(&mut self, bytes: &[u8]) -> Next {
        let Some(left) = self.body_left.checked_sub(bytes.len() as u64) else {
            self.error = Some(Malformed::BodyLength);
            return Next::Stop;
        };
        self.body_left = left;
        match self.collector.body(bytes) {
            Flow::Read => Next::Read,
            Flow::Stop => Next::Stop,
        }
    }

    fn account(&mut self, traffic: &Traffic) {
        self.traffic = *traffic;
        self.progress.count_sent(traffic.bytes_sent as usize);
        self.progress.count_received(traffic.bytes_received as usize);
        // One that was answered counts as sent, though the peer did not want all of it.
        if traffic.sent.is_some() || traffic.first.is_some() {
            self.progress.count_request();
        }
    }
}
