//! Texts of others in the template language: what they mean literally stays literal, what they fill in becomes a hole.

use hyperscale_plan::template::{percent_decode, percent_encode};
use serde_json::Value;

/// Begins and ends the name of a variable inside of a text that is still raw. Private characters that no text of the
/// origins has: [`clean`] removes them.
const OPEN: char = '\u{f8f0}';
const CLOSE: char = '\u{f8f1}';

/// The text without the characters that mark variables.
pub(crate) fn clean(text: &str) -> String {
    text.replace([OPEN, CLOSE], "")
}

/// A variable, or any other expression of the template language, inside of a raw text.
pub(crate) fn hole(expression: &str) -> String {
    format!("{OPEN}{expression}{CLOSE}")
}

/// Whether a raw text has variables in it.
pub(crate) fn has_holes(text: &str) -> bool {
    text.contains(OPEN)
}

/// Whether a raw text begins with a variable.
pub(crate) fn begins_with_hole(text: &str) -> bool {
    text.starts_with(OPEN)
}

/// A raw text as a template.
pub(crate) fn template(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut chars = raw.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            OPEN => out.push_str("{{ "),
            CLOSE => out.push_str(" }}"),
            '{' if matches!(chars.peek(), Some((_, '{' | '%' | '#' | OPEN))) => out.push_str("{{ '{' }}"),
            // Variables of the environment are read elsewhere; here this is text.
            '$' if raw[at..].starts_with("${env:") => out.push_str("{{ '$' }}"),
            c => out.push(c),
        }
    }
    out
}

/// A raw JSON document as a template: texts are templates, everything else stands for itself.
pub(crate) fn json_template(raw: &Value) -> Value {
    match raw {
        Value::String(text) => template(text).into(),
        Value::Array(items) => items.iter().map(json_template).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), json_template(value))).collect())
        }
        other => other.clone(),
    }
}

/// Decodes `%20` and, in forms, `+`. What is no text afterwards stays as it is.
pub(crate) fn percent_decoded(text: &str, plus: bool) -> String {
    if plus { percent_decode(&text.replace('+', " ")) } else { percent_decode(text) }
}

/// Encodes what cannot stand inside of a query or path; variables stay.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    for part in text.split_inclusive(CLOSE) {
        let (plain, variable) = part.split_at(part.find(OPEN).unwrap_or(part.len()));
        percent_encode(plain, &mut out, |_, byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
        out.extend_from_slice(variable.as_bytes());
    }
    String::from_utf8(out).expect("encoded text is ASCII, and variables are cut at characters")
}

/// The pairs of `a=b&c=d`, decoded.
pub(crate) fn form_pairs(text: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (percent_decoded(name, true), percent_decoded(value, true))
    };
    text.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

/// A word that can be a name in a plan: letters, digits and `_`, beginning with a letter.
pub(crate) fn slug(text: &str) -> String {
    const CHARS_MAX: usize = 48;
    let mut out = String::new();
    for c in text.chars() {
        if out.len() >= CHARS_MAX {
            break;
        }
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    let out = out.trim_end_matches('_');
    match out.chars().next() {
        None => "step".to_owned(),
        Some(first) if first.is_ascii_alphabetic() => out.to_owned(),
        Some(_) => format!("n{out}"),
    }
}

/// `GET http://h/users/7?x=1` is called `get_users_7`.
pub(crate) fn request_name(method: &str, url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split_once('/').map_or("", |(_, path)| path);
    format!("{} {}", method.to_ascii_lowercase(), path.split(['?', '#']).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn literal_braces_stay_literal() {
        assert_eq!(template("a {{ b }} {% c"), "a {{ '{' }}{ b }} {{ '{' }}% c");
        assert_eq!(template("${env:HOME} ${x}"), "{{ '$' }}{env:HOME} ${x}");
        assert_eq!(template(&format!("Bearer {}", hole("token"))), "Bearer {{ token }}");
        assert_eq!(template("{\"a\":{\"b\":1}}"), "{\"a\":{\"b\":1}}");
    }

    #[test]
    fn documents_keep_their_types() {
        let raw = json!({ "a": [1, hole("x")], "b": "{{" });
        assert_eq!(json_template(&raw), json!({ "a": [1, "{{ x }}"], "b": "{{ '{' }}{" }));
    }

    #[test]
    fn percent_encoding_goes_both_ways() {
        assert_eq!(percent_decoded("a%20b+c%zz%C3%A9", true), "a b c%zzé");
        assert_eq!(percent_decoded("a+b", false), "a+b");
        assert_eq!(percent_encoded("a b/é"), "a%20b%2F%C3%A9");
        assert_eq!(percent_encoded(&format!("a {}", hole("x.y"))), format!("a%20{}", hole("x.y")));
        assert_eq!(
            form_pairs("a=1&b=x+y&c"),
            [("a", "1"), ("b", "x y"), ("c", "")].map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
    }

    #[test]
    fn any_text_becomes_a_name() {
        for (text, wanted) in
            [("Get /users/{id}", "Get_users_id"), ("", "step"), ("2nd", "n2nd"), ("été", "t"), ("--", "step")]
        {
            assert_eq!(slug(text), wanted, "{text}");
        }
    }
}
