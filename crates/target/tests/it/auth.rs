//! Authentication: who is let in and who is not.

use serde_json::json;

use crate::wire::{Response, site};

#[test]
fn basic_lets_in_only_the_named_user() {
    let site = site(|_| {});
    let mut wire = site.connect();
    // "ann:secret" and "ann:wrong"
    let right = wire.get_with("/basic-auth/ann/secret", "Authorization: Basic YW5uOnNlY3JldA==\r\n");
    assert_eq!((right.status, &right.json()["user"]), (200, &json!("ann")));
    for headers in ["", "Authorization: Basic YW5uOndyb25n\r\n", "Authorization: Basic %%%\r\n"] {
        let response = wire.get_with("/basic-auth/ann/secret", headers);
        assert_eq!(response.status, 401, "{headers}");
        assert_eq!(response.header("www-authenticate"), Some("Basic realm=\"target\""));
    }
}

fn field<'a>(challenge: &'a Response, name: &str) -> &'a str {
    let header = challenge.header("www-authenticate").expect("a challenge");
    let start = header
        .find(&format!("{name}="))
        .map_or_else(|| panic!("{name} in {header}"), |at| at + name.len() + 1);
    let rest = &header[start..];
    rest.strip_prefix('"').map_or_else(
        || rest.split(',').next().unwrap_or_default(),
        |quoted| quoted.split('"').next().unwrap_or_default(),
    )
}

fn md5(parts: &[&str]) -> String {
    use md5::Digest;
    let digest = md5::Md5::digest(parts.join(":"));
    digest
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|d| char::from_digit(d.into(), 16))
        .collect()
}

fn digest_header(path: &str, nonce: &str, nc: u32, password: &str) -> String {
    let secret = md5(&["ann", "target", password]);
    let action = md5(&["GET", path]);
    let nc = format!("{nc:08x}");
    let response = md5(&[&secret, nonce, &nc, "abc", "auth", &action]);
    format!(
        "Authorization: Digest username=\"ann\", realm=\"target\", nonce=\"{nonce}\", uri=\"{path}\", qop=auth, \
         nc={nc}, cnonce=\"abc\", response=\"{response}\"\r\n"
    )
}

#[test]
fn digest_challenges_and_checks_the_response() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let path = "/digest-auth/ann/secret?uses=2";
    let challenge = wire.get(path);
    assert_eq!((challenge.status, field(&challenge, "algorithm")), (401, "MD5"));
    let nonce = field(&challenge, "nonce").to_owned();
    assert_eq!(wire.get_with(path, &digest_header(path, &nonce, 1, "wrong")).status, 401);
    assert_eq!(wire.get_with(path, &digest_header(path, "0.made-up", 1, "secret")).status, 401);
    assert_eq!(wire.get_with(path, &digest_header("/other", &nonce, 1, "secret")).status, 401);
    assert_eq!(wire.get_with(path, &digest_header(path, &nonce, 1, "secret")).status, 200);
    assert_eq!(wire.get_with(path, &digest_header(path, &nonce, 2, "secret")).status, 200);
    let stale = wire.get_with(path, &digest_header(path, &nonce, 3, "secret"));
    assert_eq!((stale.status, field(&stale, "stale")), (401, "true"));
    let fresh = field(&stale, "nonce").to_owned();
    assert_eq!(wire.get_with(path, &digest_header(path, &fresh, 1, "secret")).status, 200);
}

#[test]
fn digest_offers_the_algorithm_asked_for() {
    let site = site(|_| {});
    let mut wire = site.connect();
    for algorithm in ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess"] {
        let challenge = wire.get(&format!("/digest-auth/ann/secret?algorithm={algorithm}"));
        assert_eq!(field(&challenge, "algorithm"), algorithm);
    }
    assert_eq!(wire.get("/digest-auth/ann/secret?algorithm=ROT13").status, 400);
}

#[test]
fn bearer_takes_foreign_tokens_and_checks_its_own() {
    let site = site(|_| {});
    let mut wire = site.connect();
    let own = site.get("/token").json()["token"].as_str().expect("a token").to_owned();
    let expired = site.get("/token?expires_in=0").json()["token"].as_str().expect("a token").to_owned();
    let forged = own.replace("hs.0", "hs.9");
    for (token, status) in [("anything", 200), (&own, 200), (&expired, 401), (&forged, 401)] {
        let response = wire.get_with("/bearer", &format!("Authorization: Bearer {token}\r\n"));
        assert_eq!(response.status, status, "{token}");
    }
    assert_eq!(wire.get("/bearer").status, 401);
}

#[test]
fn oauth_grants_and_renews_tokens() {
    const FORM: &str = "application/x-www-form-urlencoded";
    let site = site(|_| {});
    let mut wire = site.connect();
    let granted =
        wire.post("/oauth/token", FORM, "grant_type=client_credentials&client_id=a&client_secret=secret");
    assert_eq!(granted.status, 200);
    let granted = granted.json();
    let token = granted["access_token"].as_str().expect("a token");
    assert_eq!(wire.get_with("/bearer", &format!("Authorization: Bearer {token}\r\n")).status, 200);

    let refresh = granted["refresh_token"].as_str().expect("a token");
    let form = format!("grant_type=refresh_token&refresh_token={refresh}&client_id=a&client_secret=secret");
    let renewed = wire.post("/oauth/token?expires_in=1", FORM, &form).json();
    assert_eq!(renewed["expires_in"], 1);
    assert_ne!(renewed["access_token"], granted["access_token"]);

    for (form, status, error) in [
        ("grant_type=client_credentials&client_secret=wrong", 401, "invalid_client"),
        ("grant_type=refresh_token&refresh_token=x&client_secret=secret", 400, "invalid_grant"),
        ("grant_type=password&client_secret=secret", 400, "unsupported_grant_type"),
    ] {
        let response = wire.post("/oauth/token", FORM, form);
        assert_eq!((response.status, &response.json()["error"]), (status, &json!(error)), "{form}");
    }
    assert_eq!(wire.get("/oauth/token").status, 405);
}
