//! The text of a file with its lines, and places in it.

use hyperscale_types::limits::PLAN_BYTES_MAX;

/// A range of bytes of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Place {
    /// The beginning of the file.
    pub const START: Place = Place { start: 0, end: 0 };
}

/// A file's text.
#[derive(Clone, Debug)]
pub struct Text {
    text: String,
    /// Byte positions at which lines begin.
    lines: Vec<usize>,
}

/// Why bytes are not a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// More than the limit, which for plans is [`PLAN_BYTES_MAX`].
    #[error("the file is {bytes} bytes large; at most {bytes_max} bytes are read")]
    TooLarge {
        /// Its size.
        bytes: u64,
        /// The limit.
        bytes_max: u64,
    },
    /// Begins with the byte-order mark of UTF-16 or UTF-32.
    #[error("the file is written in UTF-16 or UTF-32; save it as UTF-8")]
    NotUtf8Mark,
    /// Not UTF-8.
    #[error("the file is not UTF-8 text: byte {0} does not begin or continue a character")]
    NotUtf8(usize),
    /// A NUL byte: not a text at all.
    #[error("the file contains a NUL byte at {0}; it is not a text")]
    Nul(usize),
}

impl Text {
    /// Reads the bytes of a plan as text. A byte-order mark of UTF-8 is skipped.
    pub fn new(bytes: &[u8]) -> Result<Self, TextError> {
        Self::with_limit(bytes, PLAN_BYTES_MAX)
    }

    /// The same for documents that are no plans and may be larger.
    pub fn with_limit(bytes: &[u8], bytes_max: u64) -> Result<Self, TextError> {
        if bytes.len() as u64 > bytes_max {
            return Err(TextError::TooLarge { bytes: bytes.len() as u64, bytes_max });
        }
        if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
            return Err(TextError::NotUtf8Mark);
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|e| TextError::NotUtf8(e.valid_up_to()))?;
        if let Some(at) = text.find('\0') {
            return Err(TextError::Nul(at));
        }
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Ok(Text { text: text.to_owned(), lines })
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Line and column (in characters) of a byte, both from 1.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let byte = byte.min(self.text.len());
        let line = self.lines.partition_point(|begin| *begin <= byte).max(1);
        let before = self.text.get(self.lines[line - 1]..byte).unwrap_or("");
        (line, before.chars().count() + 1)
    }

    /// A line without its end, by number from 1.
    pub fn line(&self, line: usize) -> &str {
        let Some(begin) = line.checked_sub(1).and_then(|i| self.lines.get(i)) else { return "" };
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        self.text[*begin..end].trim_end_matches(['\n', '\r'])
    }

    /// The place of a part of a scalar: exact where the text stands as it is in the file, the scalar's own otherwise
    /// (escapes, folded lines).
    pub fn within(&self, place: Place, scalar: &str, offset: usize) -> Place {
        let written = self.text.get(place.start..place.end).unwrap_or("");
        let quotes = usize::from(written.starts_with(['"', '\'']));
        let verbatim = written.get(quotes..).is_some_and(|inner| inner.starts_with(scalar));
        if verbatim && offset < scalar.len() {
            let start = place.start + quotes + offset;
            Place { start, end: start }
        } else {
            place
        }
    }
}
