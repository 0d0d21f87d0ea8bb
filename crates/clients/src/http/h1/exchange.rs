//! Hot: every HTTP/1.1 request passes here. No allocation, lock, log or timer in the steady state; one write and one
//! read system call, two clock reads.
//!
//! One request and its answer on an open HTTP/1.1 connection. Buffers belong to the core and are borrowed within one
//! poll only; what must survive a suspension (the rest of a request the kernel did not take, the beginning of a head)
//! is copied out, which is the exception.
//!
//! The answer is read while the request is still being written: a peer may answer before it has taken all of it, or
//! take no more until its answer is read (RFC 9112, section 9.5).

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyperscale_plan::model::http::Unprocessed;
use hyperscale_types::rule::Phase;
use hyperscale_types::{ErrorKind, Now, Phases};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::clock;
use crate::deadline::Deadline;
use crate::errors;
use crate::http::client::{HttpClient, Scratch};
use crate::http::h1::head::Malformed;
use crate::http::h1::reader::{Fed, Reader, Sink};
use crate::outcome::{CallError, Progress};
use crate::tls::io::Io;

/// Where the bytes of a request are.
pub(crate) enum Request<'a> {
    /// Prepared once.
    Constant(&'a [u8]),
    /// In the core's scratch buffer, filled in this very poll.
    Scratch,
    /// Copied out, because the call had to wait before it could write them.
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
    pub(crate) since: Now,
}

impl Meter<'_> {
    /// Ends a phase that has been running.
    #[inline]
    fn mark(&mut self, phase: Phase) {
        let now = clock::now();
        self.phases.add(phase, now.nanos_since(self.since));
        self.since = now;
    }
}

/// How far an exchange is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The kernel has not taken all of the request.
    Writing,
    /// Nothing of the answer is there.
    Waiting,
    /// A part of the answer is there, though the kernel has not taken all of the request.
    ReadingEarly,
    /// A part of the answer is there.
    Reading,
}

/// One request on its way, and its answer.
struct Exchange<'e, 'a, K> {
    reader: &'e mut Reader,
    sink: &'e mut K,
    meter: &'e mut Meter<'a>,
    stage: Stage,
    /// Bytes of the request that the kernel has taken.
    written: usize,
    /// Writing had to wait: the lease is compared again before it continues.
    resumes: bool,
}

/// Sends a request, of which so many bytes were written before, and reads its answer. `meter.since` was read in this very poll: it is what the lease is compared with.
pub(crate) async fn exchange(
    client: &HttpClient,
    io: &mut Io,
    request: &mut Request<'_>,
    written: usize,
    reader: &mut Reader,
    sink: &mut impl Sink,
    meter: &mut Meter<'_>,
) -> Result<(), CallError> {
    client.shared.lease.check(meter.since)?;
    let mut exchange = Exchange { reader, sink, meter, stage: Stage::Writing, written, resumes: false };
    poll_fn(|cx| exchange.poll(client, io, request, cx)).await
}

impl<K: Sink> Exchange<'_, '_, K> {
    #[inline]
    fn poll(
        &mut self,
        client: &HttpClient,
        io: &mut Io,
        request: &mut Request<'_>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), CallError>> {
        if matches!(self.stage, Stage::Writing | Stage::ReadingEarly) {
            if self.resumes {
                client.shared.lease.check_now()?;
            }
            match self.poll_write(&client.scratch, io, request, cx) {
                Poll::Pending => self.resumes = true,
                Poll::Ready(Ok(())) => self.sent(),
                Poll::Ready(Err(error)) => return Poll::Ready(self.last_words(client, io, error, cx)),
            }
        }
        match self.poll_read(&client.shared.read, io, cx) {
            Poll::Pending if self.meter.deadline.poll_over(cx) => Poll::Ready(Err(errors::timeout())),
            other => other,
        }
    }

    #[inline]
    fn poll_write(
        &mut self,
        scratch: &RefCell<Scratch>,
        io: &mut Io,
        request: &mut Request<'_>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), CallError>> {
        match request {
            Request::Constant(bytes) => self.poll_write_from(io, bytes, cx),
            Request::Owned(bytes) => self.poll_write_from(io, bytes, cx),
            Request::Scratch => {
                let scratch = scratch.borrow();
                let result = self.poll_write_from(io, &scratch.request, cx);
                if result.is_pending() {
                    *request = Request::Owned(scratch.request[self.written..].to_vec());
                    self.written = 0;
                }
                result
            }
        }
    }

    /// Writes on until everything is with the kernel.
    #[inline]
    fn poll_write_from(
        &mut self,
        io: &mut Io,
        bytes: &[u8],
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), CallError>> {
        while self.written < bytes.len() {
            match Pin::new(&mut *io).poll_write(cx, &bytes[self.written..]) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(errors::closed_before_answer())),
                Poll::Ready(Ok(taken)) => {
                    self.written += taken;
                    self.meter.progress.count_sent(taken);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(errors::exchange(&error))),
            }
        }
        Pin::new(io).poll_flush(cx).map_err(|error| errors::exchange(&error))
    }

    /// All of the request is with the kernel.
    #[inline]
    fn sent(&mut self) {
        self.meter.progress.count_request();
        if self.stage == Stage::Writing {
            self.meter.mark(Phase::Write);
            self.stage = Stage::Waiting;
        } else {
            self.stage = Stage::Reading;
        }
    }

    /// Nothing can be written any more: the answer counts if all of it is already there.
    #[cold]
    fn last_words(
        &mut self,
        client: &HttpClient,
        io: &mut Io,
        error: CallError,
        cx: &mut Context<'_>,
    ) -> Result<(), CallError> {
        match self.poll_read(&client.shared.read, io, cx) {
            Poll::Ready(Ok(())) => Ok(()),
            Poll::Ready(Err(_)) | Poll::Pending if self.written == 0 && !self.resumes => {
                Err(CallError { unprocessed: Some(Unprocessed::Stale), ..error })
            }
            Poll::Ready(Err(_)) | Poll::Pending => Err(error),
        }
    }

    #[inline]
    fn poll_read(
        &mut self,
        buffer: &RefCell<Box<[u8]>>,
        io: &mut Io,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), CallError>> {
        let mut buffer = buffer.borrow_mut();
        loop {
            let mut buf = ReadBuf::new(&mut buffer);
            match Pin::new(&mut *io).poll_read(cx, &mut buf) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.broken(&error, io))),
                Poll::Ready(Ok(())) => {}
            }
            match self.take(buf.filled(), io) {
                Ok(false) => {}
                Ok(true) => return Poll::Ready(Ok(())),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Takes what one read gave, nothing at the end of the stream; whether the answer is complete.
    #[inline]
    fn take(&mut self, bytes: &[u8], io: &Io) -> Result<bool, CallError> {
        if bytes.is_empty() {
            self.end_of_stream(io)?;
        } else {
            self.meter.progress.count_received(bytes.len());
            if self.reader.feed(bytes, self.sink).map_err(malformed)? == Fed::More {
                self.goes_on();
                return Ok(false);
            }
        }
        self.complete();
        Ok(true)
    }

    #[cold]
    fn end_of_stream(&mut self, io: &Io) -> Result<(), CallError> {
        let begun = self.reader.has_begun();
        match self.reader.end() {
            true => Ok(()),
            false if begun => Err(errors::closed_within_answer()),
            false => Err(CallError { unprocessed: self.unprocessed(io), ..errors::closed_before_answer() }),
        }
    }

    /// Nothing can be read any more. TLS without its closing alert ends like this, too.
    #[cold]
    fn broken(&self, error: &io::Error, io: &Io) -> CallError {
        let ended = error.kind() == io::ErrorKind::UnexpectedEof && !self.reader.has_begun();
        let unprocessed = if ended { self.unprocessed(io) } else { None };
        CallError { unprocessed, ..errors::exchange(error) }
    }

    /// Whether the peer closed the connection before it had any of the request. Each segment tells what its sender has
    /// (RFC 9293, section 3.4), so a close that came without an acknowledgement was decided on before. Of a request whose
    /// writing had to wait this is not known.
    fn unprocessed(&self, io: &Io) -> Option<Unprocessed> {
        let nothing_arrived = self.written == 0 || io.unacknowledged() >= self.written;
        (nothing_arrived && !self.resumes).then_some(Unprocessed::Stale)
    }

    /// A part of the answer is there.
    fn goes_on(&mut self) {
        match self.stage {
            Stage::Writing => {
                self.meter.mark(Phase::Write);
                self.meter.phases.add(Phase::Wait, 0);
                self.stage = Stage::ReadingEarly;
            }
            Stage::Waiting => {
                self.meter.mark(Phase::Wait);
                self.stage = Stage::Reading;
            }
            Stage::ReadingEarly | Stage::Reading => {}
        }
    }

    /// All of the answer is there.
    #[inline]
    fn complete(&mut self) {
        match self.stage {
            // All of it in one read: reading took no time of its own.
            Stage::Waiting => {
                self.meter.mark(Phase::Wait);
                self.meter.phases.add(Phase::Read, 0);
            }
            Stage::Reading => self.meter.mark(Phase::Read),
            Stage::Writing | Stage::ReadingEarly => self.complete_early(),
        }
    }

    /// All of the answer is there, though not all of the request was taken: it counts as sent, for it was answered, and
    /// the connection is of no use any more.
    #[cold]
    fn complete_early(&mut self) {
        if self.stage == Stage::Writing {
            self.goes_on();
        }
        self.meter.mark(Phase::Read);
        self.meter.progress.count_request();
        self.reader.give_up_connection();
    }
}

pub(crate) fn malformed(error: Malformed) -> CallError {
    let kind = if error == Malformed::BodyLength { ErrorKind::TooLarge } else { ErrorKind::Protocol };
    CallError::new(kind, error.to_string())
}
