//! `multipart/form-data` (RFC 7578, names escaped as the HTML standard says), written piece by piece so that a part's
//! content may be filled per request.
//!
//! ```text
//! begin_part, content, end_part, …, finish
//! ```
//! Contents are written as they are. The boundary is handed in; [`boundary`] makes one that no content has by chance.

use std::fmt::Write;

use thiserror::Error;

/// Bytes of a boundary (RFC 2046, section 5.1.1).
pub const BOUNDARY_BYTES_MAX: usize = 70;

/// Why a body cannot be encoded. The plan must change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MultipartError {
    /// Empty, longer than [`BOUNDARY_BYTES_MAX`], or with a character that needs quotes.
    #[error("bad multipart boundary")]
    Boundary,
    /// A media type with a line break or another control character.
    #[error("control character in a part's media type")]
    MediaType,
}

/// What stands in front of a part's content.
#[derive(Clone, Copy, Debug)]
pub struct PartHead<'a> {
    /// The field's name.
    pub name: &'a str,
    /// The file's name, if it is one.
    pub filename: Option<&'a str>,
    /// The media type; a file without one is `application/octet-stream`, a text without one has none.
    pub media_type: Option<&'a str>,
}

/// A writer of bodies with one boundary.
#[derive(Clone, Debug)]
pub struct Multipart {
    boundary: Box<str>,
}

impl Multipart {
    /// Bodies with this boundary.
    pub fn new(boundary: &str) -> Result<Self, MultipartError> {
        let valid = (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len())
            && boundary
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        if valid { Ok(Multipart { boundary: boundary.into() }) } else { Err(MultipartError::Boundary) }
    }

    /// The media type of the whole body.
    pub fn media_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    /// Appends what stands before a part's content.
    pub fn begin_part(&self, head: &PartHead<'_>, out: &mut Vec<u8>) -> Result<(), MultipartError> {
        let default = head.filename.map(|_| "application/octet-stream");
        let media_type = head.media_type.or(default);
        if media_type.is_some_and(|text| text.bytes().any(|byte| byte.is_ascii_control())) {
            return Err(MultipartError::MediaType);
        }
        out.extend_from_slice(b"--");
        out.extend_from_slice(self.boundary.as_bytes());
        out.extend_from_slice(b"\r\ncontent-disposition: form-data; name=\"");
        escape(&normalize_line_ends(head.name), out);
        out.push(b'"');
        if let Some(filename) = head.filename {
            out.extend_from_slice(b"; filename=\"");
            escape(filename, out);
            out.push(b'"');
        }
        if let Some(media_type) = media_type {
            out.extend_from_slice(b"\r\ncontent-type: ");
            out.extend_from_slice(media_type.as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
        Ok(())
    }

    /// Appends what stands after a part's content.
    pub fn end_part(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n");
    }

    /// Appends what stands after the last part.
    pub fn finish(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"--");
        out.extend_from_slice(self.boundary.as_bytes());
        out.extend_from_slice(b"--\r\n");
    }
}

/// A boundary from two random numbers: 128 bits that no content contains by chance.
pub fn boundary(random: [u64; 2]) -> String {
    let mut text = "hyperscale-".to_owned();
    for number in random {
        let _infallible = write!(text, "{number:016x}");
    }
    text
}

/// HTML standard, "escape a multipart form data name".
fn escape(name: &str, out: &mut Vec<u8>) {
    for byte in name.bytes() {
        match byte {
            b'\n' => out.extend_from_slice(b"%0A"),
            b'\r' => out.extend_from_slice(b"%0D"),
            b'"' => out.extend_from_slice(b"%22"),
            _ => out.push(byte),
        }
    }
}

/// Line ends in names of fields are sent as CR LF; those in names of files are not touched.
fn normalize_line_ends(name: &str) -> String {
    name.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encode(parts: &[(PartHead<'_>, &str)]) -> Result<String, MultipartError> {
        let (multipart, mut out) = (Multipart::new("BOUND")?, Vec::new());
        for (head, content) in parts {
            multipart.begin_part(head, &mut out)?;
            out.extend_from_slice(content.as_bytes());
            multipart.end_part(&mut out);
        }
        multipart.finish(&mut out);
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    const fn text(name: &str) -> PartHead<'_> {
        PartHead { name, filename: None, media_type: None }
    }

    #[test]
    fn texts_and_files_are_written_as_browsers_do() {
        let file = PartHead { name: "f", filename: Some("ü\".txt"), media_type: None };
        let page = PartHead { media_type: Some("text/html"), ..file };
        let expected = "--BOUND\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
            --BOUND\r\ncontent-disposition: form-data; name=\"f\"; filename=\"ü%22.txt\"\r\n\
            content-type: application/octet-stream\r\n\r\n2\r\n3\r\n\
            --BOUND\r\ncontent-disposition: form-data; name=\"f\"; filename=\"ü%22.txt\"\r\n\
            content-type: text/html\r\n\r\n\r\n\
            --BOUND--\r\n";
        let encoded = encode(&[(text("a"), "1"), (file, "2\r\n3"), (page, "")]);
        assert_eq!(encoded.as_deref(), Ok(expected));
        assert_eq!(encode(&[]).as_deref(), Ok("--BOUND--\r\n"));
        let media_type = Multipart::new("BOUND").expect("valid").media_type();
        assert_eq!(media_type, "multipart/form-data; boundary=BOUND");
    }

    #[test]
    fn names_cannot_leave_their_line() {
        let encoded = encode(&[(text("a\nb\rc\r\nd\"e\\"), "")]).expect("valid");
        assert!(encoded.contains("name=\"a%0D%0Ab%0D%0Ac%0D%0Ad%22e\\\"\r\n"), "{encoded}");
        let file = PartHead { filename: Some("a\nb\rc"), ..text("x") };
        assert!(encode(&[(file, "")]).expect("valid").contains("filename=\"a%0Ab%0Dc\"\r\n"));
    }

    #[test]
    fn what_would_break_the_body_is_refused() {
        let long = "b".repeat(BOUNDARY_BYTES_MAX + 1);
        for boundary in ["", "a b", "a\"b", "a\r\n", long.as_str()] {
            assert_eq!(Multipart::new(boundary).map(|_| ()), Err(MultipartError::Boundary), "{boundary:?}");
        }
        let broken = PartHead { media_type: Some("text/plain\r\nx: y"), ..text("x") };
        assert_eq!(encode(&[(broken, "")]), Err(MultipartError::MediaType));
    }

    #[test]
    fn made_boundaries_are_valid_and_differ() {
        let (one, two) = (boundary([1, u64::MAX]), boundary([1, 2]));
        assert_eq!(one, "hyperscale-0000000000000001ffffffffffffffff");
        assert!(Multipart::new(&one).is_ok() && one != two);
    }

    proptest! {
        #[test]
        fn every_part_has_a_head_of_two_lines_at_most(name in any::<String>(), filename in any::<Option<String>>()) {
            let head = PartHead { filename: filename.as_deref(), ..text(&name) };
            let encoded = encode(&[(head, "content")]).expect("valid");
            let (head, body) = encoded.split_once("\r\n\r\n").expect("an end of the head");
            prop_assert_eq!(head.split("\r\n").count(), if filename.is_some() { 3 } else { 2 });
            prop_assert_eq!(body, "content\r\n--BOUND--\r\n");
        }
    }
}
