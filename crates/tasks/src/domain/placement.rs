//! Which nodes may run a task. Distinct sets of constraints are stored once, as placement classes.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::NodeProfile;
use super::effect::hex;

/// Constraints on the nodes of a task. Empty ones allow every node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Placement {
    /// Executors the node must have beside that of the task.
    pub requires_executors: BTreeSet<String>,
    /// Capabilities of the node must contain this.
    pub requires_capabilities: Map<String, Value>,
    /// Only these nodes, if there are any.
    pub allowed_nodes: BTreeSet<String>,
    /// None of these nodes.
    pub forbidden_nodes: BTreeSet<String>,
    /// How many tasks of this class a node may run at a time.
    pub max_parallel_per_node: Option<u32>,
}

/// A constraint that a node does not satisfy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// It lacks an executor.
    Executor(String),
    /// It lacks a capability, written as JSON.
    Capability(String),
    /// It is not one of the allowed nodes.
    NotAllowed,
    /// It is one of the forbidden nodes.
    Forbidden,
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Executor(name) => write!(out, "executor {name}"),
            Self::Capability(wanted) => write!(out, "capability {wanted}"),
            Self::NotAllowed => out.write_str("not in allowed_nodes"),
            Self::Forbidden => out.write_str("in forbidden_nodes"),
        }
    }
}

impl Placement {
    /// The class of a task: its constraints, and that its executor is needed.
    #[must_use]
    pub fn with_executor(mut self, executor: &str) -> Self {
        self.requires_executors.insert(executor.to_owned());
        self
    }

    /// Names the class: equal constraints have equal digests.
    pub fn digest(&self) -> String {
        hex(&[canonical(&serde_json::to_value(self).unwrap_or(Value::Null)).as_bytes()])
    }

    /// What a node lacks to run tasks of this class; nothing if it may.
    pub fn missing(&self, node: &NodeProfile) -> Vec<Missing> {
        let mut missing = Vec::new();
        if !self.allowed_nodes.is_empty() && !self.allowed_nodes.contains(&node.name) {
            missing.push(Missing::NotAllowed);
        }
        if self.forbidden_nodes.contains(&node.name) {
            missing.push(Missing::Forbidden);
        }
        let lacking = self.requires_executors.iter().filter(|name| !node.executors.contains(*name));
        missing.extend(lacking.cloned().map(Missing::Executor));
        for (name, wanted) in &self.requires_capabilities {
            if !node.capabilities.get(name).is_some_and(|has| contains(has, wanted)) {
                missing.push(Missing::Capability(format!("{name}: {wanted}")));
            }
        }
        missing
    }

    /// Why no node of a list can run tasks of this class: what the nearest one lacks. `None` if one can.
    pub fn unplaceable(&self, nodes: &[NodeProfile]) -> Option<String> {
        let lists: Vec<Vec<Missing>> = nodes.iter().map(|node| self.missing(node)).collect();
        if lists.iter().any(Vec::is_empty) {
            return None;
        }
        let Some(nearest) = lists.into_iter().min_by_key(Vec::len) else {
            return Some("no live node".to_owned());
        };
        let parts: Vec<String> = nearest.iter().map(ToString::to_string).collect();
        Some(format!("no live node satisfies its placement; the nearest one lacks: {}", parts.join(", ")))
    }
}

/// Whether `has` contains `wanted`, as PostgreSQL's `@>` does: objects by key, arrays by element, the rest by equality.
fn contains(has: &Value, wanted: &Value) -> bool {
    match (has, wanted) {
        (Value::Object(has), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| has.get(key).is_some_and(|has| contains(has, wanted)))
        }
        (Value::Array(has), Value::Array(wanted)) => {
            wanted.iter().all(|wanted| has.iter().any(|has| contains(has, wanted)))
        }
        (has, wanted) => has == wanted,
    }
}

/// JSON with sorted keys, so that equal values are equal texts.
pub(crate) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            let pairs: Vec<String> = keys
                .iter()
                .map(|key| format!("{}:{}", Value::from(key.as_str()), canonical(&map[*key])))
                .collect();
            format!("{{{}}}", pairs.join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(canonical).collect::<Vec<_>>().join(",")),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, executors: &[&str], capabilities: &Value) -> NodeProfile {
        NodeProfile {
            name: name.to_owned(),
            executors: executors.iter().map(ToString::to_string).collect(),
            capabilities: capabilities.as_object().unwrap().clone(),
        }
    }

    fn placement(json: Value) -> Placement {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn node_must_satisfy_every_constraint() {
        let gpu = node(
            "a",
            &["http", "sql"],
            &json!({"gpu": {"vendor": "nvidia", "count": 2}, "zones": ["x", "y"]}),
        );
        for fitting in [
            json!({}),
            json!({"requires_executors": ["http"]}),
            json!({"requires_capabilities": {"gpu": {"vendor": "nvidia"}, "zones": ["y"]}}),
            json!({"allowed_nodes": ["a", "b"], "forbidden_nodes": ["c"]}),
        ] {
            assert_eq!(placement(fitting).missing(&gpu), []);
        }
        for (unfit, lacks) in [
            (json!({"requires_executors": ["script"]}), "executor script"),
            (
                json!({"requires_capabilities": {"gpu": {"vendor": "amd"}}}),
                "capability gpu: {\"vendor\":\"amd\"}",
            ),
            (json!({"requires_capabilities": {"zones": ["z"]}}), "capability zones: [\"z\"]"),
            (json!({"allowed_nodes": ["b"]}), "not in allowed_nodes"),
            (json!({"forbidden_nodes": ["a"]}), "in forbidden_nodes"),
        ] {
            let missing = placement(unfit).missing(&gpu);
            assert_eq!(missing.iter().map(ToString::to_string).collect::<Vec<_>>(), [lacks]);
        }
    }

    #[test]
    fn unplaceable_says_what_the_nearest_node_lacks() {
        let wanted =
            placement(json!({"requires_executors": ["http"], "requires_capabilities": {"gpu": true}}));
        let nodes = [node("a", &[], &json!({})), node("b", &["http"], &json!({}))];
        let reason = wanted.unplaceable(&nodes).unwrap();
        assert_eq!(
            reason,
            "no live node satisfies its placement; the nearest one lacks: capability gpu: true"
        );
        assert_eq!(wanted.unplaceable(&[]).unwrap(), "no live node");
        assert_eq!(wanted.unplaceable(&[node("c", &["http"], &json!({"gpu": true}))]), None);
    }

    #[test]
    fn equal_constraints_have_equal_digests() {
        let one = placement(json!({"requires_capabilities": {"a": 1, "b": {"c": 1, "d": 2}}}));
        let same = placement(json!({"requires_capabilities": {"b": {"d": 2, "c": 1}, "a": 1}}));
        assert_eq!(one.digest(), same.digest());
        assert_ne!(one.digest(), Placement::default().digest());
    }
}
