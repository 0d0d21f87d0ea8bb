//! Challenges in a header field (RFC 9110, section 11.6.1): schemes with parameters, both separated by commas.

use std::borrow::Cow;

/// Names and values of a challenge, quotes taken off.
pub(super) type Parameters<'a> = Vec<(&'a str, Cow<'a, str>)>;

/// The challenges of a field, each a scheme with its parameters. What is malformed ends the list.
pub(super) fn challenges(field: &str) -> Vec<(&str, Parameters<'_>)> {
    let mut found: Vec<(&str, Parameters<'_>)> = Vec::new();
    let mut rest = field;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (token, after) = split_token(rest);
        if token.is_empty() {
            return found;
        }
        let after = after.trim_start_matches([' ', '\t']);
        match (after.strip_prefix('='), found.last_mut()) {
            (Some(value), Some((_, parameters))) if !value.starts_with('=') => {
                let Some((value, after)) = split_value(value.trim_start_matches([' ', '\t'])) else {
                    return found;
                };
                parameters.push((token, value));
                rest = after;
            }
            (Some(_), _) => return found,
            (None, _) => {
                found.push((token, Vec::new()));
                rest = skip_token68(after);
            }
        }
    }
}

fn split_token(text: &str) -> (&str, &str) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    text.split_at(text.find(|c| !is_token(c)).unwrap_or(text.len()))
}

/// A quoted string or a token, and what follows it.
fn split_value(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(inner) = text.strip_prefix('"') else {
        let (token, after) = split_token(text);
        return Some((token.into(), after));
    };
    let mut escaped = false;
    let end = inner.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })?;
    let (value, after) = (&inner[..end], &inner[end + 1..]);
    if !value.contains('\\') {
        return Some((value.into(), after));
    }
    Some((unescape(value).into(), after))
}

fn unescape(value: &str) -> String {
    let mut chars = value.chars();
    let mut out = String::with_capacity(value.len());
    while let Some(c) = chars.next() {
        out.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    out
}

/// Schemes such as `Negotiate` carry one opaque word instead of parameters.
fn skip_token68(text: &str) -> &str {
    let is_token68 = |c: char| c.is_ascii_alphanumeric() || "-._~+/".contains(c);
    let end = text.find(|c| !is_token68(c)).unwrap_or(text.len());
    let after = text[end..].trim_start_matches('=');
    let ends = after.trim_start_matches([' ', '\t']);
    if end > 0 && (ends.is_empty() || ends.starts_with(',')) { after } else { text }
}
