//! `vars`: values known before anything runs. The environment is read here and nowhere else.

use hyperscale_types::Name;
use minijinja::Value;

use super::Reader;
use super::names::PlanNames;
use super::value::VarScope;
use super::view::View;
use crate::document::{Kind, Node, Place};
use crate::template::Template;

/// Variables of one plan.
const VARS_MAX: usize = 1_000;
/// Bytes of one variable's text: each may repeat the ones before it.
const VAR_BYTES_MAX: usize = 64 << 10;

/// A part of a text with `${env:…}` in it.
enum Part<'t> {
    Text(&'t str),
    Env { name: &'t str, default: Option<&'t str> },
}

impl Reader<'_> {
    /// All variables, in file order; each may refer to the ones before it.
    pub(super) fn vars(&self, node: Option<&Node>) -> Vec<(Name, Value)> {
        let entries = node.and_then(|node| self.entries(node, "`vars`")).unwrap_or(&[]);
        if entries.len() > VARS_MAX {
            self.problems
                .error(entries[VARS_MAX].0.place, format!("a plan has at most {VARS_MAX} variables"));
        }
        let mut vars: Vec<(Name, Value)> = Vec::new();
        for (key, node) in entries.iter().take(VARS_MAX) {
            let Some(name) = self.name(&key.text, key.place) else { continue };
            self.not_reserved(&name, key.place, "variable");
            let given = self.env.overrides().iter().rev().find(|(key, _)| *key == name.as_str());
            let value = match given {
                Some((_, text)) => self.overridden(node, &name, text),
                None => self.var(node, &name, &vars),
            };
            vars.push((name, value.unwrap_or(Value::UNDEFINED)));
        }
        self.unknown_overrides(&vars);
        vars
    }

    fn unknown_overrides(&self, vars: &[(Name, Value)]) {
        for (key, _) in self.env.overrides() {
            if !vars.iter().any(|(name, _)| name == key.as_str()) {
                self.problems
                    .error(Place::START, format!("--var {key}: the plan has no variable `{key}`"))
                    .nearest(key, vars.iter().map(|(name, _)| name.as_str()));
            }
        }
    }

    /// The value given on the command line, of the same type as the one in the file.
    fn overridden(&self, node: &Node, name: &Name, text: &str) -> Option<Value> {
        let value = match node.kind {
            Kind::Bool(_) => text.parse::<bool>().ok().map(Value::from),
            Kind::Int(..) => text.parse::<i64>().ok().map(Value::from),
            Kind::Float(..) => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
            Kind::Seq(_) | Kind::Map(_) => serde_json::from_str::<Value>(text).ok(),
            Kind::Null | Kind::Str(_) => Some(Value::from(text)),
        };
        if value.is_none() {
            self.problems.error(node.place, format!("--var {name}={text}: the variable is {}", node.what()));
        }
        value
    }

    fn var(&self, node: &Node, name: &Name, before: &[(Name, Value)]) -> Option<Value> {
        match &node.kind {
            Kind::Null => {
                self.problems
                    .error(node.place, format!("the variable `{name}` has no value"))
                    .hint(format!("give it one here, with `${{env:NAME}}`, or with --var {name}=…"));
                None
            }
            Kind::Str(text) => self.var_text(text, node.place, before),
            Kind::Seq(items) => {
                let items = items.iter().map(|item| self.var(item, name, before));
                items.collect::<Option<Vec<_>>>().map(Value::from)
            }
            Kind::Map(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| Some((key.text.to_string(), self.var(value, name, before)?)));
                entries.collect::<Option<Vec<_>>>().map(Value::from_pairs)
            }
            _ => self.value(node),
        }
    }

    fn var_text(&self, text: &str, place: Place, before: &[(Name, Value)]) -> Option<Value> {
        let parts = self.parts(text, place)?;
        if let [Part::Text(only)] = &*parts {
            return self.var_template(only, place, before);
        }
        let mut whole = String::new();
        for part in parts {
            match part {
                Part::Text(text) => {
                    let value = self.var_template(text, place, before)?;
                    whole.push_str(value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str());
                }
                Part::Env { name, default } => whole.push_str(&self.environment(name, default, place)?),
            }
        }
        Some(Value::from(whole))
    }

    fn environment(&self, name: &str, default: Option<&str>, place: Place) -> Option<String> {
        let value = self.env.var(name).or_else(|| default.map(str::to_owned));
        if value.is_none() {
            self.problems
                .error(place, format!("the environment variable `{name}` is not set"))
                .hint(format!("set it, or give a default: `${{env:{name}:-…}}`"));
        }
        value
    }

    fn var_template(&self, text: &str, place: Place, before: &[(Name, Value)]) -> Option<Value> {
        let names = PlanNames { vars: before, data: &[] };
        let template: Template = self.template_of(text, place, &View::of_vars(&names))?;
        match template.value(&VarScope(before)) {
            Ok(value) if value.as_str().is_some_and(|text| text.len() > VAR_BYTES_MAX) => {
                self.problems.error(place, format!("a variable is at most {VAR_BYTES_MAX} bytes long"));
                None
            }
            Ok(value) => Some(value),
            Err(problem) => self.fill_problem(&problem, place, before),
        }
    }

    /// Cuts a text at `${env:NAME}` and `${env:NAME:-default}`. Any other `$` stands for itself.
    fn parts<'t>(&self, text: &'t str, place: Place) -> Option<Vec<Part<'t>>> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find("${env:") {
            if open > 0 {
                parts.push(Part::Text(&rest[..open]));
            }
            let inner = &rest[open + "${env:".len()..];
            let Some(close) = inner.find('}') else {
                self.problems.error(place, "`${env:` is never closed with `}`");
                return None;
            };
            let (name, default) = match inner[..close].split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (&inner[..close], None),
            };
            if name.is_empty() || name.contains(['=', '\0']) {
                self.problems.error(place, format!("`{name}` is not the name of an environment variable"));
                return None;
            }
            parts.push(Part::Env { name, default });
            rest = &inner[close + 1..];
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Text(rest));
        }
        Some(parts)
    }
}
