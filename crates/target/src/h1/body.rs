//! Request bodies: read to their end, kept only if the route asks for them.

use bytes::Buf;
use httparse::Status;

use super::head::Framing;
use super::{Connection, HEAD_BYTES_MAX, Hangup};
use crate::socket::Socket;

/// Bytes of a body that is kept; longer ones are answered with 413. Bodies that are skipped have no limit.
const KEPT_BYTES_MAX: u64 = 16 << 20;

/// Why a body could not be read.
#[derive(Debug)]
pub(super) enum BodyError {
    Hangup(Hangup),
    /// Broken chunks.
    Malformed,
    /// Larger than what is kept.
    TooLarge,
}

impl From<Hangup> for BodyError {
    fn from(hangup: Hangup) -> Self {
        Self::Hangup(hangup)
    }
}

/// Where the bytes of a body go.
struct Sink {
    kept: Option<Vec<u8>>,
}

impl Sink {
    fn take(&mut self, bytes: &[u8]) -> Result<(), BodyError> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        if kept.len() as u64 + bytes.len() as u64 > KEPT_BYTES_MAX {
            return Err(BodyError::TooLarge);
        }
        kept.extend_from_slice(bytes);
        Ok(())
    }
}

impl<S: Socket> Connection<S> {
    /// Reads the body that follows a head; empty unless `keep`.
    pub(super) async fn read_body(&mut self, framing: Framing, keep: bool) -> Result<Vec<u8>, BodyError> {
        let mut sink = Sink { kept: keep.then(Vec::new) };
        match framing {
            Framing::Length(length) => self.read_exactly(length, &mut sink).await?,
            Framing::Chunked => self.read_chunks(&mut sink).await?,
        }
        Ok(sink.kept.unwrap_or_default())
    }

    async fn read_exactly(&mut self, mut missing: u64, sink: &mut Sink) -> Result<(), BodyError> {
        while missing > 0 {
            if self.inbox.is_empty() {
                self.fill().await?;
            }
            let count = missing.min(self.inbox.len() as u64) as usize;
            sink.take(&self.inbox[..count])?;
            self.inbox.advance(count);
            missing -= count as u64;
        }
        Ok(())
    }

    async fn read_chunks(&mut self, sink: &mut Sink) -> Result<(), BodyError> {
        loop {
            let size = self.read_chunk_size().await?;
            if size == 0 {
                return self.read_trailers().await;
            }
            self.read_exactly(size, sink).await?;
            self.read_line_end().await?;
        }
    }

    async fn read_chunk_size(&mut self) -> Result<u64, BodyError> {
        loop {
            match httparse::parse_chunk_size(&self.inbox) {
                Ok(Status::Complete((length, size))) => {
                    self.inbox.advance(length);
                    return Ok(size);
                }
                Ok(Status::Partial) if self.inbox.len() < HEAD_BYTES_MAX => self.fill().await?,
                _ => return Err(BodyError::Malformed),
            }
        }
    }

    async fn read_line_end(&mut self) -> Result<(), BodyError> {
        while self.inbox.len() < 2 {
            self.fill().await?;
        }
        if !self.inbox.starts_with(b"\r\n") {
            return Err(BodyError::Malformed);
        }
        self.inbox.advance(2);
        Ok(())
    }

    /// Skips lines up to the empty one.
    async fn read_trailers(&mut self) -> Result<(), BodyError> {
        let mut skipped = 0;
        loop {
            let line = loop {
                if let Some(end) = self.inbox.iter().position(|byte| *byte == b'\n') {
                    break end + 1;
                }
                if skipped + self.inbox.len() >= HEAD_BYTES_MAX {
                    return Err(BodyError::Malformed);
                }
                self.fill().await?;
            };
            let is_last = self.inbox[..line].trim_ascii().is_empty();
            self.inbox.advance(line);
            skipped += line;
            if is_last {
                return Ok(());
            }
        }
    }
}
