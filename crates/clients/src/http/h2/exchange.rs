//! Hot: one request and its answer on a stream of its own.
//!
//! The body is sent while the answer is read: a peer may answer before it has everything, and may never want the rest.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::h2::client::ResponseFuture;
use ::h2::{RecvStream, SendStream};
use bytes::Bytes;

use super::tap::Ledger;
use super::{Answer, H2Error, Next, Traffic};

/// Bytes of a stream that were read and are not given back to the peer's windows yet. Small bodies cost nothing.
const HELD_BACK_MAX: usize = 4 << 10;

/// An exchange that has begun. Its drop settles the account, and resets the stream if it is not complete.
pub(super) struct Exchange<'a, A: Answer> {
    ledger: &'a RefCell<Ledger>,
    stream: u32,
    answer: &'a mut A,
    upload: Option<Upload>,
    download: Download,
}

/// What of the request is still to be sent.
struct Upload {
    stream: SendStream<Bytes>,
    rest: Bytes,
}

/// Where reading the answer is.
enum Download {
    Head(ResponseFuture),
    /// The body, and its bytes that were read but not given back to the peer's window.
    Body(RecvStream, usize),
}

impl<'a, A: Answer> Exchange<'a, A> {
    pub(super) fn new(
        ledger: &'a RefCell<Ledger>,
        response: ResponseFuture,
        stream: SendStream<Bytes>,
        body: Bytes,
        answer: &'a mut A,
    ) -> Self {
        let id = stream.stream_id().as_u32();
        ledger.borrow_mut().open(id);
        let upload = (!body.is_empty()).then(|| {
            let mut upload = Upload { stream, rest: body };
            upload.stream.reserve_capacity(upload.rest.len());
            upload
        });
        Exchange { ledger, stream: id, answer, upload, download: Download::Head(response) }
    }

    /// Runs to the end of the answer.
    pub(super) async fn run(mut self) -> Result<Traffic, H2Error> {
        let result = poll_fn(|cx| self.poll(cx)).await;
        let ledger = self.ledger.borrow();
        let traffic = ledger.read(self.stream);
        result.map(|()| traffic).map_err(|error| error.after(&traffic, ledger.is_going_away()))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), H2Error>> {
        if let Some(upload) = &mut self.upload
            && upload.poll(cx).is_ready()
        {
            self.upload = None;
        }
        loop {
            let next = match &mut self.download {
                Download::Head(response) => {
                    let (head, body) = ready!(Pin::new(response).poll(cx))?.into_parts();
                    self.download = Download::Body(body, 0);
                    self.answer.head(head.status, &head.headers)
                }
                Download::Body(body, read) => match ready!(body.poll_data(cx)) {
                    None => return Poll::Ready(Ok(())),
                    Some(bytes) => {
                        let bytes = bytes?;
                        release(body, read, bytes.len())?;
                        self.answer.body(&bytes)
                    }
                },
            };
            if next == Next::Stop {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<A: Answer> Drop for Exchange<'_, A> {
    fn drop(&mut self) {
        let traffic = self.ledger.borrow_mut().close(self.stream);
        self.answer.account(&traffic);
    }
}

impl Upload {
    /// Sends as much as the peer's window takes. Ready when everything is queued or the peer wants no more; whether
    /// that is a failure is for the answer to say.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let room = match self.stream.capacity() {
                0 => match ready!(self.stream.poll_capacity(cx)) {
                    Some(Ok(room)) => room,
                    Some(Err(_)) | None => return Poll::Ready(()),
                },
                room => room,
            };
            let part = self.rest.split_to(room.min(self.rest.len()));
            let last = self.rest.is_empty();
            if self.stream.send_data(part, last).is_err() || last {
                return Poll::Ready(());
            }
        }
    }
}

/// Gives bytes back to the windows of the stream and of the connection, of which `h2` tells the peer when half a window
/// has gathered. What an ended stream still holds goes back with it; what all others hold back must stay far below half
/// of the connection's window, or streams that are served in turn all stall.
fn release(body: &mut RecvStream, read: &mut usize, bytes: usize) -> Result<(), H2Error> {
    *read += bytes;
    if *read >= HELD_BACK_MAX {
        body.flow_control().release_capacity(*read)?;
        *read = 0;
    }
    Ok(())
}
