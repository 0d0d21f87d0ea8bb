//! What is run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use hyperscale_types::secret::is_secret_name;
use serde_json::{Value, json};

use crate::runtime::executors::secrets::Secrets;
use crate::runtime::executors::{check_inputs, seconds};

/// Arguments of one program.
const ARGUMENTS_MAX: usize = 1_000;

/// Words in the name of a variable that say that its value is a secret.
const SECRET_WORDS: [&str; 5] = ["PASSWORD", "SECRET", "TOKEN", "KEY", "CREDENTIAL"];

/// A program with its arguments and surroundings.
pub(super) struct Inputs {
    /// At least the program.
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) timeout: Option<Duration>,
    pub(super) secrets: Secrets,
}

/// The schema of the inputs.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "description": "Runs a program that the operator of the node allows. The result is its exit code and output.",
        "examples": [{"argv": ["date", "+%s"], "timeout": "30s"}],
        "properties": {
            "argv": {
                "type": "array", "minItems": 1, "maxItems": ARGUMENTS_MAX, "items": {"type": "string"},
                "description": "the program, which the node must allow, and its arguments; there is no shell"
            },
            "env": {
                "type": "object", "additionalProperties": {"type": "string"},
                "description": "variables beside PATH, HOME, LANG, TZ, TMPDIR and USER of the node"
            },
            "cwd": {"type": "string", "minLength": 1, "description": "the folder to run in; / by default"},
            "timeout": seconds::schema("seconds or a text such as \"30s\" after which it is ended"),
        },
        "required": ["argv"],
        "additionalProperties": false
    })
}

impl Inputs {
    /// Reads inputs; the error names the field.
    pub(super) fn read(inputs: &Value) -> Result<Self, String> {
        check_inputs(&schema(), inputs)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let argv: Vec<String> = inputs["argv"].as_array().into_iter().flatten().map(text).collect();
        if argv.first().is_none_or(String::is_empty) {
            return Err("`argv[0]` must not be empty".to_owned());
        }
        if let Some(at) = argv.iter().position(|argument| argument.contains('\0')) {
            return Err(format!("`argv[{at}]` must not contain a null character"));
        }
        let (mut env, mut secrets) = (BTreeMap::new(), Secrets::default());
        for (name, value) in inputs["env"].as_object().into_iter().flatten() {
            check_variable(name, &text(value))?;
            if is_secret(name) {
                secrets.add(&text(value));
            }
            env.insert(name.clone(), text(value));
        }
        let timeout = match &inputs["timeout"] {
            Value::Null => None,
            given => Some(seconds::read_timeout(given, Duration::ZERO)?),
        };
        Ok(Self { argv, env, cwd: inputs["cwd"].as_str().map(PathBuf::from), timeout, secrets })
    }

    pub(super) fn program(&self) -> &str {
        &self.argv[0]
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.env.keys().collect();
        f.debug_struct("Inputs")
            .field("program", &self.program())
            .field("env", &names)
            .finish_non_exhaustive()
    }
}

fn is_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    is_secret_name(name) || SECRET_WORDS.iter().any(|word| upper.contains(word))
}

/// Variables of the loader would run other code than the program that is allowed.
fn check_variable(name: &str, value: &str) -> Result<(), String> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        return Err(format!("`env.{}` cannot be set", name.escape_debug()));
    }
    if name.starts_with("LD_") || name == "PATH" {
        return Err(format!("`env.{name}` may not be set: it changes which code is run"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_commands_are_named_by_field() {
        for (inputs, message) in [
            (json!({}), "`argv` is missing"),
            (json!({"argv": []}), "`argv` must have at least 1 entries"),
            (json!({"argv": "ls -l"}), "`argv` must be array, not string"),
            (json!({"argv": [""]}), "`argv[0]` must not be empty"),
            (json!({"argv": ["a", "b\0"]}), "`argv[1]` must not contain a null character"),
            (
                json!({"argv": ["a"], "env": {"LD_PRELOAD": "x"}}),
                "`env.LD_PRELOAD` may not be set: it changes which code is run",
            ),
            (
                json!({"argv": ["a"], "env": {"PATH": "x"}}),
                "`env.PATH` may not be set: it changes which code is run",
            ),
            (json!({"argv": ["a"], "shell": true}), "`shell` is not known; known: argv, env, cwd, timeout"),
            (json!({"argv": ["a"], "timeout": 0}), "`timeout` must be more than 0 seconds"),
        ] {
            assert_eq!(Inputs::read(&inputs).unwrap_err(), message);
        }
    }

    #[test]
    fn secrets_of_the_environment_are_known() {
        let read =
            Inputs::read(&json!({"argv": ["a"], "env": {"PGPASSWORD": "hidden", "MODE": "plain"}})).unwrap();
        assert_eq!(read.secrets.mask("hidden plain"), "*** plain");
        assert!(!format!("{read:?}").contains("hidden"));
    }
}
