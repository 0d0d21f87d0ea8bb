//! The schema against plans: it accepts every plan that can be run, and refuses wrong ones as far as a schema can.

use std::fs;
use std::path::{Path, PathBuf};

use hyperscale_plan::document::{self, Format, Kind, Node, Text};
use hyperscale_plan::problem::Problems;
use hyperscale_plan::schema;
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::common::folder;

/// Wrong plans that look right: only the reader, who follows names, templates and numbers, can tell.
const BEYOND_A_SCHEMA: [&str; 39] = [
    "context_names.yaml",
    "data_and_step_name.yaml",
    "data_references.yaml",
    "graph_cycle.yaml",
    "graph_not_an_ancestor.yaml",
    "graph_own_result.yaml",
    "graph_self.yaml",
    "http_headers.yaml",
    "limit_defaults_large.yaml",
    "limit_vars_grow.yaml",
    "load_closed_without_length.yaml",
    "load_key_twice.yaml",
    "load_open_without_length.yaml",
    "load_paced_incomplete.yaml",
    "load_stages_no_time.yaml",
    "load_stages_wrong_stage.yaml",
    "load_stages_zero.yaml",
    "load_wrong_model_keys.yaml",
    "many_problems.yaml",
    "mix_members_wait_for_each_other.yaml",
    "mix_of_nobody.yaml",
    "mix_too_few_iterations.yaml",
    "mix_too_few_vus.yaml",
    "mix_weight_and_load.yaml",
    "mix_weight_without_load.yaml",
    "mix_weights_too_long.yaml",
    "names_minus.yaml",
    "names_no_result.yaml",
    "names_other_parts.yaml",
    "names_reserved.yaml",
    "names_twice.yaml",
    "names_unknown.yaml",
    "plan_list_twice.yaml",
    "plan_name.yaml",
    "template_syntax.yaml",
    "thresholds_of_all.yaml",
    "vars_environment.yaml",
    "vars_environment_elsewhere.yaml",
    "vars_order.yaml",
];

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(schema::PLAN).expect("the schema is JSON");
    jsonschema::draft202012::meta::validate(&schema).expect("the schema is a schema");
    jsonschema::draft202012::new(&schema).expect("the schema can be used")
}

/// The document as an editor sees it; `None` if it cannot even be parsed.
fn parsed(path: &Path) -> Option<Value> {
    let text = Text::new(&fs::read(path).expect("readable")).ok()?;
    let problems = Problems::new("plan", &text);
    let format = Format::of_path(path).expect("plans have an extension");
    let node = document::parse(&text, format, &problems);
    node.filter(|_| !problems.any_error()).map(|node| value(&node))
}

fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(truth) => json!(truth),
        Kind::Int(number, _) => i64::try_from(*number).map_or_else(|_| json!(*number as f64), |n| json!(n)),
        Kind::Float(number, _) => json!(number),
        Kind::Str(text) => json!(text),
        Kind::Seq(items) => items.iter().map(value).collect(),
        Kind::Map(entries) => {
            let entries = entries.iter().map(|(key, node)| (key.text.to_string(), value(node)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
    }
}

fn plans(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| Format::of_path(path).is_some());
    paths.sort();
    paths
}

#[test]
fn every_plan_that_can_be_run_is_accepted() {
    let validator = validator();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let all: Vec<PathBuf> = plans(&examples).into_iter().chain(plans(&folder("good"))).collect();
    assert!(all.len() >= 12);
    for path in all {
        let plan = parsed(&path).expect("good plans can be parsed");
        let errors: Vec<String> =
            validator.iter_errors(&plan).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
}

#[test]
fn wrong_plans_are_refused_where_a_schema_can_tell() {
    let validator = validator();
    let mut accepted = Vec::new();
    for path in plans(&folder("wrong")) {
        if parsed(&path).is_some_and(|plan| validator.is_valid(&plan)) {
            accepted.push(path.file_name().and_then(|name| name.to_str()).expect("plain").to_owned());
        }
    }
    assert_eq!(accepted, BEYOND_A_SCHEMA);
}

#[test]
fn every_key_is_explained() {
    fn check(at: &str, schema: &Value) {
        if let Some(properties) = schema["properties"].as_object() {
            for (key, property) in properties {
                let explained = property.get("description").is_some() || property.get("$ref").is_some();
                assert!(explained, "{at}.{key}");
            }
        }
        match schema {
            Value::Object(map) => map.iter().for_each(|(key, inner)| check(&format!("{at}.{key}"), inner)),
            Value::Array(items) => items.iter().for_each(|inner| check(at, inner)),
            _ => {}
        }
    }
    check("plan", &serde_json::from_str(schema::PLAN).expect("JSON"));
}
