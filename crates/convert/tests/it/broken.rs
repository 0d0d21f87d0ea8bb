//! Samples with one part replaced by something else: whatever it is, a valid plan or an error comes out.

use hyperscale_convert::{Options, convert};
use serde_json::{Value, json};

use crate::support::{assert_valid, samples};

/// Paths of everything in a document.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{index}"), all);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                pointers(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), all);
            }
        }
        _ => {}
    }
}

fn odd_values() -> Vec<Value> {
    vec![
        Value::Null,
        json!(-1),
        json!("{{ x }} {% y %} ${env:HOME} \u{1}"),
        json!([]),
        json!({}),
        json!("http://ü:99999/#"),
        json!(true),
        json!([[{ "key": "a", "name": 5, "value": [] }]]),
        json!("#/components/schemas/Loop"),
        json!({ "$ref": "#/components/schemas/Loop" }),
    ]
}

#[test]
fn no_replaced_part_breaks_a_decoder() {
    let odd = odd_values();
    for (name, bytes) in
        samples().into_iter().filter(|(name, _)| name.ends_with("json") || name.ends_with("har"))
    {
        let original: Value = serde_json::from_slice(&bytes).unwrap();
        let mut all = Vec::new();
        pointers(&original, "", &mut all);
        for (at, pointer) in all.iter().enumerate() {
            let mut broken = original.clone();
            *broken.pointer_mut(pointer).unwrap() = odd[at % odd.len()].clone();
            if let Ok(converted) = convert(&name, broken.to_string().as_bytes(), None, Options::default()) {
                assert_valid(&converted);
            }
        }
    }
}
