//! Texts of people into documents without places: JSON by its own reader, YAML and TOML by the plan's.

use hyperscale_plan::document::{self, Format, Kind, Node, Text};
use hyperscale_plan::problem::Problems;
use hyperscale_plan::render;
use serde_json::{Map, Number, Value};

/// Why a text is not a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Not a text, or too large.
    #[error("{0}")]
    Text(String),
    /// Broken syntax, laid out with its place.
    #[error("{0}")]
    Syntax(String),
}

/// Reads a document of at most `bytes_max`.
pub fn document(name: &str, bytes: &[u8], format: Format, bytes_max: u64) -> Result<Value, ReadError> {
    let text = Text::with_limit(bytes, bytes_max).map_err(|problem| ReadError::Text(problem.to_string()))?;
    if format == Format::Json {
        return serde_json::from_str(text.as_str())
            .map_err(|problem| ReadError::Syntax(format!("not JSON: {problem}")));
    }
    let problems = Problems::new(name, &text);
    let node = document::parse(&text, format, &problems).filter(|_| !problems.any_error());
    match node {
        Some(node) => Ok(value(node)),
        None => Err(ReadError::Syntax(render(&problems.into_sorted()).trim_end().to_owned())),
    }
}

/// The tree without its places.
fn value(node: Node) -> Value {
    match node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(truth) => truth.into(),
        Kind::Int(number, written) => integer(number).unwrap_or_else(|| String::from(written).into()),
        Kind::Float(number, written) => {
            Number::from_f64(number).map_or_else(|| String::from(written).into(), Value::Number)
        }
        Kind::Str(text) => String::from(text).into(),
        Kind::Seq(items) => items.into_iter().map(value).collect(),
        Kind::Map(entries) => {
            let entries = entries.into_iter().map(|(key, node)| (String::from(key.text), value(node)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
    }
}

fn integer(number: i128) -> Option<Value> {
    i64::try_from(number).map(Value::from).or_else(|_| u64::try_from(number).map(Value::from)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str, format: Format) -> Result<Value, ReadError> {
        document("input", text.as_bytes(), format, 1_000)
    }

    #[test]
    fn all_formats_become_the_same_document() {
        let wanted = json!({ "a": [1, 2.5, true, "x"], "b": { "c": "d" } });
        assert_eq!(read("a: [1, 2.5, true, x]\nb: { c: d }\n", Format::Yaml), Ok(wanted.clone()));
        assert_eq!(read("a = [1, 2.5, true, 'x']\nb = { c = 'd' }\n", Format::Toml), Ok(wanted.clone()));
        assert_eq!(read(&wanted.to_string(), Format::Json), Ok(wanted));
    }

    #[test]
    fn broken_texts_say_where() {
        let Err(ReadError::Syntax(yaml)) = read("a: [1,\nb: }", Format::Yaml) else { panic!("accepted") };
        assert!(yaml.starts_with("input:2:"), "{yaml}");
        let Err(ReadError::Syntax(json)) = read("{\n1}", Format::Json) else { panic!("accepted") };
        assert!(json.contains("line 2 column 1"), "{json}");
        assert!(matches!(read(&" ".repeat(1_001), Format::Json), Err(ReadError::Text(_))));
    }
}
