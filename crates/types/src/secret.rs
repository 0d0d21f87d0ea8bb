//! Which names stand for secrets, and how a text is shown without them.
//!
//! For what is shown and stored: results, reports, recordings, screens. What is sent is never masked.

use std::fmt::Write as _;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// Header fields whose value is a secret.
const FIELDS: [&str; 11] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
    "api-key",
    "apikey",
    "x-auth-token",
    "x-access-token",
    "x-csrf-token",
    "x-xsrf-token",
    "x-amz-security-token",
];
/// Fields of queries, forms and JSON documents whose value is a secret.
const NAMES: [&str; 15] = [
    "password",
    "passwd",
    "pwd",
    "secret",
    "client_secret",
    "access_token",
    "refresh_token",
    "id_token",
    "api_key",
    "api-key",
    "apikey",
    "token",
    "auth_token",
    "jwt",
    "signature",
];

/// Whether a header field of this name carries a secret.
pub fn is_secret_field(name: &str) -> bool {
    FIELDS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a field of a query, a form or a document of this name carries a secret.
pub fn is_secret_name(name: &str) -> bool {
    NAMES.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// A text with the secrets of all URLs in it masked: user and password before the host, and parameters of the query whose
/// name says so. Holes of templates are names of secrets and stay.
///
/// ```
/// use hyperscale_types::secret::masked;
/// assert_eq!(masked("http://me:pw@host/?page=2&api_key=abc"), "http://***@host/?page=2&api_key=***");
/// assert_eq!(masked("http://{{ user }}@host/?token={{ token }}"), "http://{{ user }}@host/?token={{ token }}");
/// ```
pub fn masked(text: &str) -> String {
    without_parameters(&without_users(text))
}

fn without_users(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after.find(|c| matches!(c, '/' | '?' | '#') || ends_url(c)).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(at) if !is_template(&after[..at]) => {
                out.push_str(MASK);
                &after[at..]
            }
            _ => after,
        };
    }
    out + rest
}

fn without_parameters(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['?', '&']) {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        rest = after;
        let end = rest.find(|c| matches!(c, '&' | '#') || ends_url(c)).unwrap_or(rest.len());
        if let Some((name, value)) = rest[..end].split_once('=')
            && is_secret_name(name)
            && !is_template(value)
        {
            let _ = write!(out, "{name}={MASK}");
            rest = &rest[end..];
        }
    }
    out + rest
}

/// Where a URL within a text ends.
fn ends_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\')
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("${")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lose_their_users_and_secret_parameters() {
        for (text, wanted) in [
            ("http://u:s3cret@h:80/a?api_key=x&b=1#top", "http://***@h:80/a?api_key=***&b=1#top"),
            ("https://token@h", "https://***@h"),
            ("http://u:p@ss@h/", "http://***@h/"),
            ("http://h/mail@x?to=a@b", "http://h/mail@x?to=a@b"),
            ("url: \"http://h?TOKEN=a b\"", "url: \"http://h?TOKEN=*** b\""),
            ("a http://x:y@h and http://z@i", "a http://***@h and http://***@i"),
            ("http://h?token=", "http://h?token=***"),
            ("http://h?x=1&&password=ä&y", "http://h?x=1&&password=***&y"),
            ("nothing & nobody ?", "nothing & nobody ?"),
        ] {
            assert_eq!(masked(text), wanted);
        }
    }

    #[test]
    fn names_are_known_in_any_case() {
        assert!(is_secret_field("Authorization") && is_secret_name("Client_Secret"));
        assert!(!is_secret_field("accept") && !is_secret_name("page"));
    }

    proptest::proptest! {
        #[test]
        fn masking_twice_is_masking_once(text in ".{0,60}") {
            let once = masked(&text);
            proptest::prop_assert_eq!(masked(&once), once);
        }
    }
}
