//! Basic and bearer authentication, tokens and OAuth 2.
//!
//! Tokens carry their number, their end and a keyed digest, so nothing has to be remembered to recognise them.

use std::time::Duration;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::Site;
use crate::reply::{Refusal, Reply};
use crate::request::{Request, decode_form};

/// What `/oauth/token` wants as `client_secret`.
const CLIENT_SECRET: &str = "secret";

/// Longest life of a token: a week.
const EXPIRES_IN_MAX_S: u64 = 7 * 24 * 3600;

/// Marks tokens made here; `/bearer` takes tokens without it unseen.
const TOKEN_MARK: &str = "hs";

/// `/basic-auth/USER/PASS`.
pub(super) fn basic(request: &Request, user: &str, password: &str) -> Reply {
    match basic_credentials(request) {
        Some(given) if given == format!("{user}:{password}") => {
            Reply::json(200, &json!({"authenticated": true, "user": user}))
        }
        _ => Reply::text(401, "").header("www-authenticate", "Basic realm=\"target\""),
    }
}

fn basic_credentials(request: &Request) -> Option<String> {
    let encoded = after_scheme(request.header("authorization")?, "basic")?;
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

/// What follows an authentication scheme, whose case does not matter (RFC 9110, 11.1).
pub(super) fn after_scheme<'a>(header: &'a str, scheme: &str) -> Option<&'a str> {
    let (given, rest) = header.split_once(' ')?;
    given.eq_ignore_ascii_case(scheme).then(|| rest.trim())
}

/// `/bearer`: any token will do, but those made here must be genuine and alive.
pub(super) fn bearer(request: &Request, site: &Site) -> Reply {
    let token = request.header("authorization").and_then(|header| after_scheme(header, "bearer"));
    match token {
        Some(token) if !token.is_empty() && accepts(site, token) => {
            Reply::json(200, &json!({"authenticated": true, "token": token}))
        }
        Some(_) => Reply::text(401, "").header("www-authenticate", "Bearer error=\"invalid_token\""),
        None => Reply::text(401, "").header("www-authenticate", "Bearer"),
    }
}

/// `/token?expires_in=S`: a token never given out before.
pub(super) fn token(request: &Request, site: &Site) -> Result<Reply, Refusal> {
    let expires_in = expires_in(request)?;
    Ok(Reply::json(200, &json!({"token": issue(site, expires_in), "expires_in": expires_in})))
}

/// `/oauth/token`: `client_credentials` and `refresh_token` grants (RFC 6749, 4.4 and 6).
pub(super) fn oauth(request: &Request, site: &Site) -> Result<Reply, Refusal> {
    if request.method != "POST" {
        return Err(Refusal::method("POST"));
    }
    let form = decode_form(&String::from_utf8_lossy(&request.body));
    let field = |name: &str| form.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
    let secret = match basic_credentials(request) {
        Some(given) => given.split_once(':').map(|(_, secret)| secret.to_owned()).unwrap_or_default(),
        None => field("client_secret").to_owned(),
    };
    if secret != CLIENT_SECRET {
        return Ok(Reply::json(401, &json!({"error": "invalid_client"})).header("www-authenticate", "Basic"));
    }
    let granted = match field("grant_type") {
        "client_credentials" => true,
        "refresh_token" => is_genuine(site, field("refresh_token")).is_some(),
        _ => return Ok(Reply::json(400, &json!({"error": "unsupported_grant_type"}))),
    };
    if !granted {
        return Ok(Reply::json(400, &json!({"error": "invalid_grant"})));
    }
    let expires_in = expires_in(request)?;
    Ok(Reply::json(
        200,
        &json!({
            "access_token": issue(site, expires_in), "token_type": "Bearer", "expires_in": expires_in,
            "refresh_token": issue(site, EXPIRES_IN_MAX_S), "scope": field("scope"),
        }),
    )
    .header("cache-control", "no-store"))
}

fn expires_in(request: &Request) -> Result<u64, Refusal> {
    request.number("expires_in", 3600, EXPIRES_IN_MAX_S)
}

fn issue(site: &Site, expires_in: u64) -> String {
    let end = (site.epoch.uptime() + Duration::from_secs(expires_in)).as_millis();
    let content = format!("{TOKEN_MARK}.{}.{end}", site.next_number());
    let seal = seal(site, &content);
    format!("{content}.{seal}")
}

fn accepts(site: &Site, token: &str) -> bool {
    if !token.starts_with(TOKEN_MARK) {
        return true;
    }
    is_genuine(site, token).is_some_and(|end_ms| site.epoch.uptime().as_millis() < end_ms)
}

/// The end of a token made here, in milliseconds of uptime.
fn is_genuine(site: &Site, token: &str) -> Option<u128> {
    let (content, seal_given) = token.rsplit_once('.')?;
    let (_, end) = content.rsplit_once('.')?;
    (seal(site, content) == seal_given).then(|| end.parse().ok()).flatten()
}

/// Shows that a text was made by this target. Not meant to withstand an attacker.
pub(super) fn seal(site: &Site, content: &str) -> String {
    let keyed = format!("{}:{content}", site.secret);
    hex(&digest::digest(&digest::SHA256, keyed.as_bytes()).as_ref()[..8])
}

/// Bytes as lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).expect("four bits are one digit"));
        }
        text
    })
}
