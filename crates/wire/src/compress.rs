//! Compression of the bulk plane: zstd at its fastest level, undone with a limit.
//!
//! Decompression streams into a buffer that grows with what comes out and stops at
//! min([`DECOMPRESSED_MAX`], [`DECOMPRESSED_RATIO_MAX`] × input), so that a bomb costs the limit and not the memory. A
//! sender checks the same limits first and sends plain what a receiver would refuse.

use std::fmt;
use std::io::{self, Read};

use bytes::Bytes;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::class::Class;
use crate::counters::{Counters, Refusal};
use crate::limits::{
    COMPRESS_FROM, COMPRESSION_WINDOW_MAX, DECOMPRESSED_MAX, DECOMPRESSED_RATIO_MAX, MESSAGE_PLAIN_MAX,
};

/// Step in which the output grows.
const STEP: usize = 16 << 10;

/// Why bytes were not decompressed. Nothing of them is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// They would grow beyond the limit, or want the decoder to keep more than it may.
    #[error("compressed bytes grow beyond {0} bytes")]
    Bomb(u64),
    /// They are not what a compressor writes.
    #[error("compressed bytes are broken")]
    Broken,
}

impl DecompressError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            DecompressError::Bomb(_) => Refusal::CompressionBomb,
            DecompressError::Broken => Refusal::CompressionBroken,
        }
    }
}

/// A received message as its sender said it is: in a class, compressed or not, until somebody looks at it.
#[derive(Clone, PartialEq, Eq)]
pub struct Packed {
    class: Class,
    bytes: Bytes,
    zstd: bool,
}

/// A message may hold values of a context: only its size is shown.
impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packed")
            .field("class", &self.class)
            .field("bytes", &self.bytes.len())
            .field("zstd", &self.zstd)
            .finish()
    }
}

impl Packed {
    pub(crate) const fn new(class: Class, bytes: Bytes, zstd: bool) -> Self {
        Self { class, bytes, zstd }
    }

    /// The class it was sent in; [`Link::decode`](crate::link::Link::decode) compares it with that of its kind.
    pub const fn class(&self) -> Class {
        self.class
    }

    /// Its plain bytes, at most [`MESSAGE_PLAIN_MAX`].
    pub fn open(&self, counters: &mut Counters) -> Result<Bytes, DecompressError> {
        if !self.zstd {
            return Ok(self.bytes.clone());
        }
        decompress(&self.bytes, MESSAGE_PLAIN_MAX as u64)
            .map(Bytes::from)
            .inspect_err(|error| counters.refuse(error.refusal()))
    }
}

/// Compresses, if that makes it smaller and no receiver would take it for a bomb.
pub fn compress(plain: &[u8]) -> Option<Vec<u8>> {
    if plain.len() < COMPRESS_FROM || plain.len() as u64 > DECOMPRESSED_MAX {
        return None;
    }
    let packed = compress_to_vec(plain, CompressionLevel::Fastest);
    let pays = packed.len() < plain.len() && plain.len() as u64 <= limit_of(packed.len());
    pays.then_some(packed)
}

/// Decompresses at most `most` bytes, and at most what the input justifies.
pub fn decompress(packed: &[u8], most: u64) -> Result<Vec<u8>, DecompressError> {
    let limit = limit_of(packed.len()).min(most);
    let mut decoder = Decompressor::with_limit(packed, limit)?;
    let mut plain = Vec::new();
    loop {
        let filled = plain.len();
        plain.resize(filled + STEP, 0);
        match decoder.read_limited(&mut plain[filled..])? {
            0 if decoder.decoder.get_ref().is_empty() => {
                plain.truncate(filled);
                return Ok(plain);
            }
            0 => return Err(DecompressError::Broken),
            n => plain.truncate(filled + n),
        }
    }
}

fn limit_of(input: usize) -> u64 {
    (input as u64).saturating_mul(DECOMPRESSED_RATIO_MAX).min(DECOMPRESSED_MAX)
}

/// Decompresses a stream with a limit: a blob from disk, for example.
pub struct Decompressor<R: Read> {
    decoder: StreamingDecoder<R, ruzstd::decoding::FrameDecoder>,
    limit: u64,
    left: u64,
}

impl<R: Read> Decompressor<R> {
    /// For `length` compressed bytes that `source` yields.
    pub fn new(source: R, length: usize) -> Result<Self, DecompressError> {
        Self::with_limit(source, limit_of(length))
    }

    fn with_limit(source: R, limit: u64) -> Result<Self, DecompressError> {
        use ruzstd::decoding::errors::FrameDecoderError;

        let decoder = StreamingDecoder::new_with_max_window_size(source, COMPRESSION_WINDOW_MAX);
        let decoder = decoder.map_err(|error| match error {
            FrameDecoderError::WindowSizeTooBig { .. } => DecompressError::Bomb(limit),
            _ => DecompressError::Broken,
        })?;
        Ok(Self { decoder, limit, left: limit })
    }

    /// The next bytes; zero at the end.
    fn read_limited(&mut self, out: &mut [u8]) -> Result<usize, DecompressError> {
        let n = self.decoder.read(out).map_err(|_| DecompressError::Broken)?;
        self.left = self.left.checked_sub(n as u64).ok_or(DecompressError::Bomb(self.limit))?;
        Ok(n)
    }
}

impl<R: Read> Read for Decompressor<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.read_limited(out).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|i| b"checkout p99 "[i % 13].wrapping_add((i / 997) as u8)).collect()
    }

    #[test]
    fn compresses_what_pays_and_leaves_the_rest() {
        let plain = text(40_000);
        let packed = compress(&plain).unwrap();
        assert!(packed.len() < plain.len());
        assert_eq!(decompress(&packed, u64::MAX).unwrap(), plain);
        assert_eq!(compress(&plain[..COMPRESS_FROM - 1]), None, "too short to try");
        assert_eq!(compress(&vec![0; 1 << 20]), None, "a receiver would take it for a bomb");
    }

    #[test]
    fn a_bomb_costs_the_limit_and_not_the_memory() {
        let bomb = compress_to_vec(&vec![0u8; 8 << 20][..], CompressionLevel::Fastest);
        let allowed = bomb.len() as u64 * DECOMPRESSED_RATIO_MAX;
        assert!(allowed < 8 << 20, "{} bytes compress {} times", bomb.len(), (8 << 20) / bomb.len());
        assert_eq!(decompress(&bomb, u64::MAX), Err(DecompressError::Bomb(allowed)));
        let mut stream = Decompressor::new(&bomb[..], bomb.len()).unwrap();
        let copied = io::copy(&mut stream, &mut io::sink());
        assert_eq!(copied.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn the_callers_limit_holds_below_the_ratio() {
        let packed = compress(&text(40_000)).unwrap();
        assert_eq!(decompress(&packed, 39_999), Err(DecompressError::Bomb(39_999)));
        assert_eq!(decompress(&packed, 40_000).unwrap().len(), 40_000);
    }

    #[test]
    fn a_frame_that_wants_a_huge_window_is_refused_before_it_is_allocated() {
        // Magic, descriptor without single segment, window descriptor of 2^41 bytes.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00];
        assert!(matches!(decompress(&frame, u64::MAX), Err(DecompressError::Bomb(_))));
        // Single segment with 2^62 bytes of content.
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x01, 0x00, 0x00];
        assert!(decompress(&frame, u64::MAX).is_err());
    }

    #[test]
    fn truncated_and_foreign_bytes_are_broken() {
        let packed = compress(&text(40_000)).unwrap();
        for cut in [0, 1, 4, 6, packed.len() / 2, packed.len() - 1] {
            assert_eq!(decompress(&packed[..cut], u64::MAX), Err(DecompressError::Broken), "cut at {cut}");
        }
        let mut followed = packed.clone();
        followed.push(0);
        assert_eq!(decompress(&followed, u64::MAX), Err(DecompressError::Broken), "something follows");
        assert_eq!(decompress(b"these are not compressed bytes", 1 << 20), Err(DecompressError::Broken));
    }

    #[test]
    fn a_message_stays_packed_until_it_is_opened() {
        let plain = text(4_000);
        let packed = Packed::new(Class::Data, compress(&plain).unwrap().into(), true);
        let mut counters = Counters::default();
        assert_eq!(packed.open(&mut counters).unwrap(), plain);
        let never_packed = Packed::new(Class::Data, plain.clone().into(), false);
        assert_eq!(never_packed.open(&mut counters).unwrap(), plain);
        let broken = Packed::new(Class::Data, plain.into(), true);
        assert_eq!(broken.open(&mut counters), Err(DecompressError::Broken));
        assert_eq!(counters.refused(Refusal::CompressionBroken), 1);
    }

    proptest! {
        #[test]
        fn whatever_is_compressed_comes_back(
            parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..40), 1usize..200), 0..40),
        ) {
            let plain: Vec<u8> = parts.iter().flat_map(|(part, times)| part.repeat(*times)).collect();
            if let Some(packed) = compress(&plain) {
                prop_assert_eq!(decompress(&packed, u64::MAX).unwrap(), plain);
            }
        }
    }
}
