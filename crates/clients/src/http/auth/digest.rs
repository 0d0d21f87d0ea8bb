//! Digest authentication (RFC 7616, and RFC 2617 for servers without `qop`): challenge in, credentials out.
//!
//! MD5 and SHA-256, each also with `-sess`; quality `auth`. `auth-int` would need the whole body hashed per request and
//! is hardly ever offered alone; it is refused. The client nonce is handed in, so that runs can be repeated.

mod parse;

use std::fmt::Write;

use md5::{Digest as _, Md5};
use thiserror::Error;

use parse::{Parameters, challenges};

/// Bytes of one parameter of a challenge; a longer one is refused.
pub const PARAMETER_BYTES_MAX: usize = 4096;

/// Why a challenge cannot be answered. The answer that carried it stands as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DigestError {
    /// No digest challenge among those given.
    #[error("the peer asks for no digest authentication")]
    None,
    /// A challenge without `realm` or `nonce`, or with a parameter that is too long or has control characters.
    #[error("malformed digest challenge")]
    Malformed,
    /// An algorithm other than MD5 and SHA-256, or only `auth-int`.
    #[error("unsupported digest algorithm or quality")]
    Unsupported,
}

/// The hash of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hash {
    Md5,
    Sha256,
}

impl Hash {
    /// The hash of texts joined by colons, in lower-case hexadecimal.
    fn of(self, parts: &[&str]) -> String {
        let text = parts.join(":");
        match self {
            Hash::Md5 => hex(&Md5::digest(text.as_bytes())),
            Hash::Sha256 => {
                hex(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes()).as_ref())
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _infallible = write!(out, "{byte:02x}");
        out
    })
}

/// A digest challenge that can be answered.
#[expect(clippy::struct_excessive_bools, reason = "flags of the protocol, independent of each other")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    realm: String,
    nonce: String,
    opaque: Option<String>,
    /// As written, to be sent back; `None` if none was given.
    algorithm: Option<String>,
    hash: Hash,
    session: bool,
    /// Quality `auth`; without it the old form of RFC 2069 is used.
    auth: bool,
    hash_user: bool,
    stale: bool,
}

impl Challenge {
    /// The best challenge among the values of `www-authenticate` (or `proxy-authenticate`) fields: the strongest hash,
    /// then the first.
    pub fn select<'a>(fields: impl IntoIterator<Item = &'a str>) -> Result<Challenge, DigestError> {
        let mut best: Result<Challenge, DigestError> = Err(DigestError::None);
        for (scheme, parameters) in fields.into_iter().flat_map(challenges) {
            if !scheme.eq_ignore_ascii_case("digest") {
                continue;
            }
            best = match (best, Challenge::new(&parameters)) {
                (Ok(before), Ok(new)) if new.hash <= before.hash => Ok(before),
                (Ok(before), Err(_)) => Ok(before),
                (_, new) => new,
            };
        }
        best
    }

    fn new(parameters: &Parameters<'_>) -> Result<Challenge, DigestError> {
        if parameters.iter().any(|(_, value)| !is_sendable(value)) {
            return Err(DigestError::Malformed);
        }
        let find = |name: &str| {
            parameters.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
        };
        let is_true = |name| find(name).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let (hash, session) =
            algorithm(find("algorithm").unwrap_or("MD5")).ok_or(DigestError::Unsupported)?;
        let qualities = find("qop");
        let auth =
            qualities.is_some_and(|list| list.split(',').any(|q| q.trim().eq_ignore_ascii_case("auth")));
        if (qualities.is_some() || session) && !auth {
            return Err(DigestError::Unsupported);
        }
        Ok(Challenge {
            realm: find("realm").ok_or(DigestError::Malformed)?.to_owned(),
            nonce: find("nonce").ok_or(DigestError::Malformed)?.to_owned(),
            opaque: find("opaque").map(str::to_owned),
            algorithm: find("algorithm").map(str::to_owned),
            hash,
            session,
            auth,
            hash_user: is_true("userhash"),
            stale: is_true("stale"),
        })
    }
}

fn algorithm(name: &str) -> Option<(Hash, bool)> {
    let (base, session) = match name.len().checked_sub("-sess".len()).and_then(|at| name.split_at_checked(at))
    {
        Some((base, end)) if end.eq_ignore_ascii_case("-sess") => (base, true),
        _ => (name, false),
    };
    let hashes = [("MD5", Hash::Md5), ("SHA-256", Hash::Sha256)];
    let known = hashes.iter().find(|(known, _)| base.eq_ignore_ascii_case(known));
    known.map(|(_, hash)| (*hash, session))
}

fn is_sendable(value: &str) -> bool {
    value.len() <= PARAMETER_BYTES_MAX && !value.bytes().any(|byte| byte.is_ascii_control())
}

/// Answers challenges of one origin for one user. Later requests need no challenge of their own: the count rises.
#[derive(Clone, Debug)]
pub struct DigestSession {
    challenge: Challenge,
    user: String,
    password: String,
    client_nonce: String,
    /// Hash of user, realm and password, for the session if the algorithm says so.
    secret: String,
    count: u32,
}

impl DigestSession {
    /// A session that begins with a challenge. `client_nonce` is unpredictable text without quotes.
    pub fn new(challenge: Challenge, user: &str, password: &str, client_nonce: &str) -> Self {
        let mut session = DigestSession {
            challenge,
            user: user.to_owned(),
            password: password.to_owned(),
            client_nonce: client_nonce.to_owned(),
            secret: String::new(),
            count: 0,
        };
        session.secret = session.hash_secret();
        session
    }

    /// Takes the challenge of an answer that refused our credentials. Whether another try makes sense: the nonce was
    /// too old (`stale`, or simply another one after it had been good); otherwise user or password are wrong.
    pub fn renew(&mut self, challenge: Challenge, client_nonce: &str) -> bool {
        let worked_before = self.count > 1 && challenge.nonce != self.challenge.nonce;
        let again = challenge.stale || worked_before;
        client_nonce.clone_into(&mut self.client_nonce);
        self.challenge = challenge;
        self.secret = self.hash_secret();
        self.count = 0;
        again
    }

    /// The value of `authorization` for the next request. `target` is the request target as it is sent.
    pub fn authorize(&mut self, method: &str, target: &str) -> String {
        self.count += 1;
        let Challenge { hash, auth, .. } = self.challenge;
        let request = hash.of(&[method, target]);
        let count = format!("{:08x}", self.count);
        let nonce = &self.challenge.nonce;
        let response = if auth {
            hash.of(&[&self.secret, nonce, &count, &self.client_nonce, "auth", &request])
        } else {
            hash.of(&[&self.secret, nonce, &request])
        };
        self.write(target, &count, &response)
    }

    fn write(&self, target: &str, count: &str, response: &str) -> String {
        let challenge = &self.challenge;
        let mut out = "Digest ".to_owned();
        if challenge.hash_user {
            quoted(&mut out, "username", &challenge.hash.of(&[&self.user, &challenge.realm]));
        } else {
            quoted(&mut out, "username", &self.user);
        }
        quoted(&mut out, ", realm", &challenge.realm);
        quoted(&mut out, ", uri", target);
        if let Some(algorithm) = &challenge.algorithm {
            out.push_str(", algorithm=");
            out.push_str(algorithm);
        }
        quoted(&mut out, ", nonce", &challenge.nonce);
        if challenge.auth {
            out.push_str(", nc=");
            out.push_str(count);
            quoted(&mut out, ", cnonce", &self.client_nonce);
            out.push_str(", qop=auth");
        }
        quoted(&mut out, ", response", response);
        if let Some(opaque) = &challenge.opaque {
            quoted(&mut out, ", opaque", opaque);
        }
        if challenge.hash_user {
            out.push_str(", userhash=true");
        }
        out
    }

    fn hash_secret(&self) -> String {
        let Challenge { hash, session, realm, nonce, .. } = &self.challenge;
        let secret = hash.of(&[&self.user, realm, &self.password]);
        if *session { hash.of(&[&secret, nonce, &self.client_nonce]) } else { secret }
    }
}

fn quoted(out: &mut String, name: &str, value: &str) {
    out.push_str(name);
    out.push_str("=\"");
    for c in value.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

#[cfg(test)]
mod tests;
