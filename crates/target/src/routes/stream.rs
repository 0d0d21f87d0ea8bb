//! Bodies that come piece by piece: chunks, server-sent events, slow drips.

use std::time::Duration;

use crate::options::{BODY_SIZE_MAX, DELAY_MAX};
use crate::reply::{Body, PieceKind, Pieces, Refusal, Reply};
use crate::request::{Request, parse_number};

/// Pieces one body may have; with the longest interval that is still only a matter of the client's patience.
const PIECES_MAX: u64 = 1_000_000;

/// `/chunked/N?interval=MS&trailers`: N chunks, with a trailer if asked for.
pub(super) fn chunked(count: &str, request: &Request) -> Result<Reply, Refusal> {
    let pieces = Pieces {
        count: parse_number("chunked", count, PIECES_MAX)?,
        interval: interval(request)?,
        kind: PieceKind::Lines,
        trailers: request.param("trailers").is_some(),
    };
    Ok(Reply::new(200, Body::Pieces(pieces)).header("content-type", "text/plain"))
}

/// `/sse?events=N&interval=MS`: N events.
pub(super) fn events(request: &Request) -> Result<Reply, Refusal> {
    let pieces = Pieces {
        count: request.number("events", 10, PIECES_MAX)?,
        interval: interval(request)?,
        kind: PieceKind::Events,
        trailers: false,
    };
    Ok(Reply::new(200, Body::Pieces(pieces))
        .header("content-type", "text/event-stream")
        .header("cache-control", "no-store"))
}

/// `/drip?bytes=N&chunks=K&interval=MS`: a body of known length in K writes.
pub(super) fn drip(request: &Request) -> Result<Reply, Refusal> {
    let total = request.number("bytes", 100, BODY_SIZE_MAX)?;
    let pieces = Pieces {
        count: request.number("chunks", 10, PIECES_MAX)?.max(1),
        interval: interval(request)?,
        kind: PieceKind::Drip(total),
        trailers: false,
    };
    Ok(Reply::new(200, Body::Pieces(pieces)).header("content-type", "application/octet-stream"))
}

fn interval(request: &Request) -> Result<Duration, Refusal> {
    request.number("interval", 0, DELAY_MAX.as_millis() as u64).map(Duration::from_millis)
}
