//! Lengths of time in inputs: seconds as a number, or a text with a unit such as `1m30s`.

use std::time::Duration;

use hyperscale_types::Span;
use serde_json::{Value, json};

/// The longest time that inputs may name.
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// The schema of a length of time.
pub(super) fn schema(description: &str) -> Value {
    json!({"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "minLength": 1}], "description": description})
}

/// Reads a length of time.
pub(super) fn read(field: &str, value: &Value) -> Result<Duration, String> {
    let wrong = |why: String| format!("`{field}` must be seconds or a text such as \"30s\": {why}");
    let time = match value {
        Value::String(text) => text.parse::<Span>().map_err(|error| wrong(error.to_string()))?.to_duration(),
        other => {
            let seconds = other.as_f64().ok_or_else(|| wrong(format!("it is {other}")))?;
            Duration::try_from_secs_f64(seconds).map_err(|error| wrong(error.to_string()))?
        }
    };
    if time > LONGEST { Err(wrong("it is more than a year".to_owned())) } else { Ok(time) }
}

/// Reads the time an attempt has; without one it has the default. No time at all is refused: nothing could be done in it.
pub(super) fn read_timeout(value: &Value, default: Duration) -> Result<Duration, String> {
    match value {
        Value::Null => Ok(default),
        value => match read("timeout", value)? {
            time if time.is_zero() => Err("`timeout` must be more than 0 seconds".to_owned()),
            time => Ok(time),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_texts_with_a_unit() {
        assert_eq!(read("t", &json!(1.5)), Ok(Duration::from_millis(1_500)));
        assert_eq!(read("t", &json!("1m30s")), Ok(Duration::from_secs(90)));
        assert!(read("t", &json!("30")).unwrap_err().starts_with("`t` must be seconds or a text such as"));
        assert!(read("t", &json!(-1)).is_err());
        assert!(read("t", &json!("9000h")).is_err());
        assert_eq!(read_timeout(&Value::Null, Duration::from_secs(3)), Ok(Duration::from_secs(3)));
        assert_eq!(
            read_timeout(&json!(0), Duration::from_secs(3)),
            Err("`timeout` must be more than 0 seconds".to_owned())
        );
    }
}
