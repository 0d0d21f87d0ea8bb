//! Parameters in path, query, header and cookie.

use std::fmt::Write;

use serde_json::Value;

use super::{Operation, Reader, entries, items, scalar};
use crate::plan::{Draft, Request};
use crate::text::percent_encoded;

/// Header fields that the specification keeps for other parts of a description.
const RESERVED_HEADERS: [&str; 3] = ["accept", "content-type", "authorization"];

impl<'d> Reader<'d> {
    /// Puts values into the request for all parameters that are required or have an example.
    pub(super) fn parameters(&self, operation: &Operation<'d>, request: &mut Request, draft: &mut Draft) {
        let place = &operation.place;
        let (mut left_out, mut made) = (Vec::new(), Vec::new());
        for parameter in self.merged(operation, draft) {
            let name = scalar(parameter.get("name").unwrap_or(&Value::Null));
            let location = parameter.get("in").and_then(Value::as_str).unwrap_or_default();
            let is_required =
                location == "path" || parameter.get("required").and_then(Value::as_bool) == Some(true);
            if location == "header" && RESERVED_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
                continue;
            }
            let content = entries(parameter, "content").next().map(|(_, media)| media);
            let Some(found) = self.value_of(content.unwrap_or(parameter), place, draft) else {
                if is_required {
                    draft.note(place, format!("no value can be made for the required parameter `{name}`"));
                } else {
                    left_out.push(name);
                }
                continue;
            };
            if !is_required && !found.is_given {
                left_out.push(name);
                continue;
            }
            if !found.is_given {
                made.push(format!("{name}={}", scalar(&found.value)));
            }
            match location {
                "path" => {
                    request.url = request
                        .url
                        .replace(&format!("{{{name}}}"), &percent_encoded(&joined(&found.value, ",")));
                }
                "query" => append_query(&mut request.url, &name, &found.value, parameter),
                "header" => request.headers.push((name, joined(&found.value, ","))),
                "cookie" => request.cookies.push((name, joined(&found.value, ","))),
                other => draft.note(place, format!("parameter `{name}` in `{other}` is left out")),
            }
        }
        for name in undeclared(&request.url) {
            request.url = request.url.replace(&format!("{{{name}}}"), UNDECLARED);
            made.push(format!("{name}={UNDECLARED} (of the path, declared nowhere)"));
        }
        if !left_out.is_empty() {
            draft.note(
                place,
                format!("optional parameters without an example are left out: {}", left_out.join(", ")),
            );
        }
        if !made.is_empty() {
            draft.note(
                place,
                format!("values were made up for parameters without an example: {}", made.join(", ")),
            );
        }
    }

    /// Those of the operation, and those of the path that it does not replace.
    fn merged(&self, operation: &Operation<'d>, draft: &mut Draft) -> Vec<&'d Value> {
        let mut merged: Vec<&Value> = Vec::new();
        for holder in [operation.value, operation.item] {
            for parameter in items(holder, "parameters") {
                let Some(parameter) = self.refs.resolve(parameter, &operation.place, draft) else { continue };
                let same = |known: &&Value| {
                    known.get("name") == parameter.get("name") && known.get("in") == parameter.get("in")
                };
                if !merged.iter().any(same) {
                    merged.push(parameter);
                }
            }
        }
        merged
    }
}

/// What stands for a part of a path that nothing is said about: ids are numbers more often than anything else.
const UNDECLARED: &str = "1";

/// Names in braces that no parameter has filled.
fn undeclared(url: &str) -> Vec<String> {
    let path = url.split('?').next().unwrap_or_default();
    let names =
        path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name.to_owned());
    names.collect()
}

/// A value in one text: lists and maps joined (style `simple`).
fn joined(value: &Value, by: &str) -> String {
    match value {
        Value::Array(list) => list.iter().map(scalar).collect::<Vec<_>>().join(by),
        Value::Object(map) => {
            map.iter().map(|(key, value)| format!("{key},{}", scalar(value))).collect::<Vec<_>>().join(by)
        }
        other => scalar(other),
    }
}

fn append_query(url: &mut String, name: &str, value: &Value, parameter: &Value) {
    let style = parameter.get("style").and_then(Value::as_str).unwrap_or("form");
    let explode = parameter.get("explode").and_then(Value::as_bool).unwrap_or(style == "form");
    let separator = match style {
        "spaceDelimited" => " ",
        "pipeDelimited" => "|",
        _ => ",",
    };
    let mut pairs: Vec<(String, String)> = Vec::new();
    match value {
        Value::Array(list) if explode => {
            pairs.extend(list.iter().map(|item| (name.to_owned(), scalar(item))));
        }
        Value::Object(map) if style == "deepObject" => {
            pairs.extend(map.iter().map(|(key, value)| (format!("{name}[{key}]"), scalar(value))));
        }
        Value::Object(map) if explode => {
            pairs.extend(map.iter().map(|(key, value)| (key.clone(), scalar(value))));
        }
        other => pairs.push((name.to_owned(), joined(other, separator))),
    }
    for (name, value) in pairs {
        let joint = if url.contains('?') { '&' } else { '?' };
        let _ = write!(url, "{joint}{}={}", percent_encoded(&name), percent_encoded(&value));
    }
}
