//! Bodies by mode: raw, urlencoded, formdata, file, graphql.

use serde_json::{Value, json};

use super::variables::Variables;
use super::{enabled, text};
use crate::plan::{Body, Draft, Part, PartContent, Request};

/// Gives the request its body.
pub(super) fn read(
    place: &str,
    body: Option<&Value>,
    request: &mut Request,
    variables: &mut Variables,
    draft: &mut Draft,
) {
    let Some(body) = body.filter(|body| body.is_object()) else { return };
    if body.get("disabled").and_then(Value::as_bool) == Some(true) {
        draft.note(place, "the body is disabled and left out");
        return;
    }
    let mode = text(body, "mode").unwrap_or_default();
    let list = body.get(mode).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match mode {
        "raw" => raw(place, body, request, variables, draft),
        "urlencoded" => {
            request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            let fields = enabled(place, "field", list, draft).into_iter().map(|field| {
                let name = variables.fill(place, text(field, "key").unwrap_or_default(), draft);
                (name, variables.fill(place, text(field, "value").unwrap_or_default(), draft))
            });
            let fields: Vec<_> = fields.collect();
            if !fields.is_empty() {
                request.body = Body::Form(fields);
            }
        }
        "formdata" => {
            request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            let parts = enabled(place, "part", list, draft);
            let parts: Vec<Part> =
                parts.into_iter().map(|entry| part(place, entry, variables, draft)).collect();
            if !parts.is_empty() {
                request.body = Body::Multipart(parts);
            }
        }
        "file" => match body.pointer("/file/src").and_then(Value::as_str) {
            Some(path) => request.body = Body::File(variables.fill(place, path, draft)),
            None => draft.note(place, "the file of the body is not named and left out"),
        },
        "graphql" => graphql(place, body, request, variables, draft),
        "" | "none" => {}
        other => draft.note(place, format!("a body of mode `{other}` is not translated")),
    }
}

fn raw(place: &str, body: &Value, request: &mut Request, variables: &mut Variables, draft: &mut Draft) {
    let content = text(body, "raw").unwrap_or_default();
    if content.is_empty() {
        return;
    }
    let media_type = match body.pointer("/options/raw/language").and_then(Value::as_str) {
        Some("json") => Some("application/json"),
        Some("xml") => Some("application/xml"),
        Some("html") => Some("text/html"),
        Some("javascript") => Some("application/javascript"),
        _ => None,
    };
    if let (Some(media_type), None) = (media_type, request.header("content-type")) {
        request.headers.push(("content-type".to_owned(), media_type.to_owned()));
    }
    let filled = variables.fill(place, content, draft);
    request.set_text(filled);
}

fn part(place: &str, entry: &Value, variables: &mut Variables, draft: &mut Draft) -> Part {
    let name = variables.fill(place, text(entry, "key").unwrap_or_default(), draft);
    let content_type =
        text(entry, "contentType").filter(|media_type| !media_type.is_empty()).map(str::to_owned);
    let content = if text(entry, "type") == Some("file") {
        let src = match entry.get("src") {
            Some(Value::Array(files)) => {
                if files.len() > 1 {
                    draft.note(place, format!("only the first file of part `{name}` is sent"));
                }
                files.first().and_then(Value::as_str)
            }
            other => other.and_then(Value::as_str),
        };
        let path = src.unwrap_or("file");
        draft.note(place, format!("the part `{name}` sends the file `{path}`: put it beside the plan"));
        PartContent::File { path: variables.fill(place, path, draft), filename: None }
    } else {
        PartContent::Text(variables.fill(place, text(entry, "value").unwrap_or_default(), draft))
    };
    Part { name, content, content_type }
}

fn graphql(place: &str, body: &Value, request: &mut Request, variables: &mut Variables, draft: &mut Draft) {
    let part = |key: &str| body.pointer(&format!("/graphql/{key}"));
    let query = variables.fill(place, part("query").and_then(Value::as_str).unwrap_or_default(), draft);
    let mut document = json!({ "query": query });
    let given = part("variables").and_then(Value::as_str).unwrap_or_default();
    if !given.trim().is_empty() {
        let filled = variables.fill(place, given, draft);
        match serde_json::from_str::<Value>(&filled) {
            Ok(value) => document["variables"] = value,
            Err(_) => draft.note(place, "the variables of the GraphQL query are not JSON and left out"),
        }
    }
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    request.body = Body::Json(document);
}
