//! What people changed about the load while it ran. Changes are part of the record: a result that was steered says so.

use std::fmt;

use hyperscale_types::{Name, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One change of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// When, on the run's clock.
    pub t_s: f64,
    /// Where it came from.
    pub by: ChangedBy,
    /// The workflow; the whole run if it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Name>,
    /// What was changed.
    #[serde(flatten)]
    pub what: Changed,
}

/// Where a change came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangedBy {
    /// A key at the live screen.
    Screen,
    /// `hyperscale control`, or another program that speaks to the run.
    Control,
}

/// What was changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Changed {
    /// Nothing starts from here on.
    Paused,
    /// The load goes on.
    Resumed,
    /// Virtual users (closed models).
    Vus {
        /// What was wanted before.
        from: u32,
        /// What is wanted since.
        to: u32,
    },
    /// Starts per second (open models).
    Rate {
        /// What was wanted before.
        from: f64,
        /// What is wanted since.
        to: f64,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(workflow) = &self.workflow {
            write!(f, "{workflow}: ")?;
        }
        self.what.fmt(f)
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a curve wants at one moment has more digits than anybody can read.
        let rate = |rate: f64| Rate::per_second((rate * 1e3).round() / 1e3);
        match *self {
            Changed::Paused => f.write_str("paused"),
            Changed::Resumed => f.write_str("resumed"),
            Changed::Vus { from, to } => write!(f, "{from} → {to} virtual users"),
            Changed::Rate { from, to } => write!(f, "rate {} → {}", rate(from), rate(to)),
        }
    }
}

impl ChangedBy {
    /// The word used in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            ChangedBy::Screen => "screen",
            ChangedBy::Control => "control",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(workflow: Option<&str>, what: Changed) -> Change {
        let workflow = workflow.map(|name| name.parse().unwrap());
        Change { t_s: 3.25, by: ChangedBy::Control, workflow, what }
    }

    #[test]
    fn changes_read_as_sentences() {
        let said = |workflow, what| change(workflow, what).to_string();
        assert_eq!(said(None, Changed::Paused), "paused");
        assert_eq!(said(Some("Browse"), Changed::Vus { from: 5, to: 6 }), "Browse: 5 → 6 virtual users");
        let rate = Changed::Rate { from: 33.333_333_3, to: 500.0 };
        assert_eq!(said(Some("Buy"), rate), "Buy: rate 33.333/s → 500/s");
    }

    #[test]
    fn changes_are_flat_objects_and_read_back() {
        let all = [change(None, Changed::Resumed), change(Some("A"), Changed::Rate { from: 1.0, to: 2.0 })];
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(
            json,
            r#"[{"t_s":3.25,"by":"control","what":"resumed"},{"t_s":3.25,"by":"control","workflow":"A","what":"rate","from":1.0,"to":2.0}]"#
        );
        assert_eq!(serde_json::from_str::<Vec<Change>>(&json).unwrap(), all);
    }
}
