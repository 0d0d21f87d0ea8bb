//! URLs: a text, or an object with the same in parts.

use serde_json::Value;

use super::variables::Variables;
use super::{enabled, text};
use crate::plan::Draft;
use crate::text::begins_with_hole;

/// The URL without disabled parameters and with the values of its path variables.
pub(super) fn read(place: &str, url: &Value, variables: &mut Variables, draft: &mut Draft) -> String {
    let raw = match url {
        Value::String(raw) => raw.clone(),
        Value::Object(_) => text(url, "raw").map_or_else(|| joined(url), str::to_owned),
        _ => String::new(),
    };
    let raw = raw.split('#').next().unwrap_or_default();
    let (address, mut query) =
        raw.split_once('?').map_or((raw, None), |(address, query)| (address, Some(query.to_owned())));
    let mut address = address.to_owned();
    if let Some(list) = url.get("query").and_then(Value::as_array) {
        let pairs = enabled(place, "parameter", list, draft).into_iter().map(|pair| {
            let name = text(pair, "key").unwrap_or_default();
            text(pair, "value").map_or_else(|| name.to_owned(), |value| format!("{name}={value}"))
        });
        let pairs: Vec<String> = pairs.filter(|pair| !pair.is_empty()).collect();
        query = (!pairs.is_empty()).then(|| pairs.join("&"));
    }
    for variable in url.get("variable").and_then(Value::as_array).into_iter().flatten() {
        let value = text(variable, "value").unwrap_or_default();
        if let Some(name) = text(variable, "key") {
            address = replaced(&address, name, value);
        }
    }
    let whole = query.map_or(address.clone(), |query| format!("{address}?{query}"));
    let filled = variables.fill(place, &whole, draft);
    with_scheme(filled)
}

/// `/users/:id/orders` with a value for `:id`.
fn replaced(address: &str, name: &str, value: &str) -> String {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(scheme, rest)| (scheme, rest));
    let segment =
        |part: &str| if part.strip_prefix(':') == Some(name) { value.to_owned() } else { part.to_owned() };
    let path = rest.split('/').map(segment).collect::<Vec<_>>().join("/");
    if scheme.is_empty() { path } else { format!("{scheme}://{path}") }
}

/// An object without `raw`.
fn joined(url: &Value) -> String {
    let list = |key: &str, by: &str| match url.get(key) {
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(by),
        Some(Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    let port = text(url, "port").map(|port| format!(":{port}")).unwrap_or_default();
    let protocol = text(url, "protocol").unwrap_or("http");
    format!("{protocol}://{}{port}/{}", list("host", "."), list("path", "/").trim_start_matches('/'))
}

/// Postman takes a URL without a scheme for http; one that begins with a variable may have it there.
fn with_scheme(url: String) -> String {
    if url.contains("://") || begins_with_hole(&url) { url } else { format!("http://{url}") }
}
