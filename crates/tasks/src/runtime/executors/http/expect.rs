//! Which statuses count as success.

use std::fmt;

use serde_json::{Value, json};

/// Ranges of statuses, ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expect(Vec<(u16, u16)>);

/// More ranges than anybody needs.
const RANGES_MAX: usize = 50;

impl Default for Expect {
    fn default() -> Self {
        Self(vec![(200, 299)])
    }
}

impl Expect {
    /// The schema of `expect`.
    pub(super) fn schema() -> Value {
        let one = json!([
            {"type": "integer", "minimum": 100, "maximum": 599},
            {"type": "string", "minLength": 1}
        ]);
        json!({
            "anyOf": [one[0], one[1], {"type": "array", "minItems": 1, "maxItems": RANGES_MAX, "items": {"anyOf": one}}],
            "description": "statuses that count as success: 200, \"2xx\", \"200-204\", or a list of them; 200-299 by default"
        })
    }

    /// Reads what the schema allows.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(Self::default()),
            Value::Array(all) => {
                let ranges: Result<Vec<_>, String> = all.iter().map(range).collect();
                Ok(Self(ranges?))
            }
            one => Ok(Self(vec![range(one)?])),
        }
    }

    /// Whether a status counts as success.
    pub(super) fn has(&self, status: u16) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }
}

fn range(value: &Value) -> Result<(u16, u16), String> {
    let wrong = || format!("`expect` must be a status, \"2xx\" or \"200-204\", not {value}");
    let number = |text: &str| text.trim().parse::<u16>().ok().filter(|status| (100..600).contains(status));
    if let Some(status) = value.as_u64() {
        let status = u16::try_from(status).map_err(|_| wrong())?;
        return Ok((status, status));
    }
    let text = value.as_str().ok_or_else(wrong)?.trim();
    if let Some(class) = text.strip_suffix("xx") {
        let first = number(&format!("{class}00")).ok_or_else(wrong)?;
        return Ok((first, first + 99));
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        _ => Err(wrong()),
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_classes_and_ranges() {
        let expect = Expect::read(&json!([200, "3xx", "404-405"])).unwrap();
        assert_eq!(expect.to_string(), "200, 300-399, 404-405");
        assert!(expect.has(200) && expect.has(302) && expect.has(405) && !expect.has(201));
        assert!(Expect::read(&Value::Null).unwrap().has(204));
        for wrong in [json!("9xx"), json!("204-200"), json!("ok"), json!([99_999]), json!("1000")] {
            assert!(Expect::read(&wrong).unwrap_err().starts_with("`expect` must be"), "{wrong}");
        }
    }
}
