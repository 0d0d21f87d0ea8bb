//! JSON into the tree.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Range;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{DEPTH_MAX, Key, Kind, Node, Place, Seen, Text, push_entry, too_deep};
use crate::problem::Problems;

/// Exactly RFC 8259.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &Text, problems: &Problems) -> Option<Node> {
    match parse_to_ast(text.as_str(), &CollectOptions::default(), &STRICT) {
        Ok(parsed) => convert(&parsed.value?, 0, problems),
        Err(error) => {
            let message = error.kind().to_string();
            let mut chars = message.chars();
            let message: String =
                chars.next().map(|c| c.to_ascii_lowercase()).into_iter().chain(chars).collect();
            problems.error(place(error.range()), format!("not JSON: {message}"));
            None
        }
    }
}

fn place(range: Range) -> Place {
    Place { start: range.start, end: range.end }
}

fn convert(value: &Value<'_>, depth: usize, problems: &Problems) -> Option<Node> {
    let node = |range: Range, kind| Some(Node { place: place(range), kind });
    match value {
        Value::NullKeyword(lit) => node(lit.range, Kind::Null),
        Value::BooleanLit(lit) => node(lit.range, Kind::Bool(lit.value)),
        Value::StringLit(lit) => node(lit.range, Kind::Str(lit.value.as_ref().into())),
        Value::NumberLit(lit) => node(lit.range, number(lit.value)),
        Value::Array(list) if depth >= DEPTH_MAX => {
            too_deep(place(list.range), problems);
            None
        }
        Value::Object(map) if depth >= DEPTH_MAX => {
            too_deep(place(map.range), problems);
            None
        }
        Value::Array(list) => {
            let items = list.elements.iter().map(|item| convert(item, depth + 1, problems));
            node(list.range, Kind::Seq(items.collect::<Option<_>>()?))
        }
        Value::Object(map) => {
            let (mut entries, mut seen) = (Vec::with_capacity(map.properties.len()), Seen::default());
            for property in &map.properties {
                let range = match &property.name {
                    ObjectPropName::String(lit) => lit.range,
                    ObjectPropName::Word(lit) => lit.range,
                };
                let key = Key { text: property.name.as_str().into(), place: place(range) };
                let value = convert(&property.value, depth + 1, problems)?;
                push_entry(&mut entries, key, value, &mut seen, problems);
            }
            node(map.range, Kind::Map(entries))
        }
    }
}

fn number(written: &str) -> Kind {
    match written.parse() {
        Ok(int) => Kind::Int(int, written.into()),
        Err(_) => Kind::Float(written.parse().unwrap_or(f64::NAN), written.into()),
    }
}
