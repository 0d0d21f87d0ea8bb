//! Bytes into lines, ended by LF, CR LF or CR alone. Lines that come in one piece are not copied.

use super::{EventTooLong, Flow};

/// Where a splitter is.
#[derive(Debug)]
pub(super) struct Lines {
    /// The start of a line whose end has not come.
    partial: Vec<u8>,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    bytes_max: usize,
}

impl Lines {
    pub(super) fn new(bytes_max: usize) -> Self {
        Lines { partial: Vec::new(), after_cr: false, bytes_max }
    }

    /// Calls `on_line` with every line that is complete, until it says stop.
    pub(super) fn split(
        &mut self,
        mut bytes: &[u8],
        on_line: &mut impl FnMut(&[u8]) -> Result<Flow, EventTooLong>,
    ) -> Result<Flow, EventTooLong> {
        if self.after_cr
            && let [first, rest @ ..] = bytes
        {
            self.after_cr = false;
            bytes = if *first == b'\n' { rest } else { bytes };
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) {
            let flow = self.end_line(&bytes[..end], on_line)?;
            bytes = match &bytes[end..] {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                ended => &ended[1..],
            };
            if flow == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        self.append(bytes)?;
        Ok(Flow::Continue)
    }

    /// The start of a line that will never end.
    pub(super) fn take_partial(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.partial)
    }

    fn end_line(
        &mut self,
        end: &[u8],
        on_line: &mut impl FnMut(&[u8]) -> Result<Flow, EventTooLong>,
    ) -> Result<Flow, EventTooLong> {
        if self.partial.is_empty() && end.len() <= self.bytes_max {
            return on_line(end);
        }
        self.append(end)?;
        let flow = on_line(&self.partial);
        self.partial.clear();
        flow
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        if self.partial.len() + bytes.len() > self.bytes_max {
            return Err(EventTooLong);
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }
}
