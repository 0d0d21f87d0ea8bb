//! Options of a job as people write them: `--option timeout=10m`.

use hyperscale_api::{ErrorCode, RpcError};
use hyperscale_consensus::register::{JobOptions, OnIsolation, OnWorkerLoss};
use hyperscale_plan::problem::nearest;
use hyperscale_types::Span;
use serde_json::{Map, Value};

/// All that a manager knows.
const KEYS: [&str; 9] = [
    "on_isolation",
    "on_worker_loss",
    "timeout",
    "queue_timeout",
    "max_retries",
    "retry_budget",
    "spread",
    "priority",
    "retain",
];

/// Reads the options of a submission. Values may be texts, as a command line has nothing else.
pub(super) fn read(options: &Map<String, Value>) -> Result<JobOptions, RpcError> {
    let mut read = JobOptions::default();
    for (key, value) in options {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        set(&mut read, key, &text)?;
    }
    Ok(read)
}

fn set(options: &mut JobOptions, key: &str, value: &str) -> Result<(), RpcError> {
    let wrong = |wanted: &str| {
        let message = format!("`{value}` is not {wanted} for the job option `{key}`");
        RpcError::new(ErrorCode::InvalidParams, message).fix("correct the option, or leave it out")
    };
    let span = || value.parse::<Span>().map_err(|_| wrong("a duration like 30s"));
    let millis = || span().map(|span| u64::try_from(span.to_duration().as_millis()).unwrap_or(u64::MAX));
    let number = || value.parse().map_err(|_| wrong("a number"));
    match key {
        "on_isolation" => {
            options.on_isolation = match value {
                "stop" => OnIsolation::Stop,
                "finish" => OnIsolation::Finish,
                _ => return Err(wrong("`stop` or `finish`")),
            }
        }
        "on_worker_loss" => {
            options.on_worker_loss = match value {
                "resume" => OnWorkerLoss::Resume,
                "restart" => OnWorkerLoss::Restart,
                "fail" => OnWorkerLoss::Fail,
                _ => return Err(wrong("`resume`, `restart` or `fail`")),
            }
        }
        "timeout" => options.timeout_ms = Some(millis()?),
        "queue_timeout" => options.queue_timeout_ms = millis()?,
        "retain" => options.retain_ms = millis()?,
        "max_retries" => options.max_retries = number()?,
        "retry_budget" => options.retry_budget = number()?,
        "spread" => options.spread = value.parse().map_err(|_| wrong("`true` or `false`"))?,
        "priority" => value.clone_into(&mut options.priority),
        unknown => {
            let fix = match nearest(unknown, KEYS) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("known options: {}", KEYS.join(", ")),
            };
            let message = format!("there is no job option `{unknown}`");
            return Err(RpcError::new(ErrorCode::InvalidParams, message).fix(fix));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(options: Value) -> Result<JobOptions, RpcError> {
        let Value::Object(options) = options else { panic!("not an object") };
        read(&options)
    }

    #[test]
    fn options_are_read_and_wrong_ones_say_what_is_meant() {
        let read = of(json!({"timeout": "10m", "on_worker_loss": "fail", "max_retries": 1})).unwrap();
        assert_eq!((read.timeout_ms, read.max_retries), (Some(600_000), 1));
        assert_eq!(read.on_worker_loss, OnWorkerLoss::Fail);
        let error = of(json!({"timeuot": "10m"})).unwrap_err();
        assert_eq!(error.detail("fix"), Some("did you mean `timeout`?"));
        let error = of(json!({"timeout": "soon"})).unwrap_err();
        assert!(error.message.contains("`soon` is not a duration"), "{}", error.message);
    }
}
