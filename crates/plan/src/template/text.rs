//! How a value becomes text in the place where it stands.

use std::io::Write;

use minijinja::Value;
use minijinja::value::ValueKind;

/// The place where a value is written; decides what must be escaped or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Plain text.
    None,
    /// A value in the query of a URL: everything but unreserved characters is percent-encoded.
    Url,
    /// A part of a URL's path: like [`Escape::Url`], but what may stand in a path stands, `/` too.
    UrlPath,
    /// A URL or the start of one: written as it is, but white space and control characters are refused.
    UrlVerbatim,
    /// `application/x-www-form-urlencoded`: like [`Escape::Url`], with `+` for a space.
    Form,
    /// A header field's value: line breaks and NUL are refused.
    Header,
    /// Inside a JSON string: without the quotes.
    JsonString,
    /// A JSON value of its own: a string gets quotes, a number stays a number.
    Json,
}

impl Escape {
    /// Writes constant text as it must stand in this place; the error says what it is that cannot stand there. On an
    /// error `out` may have grown.
    pub fn write(self, text: &str, out: &mut Vec<u8>) -> Result<(), &'static str> {
        write_text(text, self, out)
    }

    /// How this value is written here: what the filters `safe` and `urlencode` made is a part of a URL already.
    fn of(self, value: &Value) -> Escape {
        match self {
            Escape::Url | Escape::UrlPath if value.is_safe() => Escape::UrlVerbatim,
            escape => escape,
        }
    }
}

/// Writes a value; the error says what it is that cannot stand there. On an error `out` may have grown.
pub(super) fn write(value: &Value, escape: Escape, out: &mut Vec<u8>) -> Result<(), &'static str> {
    if escape == Escape::Json {
        return serde_json::to_writer(out, value).map_err(|_| "a value that JSON cannot express");
    }
    if let Some(text) = value.as_str() {
        return write_text(text, escape.of(value), out);
    }
    match value.kind() {
        ValueKind::Undefined => Err("nothing"),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable | ValueKind::None => {
            let text = serde_json::to_string(value).map_err(|_| "a value that JSON cannot express")?;
            write_text(&text, escape, out)
        }
        // A whole number needs no escaping anywhere.
        ValueKind::Number | ValueKind::Bool
            if value.is_integer() || !matches!(escape, Escape::Url | Escape::UrlPath | Escape::Form) =>
        {
            write!(out, "{value}").map_err(|_| "a value that cannot be written")
        }
        _ => write_text(&value.to_string(), escape, out),
    }
}

/// Writes text, escaped for its place.
pub(super) fn write_text(text: &str, escape: Escape, out: &mut Vec<u8>) -> Result<(), &'static str> {
    match escape {
        Escape::None => out.extend_from_slice(text.as_bytes()),
        Escape::Url => percent(text, b"", out),
        Escape::UrlPath => percent(text, IN_PATH, out),
        Escape::Form => {
            for (at, word) in text.split(' ').enumerate() {
                out.extend((at > 0).then_some(b'+'));
                percent(word, b"", out);
            }
        }
        Escape::UrlVerbatim => {
            if text.bytes().any(|b| b <= b' ' || b == 0x7f) {
                return Err("a URL with white space or control characters");
            }
            out.extend_from_slice(text.as_bytes());
        }
        Escape::Header => {
            if text.bytes().any(|b| matches!(b, b'\r' | b'\n' | 0)) {
                return Err("a text with a line break");
            }
            out.extend_from_slice(text.as_bytes());
        }
        Escape::Json | Escape::JsonString => {
            let begin = out.len();
            serde_json::to_writer(&mut *out, text).map_err(|_| "a text that JSON cannot express")?;
            if escape == Escape::JsonString {
                out.pop();
                out.remove(begin);
            }
        }
    }
    Ok(())
}

/// What stands in a path beside unreserved characters (RFC 3986, `pchar`), and what divides it.
const IN_PATH: &[u8] = b"/!$&'()*+,;=:@";

/// Percent-encodes everything but unreserved characters and those of `stands`.
fn percent(text: &str, stands: &[u8], out: &mut Vec<u8>) {
    percent_encode(text, out, |_, byte| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => true,
        _ => stands.contains(&byte),
    });
}

/// The text with its `%xx` decoded; what is not UTF-8 then stays as it is.
pub fn percent_decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escape = (*first == b'%').then(|| tail.get(..2)).flatten();
        let decoded = escape.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// Percent-encodes the bytes of a text (RFC 3986, section 2.1) that do not stand for themselves; `stands` is told where
/// a byte is and which.
#[inline]
pub fn percent_encode(text: &str, out: &mut Vec<u8>, stands: impl Fn(usize, u8) -> bool) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for (at, byte) in text.bytes().enumerate() {
        if stands(at, byte) {
            out.push(byte);
        } else {
            out.extend([b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}
