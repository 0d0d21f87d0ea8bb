//! The value of a `set-cookie` field, taken apart (RFC 6265, section 5.2). Unknown attributes are ignored.

use super::date::parse_date;
use super::{COOKIE_BYTES_MAX, CookieError, PATH_BYTES_MAX};

/// What a `set-cookie` field says, borrowed from it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SetCookie<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    /// Without a leading dot; as written otherwise.
    pub(super) domain: Option<&'a str>,
    /// Starts with `/`.
    pub(super) path: Option<&'a str>,
    pub(super) secure: bool,
    pub(super) expires_s: Option<u64>,
    pub(super) max_age_s: Option<i64>,
}

impl<'a> SetCookie<'a> {
    /// Takes the field apart. Of an attribute given several times the last one counts.
    pub(super) fn parse(field: &'a [u8]) -> Result<Self, CookieError> {
        if field.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return Err(CookieError::Control);
        }
        let mut parts = field.split(|byte| *byte == b';');
        let (name, value) = parts.next().and_then(split_pair).ok_or(CookieError::NoName)?;
        if name.is_empty() {
            return Err(CookieError::NoName);
        }
        if name.len() + value.len() > COOKIE_BYTES_MAX {
            return Err(CookieError::TooLong);
        }
        let mut cookie = SetCookie { name, value, ..SetCookie::default() };
        for part in parts {
            let (key, value) = split_pair(part).unwrap_or((part.trim_ascii(), b""));
            cookie.attribute(key, value);
        }
        Ok(cookie)
    }

    fn attribute(&mut self, key: &[u8], value: &'a [u8]) {
        let is = |name: &str| key.eq_ignore_ascii_case(name.as_bytes());
        let text = std::str::from_utf8(value).unwrap_or_default();
        if is("secure") {
            self.secure = true;
        } else if is("domain") {
            let domain = text.strip_prefix('.').unwrap_or(text);
            self.domain = Some(domain).filter(|domain| !domain.is_empty()).or(self.domain);
        } else if is("path") {
            self.path = Some(text).filter(|path| path.starts_with('/') && path.len() <= PATH_BYTES_MAX);
        } else if is("expires") {
            self.expires_s = parse_date(text).or(self.expires_s);
        } else if is("max-age") {
            self.max_age_s = parse_age(text).or(self.max_age_s);
        }
    }
}

fn split_pair(part: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'=', part)?;
    Some((part[..at].trim_ascii(), part[at + 1..].trim_ascii()))
}

/// RFC 6265, section 5.2.2: digits, perhaps behind a minus. More digits than fit mean for ever.
fn parse_age(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(text.parse().unwrap_or(if digits.len() == text.len() { i64::MAX } else { i64::MIN }))
}
