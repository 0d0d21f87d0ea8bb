use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

const LIMIT: usize = 1 << 20;
/// `hello`, as a common encoder writes it.
const BROTLI_HELLO: &[u8] = b"\x0b\x02\x80hello\x03";
/// 16 MiB of zeros.
const BROTLI_BOMB: &[u8] = b"\xcb\xff\xff\x3f\xf8\x27\x00\xe2\xb1\x40\x20\xf7\xfe\x2f\xff\xff\xff\xf0\x4f\x00\xc4\x61\x11\x80\xee\xfd\x1f";

fn codings(fields: &[&str]) -> Result<Codings, DecodeError> {
    let mut codings = Codings::default();
    fields.iter().try_for_each(|field| codings.add(field.as_bytes()))?;
    Ok(codings)
}

fn decode(field: &str, body: &[u8]) -> Result<Vec<u8>, DecodeError> {
    codings(&[field])?.decode(body.to_vec(), LIMIT)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

#[test]
fn every_coding_is_decoded() {
    let text = b"hello";
    for (field, body) in [
        ("gzip", gzip(text)),
        ("X-GZIP", gzip(text)),
        ("deflate", zlib(text)),
        ("deflate", raw_deflate(text)),
        ("br", BROTLI_HELLO.to_vec()),
        ("zstd", zstd(text)),
        ("identity, ,", text.to_vec()),
    ] {
        assert_eq!(decode(field, &body).as_deref(), Ok(&text[..]), "{field}");
    }
}

#[test]
fn codings_are_undone_in_reverse_order() {
    let body = zstd(&zlib(&gzip(b"hello")));
    let expected = Ok(b"hello".to_vec());
    assert_eq!(decode("gzip, deflate,zstd", &body), expected);
    let fields = codings(&["gzip", "deflate , zstd"]).expect("known");
    assert_eq!(fields.decode(body, LIMIT), expected);
    let untouched = codings(&["identity"]).expect("known").decode(b"as it is".to_vec(), LIMIT);
    assert_eq!(untouched, Ok(b"as it is".to_vec()));
}

#[test]
fn members_and_frames_follow_each_other() {
    assert_eq!(decode("gzip", &[gzip(b"hel"), gzip(b"lo")].concat()).as_deref(), Ok(&b"hello"[..]));
    let skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00xyz";
    let frames = [zstd(b"hel"), skippable.to_vec(), zstd(b"lo")].concat();
    assert_eq!(decode("zstd", &frames).as_deref(), Ok(&b"hello"[..]));
}

#[test]
fn an_empty_body_needs_no_decoding() {
    assert_eq!(decode("gzip, br", b""), Ok(Vec::new()));
}

#[test]
fn bombs_stop_at_the_limit() {
    let zeros = vec![0; 16 << 20];
    for (field, body) in [
        ("gzip", gzip(&zeros)),
        ("deflate", zlib(&zeros)),
        ("deflate", raw_deflate(&zeros)),
        ("br", BROTLI_BOMB.to_vec()),
        ("zstd", zstd(&zeros)),
        ("deflate, gzip", gzip(&zlib(&zeros))),
    ] {
        assert_eq!(decode(field, &body), Err(DecodeError::TooLarge), "{field}");
    }
}

#[test]
fn a_body_of_exactly_the_limit_is_fine() {
    let text = vec![b'x'; 100_000];
    for (field, body) in [("gzip", gzip(&text)), ("deflate", zlib(&text)), ("zstd", zstd(&text))] {
        let codings = codings(&[field]).expect("known");
        assert_eq!(codings.decode(body.clone(), text.len()).as_ref(), Ok(&text), "{field}");
        assert_eq!(codings.decode(body, text.len() - 1), Err(DecodeError::TooLarge), "{field}");
    }
}

#[test]
fn every_cut_body_is_broken() {
    let text = b"hello hello hello, what is this all about?";
    for (field, coding, body) in [
        ("gzip", Coding::Gzip, gzip(text)),
        ("deflate", Coding::Deflate, zlib(text)),
        ("deflate", Coding::Deflate, raw_deflate(text)),
        ("br", Coding::Brotli, BROTLI_HELLO.to_vec()),
        ("zstd", Coding::Zstd, zstd(text)),
    ] {
        for end in 1..body.len() {
            assert_eq!(decode(field, &body[..end]), Err(DecodeError::Broken(coding)), "{field} {end}");
        }
    }
}

#[test]
fn wrong_checksums_and_foreign_bytes_are_broken() {
    let mut wrong = gzip(b"hello");
    let crc = wrong.len() - 8;
    wrong[crc] ^= 1;
    assert_eq!(decode("gzip", &wrong), Err(DecodeError::Broken(Coding::Gzip)));
    for (field, coding) in [("gzip", Coding::Gzip), ("br", Coding::Brotli), ("zstd", Coding::Zstd)] {
        assert_eq!(decode(field, b"<html>not compressed"), Err(DecodeError::Broken(coding)));
    }
}

#[test]
fn unknown_and_too_many_codings_are_refused() {
    assert_eq!(decode("compress", b"x"), Err(DecodeError::Unknown));
    assert_eq!(decode("gzip,gzip,gzip,gzip,gzip", b"x"), Err(DecodeError::TooMany));
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(text in proptest::collection::vec(any::<u8>(), 1..4_000), times in 1usize..50) {
        let text = text.repeat(times);
        for (field, body) in [("gzip", gzip(&text)), ("deflate", zlib(&text)), ("zstd", zstd(&text))] {
            let decoded = decode(field, &body);
            prop_assert_eq!(decoded.as_ref(), Ok(&text));
        }
    }
}
