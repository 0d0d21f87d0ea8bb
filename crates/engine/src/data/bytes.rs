//! The bytes of a data file: read into memory while that is cheap, mapped beyond.
//!
//! A mapped file that is truncated while it is in use kills the process at the next access (SIGBUS), and no check can
//! prevent it: the file may shrink between check and access. Files of ordinary size are therefore read – one copy per
//! process, no page faults on the cores while they measure, and whatever happens to the file afterwards happens
//! without us. Only files above [`MAP_ABOVE_BYTES`] are mapped, because a copy would take memory that the virtual
//! users need. Who changes such a file during a run loses the run.
#![expect(unsafe_code, reason = "mapping a file is unsafe: its bytes change if the file does")]

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

use memmap2::Mmap;

/// Files larger than this are mapped instead of read.
const MAP_ABOVE_BYTES: u64 = 64 << 20;

/// The bytes of a file.
#[derive(Debug)]
pub(super) enum Bytes {
    /// Read.
    Memory(Vec<u8>),
    /// Mapped.
    Mapped(Mmap),
}

impl Bytes {
    pub(super) fn open(path: &Path) -> io::Result<Bytes> {
        Self::open_mapping_above(path, MAP_ABOVE_BYTES)
    }

    pub(super) fn open_mapping_above(path: &Path, limit: u64) -> io::Result<Bytes> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        if metadata.len() > limit {
            // SAFETY: the map is private to this process and only read as bytes, which have no invalid values; text
            // in it is checked again whenever a row is read. Truncation is the documented hazard above.
            return Ok(Bytes::Mapped(unsafe { Mmap::map(&file)? }));
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        file.read_to_end(&mut bytes)?;
        Ok(Bytes::Memory(bytes))
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Memory(bytes) => bytes,
            Bytes::Mapped(map) => map,
        }
    }
}
