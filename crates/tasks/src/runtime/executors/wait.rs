//! Waits for some time.

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::runtime::{Context, Executor, Failure};

/// Waits for `duration` seconds and returns nothing.
#[derive(Clone, Copy, Debug)]
pub struct Wait;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Inputs {
    /// Seconds.
    duration: f64,
}

#[async_trait]
impl Executor for Wait {
    fn name(&self) -> &'static str {
        "wait"
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"duration": {"type": "number", "minimum": 0, "description": "seconds"}},
            "required": ["duration"],
            "additionalProperties": false
        })
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        read(inputs).map(drop)
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let duration = read(inputs).map_err(Failure::ForGood)?;
        tokio::select! {
            () = tokio::time::sleep(duration) => Ok(Value::Null),
            () = context.cancelled().cancelled() => Err(Failure::Cancelled),
        }
    }
}

fn read(inputs: &Value) -> Result<Duration, String> {
    let inputs = Inputs::deserialize(inputs).map_err(|error| error.to_string())?;
    Duration::try_from_secs_f64(inputs.duration).map_err(|_| "duration must be at least 0 seconds".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_inputs_are_named() {
        assert_eq!(Wait.check(&json!({"duration": 0.5})), Ok(()));
        assert_eq!(
            Wait.check(&json!({"duration": -1})),
            Err("duration must be at least 0 seconds".to_owned())
        );
        assert_eq!(Wait.check(&json!({})), Err("missing field `duration`".to_owned()));
        assert!(Wait.check(&json!({"duration": 1, "x": 1})).unwrap_err().starts_with("unknown field `x`"));
    }
}
