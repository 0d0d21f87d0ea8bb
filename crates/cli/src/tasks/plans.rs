//! Plans that load tests name: a path becomes the text of the plan with every file and variable it asks for, so that any node can run it.

use std::path::Path;

use hyperscale_api::method::Content;
use hyperscale_plan::render;
use serde_json::{Value, json};

use crate::errors::CommandError;
use crate::plan_file;

/// The executor whose `plan` may be a path.
pub(super) const EXECUTOR: &str = "load_test";

/// Puts the text of a plan in the place of its path under `plan`, and adds `name`, `files` and `environment`. A plan that is written in
/// the file itself stays. Says why that cannot be.
pub(super) fn embed(inputs: &mut Value, folder: &Path) -> Result<(), String> {
    let Some(path) = inputs["plan"].as_str().filter(|text| is_path(text)) else { return Ok(()) };
    let path = folder.join(path.trim());
    let vars = inputs["vars"].as_object().into_iter().flatten();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let vars = vars.map(|(name, value)| (name.clone(), text(value))).collect();
    let (submit, _) = plan_file::submission(&path.to_string_lossy(), vars).map_err(|error| match error {
        CommandError::Plan(problems) => format!("the plan is invalid:\n{}", render(&problems).trim_end()),
        other => format!("{other}: {}", other.why()),
    })?;
    let Content::Inline(text) = &submit.plan.content else { return Ok(()) };
    inputs["plan"] = json!(String::from_utf8_lossy(text));
    inputs["name"] = json!(submit.plan.name);
    if !submit.files.is_empty() {
        inputs["files"] = json!(submit.files);
    }
    if !submit.environment.is_empty() {
        inputs["environment"] = json!(submit.environment);
    }
    Ok(())
}

/// Whether a text names a file and is not a plan itself: it is one line that ends as plan files do.
pub(super) fn is_path(text: &str) -> bool {
    let extension = Path::new(text.trim()).extension().and_then(|extension| extension.to_str());
    !text.trim().contains('\n') && matches!(extension, Some("yaml" | "yml" | "toml" | "json"))
}
