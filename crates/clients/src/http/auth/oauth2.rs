//! OAuth 2 tokens (RFC 6749): the form that asks for one and the answer that brings it. No I/O: tokens are fetched in
//! preparation and renewed outside of measurement by the clients that send requests.
//!
//! The client authenticates in the form (`client_secret_post`); grants are `client_credentials` and `refresh_token`.

use hyperscale_plan::model::http::OAuth2;
use hyperscale_plan::template::Escape;
use serde_json::{Map, Value};
use thiserror::Error;

/// Bytes of an answer with a token.
pub const TOKEN_BODY_MAX: usize = 64 << 10;
/// The media type of the form.
pub const FORM_MEDIA_TYPE: &str = "application/x-www-form-urlencoded";
/// Bytes of an error text that are shown.
const ERROR_BYTES_MAX: usize = 200;

/// Why no token came. What the peer says is what counts: a retry only helps if the peer changes its mind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The peer refused, with its error code and text.
    #[error("the token was refused: {0}")]
    Refused(String),
    /// The peer does not take the refresh token (any more).
    #[error("the refresh token was refused: {0}")]
    InvalidGrant(String),
    /// A status other than 200 and no error code.
    #[error("the token endpoint answered with status {0}")]
    Status(u16),
    /// Not a JSON object with an access token that can stand in a header field.
    #[error("the token endpoint's answer has no usable access token")]
    Malformed,
    /// The token is to be used in a way we do not know.
    #[error("the token is of an unsupported type (bearer is supported)")]
    Type,
}

/// A token that authorises requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The value of `authorization`.
    pub authorization: String,
    /// Renews the token, if the peer gave one.
    pub refresh_token: Option<String>,
    /// From this Unix second on the token must not be used; `None` if the peer did not say.
    pub expires_s: Option<u64>,
}

impl Token {
    /// Reads the answer of a token endpoint.
    pub fn parse(status: u16, body: &[u8], now_s: u64) -> Result<Token, TokenError> {
        let fields = match body {
            _ if body.len() > TOKEN_BODY_MAX => None,
            _ => serde_json::from_slice::<Map<String, Value>>(body).ok(),
        };
        if let Some(error) = fields.as_ref().and_then(|fields| text(fields, "error")) {
            return Err(refused(error, fields.as_ref().and_then(|fields| text(fields, "error_description"))));
        }
        if status != 200 {
            return Err(TokenError::Status(status));
        }
        let fields = fields.ok_or(TokenError::Malformed)?;
        if text(&fields, "token_type").is_some_and(|kind| !kind.eq_ignore_ascii_case("bearer")) {
            return Err(TokenError::Type);
        }
        let token =
            text(&fields, "access_token").filter(|token| is_sendable(token)).ok_or(TokenError::Malformed)?;
        Ok(Token {
            authorization: format!("Bearer {token}"),
            refresh_token: text(&fields, "refresh_token").map(str::to_owned),
            expires_s: fields.get("expires_in").and_then(seconds).map(|life_s| now_s.saturating_add(life_s)),
        })
    }
}

/// The form that asks for a token: with the refresh token of `before` if it has one, else with the plan's, else with the
/// client's own credentials.
pub fn token_form(client: &OAuth2, before: Option<&Token>) -> Vec<u8> {
    let refresh_token =
        before.and_then(|token| token.refresh_token.as_deref()).or(client.refresh_token.as_deref());
    let mut form = Vec::new();
    match refresh_token {
        Some(token) => {
            push(&mut form, "grant_type", "refresh_token");
            push(&mut form, "refresh_token", token);
        }
        None => push(&mut form, "grant_type", "client_credentials"),
    }
    push(&mut form, "client_id", &client.client_id);
    push(&mut form, "client_secret", &client.client_secret);
    if !client.scopes.is_empty() {
        push(&mut form, "scope", &client.scopes.join(" "));
    }
    form
}

fn push(form: &mut Vec<u8>, name: &str, value: &str) {
    if !form.is_empty() {
        form.push(b'&');
    }
    form.extend_from_slice(name.as_bytes());
    form.push(b'=');
    Escape::Form.write(value, form).expect("every text can stand in a form");
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// Some servers write the number as text.
fn seconds(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => text.parse().ok(),
        number => number.as_u64().or_else(|| number.as_f64().filter(|s| *s >= 0.0).map(|s| s as u64)),
    }
}

fn is_sendable(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_graphic())
}

fn refused(error: &str, description: Option<&str>) -> TokenError {
    let mut message = description.map_or_else(|| error.to_owned(), |text| format!("{error}: {text}"));
    message.retain(|c| !c.is_control());
    message.truncate(message.floor_char_boundary(ERROR_BYTES_MAX));
    if error == "invalid_grant" { TokenError::InvalidGrant(message) } else { TokenError::Refused(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(refresh_token: Option<&str>) -> OAuth2 {
        OAuth2 {
            token_url: "https://id.example/token".to_owned(),
            client_id: "me".to_owned(),
            client_secret: "p w&=ü".to_owned(),
            scopes: vec!["a:b".to_owned(), "c".to_owned()],
            refresh_token: refresh_token.map(str::to_owned),
        }
    }

    fn form(client: &OAuth2, before: Option<&Token>) -> String {
        String::from_utf8(token_form(client, before)).expect("ASCII")
    }

    #[test]
    fn client_credentials_are_asked_with_scopes() {
        let expected =
            "grant_type=client_credentials&client_id=me&client_secret=p+w%26%3D%C3%BC&scope=a%3Ab+c";
        assert_eq!(form(&client(None), None), expected);
        let without_scopes = OAuth2 { scopes: Vec::new(), ..client(None) };
        assert!(!form(&without_scopes, None).contains("scope"));
    }

    #[test]
    fn the_newest_refresh_token_is_used() {
        let mut token =
            Token::parse(200, b"{\"access_token\":\"t\",\"refresh_token\":\"new\"}", 0).expect("a token");
        assert!(form(&client(Some("old")), None).starts_with("grant_type=refresh_token&refresh_token=old&"));
        assert!(form(&client(Some("old")), Some(&token)).contains("refresh_token=new&"));
        token.refresh_token = None;
        assert!(form(&client(Some("old")), Some(&token)).contains("refresh_token=old&"));
        assert!(form(&client(None), Some(&token)).starts_with("grant_type=client_credentials&"));
    }

    #[test]
    fn tokens_are_read_and_renewed_before_they_expire() {
        let body = b"{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":3600}";
        let token = Token::parse(200, body, 1_000).expect("a token");
        assert_eq!(token.authorization, "Bearer abc");
        assert_eq!(token.expires_s, Some(4_600));
        for (life, expires_s) in
            [("\"60\"", Some(60)), ("60.5", Some(60)), ("-1", None), ("null", None), ("[]", None)]
        {
            let body = format!("{{\"access_token\":\"t\",\"expires_in\":{life}}}");
            let token = Token::parse(200, body.as_bytes(), 0).expect("a token");
            assert_eq!(token.expires_s, expires_s, "{life}");
        }
        assert_eq!(Token::parse(200, b"{\"access_token\":\"t\"}", 0).expect("a token").expires_s, None);
    }

    #[test]
    fn refusals_and_unusable_answers_are_told_apart() {
        let long = format!("{{\"access_token\":\"{}\"}}", "x".repeat(TOKEN_BODY_MAX));
        let table: [(u16, &str, TokenError); 10] = [
            (400, "{\"error\":\"invalid_grant\"}", TokenError::InvalidGrant("invalid_grant".to_owned())),
            (
                400,
                "{\"error\":\"invalid_client\",\"error_description\":\"who\\nis this?\"}",
                TokenError::Refused("invalid_client: whois this?".to_owned()),
            ),
            (200, "{\"error\":\"server_error\"}", TokenError::Refused("server_error".to_owned())),
            (503, "<html>", TokenError::Status(503)),
            (302, "{}", TokenError::Status(302)),
            (200, "<html>", TokenError::Malformed),
            (200, "{\"access_token\":7}", TokenError::Malformed),
            (200, "{\"access_token\":\"a\\r\\nb\"}", TokenError::Malformed),
            (200, &long, TokenError::Malformed),
            (200, "{\"access_token\":\"a\",\"token_type\":\"mac\"}", TokenError::Type),
        ];
        for (status, body, error) in table {
            assert_eq!(
                Token::parse(status, body.as_bytes(), 0),
                Err(error),
                "{status} {}",
                &body[..body.len().min(40)]
            );
        }
        let wordy = format!("{{\"error\":\"{}\"}}", "ü".repeat(500));
        let Err(TokenError::Refused(text)) = Token::parse(400, wordy.as_bytes(), 0) else {
            panic!("refused")
        };
        assert!(text.len() <= ERROR_BYTES_MAX);
    }
}
