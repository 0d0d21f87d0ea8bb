//! Postman collections, version 2.0 and 2.1: folders, variables, inherited authentication, body modes.

mod auth;
mod body;
mod scripts;
mod url;
mod variables;

use serde_json::Value;

use crate::ConvertError;
use crate::plan::{Draft, Request};
use scripts::Script;
use variables::Variables;

/// Folders within folders.
const DEPTH_MAX: usize = 32;

/// What a request has from the folders around it.
#[derive(Clone)]
struct Around<'c> {
    /// Names of the folders.
    path: String,
    auth: Option<&'c Value>,
    depth: usize,
}

/// Adds a step for every request of the collection.
pub(crate) fn decode(root: &Value, draft: &mut Draft) -> Result<(), ConvertError> {
    let items = root.get("item").and_then(Value::as_array).ok_or(ConvertError::Missing("item"))?;
    let schema = root.pointer("/info/schema").and_then(Value::as_str).unwrap_or("v2.1");
    if !schema.contains("v2.") {
        return Err(ConvertError::Version(format!("the collection format `{schema}`")));
    }
    if let Some(name) = root.pointer("/info/name").and_then(Value::as_str) {
        draft.name(name);
    }
    let mut variables = Variables::read(root, draft);
    untranslated("collection", root, draft);
    let around =
        Around { path: String::new(), auth: root.get("auth").filter(|auth| !auth.is_null()), depth: 0 };
    items_of(items, &around, &mut variables, draft)
}

fn items_of(
    items: &[Value],
    around: &Around<'_>,
    variables: &mut Variables,
    draft: &mut Draft,
) -> Result<(), ConvertError> {
    for item in items {
        let name = text(item, "name").unwrap_or("request");
        let path = if around.path.is_empty() { name.to_owned() } else { format!("{} / {name}", around.path) };
        if let Some(inner) = item.get("item").and_then(Value::as_array) {
            if around.depth >= DEPTH_MAX {
                draft.note(&path, "left out: the folders are nested too deep");
                continue;
            }
            untranslated(&path, item, draft);
            let auth = item.get("auth").filter(|auth| !auth.is_null()).or(around.auth);
            items_of(inner, &Around { path, auth, depth: around.depth + 1 }, variables, draft)?;
        } else if item.get("disabled").and_then(Value::as_bool) == Some(true) {
            draft.note(&path, "left out: it is disabled");
        } else if let Some(recorded) = item.get("request") {
            let mut request = request(&path, item, recorded, around, variables, draft);
            let script = after_request(&path, item, draft);
            script.apply(&mut request.step);
            if let Some(step) = draft.push(&path, request)? {
                script.kept.iter().for_each(|(variable, name, _)| variables.keep(variable, &step, name));
            }
        } else {
            draft.note(&path, "left out: neither a folder nor a request");
        }
    }
    Ok(())
}

fn request(
    place: &str,
    item: &Value,
    recorded: &Value,
    around: &Around<'_>,
    variables: &mut Variables,
    draft: &mut Draft,
) -> Request {
    // A request can be a URL and nothing else.
    let url = recorded.as_str().map_or_else(|| recorded.get("url"), |_| Some(recorded));
    let mut request = Request {
        name: place.to_owned(),
        method: text(recorded, "method").unwrap_or("GET").to_ascii_uppercase(),
        url: url::read(place, url.unwrap_or(&Value::Null), variables, draft),
        ..Request::default()
    };
    request.headers = headers(place, recorded.get("header"), variables, draft);
    let own = recorded.get("auth").filter(|auth| !auth.is_null());
    if let Some(auth) = own.or(around.auth) {
        auth::apply(place, auth, &mut request, variables, draft);
    }
    body::read(place, recorded.get("body"), &mut request, variables, draft);
    let follows = item.pointer("/protocolProfileBehavior/followRedirects").and_then(Value::as_bool);
    if follows == Some(false) {
        request.http.insert("redirects".into(), false.into());
    }
    request
}

/// Header fields as a list, or as lines of a text.
fn headers(
    place: &str,
    value: Option<&Value>,
    variables: &mut Variables,
    draft: &mut Draft,
) -> Vec<(String, String)> {
    match value {
        Some(Value::String(lines)) => {
            let field = |line: &str| {
                line.split_once(':').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            };
            let fields: Vec<_> = lines.lines().filter_map(field).collect();
            fields.into_iter().map(|(name, value)| (name, variables.fill(place, &value, draft))).collect()
        }
        Some(Value::Array(list)) => enabled(place, "header", list, draft)
            .into_iter()
            .map(|field| {
                let name = variables.fill(place, text(field, "key").unwrap_or_default(), draft);
                (name, variables.fill(place, text(field, "value").unwrap_or_default(), draft))
            })
            .filter(|(name, _)| !name.is_empty())
            .collect(),
        _ => Vec::new(),
    }
}

/// The entries of a list that are not disabled; the others are said.
fn enabled<'v>(place: &str, what: &str, list: &'v [Value], draft: &mut Draft) -> Vec<&'v Value> {
    let is_disabled = |entry: &&Value| entry.get("disabled").and_then(Value::as_bool) == Some(true);
    let (off, on): (Vec<&Value>, Vec<&Value>) = list.iter().partition(is_disabled);
    if !off.is_empty() {
        let names: Vec<&str> = off.iter().filter_map(|entry| text(entry, "key")).collect();
        draft.note(place, format!("disabled and left out: {what} {}", names.join(", ")));
    }
    on
}

/// What the scripts of a request became; what is missing is said.
fn after_request(place: &str, item: &Value, draft: &mut Draft) -> Script {
    let mut whole = Script::default();
    for event in events(item) {
        let listen = text(event, "listen").unwrap_or("an event");
        let script = Script::read(event);
        if listen != "test" || script.left > 0 {
            let part =
                if listen == "test" { format!(" (statements left: {})", script.left) } else { String::new() };
            draft.note(
                place,
                format!("the script of `{listen}` is not translated{part}; see `extract` and `check`"),
            );
        }
        if listen == "test" {
            whole = script;
        }
    }
    whole
}

/// Scripts of folders are said and not translated.
fn untranslated(place: &str, item: &Value, draft: &mut Draft) {
    for event in events(item) {
        let listen = text(event, "listen").unwrap_or("an event");
        draft.note(place, format!("the script of `{listen}` is not translated; see `extract` and `check`"));
    }
}

/// Events with a script that does something.
fn events(item: &Value) -> impl Iterator<Item = &Value> {
    let is_empty = |event: &&Value| {
        event.pointer("/script/exec").and_then(Value::as_array).is_some_and(|lines| {
            lines.iter().all(|line| line.as_str().is_some_and(|line| line.trim().is_empty()))
        })
    };
    item.get("event").and_then(Value::as_array).into_iter().flatten().filter(move |event| !is_empty(event))
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}
