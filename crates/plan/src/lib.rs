//! Plan files: from text to a validated [`model::Plan`].
//!
//! ```text
//! text ──document──► nodes with spans ──read──► model::Plan + problems
//!        YAML, TOML, JSON          names, graph, templates, load
//! ```
//! Pure: given the same text, files and environment (handed in), the same plan or the same problems come out. It must
//! never open a socket, read a clock, use randomness or read the process environment by itself.

pub mod authority;
pub mod cores;
pub mod document;
pub mod explain;
pub mod load;
pub mod lookup;
pub mod model;
pub mod problem;
pub mod read;
pub mod schema;
pub mod template;

pub use problem::{Problem, Severity, render};
pub use read::{
    Environment, Given, Loaded, Overrides, RESERVED_WORDS, Source, URL_STEP, URL_WORKFLOW, UrlLoad,
    UrlOptions, UrlTls, add_thresholds, from_url, load, override_load, url_document, with_scheme,
};
