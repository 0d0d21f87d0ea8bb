//! The plan around the steps: what all requests share moves into `defaults`, so that a person sees what differs.

use serde_json::{Map, Value, json};

use super::WORKFLOW;

/// Keys of `http` that defaults can give.
const SHARED: [&str; 7] =
    ["redirects", "cookie_jar", "compression", "timeout", "connect_timeout", "tls", "proxy"];

/// A plan of one workflow that passes through its steps once.
pub(super) fn plan(
    name: Option<String>,
    vars: &Map<String, Value>,
    mut steps: Vec<(String, Map<String, Value>)>,
) -> Value {
    let defaults = if steps.len() > 1 { shared(&mut steps) } else { Map::new() };
    let mut plan = Map::new();
    if let Some(name) = name {
        plan.insert("name".into(), name.into());
    }
    if !vars.is_empty() {
        plan.insert("vars".into(), vars.clone().into());
    }
    if !defaults.is_empty() {
        plan.insert("defaults".into(), json!({ "http": defaults }));
    }
    let steps: Map<String, Value> = steps.into_iter().map(|(name, step)| (name, short(step))).collect();
    plan.insert("workflows".into(), json!({ WORKFLOW: { "vus": 1, "iterations": 1, "steps": steps } }));
    plan.into()
}

/// Takes out of the steps what all of them have alike.
fn shared(steps: &mut [(String, Map<String, Value>)]) -> Map<String, Value> {
    let mut defaults = Map::new();
    for key in SHARED {
        if let Some(value) = common(steps, |http| http.get(key)) {
            each(steps, |http| drop(http.shift_remove(key)));
            defaults.insert(key.to_owned(), value);
        }
    }
    let headers =
        first_http(steps).and_then(|http| http.get("headers")?.as_object().cloned()).unwrap_or_default();
    let mut common_headers = Map::new();
    for name in headers.keys() {
        if let Some(value) = common(steps, |http| http.get("headers")?.get(name)) {
            each(steps, |http| remove_header(http, name));
            common_headers.insert(name.clone(), value);
        }
    }
    if !common_headers.is_empty() {
        defaults.insert("headers".to_owned(), common_headers.into());
    }
    defaults
}

/// The value that all steps have there.
fn common(
    steps: &[(String, Map<String, Value>)],
    of: impl Fn(&Map<String, Value>) -> Option<&Value>,
) -> Option<Value> {
    let first = of(first_http(steps)?)?.clone();
    let same = |(_, step): &(String, Map<String, Value>)| {
        step.get("http").and_then(Value::as_object).and_then(&of) == Some(&first)
    };
    steps.iter().all(same).then_some(first)
}

fn first_http(steps: &[(String, Map<String, Value>)]) -> Option<&Map<String, Value>> {
    steps.first()?.1.get("http")?.as_object()
}

fn each(steps: &mut [(String, Map<String, Value>)], change: impl Fn(&mut Map<String, Value>)) {
    for (_, step) in steps {
        if let Some(Value::Object(http)) = step.get_mut("http") {
            change(http);
        }
    }
}

fn remove_header(http: &mut Map<String, Value>, name: &str) {
    if let Some(Value::Object(headers)) = http.get_mut("headers") {
        headers.shift_remove(name);
        if headers.is_empty() {
            http.shift_remove("headers");
        }
    }
}

/// `http: { url: … }` is `http: …`.
fn short(mut step: Map<String, Value>) -> Value {
    if let Some(Value::Object(http)) = step.get("http")
        && http.len() == 1
        && let Some(url) = http.get("url").cloned()
    {
        step.insert("http".into(), url);
    }
    step.into()
}

/// The plan with JSON bodies as text where they have null in them, which TOML cannot say.
pub(crate) fn without_null(plan: &Value) -> Value {
    let mut plan = plan.clone();
    let steps = plan.pointer_mut(&format!("/workflows/{WORKFLOW}/steps")).and_then(Value::as_object_mut);
    for (_, step) in steps.into_iter().flatten() {
        let Some(Value::Object(http)) = step.get_mut("http") else { continue };
        if http.get("json").is_some_and(has_null)
            && let Some(json) = http.shift_remove("json")
        {
            let headers = http.entry("headers").or_insert_with(|| json!({}));
            if let Value::Object(headers) = headers
                && !headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"))
            {
                headers.insert("content-type".into(), "application/json".into());
            }
            http.insert("body".into(), json.to_string().into());
        }
    }
    plan
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}
