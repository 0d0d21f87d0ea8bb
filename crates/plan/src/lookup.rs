//! HOT: finding a value in a JSON text. A plain way (`$.items[0].id`) is followed through the bytes without building the
//! document; everything between is checked and skipped. Only what is found is allocated.

use std::fmt;

use minijinja::Value;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json_path::{JsonPath, ParseError};

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A member of an object.
    Field(Box<str>),
    /// An element of an array, from 0.
    Index(usize),
}

/// A JSON path (RFC 9535).
#[derive(Clone, Debug)]
pub struct JsonQuery {
    path: JsonPath,
    /// The same as keys, if it leads to one value at most and only through names and indexes.
    plain: Option<Box<[Key]>>,
}

impl JsonQuery {
    /// Reads a JSON path.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        Ok(JsonQuery { path: JsonPath::parse(text)?, plain: plain(text) })
    }

    /// What it finds in a JSON text: one match gives its value, several a list. `document` keeps the text once it had to
    /// be read as a whole.
    pub fn find(&self, json: &[u8], document: &mut Option<serde_json::Value>) -> Option<Value> {
        if document.is_none() {
            let plain = self.plain.as_ref();
            if let Some(found) = plain.and_then(|keys| find(keys, json)) {
                return Some(found);
            }
            *document = serde_json::from_slice(json).ok();
        }
        let found = self.path.query(document.as_ref()?);
        match found.len() {
            0 => None,
            1 => Value::deserialize(found.first()?).ok(),
            _ => found
                .iter()
                .map(|value| Value::deserialize(*value).ok())
                .collect::<Option<Vec<_>>>()
                .map(Value::from),
        }
    }
}

/// The value at the end of `keys` in a JSON text, if it is there and the text is JSON to its end.
pub fn find(keys: &[Key], json: &[u8]) -> Option<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let found = Seek(keys).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    found
}

/// `$.name[0]['name']…` as keys; `None` for a path that selects in other ways. The text is a valid path.
fn plain(text: &str) -> Option<Box<[Key]>> {
    let mut rest = text.trim().strip_prefix('$')?;
    let mut keys = Vec::new();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (key, after) = inner.split_once(']')?;
            keys.push(bracketed(key)?);
            rest = after;
        } else {
            rest = rest.strip_prefix('.')?;
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            keys.push(Key::Field(rest.get(..end).filter(|name| !name.is_empty())?.into()));
            rest = &rest[end..];
        }
    }
    Some(keys.into())
}

fn bracketed(key: &str) -> Option<Key> {
    if let Ok(index) = key.parse() {
        return Some(Key::Index(index));
    }
    let quote = key.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let name = key[1..].strip_suffix(quote)?;
    (!name.contains([quote, '\\'])).then(|| Key::Field(name.into()))
}

/// Reads one value and goes on into it.
struct Seek<'k>(&'k [Key]);

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            Value::deserialize(deserializer).map(Some)
        } else {
            deserializer.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let Some((Key::Field(name), rest)) = self.0.split_first() else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(None);
        };
        while let Some(is_it) = map.next_key_seed(Named(name))? {
            if is_it {
                // The last of several members with one name counts, as everywhere.
                found = map.next_value_seed(Seek(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        if let Some((Key::Index(index), rest)) = self.0.split_first() {
            for _ in 0..*index {
                if seq.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(None);
                }
            }
            found = seq.next_element_seed(Seek(rest))?.flatten();
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a member has this name.
struct Named<'k>(&'k str);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &[u8] =
        br#" {"a":[1,{"b c":"x","d":null}],"e":{"a":2.5},"a":[true,{"b c":"\u00e9"}], "s":"str"} "#;

    /// Without the short way.
    fn long_way(query: &JsonQuery, json: &[u8]) -> Option<Value> {
        query.find(json, &mut serde_json::from_slice(json).ok())
    }

    #[test]
    fn plain_paths_are_told_from_others() {
        let field = |name: &str| Key::Field(name.into());
        let keys = [field("items"), Key::Index(0), field("a b"), field("id")];
        assert_eq!(plain("$.items[0]['a b'].id").as_deref(), Some(&keys[..]));
        assert_eq!(plain("$").as_deref(), Some(&[][..]));
        for other in ["$..id", "$.*", "$[-1]", "$[0:2]", "$['a','b']", "$[?@.a]", "$['a\\'b']", "$.é", "$[*]"]
        {
            assert_eq!(plain(other), None, "{other}");
        }
    }

    #[test]
    fn both_ways_find_the_same() {
        for text in
            ["$", "$.a[1]['b c']", "$.a[0]", "$.e.a", "$.e", "$.a[7]", "$.s.x", "$.s[0]", "$.a.b", "$.e[0]"]
        {
            let query = JsonQuery::parse(text).unwrap();
            assert_eq!(query.find(TEXT, &mut None), long_way(&query, TEXT), "{text}");
        }
    }

    #[test]
    fn the_short_way_is_taken_only_through_a_whole_document() {
        let keys = plain("$.a").unwrap();
        assert_eq!(find(&keys, br#"{"a":1}"#), Some(Value::from(1)));
        for broken in [&br#"{"a":1"#[..], br#"{"a":1} x"#, br#"{"a":1,"b":}"#, b"", b"\xff"] {
            assert_eq!(find(&keys, broken), None);
        }
    }

    #[test]
    fn several_matches_are_a_list() {
        let query = JsonQuery::parse("$.a[*]").unwrap();
        let found = query.find(br#"{"a":[1,"x"]}"#, &mut None);
        assert_eq!(found, Some(Value::from(vec![Value::from(1), Value::from("x")])));
    }

    /// Whatever a server answers: the short way finds what the long way finds, and neither fails. The first line is
    /// the path, the rest the document.
    #[test]
    fn fuzz_json_lookup() {
        bolero::check!(name = "json_lookup").for_each(|bytes: &[u8]| {
            let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else { return };
            let (path, json) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 1..]);
            let Ok(query) = JsonQuery::parse(&path) else { return };
            let short = query.find(json, &mut None);
            if let Ok(document) = serde_json::from_slice(json) {
                assert_eq!(short, query.find(json, &mut Some(document)));
            }
        });
    }

    proptest! {
        #[test]
        fn both_ways_find_the_same_in_any_document(
            values in proptest::collection::vec("[a-c]{1,2}", 0..6),
            index in 0usize..4,
            name in "[a-c]{1,2}",
        ) {
            let members: Vec<String> =
                values.iter().map(|name| format!(r#""{name}":["{name}",{{"{name}":{index}}}]"#)).collect();
            let json = format!("{{{}}}", members.join(","));
            let query = JsonQuery::parse(&format!("$.{name}[{index}].{name}")).unwrap();
            prop_assert_eq!(query.find(json.as_bytes(), &mut None), long_way(&query, json.as_bytes()));
        }
    }
}
