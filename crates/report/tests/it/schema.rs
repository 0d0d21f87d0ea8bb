//! Results against the schema that is printed.

use hyperscale_report::{result_schema, to_json};
use jsonschema::Validator;
use serde_json::Value;

use crate::runs::{eventful, hostile, minute, simple};

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&result_schema()).unwrap();
    jsonschema::draft202012::meta::validate(&schema).expect("the schema is a schema");
    jsonschema::draft202012::new(&schema).unwrap()
}

#[test]
fn results_are_valid() {
    let validator = validator();
    for result in [simple(), eventful(), hostile(), minute(1.0)] {
        let value: Value = serde_json::from_str(&to_json(&result, false)).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn what_is_missing_or_wrong_is_found() {
    let validator = validator();
    let good: Value = serde_json::from_str(&to_json(&eventful(), false)).unwrap();
    let wrong: [fn(&mut Value); 4] = [
        |value| drop(value.as_object_mut().unwrap().remove("totals")),
        |value| value["status"] = "done".into(),
        |value| value["workflows"][0]["steps"][0]["count"] = (-1).into(),
        |value| value["workflows"][0]["name"] = "two words".into(),
    ];
    for (number, spoil) in wrong.into_iter().enumerate() {
        let mut value = good.clone();
        spoil(&mut value);
        assert!(!validator.is_valid(&value), "number {number}");
    }
}

#[test]
fn every_field_is_explained() {
    let schema: Value = serde_json::from_str(&result_schema()).unwrap();
    for (name, field) in schema["properties"].as_object().unwrap() {
        assert!(field.get("description").is_some(), "{name}");
    }
}
