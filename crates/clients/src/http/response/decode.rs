//! Content codings of whole bodies: `gzip`, `deflate`, `br`, `zstd`, several on top of each other.
//!
//! Only used when the body is needed. What comes out is limited whatever goes in: a bomb of a few bytes costs the
//! limit and no more, and a window is limited like the output of its stage.

use std::fmt;
use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use thiserror::Error;

/// Codings on top of each other; nobody means more.
pub const CODINGS_MAX: usize = 4;
/// Window of a zstd frame (RFC 9659): what every decoder of this content coding must accept, and no more.
const ZSTD_WINDOW_MAX: u64 = 8 << 20;
/// The output grows by this much at a time.
const GROWTH_BYTES: usize = 32 << 10;
const BROTLI_BUFFER_BYTES: usize = 4096;

/// Why a body cannot be decoded. The answer itself was complete; a retry fails the same way unless the peer changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A coding that nobody asked for.
    #[error("unknown content coding")]
    Unknown,
    /// More than [`CODINGS_MAX`].
    #[error("more than {CODINGS_MAX} content codings")]
    TooMany,
    /// The decoded body is longer than allowed.
    #[error("the decoded body is larger than max_body")]
    TooLarge,
    /// The body is not what its coding says, or is cut off.
    #[error("broken {0} body")]
    Broken(Coding),
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// RFC 1952.
    Gzip,
    /// RFC 1950, or RFC 1951 without the wrapping that many servers leave out.
    Deflate,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        })
    }
}

/// The codings of a body, in the order they were applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Codings {
    codings: [Option<Coding>; CODINGS_MAX],
    count: usize,
}

impl Codings {
    /// Reads one `content-encoding` field. Fields of one answer are read one after the other.
    pub fn add(&mut self, field: &[u8]) -> Result<(), DecodeError> {
        for name in field.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if let Some(coding) = coding(name)? {
                *self.codings.get_mut(self.count).ok_or(DecodeError::TooMany)? = Some(coding);
                self.count += 1;
            }
        }
        Ok(())
    }

    /// Decodes a body to at most `limit` bytes, also in between.
    pub fn decode(&self, mut body: Vec<u8>, limit: usize) -> Result<Vec<u8>, DecodeError> {
        for coding in self.codings.iter().rev().flatten() {
            // Answers to HEAD and empty answers name the coding of a body they do not have.
            if body.is_empty() {
                break;
            }
            body = decode_one(*coding, &body, limit)?;
        }
        Ok(body)
    }
}

fn coding(name: &[u8]) -> Result<Option<Coding>, DecodeError> {
    let names: [(&str, Option<Coding>); 7] = [
        ("", None),
        ("identity", None),
        ("gzip", Some(Coding::Gzip)),
        ("x-gzip", Some(Coding::Gzip)),
        ("deflate", Some(Coding::Deflate)),
        ("br", Some(Coding::Brotli)),
        ("zstd", Some(Coding::Zstd)),
    ];
    let known = names.iter().find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()));
    known.map(|(_, coding)| *coding).ok_or(DecodeError::Unknown)
}

fn decode_one(coding: Coding, body: &[u8], limit: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Output { bytes: Vec::new(), limit };
    let done = match coding {
        Coding::Gzip => out.read(flate2::bufread::MultiGzDecoder::new(body)),
        Coding::Deflate => inflate(body, &mut out),
        Coding::Brotli => out.read(brotli_decompressor::Decompressor::new(body, BROTLI_BUFFER_BYTES)),
        Coding::Zstd => zstd(body, &mut out),
    };
    match done {
        Ok(()) => Ok(out.bytes),
        Err(Failure::TooLarge) => Err(DecodeError::TooLarge),
        Err(Failure::Broken) => Err(DecodeError::Broken(coding)),
    }
}

/// Why one stage failed.
enum Failure {
    TooLarge,
    Broken,
}

/// A body that may not grow beyond its limit.
struct Output {
    bytes: Vec<u8>,
    limit: usize,
}

impl Output {
    fn read(&mut self, decoder: impl Read) -> Result<(), Failure> {
        // One byte more than allowed tells a body at the limit from one beyond it.
        let room = (self.limit - self.bytes.len()) as u64 + 1;
        decoder.take(room).read_to_end(&mut self.bytes).map_err(|_: io::Error| Failure::Broken)?;
        self.check()
    }

    fn check(&self) -> Result<(), Failure> {
        if self.bytes.len() > self.limit { Err(Failure::TooLarge) } else { Ok(()) }
    }
}

/// Not by the reader of the same crate: it takes a stream that is cut off for one that has ended.
fn inflate(body: &[u8], out: &mut Output) -> Result<(), Failure> {
    let mut inflater = Decompress::new(has_zlib_header(body));
    loop {
        out.bytes.reserve(GROWTH_BYTES.min(out.limit + 1 - out.bytes.len()));
        let before = (inflater.total_in(), inflater.total_out());
        let rest = &body[before.0 as usize..];
        let status = inflater
            .decompress_vec(rest, &mut out.bytes, FlushDecompress::None)
            .map_err(|_| Failure::Broken)?;
        out.check()?;
        match status {
            Status::StreamEnd => return Ok(()),
            Status::Ok | Status::BufError if (inflater.total_in(), inflater.total_out()) == before => {
                return Err(Failure::Broken);
            }
            Status::Ok | Status::BufError => {}
        }
    }
}

/// RFC 1950, section 2.2: method 8, and a check that raw deflate meets by chance only.
fn has_zlib_header(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..]
        if method & 0x0f == 8 && (u16::from(*method) << 8 | u16::from(*flags)).is_multiple_of(31))
}

fn zstd(mut body: &[u8], out: &mut Output) -> Result<(), Failure> {
    while !body.is_empty() {
        match StreamingDecoder::new_with_max_window_size(&mut body, ZSTD_WINDOW_MAX) {
            Ok(mut frame) => {
                out.read(&mut frame)?;
                let decoder = frame.into_frame_decoder();
                let written = decoder.get_checksum_from_data();
                if written.is_some() && written != decoder.get_calculated_checksum() {
                    return Err(Failure::Broken);
                }
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length, ..
            })) => {
                body = body.get(length as usize..).ok_or(Failure::Broken)?;
            }
            Err(_) => return Err(Failure::Broken),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
