//! What a request is made of.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Uri};
use hyperscale_types::secret::{MASK, is_secret_field, is_secret_name, masked};
use serde_json::{Value, json};

use super::expect::Expect;
use crate::database::percent_decoded;
use crate::runtime::executors::secrets::Secrets;
use crate::runtime::executors::{check_inputs, seconds};

/// The time of a request for which the inputs name none.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Header fields of one request.
const HEADERS_MAX: usize = 100;

/// Set by the executor or by the connection; another value would break one of them.
const OURS: [&str; 6] =
    ["idempotency-key", "content-length", "transfer-encoding", "connection", "upgrade", "te"];

/// A request that can be sent.
pub(super) struct Inputs {
    pub(super) method: Method,
    pub(super) target: Target,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) expect: Expect,
    pub(super) timeout: Duration,
    pub(super) secrets: Secrets,
    /// The URL without its secrets.
    shown_url: String,
}

/// Where a request goes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) is_tls: bool,
    /// A name or an address; IPv6 without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// What the `host` field says.
    pub(super) authority: String,
    /// Path and query.
    pub(super) path: String,
}

/// The schema of the inputs.
pub(super) fn schema(default_method: &str) -> Value {
    let kept = if default_method == "POST" {
        " once: a later attempt returns the response of the first"
    } else {
        ""
    };
    json!({
        "type": "object",
        "description": format!("Sends an HTTP request{kept}. The result is the response: status, headers, body."),
        "examples": [{"url": "https://example.com/health", "expect": [200]}],
        "properties": {
            "method": {
                "type": "string", "enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
                "default": default_method
            },
            "url": {"type": "string", "minLength": 1, "description": "http:// or https://; user and password become basic authentication"},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "body": {"type": "string", "description": "sent as it is; not together with json"},
            "json": {"description": "any value, sent as application/json"},
            "expect": Expect::schema(),
            "timeout": seconds::schema("seconds or a text such as \"30s\" (the default), connecting included"),
        },
        "required": ["url"],
        "additionalProperties": false
    })
}

impl Inputs {
    /// Reads inputs; the error names the field.
    pub(super) fn read(inputs: &Value, default_method: &str) -> Result<Self, String> {
        check_inputs(&schema(default_method), inputs)?;
        let mut secrets = Secrets::default();
        let url = inputs["url"].as_str().unwrap_or_default();
        let (target, user) = read_url(url, &mut secrets)?;
        let mut headers = read_headers(&inputs["headers"], &mut secrets)?;
        if let Some(basic) = user {
            headers.entry(AUTHORIZATION).or_insert(basic);
        }
        let body = read_body(inputs, &mut headers)?;
        let method = inputs["method"].as_str().unwrap_or(default_method);
        Ok(Self {
            method: method.parse().map_err(|_| format!("`method` cannot be {method}"))?,
            target,
            headers,
            body,
            expect: Expect::read(&inputs["expect"])?,
            timeout: seconds::read_timeout(&inputs["timeout"], TIMEOUT)?,
            secrets,
            shown_url: masked(url),
        })
    }

    /// What went wrong, with what was asked of whom and without its secrets.
    pub(super) fn describe(&self, why: &str) -> String {
        self.secrets.mask(&format!("{} {}: {why}", self.method, self.shown_url))
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs")
            .field("method", &self.method)
            .field("url", &self.shown_url)
            .field("headers", &self.headers.keys().map(|name| (name.as_str(), MASK)).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn read_url(url: &str, secrets: &mut Secrets) -> Result<(Target, Option<HeaderValue>), String> {
    let wrong = |why: &str| format!("`url` {why}: {}", masked(url));
    let uri: Uri = url.parse().map_err(|_| wrong("is not a URL"))?;
    let is_tls = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(wrong("must begin with http:// or https://")),
    };
    let authority = uri.authority().ok_or_else(|| wrong("has no host"))?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    if host.is_empty() {
        return Err(wrong("has no host"));
    }
    let default = if is_tls { 443 } else { 80 };
    let (user, place) = match authority.as_str().rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, authority.as_str()),
    };
    let port =
        match place[place.find(authority.host()).unwrap_or(0) + authority.host().len()..].strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| wrong("has a bad port"))?,
            None => default,
        };
    for (name, value) in
        uri.query().into_iter().flat_map(|query| query.split('&')).filter_map(|part| part.split_once('='))
    {
        if is_secret_name(name) {
            secrets.add(value);
        }
    }
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let target = Target { is_tls, host, port, authority: place.to_owned(), path };
    Ok((target, user.map(|user| basic(user, secrets)).transpose()?))
}

/// Basic authentication from the user and password of a URL.
fn basic(user: &str, secrets: &mut Secrets) -> Result<HeaderValue, String> {
    use base64::Engine as _;
    let user = percent_decoded(user);
    if let Some((_, password)) = user.split_once(':') {
        secrets.add(password);
    }
    let encoded = base64::engine::general_purpose::STANDARD.encode(user);
    secrets.add(&encoded);
    HeaderValue::from_str(&format!("Basic {encoded}")).map_err(|_| "`url` has a bad user".to_owned())
}

fn read_headers(value: &Value, secrets: &mut Secrets) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let fields = value.as_object().into_iter().flatten();
    if fields.clone().count() > HEADERS_MAX {
        return Err(format!("`headers` must have at most {HEADERS_MAX} fields"));
    }
    for (key, value) in fields {
        let name: HeaderName = key.parse().map_err(|_| format!("`headers.{key}` is not a header name"))?;
        if OURS.contains(&name.as_str()) {
            return Err(format!("`headers.{key}` is set by the executor; leave it out"));
        }
        let text = value.as_str().unwrap_or_default();
        // The value may be a secret, so the message leaves it out.
        let wrong = |_| format!("`headers.{key}` has a value that cannot be sent");
        let mut value = HeaderValue::from_str(text).map_err(wrong)?;
        if is_secret_field(name.as_str()) || is_secret_name(name.as_str()) {
            value.set_sensitive(true);
            secrets.add(text);
        }
        headers.append(name, value);
    }
    Ok(headers)
}

fn read_body(inputs: &Value, headers: &mut HeaderMap) -> Result<Bytes, String> {
    match (inputs.get("body"), inputs.get("json")) {
        (Some(_), Some(_)) => Err("`body` and `json` exclude each other; leave one out".to_owned()),
        (Some(body), None) => Ok(body.as_str().unwrap_or_default().to_owned().into()),
        (None, Some(json)) => {
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
            Ok(json.to_string().into())
        }
        (None, None) => Ok(Bytes::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(inputs: &Value) -> String {
        Inputs::read(inputs, "GET").unwrap_err()
    }

    #[test]
    fn request_is_read_with_its_credentials() {
        let inputs = json!({"url": "http://me:p%40ss@[::1]:81/a?b=1", "json": {"x": 1}, "expect": 201});
        let read = Inputs::read(&inputs, "POST").unwrap();
        let target = &read.target;
        assert_eq!((target.host.as_str(), target.port, target.is_tls), ("::1", 81, false));
        assert_eq!((target.authority.as_str(), target.path.as_str()), ("[::1]:81", "/a?b=1"));
        assert_eq!(read.headers[AUTHORIZATION], "Basic bWU6cEBzcw==");
        assert_eq!(read.headers[CONTENT_TYPE], "application/json");
        assert_eq!((read.method, &read.body[..]), (Method::POST, &br#"{"x":1}"#[..]));
    }

    #[test]
    fn bad_requests_are_named_by_field() {
        assert_eq!(error(&json!({})), "`url` is missing");
        assert_eq!(error(&json!({"url": "ftp://a"})), "`url` must begin with http:// or https://: ftp://a");
        assert_eq!(error(&json!({"url": "http://a:99999"})), "`url` has a bad port: http://a:99999");
        assert_eq!(
            error(&json!({"url": "http://a", "method": "EAT"})).split(" GET").next(),
            Some("`method` must be one of")
        );
        assert_eq!(
            error(&json!({"url": "http://a", "body": "x", "json": 1})),
            "`body` and `json` exclude each other; leave one out"
        );
        assert_eq!(
            error(&json!({"url": "http://a", "headers": {"Idempotency-Key": "x"}})),
            "`headers.Idempotency-Key` is set by the executor; leave it out"
        );
        assert_eq!(
            error(&json!({"url": "http://a", "headers": {"x": 1}})),
            "`headers.x` must be string, not number"
        );
    }

    #[test]
    fn secrets_are_in_no_text() {
        let inputs = json!({
            "url": "http://me:hidden-pw@a/?token=hidden-tk&x=1",
            "headers": {"Authorization": "Bearer hidden-az", "X-Api-Key": "hidden-key"}
        });
        let read = Inputs::read(&inputs, "GET").unwrap();
        let why = "got hidden-pw hidden-tk hidden-az hidden-key";
        let all = format!("{read:?} {}", read.describe(why));
        assert!(!all.contains("hidden"), "{all}");
        let broken = json!({"url": "http://a/", "headers": {"Authorization": "hidden\n"}});
        assert!(!error(&broken).contains("hidden"));
        assert!(!error(&json!({"url": "http://me:hidden-pw@a:99999/"})).contains("hidden"));
    }
}
