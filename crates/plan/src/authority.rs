//! Host and port of a URL (RFC 3986, section 3.2), for those who check plans and those who connect.

use std::net::Ipv6Addr;

use thiserror::Error;

/// Characters of a host name and of one of its labels (RFC 1035, section 2.3.4).
const HOST_CHARS_MAX: usize = 253;
const LABEL_CHARS_MAX: usize = 63;

/// Where a connection goes, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority<'a> {
    /// Host name or address, without brackets.
    pub host: &'a str,
    /// The port, if one is written.
    pub port: Option<u16>,
}

/// Why a text is no host and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AuthorityError<'a> {
    /// `[` without `]`.
    #[error("`[` of an IPv6 address is never closed")]
    Bracket,
    /// Something else in brackets.
    #[error("`{0}` is not an IPv6 address")]
    Ipv6(&'a str),
    /// Something behind `]` that is no port.
    #[error("`{0}` cannot stand behind an address")]
    Behind(&'a str),
    /// No host.
    #[error("the URL has no host")]
    NoHost,
    /// A character that no host name has.
    #[error("`{0}` is not a host name: `{1}` cannot stand in it")]
    Character(&'a str, char),
    /// A name or a label of it is too long.
    #[error("`{0}` is too long for a host name")]
    Length(&'a str),
    /// Not a port.
    #[error("`{0}` is not a port; it is 1 … 65535")]
    Port(&'a str),
}

impl<'a> Authority<'a> {
    /// Reads `host`, `host:port` or `[address]:port`, without user and password.
    pub fn parse(text: &'a str) -> Result<Self, AuthorityError<'a>> {
        let (host, port) = match text.strip_prefix('[') {
            Some(inner) => bracketed(inner)?,
            None => named(text)?,
        };
        Ok(Authority { host, port: port.map(parse_port).transpose()? })
    }
}

fn bracketed(inner: &str) -> Result<(&str, Option<&str>), AuthorityError<'_>> {
    let (address, rest) = inner.split_once(']').ok_or(AuthorityError::Bracket)?;
    address.parse::<Ipv6Addr>().map_err(|_| AuthorityError::Ipv6(address))?;
    match rest {
        "" => Ok((address, None)),
        _ => Ok((address, Some(rest.strip_prefix(':').ok_or(AuthorityError::Behind(rest))?))),
    }
}

fn named(text: &str) -> Result<(&str, Option<&str>), AuthorityError<'_>> {
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    if host.is_empty() {
        return Err(AuthorityError::NoHost);
    }
    let stands = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if let Some(c) = host.chars().find(|c| !stands(c)) {
        return Err(AuthorityError::Character(host, c));
    }
    if host.len() > HOST_CHARS_MAX || host.split('.').any(|label| label.len() > LABEL_CHARS_MAX) {
        return Err(AuthorityError::Length(host));
    }
    Ok((host, port))
}

fn parse_port(digits: &str) -> Result<u16, AuthorityError<'_>> {
    let port = digits.parse().ok().filter(|port| *port > 0);
    port.filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit())).ok_or(AuthorityError::Port(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_checked() {
        for (good, host, port) in [
            ("a", "a", None),
            ("a.b-c.example:8080", "a.b-c.example", Some(8080)),
            ("127.0.0.1:1", "127.0.0.1", Some(1)),
            ("[::1]", "::1", None),
            ("[::1]:80", "::1", Some(80)),
            ("my_service:80", "my_service", Some(80)),
        ] {
            assert_eq!(Authority::parse(good), Ok(Authority { host, port }), "{good}");
        }
        let long = "a".repeat(64);
        for bad in [
            "",
            ":80",
            "a b",
            "ä.example",
            "a:0",
            "a:70000",
            "a:x",
            "a:+80",
            "a:",
            "[::1",
            "[1.2.3.4]",
            "[::1]80",
            &long,
        ] {
            assert!(Authority::parse(bad).is_err(), "{bad}");
        }
    }
}
