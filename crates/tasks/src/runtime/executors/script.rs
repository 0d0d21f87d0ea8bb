//! Runs JavaScript: a computation over inputs and the results of dependencies, and nothing else.

use std::time::Duration;

use async_trait::async_trait;
use hyperscale_script::{Function, Limits, ScriptError, Stop};
use serde_json::{Value, json};

use super::{check_inputs, seconds};
use crate::runtime::{Context, Executor, Failure};

/// What the function is given, by these names.
const PARAMETERS: [&str; 3] = ["inputs", "dependencies", "attempt"];

/// Time of a call, unless the task says otherwise.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a script.
const SOURCE_MAX: usize = 256 << 10;

/// Runs the body of a function in a sandbox and returns what it returns.
#[derive(Clone, Copy, Debug)]
pub struct Script;

/// What is run.
struct Call {
    function: Function,
    given: Value,
    timeout: Duration,
}

#[async_trait]
impl Executor for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "description": "Runs JavaScript over its inputs and the results of the tasks it depends on. The result is what it returns.",
            "properties": {
                "source": {
                    "type": "string", "minLength": 1,
                    "description": "the body of a JavaScript function of inputs, dependencies and attempt; what it returns is the result"
                },
                "inputs": {"description": "any JSON, given to the script"},
                "timeout": seconds::schema("seconds or a text such as \"30s\" after which it is ended; 10 s by default"),
            },
            "required": ["source"],
            "additionalProperties": false,
            "examples": [{"source": "return inputs.orders * 2", "inputs": {"orders": 21}}]
        })
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        self.read(inputs).map(drop)
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let Call { function, given, timeout } = self.read(inputs).map_err(Failure::ForGood)?;
        let dependencies = Value::Object(context.dependencies().clone());
        let attempt = json!(context.attempt());
        let stop = StopOnDrop(Stop::default());
        let stopped = stop.0.clone();
        let limits = Limits { time: timeout, ..Limits::default() };
        let call = tokio::task::spawn_blocking(move || {
            function.call(&[&given, &dependencies, &attempt], limits, &stopped)
        });
        let done = tokio::select! {
            done = call => done,
            () = context.cancelled().cancelled() => return Err(Failure::Cancelled),
        };
        match done {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(ScriptError::Stopped)) => Err(Failure::Cancelled),
            // Another attempt would be given the same, and end in the same way.
            Ok(Err(error)) => Err(Failure::ForGood(format!("the script failed: {error}"))),
            Err(error) => Err(Failure::Retry(format!("the script engine failed: {error}"))),
        }
    }
}

impl Script {
    fn read(self, inputs: &Value) -> Result<Call, String> {
        check_inputs(&self.schema(), inputs)?;
        let source = inputs["source"].as_str().unwrap_or_default();
        if source.len() > SOURCE_MAX {
            return Err(format!("`source` has {} bytes; at most {SOURCE_MAX} are allowed", source.len()));
        }
        let function = Function::parse(source, &PARAMETERS).map_err(|error| format!("`source`, {error}"))?;
        let timeout = seconds::read_timeout(&inputs["timeout"], TIMEOUT)?;
        Ok(Call { function, given: inputs["inputs"].clone(), timeout })
    }
}

/// Ends the call with the attempt, however that ends: its thread would run on.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_at_submission() {
        assert_eq!(Script.check(&json!({"source": "return inputs.a + 1;", "inputs": {"a": 1}})), Ok(()));
        let wrong = Script.check(&json!({"source": "const a = 1;\nreturn a +;"})).unwrap_err();
        assert!(wrong.starts_with("`source`, line 2, column ") && wrong.contains("SyntaxError"), "{wrong}");
        assert_eq!(Script.check(&json!({})), Err("`source` is missing".to_owned()));
        let long = json!({"source": "/".repeat(SOURCE_MAX + 1)});
        assert!(Script.check(&long).unwrap_err().contains("at most 262144 are allowed"));
    }
}
