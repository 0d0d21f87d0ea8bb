//! The executors that a node has of its own.
//!
//! Inputs are checked against the schema that an executor publishes. What is secret among them – credentials in headers, URLs and
//! environments – is masked in everything that an executor leaves: results, errors, `Debug`.

mod aggregate;
mod command;
mod http;
mod schema;
mod script;
mod seconds;
mod secrets;
mod sql;
mod text;
mod wait;

pub use aggregate::Aggregate;
pub use command::Command;
pub use http::{Http, HttpSetupError, Webhook};
pub use schema::check_inputs;
pub use script::Script;
pub use sql::Sql;
pub use wait::Wait;
