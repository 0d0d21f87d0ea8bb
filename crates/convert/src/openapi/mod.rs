//! OpenAPI 3.0 and 3.1: a step for every operation, with the examples of the description or values made from schemas.

mod body;
mod example;
mod parameters;
mod refs;
mod security;

use refs::Refs;
use serde_json::{Map, Value, json};

use crate::ConvertError;
use crate::plan::{Draft, Request};
use crate::text::clean;

/// Methods in the order of the specification.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/// Where a description without an absolute server is sent to: the built-in target.
const DEFAULT_SERVER: &str = "http://127.0.0.1:8080";

/// What every part of the reading needs.
struct Reader<'d> {
    root: &'d Value,
    refs: Refs<'d>,
}

/// One operation: a path and a method.
struct Operation<'d> {
    path: &'d str,
    method: &'static str,
    /// Of the path, then of the operation; what the latter says wins.
    item: &'d Value,
    value: &'d Value,
    place: String,
}

/// Adds a step for every operation.
pub(crate) fn decode(root: &Value, draft: &mut Draft) -> Result<(), ConvertError> {
    let version = root.get("openapi").or_else(|| root.get("swagger"));
    let version = version.map(scalar).unwrap_or_default();
    if !version.starts_with("3.") {
        return Err(ConvertError::Version(format!("version `{version}` of OpenAPI")));
    }
    let paths = root.get("paths").and_then(Value::as_object).ok_or(ConvertError::Missing("paths"))?;
    if let Some(title) = root.pointer("/info/title").and_then(Value::as_str) {
        draft.name(title);
    }
    let reader = Reader { root, refs: Refs::new(root) };
    let default_server = server(root, "servers", draft).unwrap_or_else(|| {
        draft.note("servers", format!("there is none; {DEFAULT_SERVER} stands in for it"));
        DEFAULT_SERVER.to_owned()
    });
    draft.with_base(&default_server); // the first variable is the server, whatever else is needed
    for (path, item) in paths {
        reader.path(path, item, &default_server, draft)?;
    }
    draft.note(
        "paths",
        "statuses 4xx are taken as answers, so that a made-up id does not skip the steps after it; the check `status` \
         counts them. With real values, remove `expect`",
    );
    if root.get("webhooks").and_then(Value::as_object).is_some_and(|hooks| !hooks.is_empty()) {
        draft.note("webhooks", "requests to the client are not translated");
    }
    Ok(())
}

impl<'d> Reader<'d> {
    fn path(
        &self,
        path: &'d str,
        item: &'d Value,
        server: &str,
        draft: &mut Draft,
    ) -> Result<(), ConvertError> {
        let place = format!("paths.{path}");
        let Some(item) = self.refs.resolve(item, &place, draft) else { return Ok(()) };
        for method in METHODS {
            let Some(value) = item.get(method) else { continue };
            let operation = Operation { path, method, item, value, place: format!("{place}.{method}") };
            let request = self.operation(&operation, server, draft);
            draft.push(&operation.place, request)?;
        }
        Ok(())
    }

    fn operation(&self, operation: &Operation<'d>, server: &str, draft: &mut Draft) -> Request {
        let Operation { path, method, item, value, place } = operation;
        let own_server = [value, item].into_iter().find_map(|holder| self::server(holder, place, draft));
        let server = own_server.as_deref().unwrap_or(server);
        let name = value.get("operationId").and_then(Value::as_str).map(clean);
        let mut request = Request {
            name: name.unwrap_or_else(|| format!("{method} {path}")),
            method: method.to_ascii_uppercase(),
            url: format!("{}/{}", server.trim_end_matches('/'), clean(path).trim_start_matches('/')),
            ..Request::default()
        };
        self.parameters(operation, &mut request, draft);
        self.body(operation, &mut request, draft);
        self.security(operation, &mut request, draft);
        go_on_after_refusals(&mut request);
        for (key, what) in [
            ("callbacks", "requests to the client are not translated"),
            ("x-amazon-apigateway-integration", "extensions of vendors are not translated"),
        ] {
            if value.get(key).is_some() {
                draft.note(place, format!("`{key}`: {what}"));
            }
        }
        request
    }
}

/// Values of a description need not exist where it is tested. Operations do not depend on each other: what refuses one of
/// them must not skip the others, and is still to be seen.
fn go_on_after_refusals(request: &mut Request) {
    request.step.insert("expect".into(), json!({ "status": ["2xx", "3xx", "4xx"] }));
    request.step.insert("check".into(), json!({ "status": ["2xx", "3xx"] }));
}

/// The first server that a part names, with the defaults of its variables.
fn server(holder: &Value, place: &str, draft: &mut Draft) -> Option<String> {
    let servers = holder.get("servers")?.as_array()?;
    let first = servers.first()?;
    let mut url = clean(first.get("url")?.as_str()?);
    for (name, variable) in first.get("variables").and_then(Value::as_object).into_iter().flatten() {
        url = url.replace(&format!("{{{name}}}"), &scalar(variable.get("default").unwrap_or(&Value::Null)));
    }
    if servers.len() > 1 {
        draft.note(place, format!("{} servers are there; the first is taken", servers.len()));
    }
    if !url.contains("://") {
        draft.note(place, format!("the server `{url}` is relative; it is taken to be at {DEFAULT_SERVER}"));
        url = format!("{DEFAULT_SERVER}/{}", url.trim_start_matches('/'));
    }
    Some(url)
}

/// A scalar as text; lists and maps as JSON.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => clean(text),
        Value::Null => String::new(),
        other => clean(&other.to_string()),
    }
}

/// The entries of a map that may be missing.
fn entries<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    value.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

/// The items of a list that may be missing.
fn items<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
