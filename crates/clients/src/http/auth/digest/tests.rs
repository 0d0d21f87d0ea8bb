use super::*;

const RFC_7616_NONCE: &str = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v";
const RFC_7616_CLIENT_NONCE: &str = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";

fn rfc_7616(algorithm: &str) -> String {
    format!(
        "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm={algorithm}, \
         nonce=\"{RFC_7616_NONCE}\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
    )
}

fn session(field: &str, user: &str, password: &str, client_nonce: &str) -> DigestSession {
    DigestSession::new(Challenge::select([field]).expect("a challenge"), user, password, client_nonce)
}

fn parameter<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = value.split_once(&format!("{name}="))?;
    after.split([',']).next().map(|text| text.trim_matches('"'))
}

#[test]
fn the_examples_of_rfc_7616_come_out() {
    for (algorithm, response) in [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ] {
        let mut session = session(&rfc_7616(algorithm), "Mufasa", "Circle of Life", RFC_7616_CLIENT_NONCE);
        let expected = format!(
            "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", \
             algorithm={algorithm}, nonce=\"{RFC_7616_NONCE}\", nc=00000001, cnonce=\"{RFC_7616_CLIENT_NONCE}\", \
             qop=auth, response=\"{response}\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
        );
        assert_eq!(session.authorize("GET", "/dir/index.html"), expected);
    }
}

#[test]
fn the_example_of_rfc_2617_comes_out() {
    let field = "Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", \
                 nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\", opaque=\"5ccc069c403ebaf9f0171e9517f40e41\"";
    let mut session = session(field, "Mufasa", "Circle Of Life", "0a4f113b");
    let value = session.authorize("GET", "/dir/index.html");
    assert_eq!(parameter(&value, "response"), Some("6629fae49393a05397450978507c4ef1"));
    assert!(!value.contains("algorithm"));
}

#[test]
fn without_qop_the_old_form_is_used() {
    let field = "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"";
    let value = session(field, "Mufasa", "CircleOfLife", "x").authorize("GET", "/dir/index.html");
    assert_eq!(parameter(&value, "response"), Some("1949323746fe6a43ef61f9606e7febea"));
    assert!(!value.contains("nc=") && !value.contains("qop") && !value.contains("cnonce"));
}

#[test]
fn session_algorithms_hash_the_nonces_into_the_secret() {
    for hash in [Hash::Md5, Hash::Sha256] {
        let name = if hash == Hash::Md5 { "md5-SESS" } else { "SHA-256-sess" };
        let value = session(&rfc_7616(name), "u", "p", "c").authorize("POST", "/x");
        let secret = hash.of(&[&hash.of(&["u", "http-auth@example.org", "p"]), RFC_7616_NONCE, "c"]);
        let expected =
            hash.of(&[&secret, RFC_7616_NONCE, "00000001", "c", "auth", &hash.of(&["POST", "/x"])]);
        assert_eq!(parameter(&value, "response"), Some(expected.as_str()));
        assert_eq!(parameter(&value, "algorithm"), Some(name));
    }
}

#[test]
fn the_count_rises_with_every_request_and_changes_the_response() {
    let mut session = session(&rfc_7616("MD5"), "u", "p", "c");
    let (first, second) = (session.authorize("GET", "/"), session.authorize("GET", "/"));
    assert_eq!((parameter(&first, "nc"), parameter(&second, "nc")), (Some("00000001"), Some("00000002")));
    assert_ne!(parameter(&first, "response"), parameter(&second, "response"));
}

#[test]
fn a_stale_nonce_is_replaced_but_wrong_credentials_are_not_tried_again() {
    let challenge = |nonce: &str, stale: &str| {
        let field = format!("Digest realm=r, nonce={nonce}, qop=auth{stale}");
        Challenge::select([field.as_str()]).expect("a challenge")
    };
    let mut session = DigestSession::new(challenge("n1", ""), "u", "p", "c");
    session.authorize("GET", "/");
    assert!(session.renew(challenge("n2", ", stale=TRUE"), "d"));
    let value = session.authorize("GET", "/");
    assert_eq!((parameter(&value, "nonce"), parameter(&value, "nc")), (Some("n2"), Some("00000001")));
    assert!(!session.clone().renew(challenge("n3", ""), "e"), "the first try with this nonce was refused");
    session.authorize("GET", "/");
    assert!(session.renew(challenge("n3", ""), "e"), "it was good before");
}

#[test]
fn the_strongest_challenge_of_all_fields_is_taken() {
    let fields = [
        "Negotiate YWJj==, Basic realm=\"a, Digest b\", Digest realm=m, nonce=\"1\", qop=auth",
        "Bearer",
        "Digest realm=s, nonce=2, algorithm=SHA-256, qop=\"auth\", Digest realm=x, nonce=3, algorithm=SHA-512-256",
    ];
    assert_eq!(Challenge::select(fields).map(|challenge| challenge.realm), Ok("s".to_owned()));
    assert_eq!(
        Challenge::select(fields[..1].iter().copied()).map(|challenge| challenge.nonce),
        Ok("1".to_owned())
    );
}

#[test]
fn quotes_and_hashed_users_are_written_right() {
    let mut session =
        session("Digest realm=\"a \\\"b\\\\\", nonce=n, qop=auth, userhash=true", "ü", "p", "c");
    let value = session.authorize("GET", "/\"");
    assert!(value.contains("realm=\"a \\\"b\\\\\"") && value.contains("uri=\"/\\\"\""), "{value}");
    assert_eq!(parameter(&value, "username"), Some(Hash::Md5.of(&["ü", "a \"b\\"]).as_str()));
    assert!(value.ends_with("userhash=true"));
}

#[test]
fn challenges_that_cannot_be_answered_are_refused() {
    let long = format!("Digest realm=r, nonce={}", "n".repeat(PARAMETER_BYTES_MAX + 1));
    for (field, error) in [
        ("", DigestError::None),
        ("Basic realm=x", DigestError::None),
        ("Digest", DigestError::Malformed),
        ("Digest realm=x", DigestError::Malformed),
        ("Digest nonce=x", DigestError::Malformed),
        ("Digest realm=\"x, nonce=y", DigestError::Malformed),
        ("Digest realm=x, nonce=\"a\rb\"", DigestError::Malformed),
        (&long, DigestError::Malformed),
        ("Digest realm=x, nonce=y, algorithm=SHA-512-256", DigestError::Unsupported),
        ("Digest realm=x, nonce=y, qop=auth-int", DigestError::Unsupported),
        ("Digest realm=x, nonce=y, algorithm=MD5-sess", DigestError::Unsupported),
    ] {
        assert_eq!(Challenge::select([field]), Err(error), "{field:?}");
    }
}
