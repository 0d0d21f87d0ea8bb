//! Authentication, as a request has it or inherits it.

use serde_json::{Value, json};

use super::text;
use super::variables::Variables;
use crate::plan::{Draft, Request};
use crate::text::template;

/// Gives the request what `auth` says.
pub(super) fn apply(
    place: &str,
    auth: &Value,
    request: &mut Request,
    variables: &mut Variables,
    draft: &mut Draft,
) {
    let kind = text(auth, "type").unwrap_or("noauth");
    if kind == "bearer" {
        bearer(place, &of(auth.get(kind), "token").unwrap_or_default(), request, variables, draft);
        return;
    }
    let mut parameter = |key: &str, draft: &mut Draft| {
        let raw = of(auth.get(kind), key).unwrap_or_default();
        variables.fill(place, &raw, draft)
    };
    match kind {
        "noauth" => {}
        "basic" | "digest" => {
            let (user, password) = (parameter("username", draft), parameter("password", draft));
            let password = draft.secret(place, "password", &password);
            request.auth =
                Some(json!({ kind: { "user": template(&user), "password": template(&password) } }));
        }
        "apikey" => {
            let (name, value) = (parameter("key", draft), parameter("value", draft));
            let value = draft.secret(place, "api_key", &value);
            if parameter("in", draft) == "query" {
                let joint = if request.url.contains('?') { '&' } else { '?' };
                request.url = format!("{}{joint}{name}={value}", request.url);
            } else {
                request.headers.push((name, value));
            }
        }
        "oauth2" => {
            draft.with_base(&request.url); // the first variable is the server, not who gives tokens
            request.auth = Some(oauth2(place, &mut parameter, draft));
        }
        other => draft.note(place, format!("authentication by `{other}` is not translated")),
    }
}

fn bearer(place: &str, raw: &str, request: &mut Request, variables: &mut Variables, draft: &mut Draft) {
    if variables.is_empty(raw) {
        draft.note(place, format!("the bearer token `{raw}` is empty in the collection: give it with --var"));
    }
    let token = variables.fill(place, raw, draft);
    let token = draft.secret(place, "token", &token);
    request.auth = Some(json!({ "bearer": template(&token) }));
}

/// The client credentials grant is done by the client; for others the token is needed.
fn oauth2(place: &str, parameter: &mut impl FnMut(&str, &mut Draft) -> String, draft: &mut Draft) -> Value {
    let token_url = parameter("accessTokenUrl", draft);
    if parameter("grant_type", draft) == "client_credentials" && !token_url.is_empty() {
        let (id, secret) = (parameter("clientId", draft), parameter("clientSecret", draft));
        let secret = draft.secret(place, "client_secret", &secret);
        let token_url = draft.with_base(&token_url);
        let scope = parameter("scope", draft);
        let scopes: Vec<String> = scope.split_whitespace().map(template).collect();
        return json!({ "oauth2": {
            "token_url": template(&token_url),
            "client_id": template(&id),
            "client_secret": template(&secret),
            "scopes": scopes,
        } });
    }
    let token = parameter("accessToken", draft);
    if token.is_empty() {
        draft.note(place, "the token of OAuth 2 is not in the collection; give it as TOKEN");
        let name = draft.shared_env_var("token");
        return json!({ "bearer": format!("{{{{ {name} }}}}") });
    }
    json!({ "bearer": template(&draft.secret(place, "token", &token)) })
}

/// A parameter: entries of a list in version 2.1, of a map in 2.0.
fn of(parameters: Option<&Value>, key: &str) -> Option<String> {
    let value = match parameters? {
        Value::Array(list) => list.iter().find(|entry| text(entry, "key") == Some(key))?.get("value")?,
        Value::Object(map) => map.get(key)?,
        _ => return None,
    };
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}
