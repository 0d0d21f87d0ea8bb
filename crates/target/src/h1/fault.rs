//! Faults as HTTP/1 can commit them.

use super::head::Manner;
use super::write::{Next, write_header, write_status_line};
use super::{Connection, Hangup};
use crate::reply::Fault;
use crate::socket::Socket;

/// What [`Fault::Garbage`] sends: no version of HTTP starts like this.
const GARBAGE: &[u8] = b"\x00\xff\xfenot http at all\r\n\r\n\x07\x07";

/// Length [`Fault::CloseMidBody`] announces, and how much of it is sent.
const ANNOUNCED_BYTES: &str = "1000";
const SENT_BYTES: &[u8] = b"0123456789";

/// Longest single header of [`Fault::HugeHead`].
const HUGE_HEADER_BYTES: usize = 4096;

impl<S: Socket> Connection<S> {
    /// Misbehaves; most faults end the connection.
    pub(super) async fn commit(&mut self, fault: Fault, manner: Manner) -> Result<Next, Hangup> {
        match fault {
            Fault::Reset => {
                self.socket.reset_on_close();
                Err(Hangup)
            }
            Fault::Close => Err(Hangup),
            Fault::CloseMidBody => self.close_mid_body().await,
            Fault::Garbage => {
                self.out.extend_from_slice(GARBAGE);
                self.flush_and_hang_up().await
            }
            Fault::SlowHead(pause) => self.slow_head(pause, manner).await,
            Fault::HugeHead(bytes) => self.huge_head(bytes, manner).await,
            Fault::NoLength => Ok(self.no_length()),
            Fault::CloseAfter => {
                self.count_status(200);
                let reply = self.context.shared.site.index();
                self.send(&reply, manner).await?;
                self.flush_and_hang_up().await
            }
            Fault::EarlyHints => self.early_hints(manner).await,
        }
    }

    async fn flush_and_hang_up(&mut self) -> Result<Next, Hangup> {
        self.flush().await?;
        Err(Hangup)
    }

    async fn close_mid_body(&mut self) -> Result<Next, Hangup> {
        self.count_status(200);
        write_status_line(&mut self.out, 200);
        write_header(&mut self.out, "content-length", ANNOUNCED_BYTES);
        self.out.extend_from_slice(b"\r\n");
        self.out.extend_from_slice(SENT_BYTES);
        self.flush_and_hang_up().await
    }

    async fn slow_head(&mut self, pause: std::time::Duration, manner: Manner) -> Result<Next, Hangup> {
        self.count_status(200);
        self.flush().await?;
        let reply = self.context.shared.site.index();
        let next = self.send(&reply, manner).await?;
        let answer = std::mem::take(&mut self.out);
        let head = answer.windows(4).position(|end| end == b"\r\n\r\n").map_or(answer.len(), |end| end + 4);
        for byte in &answer[..head] {
            self.out.push(*byte);
            self.flush().await?;
            tokio::time::sleep(pause).await;
        }
        self.out.extend_from_slice(&answer[head..]);
        Ok(next)
    }

    async fn huge_head(&mut self, bytes: usize, manner: Manner) -> Result<Next, Hangup> {
        self.count_status(200);
        let mut reply = self.context.shared.site.index();
        let padding = "x".repeat(HUGE_HEADER_BYTES);
        for _ in 0..bytes.div_ceil(HUGE_HEADER_BYTES) {
            reply = reply.header("x-padding", padding.as_str());
        }
        self.send(&reply, manner).await
    }

    fn no_length(&mut self) -> Next {
        self.count_status(200);
        write_status_line(&mut self.out, 200);
        write_header(&mut self.out, "content-type", "text/plain");
        self.out.extend_from_slice(b"\r\nthis body ends with the connection\n");
        Next::Close
    }

    async fn early_hints(&mut self, manner: Manner) -> Result<Next, Hangup> {
        write_status_line(&mut self.out, 103);
        write_header(&mut self.out, "link", "</style.css>; rel=preload; as=style");
        self.out.extend_from_slice(b"\r\n");
        self.flush().await?;
        self.count_status(200);
        let reply = self.context.shared.site.index();
        self.send(&reply, manner).await
    }
}
