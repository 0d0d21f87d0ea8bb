//! The JSON Schema of plan files, for editors: every key with what it means.
//!
//! A schema says what a document looks like, not whether it makes sense: names that resolve, cycles, templates and load
//! keys that contradict each other remain the reader's. What it refuses the reader refuses too; tests hold it to that.

/// JSON Schema (2020-12) of a plan.
pub const PLAN: &str = include_str!("../schema/plan.schema.json");
