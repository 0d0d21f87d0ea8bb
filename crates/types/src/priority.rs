//! How much of the cores a workflow may claim.

use serde::{Deserialize, Serialize};

/// A workflow's claim on cores; the table of least and most cores is in `plan::cores`.
/// Ordered: what is greater is served first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// At least one core, at most a quarter.
    Low,
    /// At least one core, takes what is free.
    #[default]
    Auto,
    /// A quarter to three quarters.
    Normal,
    /// Three quarters to all.
    High,
    /// All cores; runs alone.
    Exclusive,
}

impl Priority {
    /// All priorities with the word that stands for them in a plan.
    pub const WORDS: [(&'static str, Priority); 5] = [
        ("low", Priority::Low),
        ("auto", Priority::Auto),
        ("normal", Priority::Normal),
        ("high", Priority::High),
        ("exclusive", Priority::Exclusive),
    ];
}
