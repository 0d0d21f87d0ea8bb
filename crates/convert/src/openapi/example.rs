//! Values for parameters and bodies: the example of the description, else the smallest value that a schema allows.

use serde_json::{Map, Value};

use super::{Reader, items};
use crate::plan::Draft;

/// Schemas within schemas; what is deeper, or refers to itself, ends here.
const DEPTH_MAX: usize = 12;
/// Values that one schema may become.
const NODES_MAX: usize = 2_000;
/// Items of a list that must not be empty.
const ITEMS_MAX: u64 = 3;
/// Characters of a text that has a shortest length.
const CHARS_MAX: u64 = 200;

/// A value, and whether somebody chose it.
pub(super) struct Found {
    pub(super) value: Value,
    /// From an example, a default or an enumeration, not made up.
    pub(super) is_given: bool,
}

/// How much may still be made, and inside of what.
struct Budget<'d> {
    nodes: usize,
    /// References that lead here: a schema inside of itself ends.
    open: Vec<&'d str>,
}

impl<'d> Reader<'d> {
    /// The value of something with `example`, `examples` or `schema`: a parameter or a media type.
    pub(super) fn value_of(&self, holder: &'d Value, place: &str, draft: &mut Draft) -> Option<Found> {
        let given = |value: &Value| Some(Found { value: value.clone(), is_given: true });
        if let Some(example) = holder.get("example") {
            return given(example);
        }
        let first =
            holder.get("examples").and_then(Value::as_object).and_then(|examples| examples.values().next());
        if let Some(example) = first.and_then(|example| self.refs.resolve(example, place, draft)) {
            if let Some(value) = example.get("value") {
                return given(value);
            }
            draft.note(place, "an example in another document is left out");
        }
        let schema = holder.get("schema")?;
        let resolved = self.refs.resolve(schema, place, draft)?;
        if let Some(value) = chosen(resolved) {
            return given(value);
        }
        let mut budget = Budget { nodes: NODES_MAX, open: Vec::new() };
        let value = self.made(schema, 0, &mut budget, place, draft);
        Some(Found { value, is_given: false })
    }

    /// The smallest value that a schema allows.
    fn made(
        &self,
        schema: &'d Value,
        depth: usize,
        budget: &mut Budget<'d>,
        place: &str,
        draft: &mut Draft,
    ) -> Value {
        let Some(left) = budget.nodes.checked_sub(1).filter(|_| depth < DEPTH_MAX) else {
            return Value::Null;
        };
        budget.nodes = left;
        let reference = reference(schema);
        if reference.is_some_and(|reference| budget.open.contains(&reference)) {
            return Value::Null;
        }
        let Some(schema) = self.refs.resolve(schema, place, draft) else { return Value::Null };
        budget.open.extend(reference);
        let value = self.made_of(schema, depth, budget, place, draft);
        if reference.is_some() {
            budget.open.pop();
        }
        value
    }

    /// The same for a schema that is no reference.
    fn made_of(
        &self,
        schema: &'d Value,
        depth: usize,
        budget: &mut Budget<'d>,
        place: &str,
        draft: &mut Draft,
    ) -> Value {
        if let Some(value) = chosen(schema) {
            return value.clone();
        }
        for key in ["oneOf", "anyOf"] {
            let is_null = |schema: &&Value| schema.get("type").and_then(Value::as_str) == Some("null");
            if let Some(first) = items(schema, key).iter().find(|schema| !is_null(schema)) {
                return self.made(first, depth + 1, budget, place, draft);
            }
        }
        match kind(schema) {
            "object" => self.object(schema, depth, budget, place, draft).into(),
            "array" => self.list(schema, depth, budget, place, draft),
            "string" => text(schema).into(),
            "integer" => (number(schema).ceil() as i64).into(),
            "number" => number(schema).into(),
            "boolean" => true.into(),
            _ => Value::Null,
        }
    }

    /// Required properties and those with an example, of `allOf` too; all of them, if that were nothing.
    fn object(
        &self,
        schema: &'d Value,
        depth: usize,
        budget: &mut Budget<'d>,
        place: &str,
        draft: &mut Draft,
    ) -> Map<String, Value> {
        let mut map = Map::new();
        if depth >= DEPTH_MAX {
            return map;
        }
        for part in items(schema, "allOf") {
            let Some(part) = self.refs.resolve(part, place, draft) else { continue };
            match chosen(part) {
                Some(Value::Object(example)) => map.extend(example.clone()),
                _ => map.extend(self.object(part, depth + 1, budget, place, draft)),
            }
        }
        let required: Vec<&str> = items(schema, "required").iter().filter_map(Value::as_str).collect();
        let properties: Vec<(&String, &'d Value)> = super::entries(schema, "properties")
            .filter(|(_, property)| property.get("readOnly").and_then(Value::as_bool) != Some(true))
            .collect();
        for (name, property) in &properties {
            if required.contains(&name.as_str()) || self.has_example(property, place, draft) {
                map.insert((*name).clone(), self.made(property, depth + 1, budget, place, draft));
            }
        }
        // A body of nothing tests nothing.
        if depth == 0 && map.is_empty() {
            for (name, property) in properties {
                map.insert(name.clone(), self.made(property, depth + 1, budget, place, draft));
            }
        }
        map
    }

    /// Whether the author of a property says what could stand there.
    fn has_example(&self, property: &'d Value, place: &str, draft: &mut Draft) -> bool {
        let resolved = self.refs.resolve(property, place, draft);
        resolved
            .is_some_and(|property| property.get("example").is_some() || property.get("examples").is_some())
    }

    fn list(
        &self,
        schema: &'d Value,
        depth: usize,
        budget: &mut Budget<'d>,
        place: &str,
        draft: &mut Draft,
    ) -> Value {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, ITEMS_MAX);
        let Some(item) = schema.get("items") else { return Value::Array(Vec::new()) };
        if reference(item).is_some_and(|reference| budget.open.contains(&reference)) {
            return Value::Array(Vec::new());
        }
        (0..least).map(|_| self.made(item, depth + 1, budget, place, draft)).collect()
    }
}

/// What a schema refers to instead of saying it.
fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

/// What the author of a schema chose.
fn chosen(schema: &Value) -> Option<&Value> {
    let single = ["example", "const", "default"].into_iter().find_map(|key| schema.get(key));
    single.or_else(|| items(schema, "examples").first()).or_else(|| items(schema, "enum").first())
}

/// The type of a schema: the first that is not null, or what its keys tell.
fn kind(schema: &Value) -> &str {
    let named = match schema.get("type") {
        Some(Value::String(name)) => Some(name.as_str()),
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    };
    let has = |key: &str| schema.get(key).is_some();
    named.unwrap_or_else(|| {
        if has("properties") || has("allOf") || has("additionalProperties") {
            "object"
        } else if has("items") {
            "array"
        } else if has("minimum") || has("maximum") {
            "number"
        } else {
            "string"
        }
    })
}

fn number(schema: &Value) -> f64 {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let above = match schema.get("exclusiveMinimum") {
        Some(Value::Bool(true)) => bound("minimum").map(|least| least + 1.0),
        _ => bound("exclusiveMinimum").map(|least| least + 1.0),
    };
    let least = above.or_else(|| bound("minimum")).unwrap_or(1.0);
    let value = bound("maximum").map_or(least, |most| least.min(most));
    match bound("multipleOf").filter(|step| *step > 0.0) {
        Some(step) => (value / step).ceil() * step,
        None => value,
    }
}

fn text(schema: &Value) -> String {
    let made = match schema.get("format").and_then(Value::as_str).unwrap_or_default() {
        "date" => "2026-01-31",
        "date-time" => "2026-01-31T12:00:00Z",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "uuid" => "3fa85f64-5717-4562-b3fc-2c963f66afa6",
        "email" | "idn-email" => "user@example.com",
        "uri" | "url" | "uri-reference" => "https://example.com/",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "dGV4dA==",
        _ => "text",
    };
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0).min(CHARS_MAX) as usize;
    let most = schema.get("maxLength").and_then(Value::as_u64).map_or(usize::MAX, |most| most as usize);
    let padded = made.chars().chain(std::iter::repeat('x')).take(least.max(made.len()));
    padded.take(most).collect()
}
