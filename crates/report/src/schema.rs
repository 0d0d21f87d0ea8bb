//! JSON Schemas of what programs read, from the types that write it.

use hyperscale_stats::event::{self, Event};
use hyperscale_stats::result::{self, RunResult};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

/// JSON Schema (2020-12) of a result. Fields that it does not name may be added by later releases.
pub fn result_schema() -> String {
    schema_of::<RunResult>("result", result::VERSION)
}

/// JSON Schema (2020-12) of an event of a run.
pub fn event_schema() -> String {
    schema_of::<Event>("event", event::VERSION)
}

fn schema_of<T: JsonSchema>(what: &str, version: u32) -> String {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), format!("urn:hyperscale:schema:{what}:{version}").into());
    schema.insert("title".to_owned(), format!("Hyperscale {what}").into());
    serde_json::to_string_pretty(&schema).expect("a schema is JSON")
}
