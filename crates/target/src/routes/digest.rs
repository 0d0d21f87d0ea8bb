//! Digest authentication (RFC 7616) with `qop=auth`, MD5 and SHA-256 and their session variants.

use aws_lc_rs::digest::{SHA256, digest as sha};
use md5::{Digest, Md5};
use serde_json::json;

use super::Site;
use super::auth::{after_scheme, hex, seal};
use crate::reply::{Refusal, Reply};
use crate::request::Request;

const REALM: &str = "target";
const OPAQUE: &str = "5ccc069c403ebaf9f0171e9517f40e41";

/// `/digest-auth/USER/PASS?algorithm=MD5|SHA-256|MD5-sess|SHA-256-sess&uses=N`: a nonce is stale after N uses.
pub(super) fn digest(request: &Request, site: &Site, user: &str, password: &str) -> Result<Reply, Refusal> {
    let algorithm = Algorithm::from_param(request.param("algorithm").as_deref())?;
    let uses_max: u64 = request.number("uses", u64::MAX, u64::MAX)?;
    let given = request.header("authorization").and_then(|header| after_scheme(header, "digest"));
    let Some(fields) = given.map(Fields::parse) else {
        return Ok(challenge(site, algorithm, false));
    };
    if !fields.is_answer(request, site, algorithm, user, password) {
        return Ok(challenge(site, algorithm, false));
    }
    if u64::from_str_radix(fields.get("nc"), 16).is_ok_and(|count| count <= uses_max) {
        return Ok(Reply::json(200, &json!({"authenticated": true, "user": user})));
    }
    Ok(challenge(site, algorithm, true))
}

fn challenge(site: &Site, algorithm: Algorithm, stale: bool) -> Reply {
    let number = site.next_number().to_string();
    let nonce = format!("{number}.{}", seal(site, &number));
    let stale = if stale { ", stale=true" } else { "" };
    Reply::text(401, "").header(
        "www-authenticate",
        format!(
            "Digest realm=\"{REALM}\", qop=\"auth\", algorithm={}, nonce=\"{nonce}\", opaque=\"{OPAQUE}\"{stale}",
            algorithm.name()
        ),
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Algorithm {
    hash: Hash,
    session: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Md5,
    Sha256,
}

impl Algorithm {
    fn from_param(name: Option<&str>) -> Result<Self, Refusal> {
        let (hash, session) = match name {
            None | Some("MD5") => (Hash::Md5, false),
            Some("MD5-sess") => (Hash::Md5, true),
            Some("SHA-256") => (Hash::Sha256, false),
            Some("SHA-256-sess") => (Hash::Sha256, true),
            Some(other) => return Err(Refusal::bad(format!("unknown digest algorithm '{other}'"))),
        };
        Ok(Self { hash, session })
    }

    fn name(self) -> &'static str {
        match (self.hash, self.session) {
            (Hash::Md5, false) => "MD5",
            (Hash::Md5, true) => "MD5-sess",
            (Hash::Sha256, false) => "SHA-256",
            (Hash::Sha256, true) => "SHA-256-sess",
        }
    }

    fn hash(self, parts: &[&str]) -> String {
        let text = parts.join(":");
        match self.hash {
            Hash::Md5 => hex(&Md5::digest(text)),
            Hash::Sha256 => hex(sha(&SHA256, text.as_bytes()).as_ref()),
        }
    }
}

/// The fields of an `Authorization: Digest` header.
struct Fields(Vec<(String, String)>);

impl Fields {
    /// Splits at commas outside of quotes. Fields without a value are left out; a missing one fails the comparison.
    fn parse(text: &str) -> Self {
        let mut quoted = false;
        let fields = text
            .split(|c: char| {
                quoted ^= c == '"';
                c == ',' && !quoted
            })
            .filter_map(|field| field.trim().split_once('='))
            .map(|(name, value)| {
                (name.trim().to_ascii_lowercase(), value.trim().trim_matches('"').to_owned())
            })
            .collect();
        Self(fields)
    }

    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Whether the response was computed with the right password for a nonce made here (RFC 7616, 3.4).
    fn is_answer(
        &self,
        request: &Request,
        site: &Site,
        algorithm: Algorithm,
        user: &str,
        password: &str,
    ) -> bool {
        let nonce = self.get("nonce");
        let genuine = nonce.split_once('.').is_some_and(|(number, given)| seal(site, number) == given);
        let matches = self.get("username") == user
            && self.get("realm") == REALM
            && self.get("qop") == "auth"
            && self.get("uri") == request.target();
        if !genuine || !matches {
            return false;
        }
        let cnonce = self.get("cnonce");
        let mut secret = algorithm.hash(&[user, REALM, password]);
        if algorithm.session {
            secret = algorithm.hash(&[&secret, nonce, cnonce]);
        }
        let action = algorithm.hash(&[&request.method, self.get("uri")]);
        self.get("response") == algorithm.hash(&[&secret, nonce, self.get("nc"), cnonce, "auth", &action])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_follow_the_example_of_the_rfc() {
        // RFC 7616, 3.9.1.
        let parts = ["Mufasa", "http-auth@example.org", "Circle of Life"];
        let answer = |name: &str| {
            let algorithm = Algorithm::from_param(Some(name)).unwrap();
            let secret = algorithm.hash(&parts);
            let action = algorithm.hash(&["GET", "/dir/index.html"]);
            let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v";
            let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ";
            algorithm.hash(&[&secret, nonce, "00000001", cnonce, "auth", &action])
        };
        assert_eq!(answer("MD5"), "8ca523f5e9506fed4657c9700eebdbec");
        assert_eq!(answer("SHA-256"), "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1");
    }

    #[test]
    fn commas_inside_quotes_do_not_split_fields() {
        let fields = Fields::parse(r#"username="a, b", uri="/x?y=1", nc=00000001"#);
        assert_eq!(fields.get("username"), "a, b");
        assert_eq!(fields.get("uri"), "/x?y=1");
        assert_eq!(fields.get("nc"), "00000001");
        assert_eq!(fields.get("absent"), "");
    }
}
