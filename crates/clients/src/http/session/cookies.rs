//! The cookies of one virtual user (RFC 6265).
//!
//! A jar keeps what answers set and writes what requests send; it allocates nothing until the first cookie comes and
//! nothing when it writes. The time is handed in as Unix seconds. `HttpOnly` and `SameSite` mean nothing here: there
//! are no scripts and no other sites.
//!
//! There is no list of public suffixes: a server under `co.uk` may set cookies for all of `co.uk`. Only domains of a
//! single label (`com`) are refused unless they are the host itself. A load test talks to hosts it was told to talk
//! to, and the list would be larger than the rest of the client.

mod date;
mod set_cookie;

use std::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use crate::http::request::url::Url;
use set_cookie::SetCookie;

/// Cookies of one jar; the oldest makes room. Enough for a session over several services, small for 50 000 users.
pub const COOKIES_MAX: usize = 300;
/// Cookies of one domain (RFC 6265, section 6.1, asks for 50); the oldest of the domain makes room.
pub const COOKIES_PER_DOMAIN_MAX: usize = 50;
/// Bytes of name and value together (RFC 6265, section 6.1); a longer cookie is refused.
pub const COOKIE_BYTES_MAX: usize = 4096;
/// Bytes of a path attribute; a longer one counts as absent, as in browsers.
pub const PATH_BYTES_MAX: usize = 1024;

/// Why a cookie was not kept. The jar is unchanged; the request it came with is not affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CookieError {
    /// No `name=` in front.
    #[error("cookie without a name")]
    NoName,
    /// A control character in name, value or attributes.
    #[error("control character in a cookie")]
    Control,
    /// Longer than [`COOKIE_BYTES_MAX`].
    #[error("cookie longer than {COOKIE_BYTES_MAX} bytes")]
    TooLong,
    /// The domain is not the host's or one above it, or has a single label.
    #[error("cookie for a foreign domain")]
    Domain,
    /// A `Secure` cookie that came over a plain connection.
    #[error("secure cookie over a plain connection")]
    Insecure,
}

/// The cookies of one virtual user.
#[derive(Clone, Debug, Default)]
pub struct CookieJar {
    /// In the order they are sent: longer paths first, then older ones (RFC 6265, section 5.4).
    cookies: Vec<Cookie>,
    /// Stamp of the next cookie.
    next: u64,
}

#[derive(Clone, Debug)]
struct Cookie {
    /// `name=value`, as it is sent.
    pair: Box<[u8]>,
    name_len: usize,
    /// In lower case.
    domain: Box<str>,
    path: Box<str>,
    /// Only for the very host that set it, not for those below.
    host_only: bool,
    secure: bool,
    /// Gone from this second on; `None` until the jar is dropped.
    expires_s: Option<u64>,
    /// Rises with every new cookie.
    created: u64,
}

impl CookieJar {
    /// An empty jar.
    pub const fn new() -> Self {
        CookieJar { cookies: Vec::new(), next: 0 }
    }

    /// How many cookies there are, expired ones included.
    pub fn len(&self) -> usize {
        self.cookies.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.cookies.clear();
    }

    /// Takes the value of a `set-cookie` field that came as an answer to a request for `url`. A cookie that is
    /// already expired removes the one it replaces.
    pub fn store(&mut self, url: &Url<'_>, set_cookie: &[u8], now_s: u64) -> Result<(), CookieError> {
        let parsed = SetCookie::parse(set_cookie)?;
        let cookie = parsed.into_cookie(url, now_s, self.next)?;
        self.next += 1;
        let same = self.cookies.iter().position(|known| known.is_replaced_by(&cookie));
        let expired = cookie.is_expired(now_s);
        match same {
            Some(at) if expired => drop(self.cookies.remove(at)),
            Some(at) => self.cookies[at] = Cookie { created: self.cookies[at].created, ..cookie },
            None if expired => {}
            None => self.insert(cookie, now_s),
        }
        Ok(())
    }

    /// Appends the value of the `cookie` field for a request, `a=1; b=2`. Returns whether there was any.
    pub fn write_header(&self, url: &Url<'_>, now_s: u64, out: &mut Vec<u8>) -> bool {
        let mut any = false;
        for pair in self.pairs(url, now_s) {
            if any {
                out.extend_from_slice(b"; ");
            }
            out.extend_from_slice(pair);
            any = true;
        }
        any
    }

    /// The `name=value` pairs of a request in the order they are sent.
    pub fn pairs(&self, url: &Url<'_>, now_s: u64) -> impl Iterator<Item = &[u8]> {
        self.cookies.iter().filter(move |cookie| cookie.applies_to(url, now_s)).map(|cookie| &*cookie.pair)
    }

    /// Puts a new cookie in its place and makes room before.
    fn insert(&mut self, cookie: Cookie, now_s: u64) {
        if self.cookies.len() == COOKIES_MAX {
            self.cookies.retain(|known| !known.is_expired(now_s));
        }
        if self.cookies.iter().filter(|known| known.domain == cookie.domain).count() == COOKIES_PER_DOMAIN_MAX
        {
            self.remove_oldest(|known| known.domain == cookie.domain);
        }
        if self.cookies.len() == COOKIES_MAX {
            self.remove_oldest(|_| true);
        }
        let at = self.cookies.partition_point(|known| known.path.len() >= cookie.path.len());
        self.cookies.insert(at, cookie);
    }

    fn remove_oldest(&mut self, among: impl Fn(&Cookie) -> bool) {
        let candidates = self.cookies.iter().enumerate().filter(|(_, cookie)| among(cookie));
        if let Some((at, _)) = candidates.min_by_key(|(_, cookie)| cookie.created) {
            self.cookies.remove(at);
        }
    }
}

impl Cookie {
    fn name(&self) -> &[u8] {
        &self.pair[..self.name_len]
    }

    fn is_expired(&self, now_s: u64) -> bool {
        self.expires_s.is_some_and(|expires_s| expires_s <= now_s)
    }

    fn is_replaced_by(&self, new: &Cookie) -> bool {
        self.name() == new.name() && self.domain == new.domain && self.path == new.path
    }

    fn applies_to(&self, url: &Url<'_>, now_s: u64) -> bool {
        (!self.secure || url.scheme.is_tls())
            && path_matches(url.path(), &self.path)
            && (url.host.eq_ignore_ascii_case(&self.domain)
                || (!self.host_only && is_below(url.host, &self.domain)))
            && !self.is_expired(now_s)
    }
}

impl SetCookie<'_> {
    /// RFC 6265, section 5.3.
    fn into_cookie(self, url: &Url<'_>, now_s: u64, created: u64) -> Result<Cookie, CookieError> {
        if self.secure && !url.scheme.is_tls() {
            return Err(CookieError::Insecure);
        }
        let host = url.host.to_ascii_lowercase();
        let domain = self.domain.filter(|domain| !host.eq_ignore_ascii_case(domain));
        if let Some(domain) = domain
            && (!domain.contains('.') || !is_below(&host, domain))
        {
            return Err(CookieError::Domain);
        }
        let path = self.path.unwrap_or_else(|| default_path(url.path()));
        let expires_s = match self.max_age_s {
            Some(age_s) => Some(u64::try_from(age_s).map_or(0, |age_s| now_s.saturating_add(age_s))),
            None => self.expires_s,
        };
        Ok(Cookie {
            pair: [self.name, b"=", self.value].concat().into(),
            name_len: self.name.len(),
            domain: domain.map_or(host, str::to_ascii_lowercase).into(),
            path: path.into(),
            // An address or a single label that names itself is not meant for hosts below it.
            host_only: self.domain.is_none() || is_address(url.host) || !url.host.contains('.'),
            secure: self.secure,
            expires_s,
            created,
        })
    }
}

/// Whether `host` is a name below `domain` (RFC 6265, section 5.1.3). Addresses are below nothing.
fn is_below(host: &str, domain: &str) -> bool {
    let Some(dot) = host.len().checked_sub(domain.len() + 1) else {
        return false;
    };
    host.as_bytes()[dot] == b'.'
        && host.as_bytes()[dot + 1..].eq_ignore_ascii_case(domain.as_bytes())
        && !is_address(host)
}

fn is_address(host: &str) -> bool {
    host.parse::<Ipv4Addr>().is_ok() || host.parse::<Ipv6Addr>().is_ok()
}

/// RFC 6265, section 5.1.4.
fn path_matches(path: &str, cookie_path: &str) -> bool {
    path.strip_prefix(cookie_path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || cookie_path.ends_with('/'))
}

/// The path of a cookie that names none: the folder of the request (RFC 6265, section 5.1.4).
fn default_path(path: &str) -> &str {
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(end) => &path[..end],
    }
}

#[cfg(test)]
mod tests;
