//! The text of a plan as results, reports and recordings may show it: without the secrets that are written in it.

use hyperscale_types::secret::{MASK, is_secret_field, is_secret_name, masked};

use crate::document::{Kind, Node, Place};

/// Below this key, names are those of extracted values: what stands there says where to look and is no secret.
const EXTRACT: &str = "extract";

/// The text without literal values under names that stand for secrets, be they header fields, variables or fields of bodies,
/// and without the secrets of URLs. Templates stay: they name a secret and do not contain it.
pub(super) fn without_secrets(text: &str, root: &Node) -> String {
    let mut places = Vec::new();
    find(root, &mut places);
    // Aliases of YAML have the place of what they stand for.
    places.sort_unstable();
    places.dedup();
    let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
    for Place { start, end } in places {
        let Some(before) = text.get(from..start) else { continue };
        shown.push_str(before);
        shown.push_str(&quoted_like(&text[start..end]));
        from = end;
    }
    shown.push_str(&text[from..]);
    masked(&shown)
}

fn find(node: &Node, places: &mut Vec<Place>) {
    match &node.kind {
        Kind::Seq(items) => items.iter().for_each(|item| find(item, places)),
        Kind::Map(entries) => {
            for (key, value) in entries.iter().filter(|(key, _)| &*key.text != EXTRACT) {
                if is_secret_field(&key.text) || is_secret_name(&key.text) {
                    places
                        .extend(value.items().iter().filter(|item| is_literal(item)).map(|item| item.place));
                }
                find(value, places);
            }
        }
        _ => {}
    }
}

/// Whether a value is more than a template: `{{ token }}` has no secret in it, `Bearer abc` may be one.
fn is_literal(node: &Node) -> bool {
    node.scalar().is_some_and(|text| !text.is_empty() && !text.contains("{{") && !text.contains("${"))
}

/// The mask in the quotes of what it takes the place of.
fn quoted_like(text: &str) -> String {
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => format!("{quote}{MASK}{quote}"),
        _ => format!("\"{MASK}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Format, Text, parse};
    use crate::problem::Problems;

    fn shown(text: &str, format: Format) -> String {
        let read = Text::new(text.as_bytes()).unwrap();
        without_secrets(text, &parse(&read, format, &Problems::new("plan", &read)).unwrap())
    }

    #[test]
    fn literal_secrets_are_masked_in_every_format() {
        let yaml =
            "headers:\n  Authorization: Bearer abc # mine\n  cookie: ['a=1', \"b=2\"]\n  accept: text/html\n";
        let masked_yaml =
            "headers:\n  Authorization: \"***\" # mine\n  cookie: ['***', \"***\"]\n  accept: text/html\n";
        assert_eq!(shown(yaml, Format::Yaml), masked_yaml);
        let json = r#"{ "json": { "password": "abc", "user": "me", "pwd": 1234 } }"#;
        assert_eq!(
            shown(json, Format::Json),
            r#"{ "json": { "password": "***", "user": "me", "pwd": "***" } }"#
        );
        let toml = "[vars]\ntoken = 'abc'\nbase = 'http://me:pw@host/'\n";
        assert_eq!(shown(toml, Format::Toml), "[vars]\ntoken = '***'\nbase = 'http://***@host/'\n");
    }

    #[test]
    fn templates_and_extractions_stay() {
        for text in [
            "headers: { authorization: \"Bearer {{ token }}\" }\n",
            "vars: { token: \"${TOKEN}\" }\n",
            "extract: { token: { json: \"$.token\" } }\n",
            "extract: { token: \"$.token\" }\n",
        ] {
            assert_eq!(shown(text, Format::Yaml), text);
        }
    }

    #[test]
    fn secret_behind_an_alias_or_in_a_block_is_masked_once() {
        let text = "a: { token: &it abc }\nb: { token: *it }\n";
        assert!(!shown(text, Format::Yaml).contains("abc"), "{}", shown(text, Format::Yaml));
        let block = "headers:\n  cookie: |\n    abc\n    def\n  accept: x\n";
        let shown = shown(block, Format::Yaml);
        assert!(!shown.contains("abc") && !shown.contains("def") && shown.contains("accept: x"), "{shown}");
    }
}
