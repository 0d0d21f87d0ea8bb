//! Scripts that run after a request: what most of them do – keep a value of the answer, look at the status – is `extract`
//! and `check` in a plan. Everything else is counted, and said.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::text::{clean, slug};

/// Names of a result that an extraction cannot have.
const TAKEN: [&str; 5] = ["status", "json", "body", "headers", "latency_ms"];

/// What a script became.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Script {
    /// Variables, the names under which the step has their values, and where those come from.
    pub(super) kept: Vec<(String, String, Value)>,
    /// The status that is looked for.
    pub(super) status: Option<Value>,
    /// Statements that were not translated.
    pub(super) left: usize,
}

impl Script {
    /// Reads the script of an event.
    pub(super) fn read(event: &Value) -> Self {
        let lines = match event.pointer("/script/exec") {
            Some(Value::Array(lines)) => {
                lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
            }
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        };
        let mut script = Self::default();
        let mut documents = vec!["pm.response.json()".to_owned()];
        let code = lines.lines().map(str::trim).filter(|line| !line.starts_with("//"));
        for statement in code.flat_map(|line| line.split(';')).map(unwrapped).filter(|text| !is_closing(text))
        {
            if let Some(name) = document(statement) {
                documents.push(name.to_owned());
            } else if let Some(status) = status(statement) {
                script.status = Some(status);
            } else if let Some((variable, source)) = kept(statement, &documents) {
                let name = slug(&variable);
                let name = if TAKEN.contains(&name.as_str()) { format!("{name}_value") } else { name };
                script.kept.push((variable, name, source));
            } else {
                script.left += 1;
            }
        }
        script
    }

    /// Puts it into the keys of a step.
    pub(super) fn apply(&self, step: &mut Map<String, Value>) {
        if !self.kept.is_empty() {
            let values = self.kept.iter().map(|(_, name, source)| (name.clone(), source.clone()));
            step.insert("extract".into(), Value::Object(values.collect()));
        }
        if let Some(status) = &self.status {
            step.insert("check".into(), json!({ "status": status }));
        }
    }
}

/// What stands inside of `pm.test("…", function () { … })`.
fn unwrapped(statement: &str) -> &str {
    let statement = statement.trim();
    if !statement.starts_with("pm.test(") {
        return statement;
    }
    let inner =
        statement.split_once('{').or_else(|| statement.split_once("=>")).map(|(_, inner)| inner.trim());
    inner.map_or(statement, |inner| inner.strip_suffix("})").unwrap_or(inner).trim())
}

fn is_closing(statement: &str) -> bool {
    statement.chars().all(|c| matches!(c, '}' | ')' | ' '))
}

/// The name that a statement gives to the answer's document.
fn document(statement: &str) -> Option<&str> {
    let (left, right) = statement.split_once('=')?;
    let is_document = ["pm.response.json()", "JSON.parse(responseBody)", "JSON.parse(pm.response.text())"];
    let name = left.split_whitespace().next_back().filter(|name| name.chars().all(is_letter));
    name.filter(|_| is_document.contains(&right.trim()))
}

fn status(statement: &str) -> Option<Value> {
    if statement == "pm.response.to.be.ok" {
        return Some("2xx".into());
    }
    let after = |start: &str| statement.strip_prefix(start)?.split(')').next();
    if let Some(code) = after("pm.response.to.have.status(") {
        return code.trim().parse::<u16>().ok().map(Value::from);
    }
    for word in ["eql", "equal", "eq"] {
        if let Some(code) = after(&format!("pm.expect(pm.response.code).to.{word}(")) {
            return code.trim().parse::<u16>().ok().map(Value::from);
        }
    }
    let list = after("pm.expect(pm.response.code).to.be.oneOf([")?.trim_end_matches(']');
    list.split(',').map(|code| code.trim().parse::<u16>().ok().map(Value::from)).collect()
}

/// The variable that a statement sets, and from what.
fn kept(statement: &str, documents: &[String]) -> Option<(String, Value)> {
    let scopes = ["environment", "collectionVariables", "globals", "variables"];
    let set = scopes.iter().find_map(|scope| statement.strip_prefix(&format!("pm.{scope}.set(")));
    let inner = set.or_else(|| statement.strip_prefix("postman.setEnvironmentVariable("))?;
    let (name, value) = inner.trim_end().strip_suffix(')')?.split_once(',')?;
    let name = name.trim().trim_matches(['"', '\'', '`']);
    let is_name = !name.is_empty() && name.len() <= 128 && !name.contains(['"', '\'', '`', '{']);
    Some((clean(name), source(value.trim(), documents)?)).filter(|_| is_name)
}

fn source(value: &str, documents: &[String]) -> Option<Value> {
    if let Some(field) = value.strip_prefix("pm.response.headers.get(") {
        let field = field.strip_suffix(')')?.trim().trim_matches(['"', '\'']);
        let is_field = field.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        return (is_field && !field.is_empty()).then(|| json!({ "header": field }));
    }
    let path = |name: &String| json_path(value.strip_prefix(name.as_str())?);
    documents.iter().find_map(path).map(Value::from)
}

/// `.items[0]["id"]` as a JSON path.
fn json_path(mut rest: &str) -> Option<String> {
    let mut path = "$".to_owned();
    while !rest.is_empty() {
        rest = rest.strip_prefix('?').unwrap_or(rest);
        if let Some(after) = rest.strip_prefix('.').filter(|after| !after.starts_with('[')) {
            let end = after.find(|c| !is_letter(c)).unwrap_or(after.len());
            let name = &after[..end];
            (!name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())).then_some(())?;
            let _ = write!(path, ".{name}");
            rest = &after[end..];
        } else {
            let inner = rest.strip_prefix('.').unwrap_or(rest).strip_prefix('[')?;
            let (key, after) = inner.split_once(']')?;
            let name = key.trim().trim_matches(['"', '\'']);
            let is_number = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
            let is_name = key.len() == name.len() + 2 && !name.contains(['\'', '\\', '"']);
            (is_number || is_name).then_some(())?;
            let _ = if is_number { write!(path, "[{key}]") } else { write!(path, "['{name}']") };
            rest = after;
        }
    }
    (path != "$").then_some(path)
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Script {
        Script::read(&json!({ "script": { "exec": lines } }))
    }

    #[test]
    fn values_that_are_kept_become_extractions() {
        let script = read(&[
            "// the usual",
            "const answer = pm.response.json();",
            "pm.environment.set(\"token\", answer.data[0]['access-token']);",
            "pm.collectionVariables.set('id', pm.response.json().id)",
            "pm.globals.set('trace', pm.response.headers.get('X-Trace'));",
            "postman.setEnvironmentVariable('json', answer?.json);",
        ]);
        let wanted = [
            ("token", "token", json!("$.data[0]['access-token']")),
            ("id", "id", json!("$.id")),
            ("trace", "trace", json!({ "header": "X-Trace" })),
            ("json", "json_value", json!("$.json")),
        ];
        let wanted = wanted.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c));
        assert_eq!((script.kept.as_slice(), script.left), (&wanted[..], 0));
    }

    #[test]
    fn statuses_that_are_looked_at_become_checks() {
        for (line, wanted) in [
            ("pm.test(\"ok\", function () { pm.response.to.have.status(201); });", json!(201)),
            ("pm.test('ok', () => pm.response.to.have.status(200))", json!(200)),
            ("pm.expect(pm.response.code).to.be.oneOf([200, 202]);", json!([200, 202])),
            ("pm.expect(pm.response.code).to.eql(204)", json!(204)),
            ("pm.response.to.be.ok", json!("2xx")),
        ] {
            let script = read(&[line]);
            assert_eq!((script.status, script.left), (Some(wanted), 0), "{line}");
        }
        let lines = ["pm.test('Status', function () {", "    pm.response.to.have.status(200);", "});"];
        assert_eq!(read(&lines), Script { status: Some(json!(200)), ..Script::default() });
    }

    #[test]
    fn what_is_not_understood_is_counted() {
        let script = read(&["if (x) { y() }", "pm.environment.set('a', btoa(json.b));", "console.log(1)"]);
        assert_eq!(script, Script { left: 3, ..Script::default() });
        assert_eq!(json_path(".a.b[0]"), Some("$.a.b[0]".to_owned()));
        for wrong in ["", ".", "[", "[a]", ".a()", ".a + 1", "['x\"']", ".0"] {
            assert_eq!(json_path(wrong), None, "{wrong}");
        }
    }
}
