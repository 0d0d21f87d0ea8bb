//! Absolute `http` and `https` URLs: split, compare by origin, resolve redirects.
//!
//! Follows RFC 3986 with what a load generator needs and no more: two schemes, fragments cut off (they are never
//! sent), hosts in ASCII – internationalised names must be written in punycode – and IPv6 addresses in brackets. The
//! `url` crate would bring the Unicode tables of IDNA; `http::Uri` neither splits user information nor resolves.
//!
//! Splitting borrows from the text and allocates nothing. It must never let a control character or a space through:
//! what it returns is written into request heads.

use std::fmt;
use std::sync::Arc;

use hyperscale_plan::authority::{Authority, AuthorityError};
use hyperscale_plan::template::{percent_decode, percent_encode};
use thiserror::Error;

/// Why a text is not a URL that can be requested. Nothing was sent; a retry fails the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// No `scheme://` in front.
    #[error("not an absolute URL (http://… or https://…)")]
    NotAbsolute,
    /// A scheme other than `http` and `https`.
    #[error("unsupported scheme (http and https are)")]
    Scheme,
    /// The host is missing or has a byte that no host name has.
    #[error("bad host name (international names must be written in punycode)")]
    Host,
    /// The text in brackets is not an IPv6 address.
    #[error("bad IPv6 address")]
    Ipv6,
    /// The port is not a number from 1 to 65535.
    #[error("bad port")]
    Port,
    /// A space, control character or non-ASCII byte at this offset; it must be percent-encoded.
    #[error("character that must be percent-encoded at byte {0}")]
    Byte(usize),
}

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Plain.
    Http,
    /// With TLS.
    Https,
}

impl Scheme {
    /// The word, in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }

    /// The port used when a URL names none.
    pub const fn default_port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }

    /// Whether connections of this scheme use TLS.
    pub const fn is_tls(self) -> bool {
        matches!(self, Scheme::Https)
    }

    fn parse(word: &str) -> Option<Scheme> {
        [Scheme::Http, Scheme::Https].into_iter().find(|scheme| word.eq_ignore_ascii_case(scheme.as_str()))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The parts of an absolute URL, borrowed from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Url<'a> {
    /// The scheme.
    pub scheme: Scheme,
    /// `user:password` as written, still percent-encoded.
    pub userinfo: Option<&'a str>,
    /// Host name or address, as written; an IPv6 address without its brackets.
    pub host: &'a str,
    /// The port, written or implied.
    pub port: u16,
    /// The path as written; empty or starting with `/`.
    path: &'a str,
    /// The query without `?`.
    query: Option<&'a str>,
    /// `user@host:port` as written.
    authority: &'a str,
}

impl<'a> Url<'a> {
    /// Splits an absolute URL.
    pub fn parse(text: &'a str) -> Result<Url<'a>, UrlError> {
        if let Some(at) = text.bytes().position(|byte| !byte.is_ascii_graphic()) {
            return Err(UrlError::Byte(at));
        }
        let (scheme, rest) = split_scheme(text).ok_or(UrlError::NotAbsolute)?;
        let scheme = Scheme::parse(scheme).ok_or(UrlError::Scheme)?;
        let rest = rest.strip_prefix("//").ok_or(UrlError::NotAbsolute)?;
        let Reference { authority, path, query } = Reference::split_authority(rest);
        let (userinfo, host_port) = match authority.rsplit_once('@') {
            Some((userinfo, host_port)) => (Some(userinfo), host_port),
            None => (None, authority),
        };
        // An empty port is the scheme's own (RFC 3986, section 3.2.3).
        let Authority { host, port } = Authority::parse(host_port.strip_suffix(':').unwrap_or(host_port))?;
        let port = port.unwrap_or(scheme.default_port());
        Ok(Url { scheme, userinfo, host, port, path, query, authority })
    }

    /// The path, `/` if none is written.
    pub fn path(&self) -> &'a str {
        if self.path.is_empty() { "/" } else { self.path }
    }

    /// The query without its `?`.
    pub fn query(&self) -> Option<&'a str> {
        self.query
    }

    /// Appends path and query: the target of a request in origin form.
    pub fn write_target(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.path().as_bytes());
        if let Some(query) = self.query {
            out.push(b'?');
            out.extend_from_slice(query.as_bytes());
        }
    }

    /// Appends host and, unless it is the scheme's own, port: the value of `host` and `:authority`.
    pub fn write_authority(&self, out: &mut Vec<u8>) {
        write_host_port(self.host, (self.port != self.scheme.default_port()).then_some(self.port), out);
    }

    /// The origin, with a host of its own in lower case.
    pub fn origin(&self) -> Origin {
        Origin { scheme: self.scheme, host: self.host.to_ascii_lowercase().into(), port: self.port }
    }

    /// Whether this URL has that origin. Allocates nothing.
    pub fn has_origin(&self, origin: &Origin) -> bool {
        self.port == origin.port
            && self.scheme == origin.scheme
            && self.host.eq_ignore_ascii_case(&origin.host)
    }

    /// User and password, decoded; an absent password is empty. Bytes that are not UTF-8 stay encoded.
    pub fn credentials(&self) -> Option<(String, String)> {
        let (user, password) = self.userinfo?.split_once(':').unwrap_or((self.userinfo?, ""));
        Some((percent_decode(user), percent_decode(password)))
    }
}

/// Where connections go: scheme, host in lower case, port. Cloning shares the host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The scheme.
    pub scheme: Scheme,
    /// The host in lower case; an IPv6 address without its brackets.
    pub host: Arc<str>,
    /// The port.
    pub port: u16,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{}://{open}{}{close}:{}", self.scheme, self.host, self.port)
    }
}

/// Resolves the `location` of a redirect against the URL that was requested (RFC 3986, section 5). The answer is an
/// absolute URL without fragment and dot segments that [`Url::parse`] accepts. Spaces and non-ASCII bytes, which
/// servers do send, are percent-encoded.
pub fn resolve(base: &Url<'_>, location: &str) -> Result<String, UrlError> {
    let location = location.trim_matches([' ', '\t']);
    let resolved = match split_scheme(location) {
        Some((scheme, rest)) => {
            let scheme = Scheme::parse(scheme).ok_or(UrlError::Scheme)?;
            let reference = Reference::split_authority(rest.strip_prefix("//").ok_or(UrlError::NotAbsolute)?);
            reference.join(scheme, &remove_dot_segments(reference.path))
        }
        None => match location.strip_prefix("//") {
            Some(rest) => {
                let reference = Reference::split_authority(rest);
                reference.join(base.scheme, &remove_dot_segments(reference.path))
            }
            None => resolve_path(base, Reference::split_path("", location)),
        },
    };
    Url::parse(&resolved)?;
    Ok(resolved)
}

/// RFC 3986, section 5.2.2, for a reference without scheme and authority.
fn resolve_path(base: &Url<'_>, reference: Reference<'_>) -> String {
    let query = match reference.path {
        "" => reference.query.or(base.query),
        _ => reference.query,
    };
    let path = match reference.path {
        "" => base.path().to_owned(),
        absolute if absolute.starts_with('/') => remove_dot_segments(absolute),
        relative => {
            let parent = base.path().rsplit_once('/').map_or("", |(parent, _)| parent);
            remove_dot_segments(&format!("{parent}/{relative}"))
        }
    };
    Reference { authority: base.authority, query, ..reference }.join(base.scheme, &path)
}

/// The parts of a reference behind its scheme, fragment cut off.
#[derive(Clone, Copy)]
struct Reference<'a> {
    authority: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// Splits what follows `//`.
    fn split_authority(text: &'a str) -> Self {
        let end = text.find(['/', '?', '#']).unwrap_or(text.len());
        Self::split_path(&text[..end], &text[end..])
    }

    /// Splits what follows the authority.
    fn split_path(authority: &'a str, text: &'a str) -> Self {
        let text = text.split_once('#').map_or(text, |(before, _)| before);
        let (path, query) = text.split_once('?').map_or((text, None), |(path, query)| (path, Some(query)));
        Reference { authority, path, query }
    }

    /// Puts the parts together, encoding what must not stand in a request.
    fn join(&self, scheme: Scheme, path: &str) -> String {
        let mut out = String::with_capacity(scheme.as_str().len() + self.authority.len() + path.len() + 8);
        out.push_str(scheme.as_str());
        out.push_str("://");
        out.push_str(self.authority);
        push_encoded(path, &mut out);
        if let Some(query) = self.query {
            out.push('?');
            push_encoded(query, &mut out);
        }
        out
    }
}

/// The scheme in front of the first `:`, if what stands there has the form of one.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut bytes = scheme.bytes();
    let first = bytes.next()?;
    let valid = first.is_ascii_alphabetic()
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    valid.then_some((scheme, rest))
}

impl From<AuthorityError<'_>> for UrlError {
    fn from(error: AuthorityError<'_>) -> Self {
        match error {
            AuthorityError::Bracket | AuthorityError::Ipv6(_) => UrlError::Ipv6,
            AuthorityError::Behind(_) | AuthorityError::Port(_) => UrlError::Port,
            AuthorityError::NoHost | AuthorityError::Character(..) | AuthorityError::Length(_) => {
                UrlError::Host
            }
        }
    }
}

fn write_host_port(host: &str, port: Option<u16>, out: &mut Vec<u8>) {
    let bracketed = host.contains(':');
    if bracketed {
        out.push(b'[');
    }
    out.extend_from_slice(host.as_bytes());
    if bracketed {
        out.push(b']');
    }
    if let Some(port) = port {
        out.push(b':');
        out.extend_from_slice(itoa::Buffer::new().format(port).as_bytes());
    }
}

/// RFC 3986, section 5.2.4, for a path that is empty or starts with `/`.
fn remove_dot_segments(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." if last => out.push('/'),
            "." => {}
            ".." => {
                out.truncate(out.rfind('/').unwrap_or(0));
                if last {
                    out.push('/');
                }
            }
            _ => {
                out.push('/');
                out.push_str(segment);
            }
        }
    }
    out
}

fn push_encoded(text: &str, out: &mut String) {
    let mut bytes = Vec::with_capacity(text.len());
    percent_encode(text, &mut bytes, |_, byte| byte.is_ascii_graphic());
    out.push_str(&String::from_utf8(bytes).expect("percent-encoded text is ASCII"));
}

#[cfg(test)]
mod tests;
