//! A response as a result, and as an error.

use hyper::StatusCode;
use hyper::header::HeaderMap;
use hyperscale_types::secret::{MASK, is_secret_field};
use serde_json::{Map, Value, json};

use super::expect::Expect;
use crate::runtime::executors::text::head;

/// Bytes of a body that an error shows.
const SHOWN_MAX: usize = 300;

/// A response that was read as far as it is kept.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Whether the body was longer.
    pub(super) truncated: bool,
}

impl HttpResponse {
    /// `{status, headers, body}`; the body as JSON where it is JSON, as text where it is text, else in Base64.
    pub(super) fn into_value(self) -> Value {
        let mut value = json!({"status": self.status, "headers": shown(&self.headers), "body": null});
        let parsed = if self.truncated { None } else { serde_json::from_slice(&self.body).ok() };
        match (parsed, String::from_utf8(self.body)) {
            (Some(parsed), _) => value["body"] = parsed,
            (None, Ok(text)) => value["body"] = Value::String(text),
            (None, Err(error)) => match cut_character(&error) {
                Some(text) if self.truncated => value["body"] = json!(text),
                _ => value["body_base64"] = json!(base64(error.as_bytes())),
            },
        }
        if self.truncated {
            value["truncated"] = json!(true);
        }
        value
    }

    /// Whether another attempt may get another response.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self.status, 408 | 425 | 429 | 500..)
    }

    /// Why it is not the one that was wanted.
    pub(super) fn refusal(&self, expect: &Expect) -> String {
        let reason = StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let text = String::from_utf8_lossy(&self.body);
        let (text, _) = head(text.trim(), SHOWN_MAX);
        let colon = if text.is_empty() { "" } else { ": " };
        format!("status {}{reason}, expected {expect}{colon}{text}", self.status)
    }
}

/// The text before a character that was cut in two at the end.
fn cut_character(error: &std::string::FromUtf8Error) -> Option<String> {
    let valid = error.utf8_error().valid_up_to();
    let is_cut = error.utf8_error().error_len().is_none();
    is_cut.then(|| String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned())
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Fields by name, several of one name with commas between them, secrets masked.
fn shown(headers: &HeaderMap) -> Map<String, Value> {
    let mut fields = Map::new();
    for name in headers.keys() {
        let is_secret = is_secret_field(name.as_str()) || name == "set-cookie";
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        let text = if is_secret { MASK.to_owned() } else { values.collect::<Vec<_>>().join(", ") };
        fields.insert(name.as_str().to_owned(), Value::String(text));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(body: &[u8], truncated: bool) -> Value {
        let headers = HeaderMap::from_iter([("set-cookie".parse().unwrap(), "id=1".parse().unwrap())]);
        HttpResponse { status: 200, headers, body: body.to_vec(), truncated }.into_value()
    }

    #[test]
    fn body_is_json_text_or_base64() {
        assert_eq!(
            value(b"{\"a\":1}", false),
            json!({"status": 200, "headers": {"set-cookie": "***"}, "body": {"a": 1}})
        );
        assert_eq!(value(b"hi", false)["body"], json!("hi"));
        assert_eq!(value(&[0xff, 0], false)["body_base64"], json!("/wA="));
        let cut = value("aé".as_bytes().split_last().unwrap().1, true);
        assert_eq!((&cut["body"], &cut["truncated"]), (&json!("a"), &json!(true)));
    }
}
