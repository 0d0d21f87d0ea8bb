//! Bytes from outside as texts of bounded length.

/// Cuts a text at a character; says whether anything was cut.
pub(super) fn head(text: &str, bytes_max: usize) -> (&str, bool) {
    if text.len() <= bytes_max {
        return (text, false);
    }
    (&text[..text.floor_char_boundary(bytes_max)], true)
}

/// The last bytes of something that may be long, and how many there were.
#[derive(Debug)]
pub(super) struct Tail {
    bytes: Vec<u8>,
    bytes_max: usize,
    total: u64,
}

impl Tail {
    /// Keeps at most this many bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), bytes_max, total: 0 }
    }

    /// Adds what came; forgets what is too old. At most twice the limit is held.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(self.bytes_max)..]);
        if self.bytes.len() > 2 * self.bytes_max {
            self.bytes.drain(..self.bytes.len() - self.bytes_max);
        }
    }

    /// The last of it, as text.
    pub(super) fn last(&self, bytes_max: usize) -> String {
        String::from_utf8_lossy(&self.bytes[self.bytes.len().saturating_sub(bytes_max)..]).into_owned()
    }

    /// What was kept, as text, and whether there was more before it.
    pub(super) fn into_text(self) -> (String, bool) {
        let kept = &self.bytes[self.bytes.len().saturating_sub(self.bytes_max)..];
        (String::from_utf8_lossy(kept).into_owned(), self.total > self.bytes_max as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_characters() {
        assert_eq!(head("abc", 3), ("abc", false));
        assert_eq!(head("aé", 2), ("a", true));
    }

    #[test]
    fn tail_keeps_the_end_within_its_limit() {
        let mut tail = Tail::new(4);
        for part in ["ab", "cdefghijk", "l", "mn"] {
            tail.add(part.as_bytes());
        }
        assert_eq!(tail.into_text(), ("klmn".to_owned(), true));
        let mut tail = Tail::new(4);
        tail.add(b"abcd");
        assert_eq!(tail.into_text(), ("abcd".to_owned(), false));
    }
}
