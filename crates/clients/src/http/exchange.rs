//! Hot: every HTTP/1.1 request passes here. No allocation, lock, log or timer in the steady state; one write and one
//! read system call, two clock reads.
//!
//! One request and its answer on an open HTTP/1.1 connection. Buffers belong to the core and are borrowed within one
//! poll only; what must survive a suspension (the rest of a request the kernel did not take, the beginning of a head)
//! is copied out, which is the exception.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyperscale_types::ErrorKind;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::core::{HttpCore, Scratch};
use super::deadline::Deadline;
use super::errors;
use super::head::Malformed;
use super::io::Io;
use super::network::Network;
use super::outcome::{CallError, Phases, Progress, add};
use super::reader::{Fed, Reader, Sink};

/// Where the bytes of a request are.
pub(crate) enum Request<'a> {
    /// Prepared once.
    Constant(&'a [u8]),
    /// In the core's scratch buffer, filled in this very poll.
    Scratch,
    /// Copied out, because the call had to wait before it could write.
    Owned(Vec<u8>),
}

/// What a call measures and who watches it.
pub(crate) struct Meter<'a> {
    /// Counted as it happens.
    pub(crate) progress: &'a Progress,
    /// Bounds the call.
    pub(crate) deadline: Deadline,
    /// Where the time went.
    pub(crate) phases: Phases,
    /// When the phase that is running began.
    pub(crate) since: Instant,
    /// A part of the answer is there.
    pub(crate) reading: bool,
}

/// Whether an idle connection is still good. Uses only what the runtime already knows about the socket: no system
/// call unless there is something to read, and then it is not good – the peer has closed it or spoken unasked.
pub(crate) async fn is_alive<S: AsyncRead + AsyncWrite + Unpin>(io: &mut Io<S>) -> bool {
    poll_fn(|cx| {
        let mut byte = [0];
        Poll::Ready(Pin::new(&mut *io).poll_read(cx, &mut ReadBuf::new(&mut byte)).is_pending())
    })
    .await
}

/// Sends a request and reads its answer.
pub(crate) async fn exchange<N: Network>(
    core: &HttpCore<N>,
    io: &mut Io<N::Stream>,
    request: &Request<'_>,
    reader: &mut Reader,
    sink: &mut impl Sink,
    meter: &mut Meter<'_>,
) -> Result<(), CallError> {
    write(&core.scratch, io, request, meter).await?;
    read(&core.read, io, reader, sink, meter).await
}

async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    scratch: &RefCell<Scratch>,
    io: &mut Io<S>,
    request: &Request<'_>,
    meter: &mut Meter<'_>,
) -> Result<(), CallError> {
    let mut at = 0;
    // What is left of a request in the scratch buffer when the kernel did not take it at once.
    let mut rest = Vec::new();
    poll_fn(|cx| {
        let result = match request {
            Request::Constant(bytes) => poll_write(io, bytes, &mut at, meter.progress, cx),
            Request::Owned(bytes) => poll_write(io, bytes, &mut at, meter.progress, cx),
            Request::Scratch if !rest.is_empty() => poll_write(io, &rest, &mut at, meter.progress, cx),
            Request::Scratch => {
                let scratch = scratch.borrow();
                let result = poll_write(io, &scratch.request, &mut at, meter.progress, cx);
                if result.is_pending() {
                    rest = scratch.request[at..].to_vec();
                    at = 0;
                }
                result
            }
        };
        match result {
            Poll::Pending if meter.deadline.poll_over(cx) => Poll::Ready(Err(errors::timeout())),
            other => other,
        }
    })
    .await?;
    meter.progress.count_request();
    let now = Instant::now();
    add(&mut meter.phases.write, now - meter.since);
    meter.since = now;
    meter.reading = false;
    Ok(())
}

/// Writes on until everything from `at` is with the kernel.
fn poll_write<S: AsyncRead + AsyncWrite + Unpin>(
    io: &mut Io<S>,
    bytes: &[u8],
    at: &mut usize,
    progress: &Progress,
    cx: &mut Context<'_>,
) -> Poll<Result<(), CallError>> {
    while *at < bytes.len() {
        match Pin::new(&mut *io).poll_write(cx, &bytes[*at..]) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(errors::closed_before_answer())),
            Poll::Ready(Ok(written)) => {
                *at += written;
                progress.count_sent(written);
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(errors::exchange(&error))),
        }
    }
    Pin::new(io).poll_flush(cx).map_err(|error| errors::exchange(&error))
}

async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    buffer: &RefCell<Box<[u8]>>,
    io: &mut Io<S>,
    reader: &mut Reader,
    sink: &mut impl Sink,
    meter: &mut Meter<'_>,
) -> Result<(), CallError> {
    poll_fn(|cx| {
        let mut buffer = buffer.borrow_mut();
        loop {
            let mut buf = ReadBuf::new(&mut buffer);
            match Pin::new(&mut *io).poll_read(cx, &mut buf) {
                Poll::Pending if meter.deadline.poll_over(cx) => return Poll::Ready(Err(errors::timeout())),
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(errors::exchange(&error))),
                Poll::Ready(Ok(())) => {}
            }
            match take(buf.filled(), reader, sink, meter) {
                Ok(false) => {}
                Ok(true) => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    })
    .await
}

/// Takes what one read gave, nothing at the end of the stream; whether the answer is complete.
fn take(
    bytes: &[u8],
    reader: &mut Reader,
    sink: &mut impl Sink,
    meter: &mut Meter<'_>,
) -> Result<bool, CallError> {
    let complete = if bytes.is_empty() {
        let begun = reader.has_begun();
        if !reader.end() {
            return Err(if begun { errors::closed_within_answer() } else { errors::closed_before_answer() });
        }
        true
    } else {
        meter.progress.count_received(bytes.len());
        reader.feed(bytes, sink).map_err(malformed)? != Fed::More
    };
    match (complete, meter.reading) {
        // All of the answer in one read: reading took no time of its own.
        (true, false) => {
            mark(meter);
            add(&mut meter.phases.read, Duration::ZERO);
        }
        (true, true) => mark(meter),
        (false, false) => {
            mark(meter);
            meter.reading = true;
        }
        (false, true) => {}
    }
    Ok(complete)
}

/// Ends the phase that is running.
fn mark(meter: &mut Meter<'_>) {
    let now = Instant::now();
    let phase = if meter.reading { &mut meter.phases.read } else { &mut meter.phases.wait };
    add(phase, now - meter.since);
    meter.since = now;
}

pub(crate) fn malformed(error: Malformed) -> CallError {
    let kind = if error == Malformed::BodyLength { ErrorKind::TooLarge } else { ErrorKind::Protocol };
    CallError::new(kind, error.to_string())
}
