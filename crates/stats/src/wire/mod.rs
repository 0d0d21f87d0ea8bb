//! Bytes of windows and totals, as nodes send them.
//!
//! ```text
//! message   = version kind layout-id body                 version: 1 byte; kind: 1 byte; layout id: 8 bytes
//! body      = sections                                    of a window or of totals
//! sections  = n { number length payload }*n               ascending; one that is not known is skipped
//! histogram = clamped count [min max sum runs]            the rest only if count > 0
//! runs      = n { gap length { count }* }*n               gap: empty buckets since the run before
//! ```
//! Every number is a LEB128 varint, counts within a run are zig-zag differences from the count before, floats are their
//! eight bytes. Every state has exactly one form, so that equal statistics are equal bytes.
//!
//! Sections, lists of counters, error kinds and phases may grow: what a newer version adds is skipped, or kept by its
//! number ([`hyperscale_types::ReportedKind`]). A change that older readers would misread gets a new version byte.
//!
//! Bytes come from other nodes. Decoding checks everything that can be checked, so that they never make numbers that
//! contradict each other, and what it allocates is bounded by [`MEMORY_MAX`], whatever they say.

mod histogram;
mod metric;
mod number;
mod step;
mod window;

use std::fmt;
use std::sync::Arc;

use hyperscale_types::Name;
use hyperscale_types::split_mix;

use crate::layout::Layout;
use crate::totals::Totals;
use crate::window::Window;

use number::Reader;

/// Samples of one histogram that is accepted from outside: far beyond any run, and far below an overflow of sums.
pub const SAMPLES_MAX: u64 = 1 << 48;
/// Memory that one message may take when it is decoded. A few bytes can name buckets in every power of two, each of which
/// costs a chunk of counters; without this limit a small message would take gigabytes.
pub const MEMORY_MAX: usize = 256 << 20;
/// The version that is written and read.
const VERSION: u8 = 1;
const WINDOW: u8 = 1;
const TOTALS: u8 = 2;

/// Why bytes are not statistics of a workflow. Nothing was decoded; the same bytes will never be accepted, so there is no
/// point in sending them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end in the middle.
    #[error("the statistics end in the middle")]
    Truncated,
    /// There are bytes behind the end.
    #[error("there are bytes behind the end of the statistics")]
    Trailing,
    /// Written by a version that this one cannot read.
    #[error("the statistics have format version {0}, which this version does not know")]
    Version(u8),
    /// A window where totals were expected, or the other way round.
    #[error("the statistics are of kind {0}, which was not expected here")]
    Kind(u8),
    /// Of another plan, another workflow or another version of its steps. They must not be merged.
    #[error("the statistics have layout {theirs}, expected {ours}: they belong to another plan or workflow")]
    Layout {
        /// What the bytes say.
        theirs: LayoutId,
        /// What was expected.
        ours: LayoutId,
    },
    /// They would take more than [`MEMORY_MAX`].
    #[error("the statistics are larger than {MEMORY_MAX} bytes in memory")]
    TooLarge,
    /// A number has more bits than its place allows.
    #[error("a number of the statistics is too large")]
    NumberTooLarge,
    /// A bucket beyond the last one, or an empty run.
    #[error("a bucket of a histogram is out of range")]
    BucketOutOfRange,
    /// A step, check or metric that the layout does not have, or keys that are not in order.
    #[error("a key of the statistics is out of range or out of order")]
    KeyOutOfRange,
    /// A text that is too long or not UTF-8.
    #[error("a text of the statistics is too long or not UTF-8")]
    BadText,
    /// Count, smallest, largest or sums do not fit each other.
    #[error("the numbers of the statistics contradict each other")]
    Contradiction,
}

/// Identifies what the positions in statistics mean: the plan, the workflow, and its steps, checks and metrics. It guards
/// against mix-ups, not against forgery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LayoutId(u64);

impl fmt::Display for LayoutId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl LayoutId {
    /// The id of a workflow's layout. `plan` identifies the plan: its text, or the hash of it.
    pub fn new(plan: &[u8], workflow: &Name, layout: &Layout) -> Self {
        let mut hash = Hash(0);
        hash.bytes(plan);
        hash.bytes(workflow.as_str().as_bytes());
        hash.number(layout.steps.len());
        for step in &layout.steps {
            hash.bytes(step.name.as_str().as_bytes());
            hash.bytes(step.protocol.unwrap_or_default().as_bytes());
            hash.number(step.kind as usize);
            hash.number(usize::from(step.setup));
        }
        hash.number(layout.checks.len());
        for check in &layout.checks {
            hash.number(check.step);
            hash.bytes(check.name.as_str().as_bytes());
        }
        hash.number(layout.metrics.len());
        for metric in &layout.metrics {
            hash.number(metric.step);
            hash.bytes(metric.name.as_str().as_bytes());
            hash.number(metric.kind as usize);
        }
        LayoutId(hash.0)
    }
}

/// A hash that is equal on every machine and in every version.
struct Hash(u64);

impl Hash {
    fn number(&mut self, number: usize) {
        self.0 = split_mix::step(self.0 ^ number as u64).1;
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        for word in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..word.len()].copy_from_slice(word);
            self.0 = split_mix::step(self.0 ^ u64::from_le_bytes(eight)).1;
        }
    }
}

/// Writes and reads the statistics of one workflow. Those of any other layout are refused.
#[derive(Clone, Debug)]
pub struct Codec {
    id: LayoutId,
    layout: Arc<Layout>,
}

impl Codec {
    /// The codec of a workflow. `plan` identifies the plan: its text, or the hash of it.
    pub fn new(plan: &[u8], workflow: &Name, layout: &Arc<Layout>) -> Self {
        Codec { id: LayoutId::new(plan, workflow, layout), layout: Arc::clone(layout) }
    }

    /// What it writes and accepts.
    pub fn id(&self) -> LayoutId {
        self.id
    }

    /// The bytes of a window of this layout.
    pub fn encode_window(&self, window: &Window) -> Vec<u8> {
        debug_assert_eq!(*self.layout, *window.layout, "a window of another workflow");
        let mut out = self.head(WINDOW);
        window::put_window(&mut out, window);
        out
    }

    /// The bytes of totals of this layout.
    pub fn encode_totals(&self, totals: &Totals) -> Vec<u8> {
        debug_assert_eq!(*self.layout, **totals.layout(), "totals of another workflow");
        let mut out = self.head(TOTALS);
        window::put_totals(&mut out, totals);
        out
    }

    /// Reads a window.
    pub fn decode_window(&self, bytes: &[u8]) -> Result<Window, DecodeError> {
        let mut reader = self.open(bytes, WINDOW)?;
        let window = window::take_window(&mut reader, &self.layout)?;
        reader.finish()?;
        Ok(window)
    }

    /// Reads totals.
    pub fn decode_totals(&self, bytes: &[u8]) -> Result<Totals, DecodeError> {
        let mut reader = self.open(bytes, TOTALS)?;
        let totals = window::take_totals(&mut reader, &self.layout)?;
        reader.finish()?;
        Ok(totals)
    }

    fn head(&self, kind: u8) -> Vec<u8> {
        let mut out = vec![VERSION, kind];
        out.extend(self.id.0.to_be_bytes());
        out
    }

    fn open<'b>(&self, bytes: &'b [u8], kind: u8) -> Result<Reader<'b>, DecodeError> {
        let mut reader = Reader::new(bytes, MEMORY_MAX);
        match reader.byte()? {
            VERSION => {}
            version => return Err(DecodeError::Version(version)),
        }
        match reader.byte()? {
            known if known == kind => {}
            other => return Err(DecodeError::Kind(other)),
        }
        let theirs = LayoutId(u64::from_be_bytes(reader.array()?));
        if theirs == self.id { Ok(reader) } else { Err(DecodeError::Layout { theirs, ours: self.id }) }
    }
}

#[cfg(test)]
mod tests;
