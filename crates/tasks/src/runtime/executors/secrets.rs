//! Values that must not appear in what is stored or shown: errors, results, events.

use std::fmt;

use hyperscale_types::secret::MASK;
use serde_json::Value;

/// Shorter values are not searched for: they would be found in everything.
const LENGTH_MIN: usize = 4;

/// The secrets among the inputs of one attempt.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    /// Adds one. Of an authorization such as `Bearer x` the part after the scheme is a secret by itself.
    pub(super) fn add(&mut self, secret: &str) {
        self.keep(secret);
        if let Some((_, token)) = secret.split_once(' ') {
            self.keep(token);
        }
        // The whole before its parts.
        self.0.sort_by_key(|known| std::cmp::Reverse(known.len()));
    }

    fn keep(&mut self, secret: &str) {
        if secret.len() >= LENGTH_MIN && !self.0.iter().any(|known| known == secret) {
            self.0.push(secret.to_owned());
        }
    }

    /// A text without them.
    pub(super) fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK))
    }

    /// All texts of a value without them, keys included.
    pub(super) fn mask_value(&self, value: Value) -> Value {
        if self.0.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.mask(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.mask_value(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(key, value)| (self.mask(&key), self.mask_value(value))).collect()
            }
            other => other,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_masked_wherever_they_are() {
        let mut secrets = Secrets::default();
        secrets.add("Bearer abc-123");
        secrets.add("x");
        assert_eq!(secrets.mask("x Bearer abc-123, abc-123"), "x ***, ***");
        let value = json!({"a": ["abc-123", 1], "abc-123": {"b": "x"}});
        assert_eq!(secrets.mask_value(value), json!({"a": ["***", 1], "***": {"b": "x"}}));
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
    }
}
