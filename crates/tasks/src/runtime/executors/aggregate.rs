//! Collects the results of dependencies.

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::runtime::{Context, Executor, Failure};

/// Returns the results of the task's dependencies, by name; null for one that was optional and did not complete.
#[derive(Clone, Copy, Debug)]
pub struct Aggregate;

#[async_trait]
impl Executor for Aggregate {
    fn name(&self) -> &'static str {
        "aggregate"
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "description": "Returns the results of the tasks it depends on, by name.",
            "examples": [{}],
            "additionalProperties": false
        })
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        match inputs.as_object() {
            Some(inputs) if inputs.is_empty() => Ok(()),
            _ => Err("aggregate takes no inputs: use {}".to_owned()),
        }
    }

    async fn run(&self, _: &Value, context: &Context) -> Result<Value, Failure> {
        Ok(Value::Object(context.dependencies().clone()))
    }
}
