//! Waits for some time.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{check_inputs, seconds};
use crate::runtime::{Context, Executor, Failure};

/// Waits for `duration` and returns nothing.
#[derive(Clone, Copy, Debug)]
pub struct Wait;

#[async_trait]
impl Executor for Wait {
    fn name(&self) -> &'static str {
        "wait"
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "description": "Waits for some time.",
            "examples": [{"duration": "1m30s"}],
            "properties": {"duration": seconds::schema("seconds, or a text such as \"1m30s\"")},
            "required": ["duration"],
            "additionalProperties": false
        })
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        self.read(inputs).map(drop)
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let duration = self.read(inputs).map_err(Failure::ForGood)?;
        tokio::select! {
            () = tokio::time::sleep(duration) => Ok(Value::Null),
            () = context.cancelled().cancelled() => Err(Failure::Cancelled),
        }
    }
}

impl Wait {
    fn read(self, inputs: &Value) -> Result<Duration, String> {
        check_inputs(&self.schema(), inputs)?;
        seconds::read("duration", &inputs["duration"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_inputs_are_named() {
        assert_eq!(Wait.check(&json!({"duration": 0.5})), Ok(()));
        assert_eq!(Wait.check(&json!({"duration": "100ms"})), Ok(()));
        assert_eq!(Wait.check(&json!({"duration": -1})), Err("`duration` must be at least 0".to_owned()));
        assert_eq!(Wait.check(&json!({})), Err("`duration` is missing".to_owned()));
        assert_eq!(
            Wait.check(&json!({"duration": 1, "x": 1})),
            Err("`x` is not known; known: duration".to_owned())
        );
    }
}
