//! `{{name}}` of Postman as variables of the plan: those of the collection with their value, others from the
//! environment, dynamic ones as functions.

use std::collections::BTreeMap;

use serde_json::Value;

use super::text;
use crate::plan::Draft;
use crate::text::{clean, hole, template};

/// Variables of one collection.
const VARIABLES_MAX: usize = 500;
/// References from variable to variable.
const DEPTH_MAX: usize = 8;

/// Known variables and what they are called in the plan.
pub(super) struct Variables {
    values: BTreeMap<String, String>,
    names: BTreeMap<String, String>,
    /// What earlier requests have kept, as expressions of the plan.
    kept: BTreeMap<String, String>,
}

impl Variables {
    /// Those of the collection. They get into the plan when somebody refers to them.
    pub(super) fn read(root: &Value, draft: &mut Draft) -> Self {
        let list = root.get("variable").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if list.len() > VARIABLES_MAX {
            draft.note("variable", format!("only the first {VARIABLES_MAX} variables are read"));
        }
        let list = super::enabled("variable", "variable", &list[..list.len().min(VARIABLES_MAX)], draft);
        let value = |entry: &Value| match entry.get("value") {
            Some(Value::String(text)) => clean(text),
            None | Some(Value::Null) => String::new(),
            Some(other) => clean(&other.to_string()),
        };
        let name = |entry: &Value| text(entry, "key").or_else(|| text(entry, "id")).map(clean);
        let values = list.into_iter().filter_map(|entry| Some((name(entry)?, value(entry)))).collect();
        Self { values, names: BTreeMap::new(), kept: BTreeMap::new() }
    }

    /// From now on a variable is what a step has extracted under a name.
    pub(super) fn keep(&mut self, variable: &str, step: &str, name: &str) {
        self.kept.insert(variable.to_owned(), format!("{step}.{name}"));
    }

    /// Whether a text is one variable that the collection leaves empty.
    pub(super) fn is_empty(&self, raw: &str) -> bool {
        let name = raw.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim);
        name.is_some_and(|name| {
            !self.kept.contains_key(name) && self.values.get(name).is_some_and(String::is_empty)
        })
    }

    /// A text with holes in the place of `{{name}}`.
    pub(super) fn fill(&mut self, place: &str, raw: &str, draft: &mut Draft) -> String {
        self.fill_at(place, &clean(raw), 0, draft)
    }

    fn fill_at(&mut self, place: &str, raw: &str, depth: usize, draft: &mut Draft) -> String {
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some((before, inner)) = rest.split_once("{{") {
            out.push_str(before);
            let Some((name, after)) = inner.split_once("}}").filter(|(name, _)| is_reference(name)) else {
                out.push_str("{{");
                rest = inner;
                continue;
            };
            match name.trim().strip_prefix('$') {
                Some(dynamic) => out.push_str(&self.dynamic(place, dynamic, draft)),
                None => out.push_str(&hole(&self.variable(place, name.trim(), depth, draft))),
            }
            rest = after;
        }
        out + rest
    }

    /// The plan's variable for one of the collection; the ones it refers to come before it.
    fn variable(&mut self, place: &str, name: &str, depth: usize, draft: &mut Draft) -> String {
        // Variables of the plan are filled before any step has run.
        if let Some(expression) = self.kept.get(name).filter(|_| depth == 0) {
            return expression.clone();
        }
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let value = self.values.get(name).cloned().filter(|_| depth < DEPTH_MAX);
        let var = match value {
            Some(value) if is_secret(name) && !value.is_empty() && !draft.options().keep_secrets => {
                let (var, environment) = draft.env_var(name);
                draft.note(
                    "variable",
                    format!("`{name}` is secret: set {environment}, or give --var {var}=…"),
                );
                var
            }
            Some(value) => {
                let filled = self.fill_at(place, &value, depth + 1, draft);
                draft.var(name, template(&filled).into())
            }
            None => {
                let (var, environment) = draft.env_var(name);
                draft.note(
                    place,
                    format!(
                        "`{{{{{name}}}}}` is not in the collection: set {environment}, or give --var {var}=…"
                    ),
                );
                var
            }
        };
        self.names.insert(name.to_owned(), var.clone());
        var
    }

    #[expect(clippy::unused_self, reason = "dynamic variables are variables too")]
    fn dynamic(&self, place: &str, name: &str, draft: &mut Draft) -> String {
        match name {
            "guid" | "randomUUID" => hole("uuid()"),
            "timestamp" => hole("(now_ms() / 1000) | int"),
            "randomInt" => hole("random(0, 1000)"),
            "randomBoolean" => hole("random(0, 1) == 1"),
            other => {
                draft.note(place, format!("`{{{{${other}}}}}` is not translated and stands as a text"));
                format!("${other}")
            }
        }
    }
}

fn is_reference(name: &str) -> bool {
    let name = name.trim();
    !name.is_empty() && name.len() <= 128 && !name.contains(['{', '}', '\n', '"'])
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["token", "secret", "password", "apikey", "api_key", "api-key"].iter().any(|word| name.contains(word))
}
