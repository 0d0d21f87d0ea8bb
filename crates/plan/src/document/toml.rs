//! TOML into the tree.

use toml::de::{DeTable, DeValue};

use super::{DEPTH_MAX, Key, Kind, Node, Place, Text, too_deep};
use crate::problem::Problems;

pub(super) fn parse(text: &Text, problems: &Problems) -> Option<Node> {
    let (table, errors) = DeTable::parse_recoverable(text.as_str());
    for error in &errors {
        let place = error.span().map_or(Place::START, |span| Place { start: span.start, end: span.end });
        problems.error(place, format!("not TOML: {}", error.message()));
    }
    if errors.is_empty() { map(table.get_ref(), Place::START, 0, problems) } else { None }
}

fn map(table: &DeTable<'_>, place: Place, depth: usize, problems: &Problems) -> Option<Node> {
    if depth >= DEPTH_MAX {
        too_deep(place, problems);
        return None;
    }
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let span = key.span();
        let key =
            Key { text: key.get_ref().as_ref().into(), place: Place { start: span.start, end: span.end } };
        entries.push((key, convert(value, depth + 1, problems)?));
    }
    entries.sort_by_key(|(key, _)| key.place); // the table is sorted by name; the text's order is what counts
    Some(Node { place, kind: Kind::Map(entries) })
}

fn convert(value: &toml::Spanned<DeValue<'_>>, depth: usize, problems: &Problems) -> Option<Node> {
    let span = value.span();
    let place = Place { start: span.start, end: span.end };
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Str(text.as_ref().into()),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Integer(int) => {
            let Ok(number) = i128::from_str_radix(int.as_str(), int.radix()) else {
                problems.error(place, "the number is too large");
                return None;
            };
            Kind::Int(number, number.to_string().into())
        }
        DeValue::Float(float) => {
            Kind::Float(float.as_str().parse().unwrap_or(f64::NAN), float.as_str().into())
        }
        DeValue::Datetime(_) => {
            problems.error(place, "a plan has no dates").hint("put it in quotes if it is meant as a text");
            return None;
        }
        DeValue::Table(table) => return map(table, place, depth, problems),
        DeValue::Array(_) if depth >= DEPTH_MAX => {
            too_deep(place, problems);
            return None;
        }
        DeValue::Array(items) => {
            let items = items.iter().map(|item| convert(item, depth + 1, problems));
            Kind::Seq(items.collect::<Option<_>>()?)
        }
    };
    Some(Node { place, kind })
}
