//! Checks inputs against the JSON Schema that an executor publishes, so that the schema is the only description of them.
//!
//! Knows the keywords that our schemas use and no others; a test walks all schemas for keywords that would be ignored.

use serde_json::{Map, Value};

/// Keywords that are checked, and those that only describe.
#[cfg(test)]
const KEYWORDS: [&str; 15] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "enum",
    "minimum",
    "maximum",
    "anyOf",
    "description",
    "examples",
    "default",
];

/// Says what is wrong with inputs; the message names the field.
pub fn check_inputs(schema: &Value, inputs: &Value) -> Result<(), String> {
    check(schema, inputs, "")
}

fn check(schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    if let Some(schemas) = schema["anyOf"].as_array() {
        return any_of(schemas, value, path);
    }
    if !schema["type"].is_null() && !has_type(&schema["type"], value) {
        return Err(format!("{} must be {}, not {}", name(path), types(&schema["type"]), kind(value)));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        return Err(format!("{} must be one of {}", name(path), allowed.join(", ")));
    }
    match value {
        Value::Object(fields) => check_object(schema, fields, path),
        Value::Array(items) => check_array(schema, items, path),
        Value::Number(number) => check_range(schema, number.as_f64().unwrap_or(f64::NAN), path),
        Value::String(text) => match schema["minLength"].as_u64() {
            Some(least) if (text.len() as u64) < least => Err(format!("{} must not be empty", name(path))),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The error of the alternative that is of the value's type, if one is: it says more than a list of types.
fn any_of(schemas: &[Value], value: &Value, path: &str) -> Result<(), String> {
    let mut of_type = None;
    for schema in schemas {
        match check(schema, value, path) {
            Ok(()) => return Ok(()),
            Err(error) if has_type(&schema["type"], value) => of_type = Some(error),
            Err(_) => {}
        }
    }
    let all: Vec<String> = schemas.iter().map(|schema| types(&schema["type"])).collect();
    Err(of_type
        .unwrap_or_else(|| format!("{} must be {}, not {}", name(path), all.join(" or "), kind(value))))
}

fn check_object(schema: &Value, fields: &Map<String, Value>, path: &str) -> Result<(), String> {
    for (key, value) in fields {
        match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, Value::Bool(false)) => {
                let known = schema["properties"].as_object();
                let known: Vec<&str> = known.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                let hint = if known.is_empty() { "no field is".to_owned() } else { known.join(", ") };
                return Err(format!("{} is not known; known: {hint}", name(&below(path, key))));
            }
            (Value::Null, others @ Value::Object(_)) => check(others, value, &below(path, key))?,
            (Value::Null, _) => {}
            (known, _) => check(known, value, &below(path, key))?,
        }
    }
    // After the fields that are there: one that is misspelled is named rather than the one that it should have been.
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(missing) = required.iter().filter_map(Value::as_str).find(|key| !fields.contains_key(*key)) {
        return Err(format!("{} is missing", name(&below(path, missing))));
    }
    Ok(())
}

fn check_array(schema: &Value, items: &[Value], path: &str) -> Result<(), String> {
    let count = items.len() as u64;
    match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
        (Some(least), _) if count < least => {
            return Err(format!("{} must have at least {least} entries", name(path)));
        }
        (_, Some(most)) if count > most => {
            return Err(format!("{} must have at most {most} entries, not {count}", name(path)));
        }
        _ => {}
    }
    let each = &schema["items"];
    items.iter().enumerate().try_for_each(|(at, item)| check(each, item, &format!("{path}[{at}]")))
}

fn check_range(schema: &Value, number: f64, path: &str) -> Result<(), String> {
    match (schema["minimum"].as_f64(), schema["maximum"].as_f64()) {
        (Some(least), _) if number < least => Err(format!("{} must be at least {least}", name(path))),
        (_, Some(most)) if number > most => Err(format!("{} must be at most {most}", name(path))),
        _ => Ok(()),
    }
}

fn has_type(types: &Value, value: &Value) -> bool {
    match types {
        Value::String(wanted) => match wanted.as_str() {
            "number" => value.is_number(),
            "integer" => value.is_i64() || value.is_u64(),
            wanted => kind(value) == wanted,
        },
        Value::Array(all) => all.iter().any(|one| has_type(one, value)),
        _ => true,
    }
}

fn types(types: &Value) -> String {
    match types {
        Value::String(one) => one.clone(),
        Value::Array(all) => all.iter().map(self::types).collect::<Vec<_>>().join(" or "),
        _ => "anything".to_owned(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn name(path: &str) -> String {
    if path.is_empty() { "the inputs".to_owned() } else { format!("`{path}`") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runtime::Executor;
    use crate::runtime::executors::{Aggregate, Command, Http, Script, Sql, Wait, Webhook};

    #[test]
    fn errors_name_the_field() {
        let schema = json!({
            "type": "object",
            "properties": {
                "list": {"type": "array", "maxItems": 2, "items": {"anyOf": [
                    {"type": "integer", "minimum": 100, "maximum": 599},
                    {"type": "object", "properties": {"sql": {"type": "string", "minLength": 1}}, "required": ["sql"]},
                ]}},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "how": {"type": "string", "enum": ["GET", "PUT"]},
            },
            "required": ["list"],
            "additionalProperties": false
        });
        let error = |inputs: Value| check_inputs(&schema, &inputs).unwrap_err();
        assert_eq!(check_inputs(&schema, &json!({"list": [200, {"sql": "x"}], "map": {"a": "b"}})), Ok(()));
        assert_eq!(error(json!([])), "the inputs must be object, not array");
        assert_eq!(error(json!({})), "`list` is missing");
        assert_eq!(error(json!({"list": [], "x": 1})), "`x` is not known; known: list, map, how");
        assert_eq!(error(json!({"list": [1]})), "`list[0]` must be at least 100");
        assert_eq!(error(json!({"list": ["a"]})), "`list[0]` must be integer or object, not string");
        assert_eq!(error(json!({"list": [{"sql": ""}]})), "`list[0].sql` must not be empty");
        assert_eq!(error(json!({"list": [200, 200, 200]})), "`list` must have at most 2 entries, not 3");
        assert_eq!(error(json!({"list": [], "map": {"a": 1}})), "`map.a` must be string, not number");
        assert_eq!(error(json!({"list": [], "how": "EAT"})), "`how` must be one of GET, PUT");
    }

    /// A keyword that is not known would be published and not checked.
    #[test]
    fn schemas_use_only_keywords_that_are_checked() {
        fn walk(schema: &Value) {
            let Some(schema) = schema.as_object() else { return };
            for (keyword, value) in schema {
                assert!(KEYWORDS.contains(&keyword.as_str()), "{keyword}");
                match keyword.as_str() {
                    "properties" => value.as_object().unwrap().values().for_each(walk),
                    "items" | "additionalProperties" => walk(value),
                    "anyOf" => value.as_array().unwrap().iter().for_each(walk),
                    _ => {}
                }
            }
        }
        let executors: [&dyn Executor; 7] = [
            &Wait,
            &Aggregate,
            &Http::system(),
            &Webhook::system(),
            &Command::new(Vec::<String>::new()),
            &Sql,
            &Script,
        ];
        for executor in executors {
            let schema = executor.schema();
            walk(&schema);
            assert!(schema["description"].is_string(), "{}", executor.name());
            for example in schema["examples"].as_array().unwrap() {
                assert_eq!(check_inputs(&schema, example), Ok(()), "{}: {example}", executor.name());
            }
        }
    }
}
