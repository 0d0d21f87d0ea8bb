//! The body of an event stream: frames of the backend, comments in silence, an end when the server stops.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Interval, interval_at};

use super::stopped;
use crate::event::EventFrame;

/// What is sent in silence: a comment, which readers skip.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// The body of an event stream.
pub(super) struct EventBody {
    frames: mpsc::Receiver<EventFrame>,
    silence: Interval,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_over: bool,
}

impl EventBody {
    pub(super) fn new(
        frames: mpsc::Receiver<EventFrame>,
        keep_alive: Duration,
        mut stop: watch::Receiver<bool>,
    ) -> Self {
        let silence = interval_at(Instant::now() + keep_alive, keep_alive);
        Self { frames, silence, stop: Box::pin(async move { stopped(&mut stop).await }), is_over: false }
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.is_over {
            return Poll::Ready(None);
        }
        match this.frames.poll_recv(context) {
            Poll::Ready(Some(frame)) => {
                this.is_over = frame.is_final;
                this.silence.reset();
                return Poll::Ready(Some(Ok(Frame::data(frame.bytes))));
            }
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        if this.stop.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        match this.silence.poll_tick(context) {
            Poll::Ready(_) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(KEEP_ALIVE))))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

impl fmt::Debug for EventBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EventBody")
    }
}
