//! Security schemes become `auth`, header fields and variables. Descriptions say how, never with what: the secrets are
//! read from the environment.

use serde_json::{Value, json};

use super::{Operation, Reader, entries, items, scalar};
use crate::plan::{Draft, Request};
use crate::text::{clean, hole, percent_encoded, template};

impl<'d> Reader<'d> {
    /// Applies the first alternative of what the operation requires.
    pub(super) fn security(&self, operation: &Operation<'d>, request: &mut Request, draft: &mut Draft) {
        let holder = [operation.value, self.root].into_iter().find(|holder| holder.get("security").is_some());
        let Some(required) = holder.and_then(|holder| items(holder, "security").first()) else { return };
        for (name, scopes) in required.as_object().into_iter().flatten() {
            let schemes = self.root.pointer("/components/securitySchemes");
            let scheme = schemes.and_then(|schemes| schemes.get(name));
            match scheme.and_then(|scheme| self.refs.resolve(scheme, &operation.place, draft)) {
                Some(scheme) => apply(&operation.place, name, scheme, scopes, request, draft),
                None => draft
                    .note(&operation.place, format!("the security scheme `{name}` is not in the document")),
            }
        }
    }
}

fn apply(place: &str, name: &str, scheme: &Value, scopes: &Value, request: &mut Request, draft: &mut Draft) {
    let text = |key: &str| scheme.get(key).map(scalar).unwrap_or_default();
    let bearer = |wish: &str, draft: &mut Draft| json!({ "bearer": template(&shared(wish, draft)) });
    match (text("type").as_str(), text("scheme").to_ascii_lowercase().as_str()) {
        ("http", kind @ ("basic" | "digest")) => {
            let (user, password) = (shared("auth_user", draft), shared("auth_password", draft));
            request.auth =
                Some(json!({ kind: { "user": template(&user), "password": template(&password) } }));
        }
        ("http", "bearer") => request.auth = Some(bearer("token", draft)),
        ("apiKey", _) => api_key(place, name, scheme, request, draft),
        ("oauth2", _) => {
            request.auth = Some(client_credentials(scheme, scopes, draft).unwrap_or_else(|| {
                draft.note(place, format!("`{name}` needs a person to log in; give its token as TOKEN"));
                bearer("token", draft)
            }));
        }
        ("openIdConnect", _) => request.auth = Some(bearer("token", draft)),
        (kind, _) => draft.note(place, format!("the security scheme `{name}` ({kind}) is left out")),
    }
}

fn api_key(place: &str, name: &str, scheme: &Value, request: &mut Request, draft: &mut Draft) {
    let field = scheme.get("name").map(scalar).unwrap_or_default();
    let key = shared(&clean(name), draft);
    match scheme.get("in").and_then(Value::as_str).unwrap_or_default() {
        "header" => request.headers.push((field, key)),
        "cookie" => request.cookies.push((field, key)),
        "query" => {
            let joint = if request.url.contains('?') { '&' } else { '?' };
            request.url = format!("{}{joint}{}={key}", request.url, percent_encoded(&field));
        }
        other => draft.note(place, format!("the key `{name}` in `{other}` is left out")),
    }
}

fn client_credentials(scheme: &Value, scopes: &Value, draft: &mut Draft) -> Option<Value> {
    let flow = scheme.pointer("/flows/clientCredentials")?;
    let token_url = flow.get("tokenUrl").map(scalar).filter(|url| url.contains("://"))?;
    let token_url = draft.with_base(&token_url);
    let (id, secret) = (shared("client_id", draft), shared("client_secret", draft));
    let mut scopes: Vec<String> = scopes.as_array().into_iter().flatten().map(scalar).collect();
    if scopes.is_empty() {
        scopes = entries(flow, "scopes").map(|(name, _)| clean(name)).collect();
    }
    let scopes: Vec<String> = scopes.iter().map(|scope| template(scope)).collect();
    Some(json!({ "oauth2": {
        "token_url": template(&token_url),
        "client_id": template(&id),
        "client_secret": template(&secret),
        "scopes": scopes,
    } }))
}

/// A variable of the environment that all operations share.
fn shared(wish: &str, draft: &mut Draft) -> String {
    hole(&draft.shared_env_var(wish))
}
