//! The plan of a task with everything it names.

use std::collections::BTreeMap;
use std::fmt;

use hyperscale_api::Servers;
use hyperscale_api::method::{Content, PlanFile, Submit};
use hyperscale_cluster::bundle::Bundle;
use hyperscale_plan::Problem;
use hyperscale_plan::read::Given;
use hyperscale_tasks::runtime::executors::check_inputs;
use serde_json::{Value, json};

use crate::tasks::plans::is_path;

/// Problems of a plan that an error tells.
const PROBLEMS_MAX: usize = 3;

/// Files of one plan.
const FILES_MAX: usize = 1_000;

/// What is run. Texts and variables may be secret: `Debug` shows sizes only.
pub(super) struct Inputs {
    pub(super) submit: Submit,
    pub(super) server: Option<Servers>,
}

/// The schema of the inputs.
pub(super) fn schema() -> Value {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    json!({
        "type": "object",
        "description": "Runs a load test. The result has rates, latencies, errors and thresholds, and a verdict.",
        "examples": [{"plan": {"workflows": {"Checkout": {
            "vus": 10, "duration": "30s", "steps": {"get": {"http": "https://example.com/"}},
        }}}}],
        "properties": {
            "plan": {
                "anyOf": [{"type": "string", "minLength": 1}, {"type": "object"}],
                "description": "the plan: its text, or the same as an object. The command line puts the text in the place of a path"
            },
            "name": {"type": "string", "minLength": 1, "description": "the plan's file name; its extension says how the text is written"},
            "vars": {
                "type": "object",
                "additionalProperties": {"type": ["string", "number", "boolean"]},
                "description": "variables that replace those of the plan"
            },
            "environment": texts,
            "files": {
                "type": "array", "maxItems": FILES_MAX,
                "items": {
                    "type": "object",
                    "properties": {"path": {"type": "string", "minLength": 1}, "base64": {"type": "string"}},
                    "required": ["path", "base64"],
                    "additionalProperties": false
                },
                "description": "the files that the plan names"
            },
            "server": {"type": "string", "minLength": 1, "description": "gates or managers to submit to: http://host:port, with commas"}
        },
        "required": ["plan"],
        "additionalProperties": false
    })
}

impl Inputs {
    /// Reads inputs; the error names the field. The plan itself is not looked at.
    pub(super) fn read(inputs: &Value) -> Result<Self, String> {
        check_inputs(&schema(), inputs)?;
        let (name, text) = match &inputs["plan"] {
            Value::String(text) if is_path(text) => {
                return Err(format!(
                    "`plan` is `{text}`, a path; a node reads no files: send the plan's text, or use `hyperscale tasks create`"
                ));
            }
            Value::String(text) => ("plan.yaml", text.clone()),
            object => ("plan.json", object.to_string()),
        };
        let mut submit = Submit::new(inputs["name"].as_str().unwrap_or(name), text);
        submit.variables = pairs(&inputs["vars"]);
        submit.environment = pairs(&inputs["environment"]);
        if !inputs["files"].is_null() {
            let files: Result<Vec<PlanFile>, _> = serde_json::from_value(inputs["files"].clone());
            submit.files = files.map_err(|error| format!("`files`: {error}"))?;
        }
        let server = inputs["server"].as_str().map(str::parse::<Servers>).transpose();
        Ok(Self { submit, server: server.map_err(|error| format!("`server`: {error}"))? })
    }

    /// Says what is wrong with the plan.
    pub(super) fn check_plan(&self) -> Result<(), String> {
        self.bundle().load().map(drop).map_err(|problems| describe(&problems))
    }

    /// The plan as it travels.
    pub(super) fn bundle(&self) -> Bundle {
        let bytes = |content: &Content| match content {
            Content::Inline(bytes) => bytes.clone(),
            // The schema allows no blobs.
            Content::Blobs(_) => bytes::Bytes::new(),
        };
        let given = Given {
            vars: self.submit.environment.clone(),
            overrides: self.submit.variables.clone().into_iter().collect(),
            files: self
                .submit
                .files
                .iter()
                .map(|file| (file.path.clone().into(), bytes(&file.content).to_vec()))
                .collect(),
        };
        Bundle { name: self.submit.plan.name.clone(), text: bytes(&self.submit.plan.content), given }
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inputs({:?})", self.submit)
    }
}

/// The first problems of a plan, in one line.
pub(super) fn describe(problems: &[Problem]) -> String {
    let tell = |problem: &Problem| match problem.line {
        0 => problem.message.clone(),
        line => format!("line {line}: {}", problem.message),
    };
    let told: Vec<String> = problems.iter().take(PROBLEMS_MAX).map(tell).collect();
    let more = problems.len().saturating_sub(PROBLEMS_MAX);
    let more = if more > 0 { format!("; {more} more") } else { String::new() };
    format!("`plan` is not valid: {}{more}", told.join("; "))
}

fn pairs(value: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    value.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}
