//! What the windows of a lost attempt say, as a blob.

use std::time::Duration;

use bytes::Bytes;
use hyperscale_wire::messages as wire;
use prost::Message;

use super::RecordError;
use super::parts::time_out;

/// What the windows of a lost attempt say: all that is known of it, and the same for every leader of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowsLeft {
    /// Encoded totals of the statistics crate. Reading them needs the layout.
    pub totals: Bytes,
    /// Up to when they reach, on the job clock.
    pub to: Duration,
    /// Windows that are known to have been closed, and that nobody has.
    pub missing: u64,
}

impl WindowsLeft {
    /// The bytes of the blob.
    pub fn encode(&self) -> Bytes {
        let (totals, to_ns, missing) = (self.totals.clone(), time_out(self.to), self.missing);
        wire::LostWindows { totals, to_ns, missing }.encode_to_vec().into()
    }

    /// Reads the bytes of the blob.
    pub fn decode(bytes: &Bytes) -> Result<Self, RecordError> {
        let windows = wire::LostWindows::decode(bytes.clone()).map_err(|_| RecordError::Malformed)?;
        let (totals, to) = (windows.totals, Duration::from_nanos(windows.to_ns));
        Ok(Self { totals, to, missing: windows.missing })
    }
}
