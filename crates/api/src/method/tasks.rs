//! Methods of the task plane. Their parameters are objects that the node reads, with the types it stores: this crate knows their names,
//! and which of them may be repeated.
//!
//! | methods | repeatable |
//! | --- | --- |
//! | those that only look, and those that say how something is to be: pause, role, heartbeat, cancel | yes |
//! | `tasks.create`, `schedules.trigger` | by `idempotency_key` |
//! | all others: a claim, a retry, a report | no |

use serde_json::{Map, Value};

use super::RequestId;

/// The member by which a repetition of a submission is recognised.
const KEY: &str = "idempotency_key";

/// Whether carrying a method out twice is the same as once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    Yes,
    ByKey,
    No,
}

/// The methods with what is known about them, sorted.
const METHODS: [(&str, Repeat); 29] = [
    ("acquire_lease", Repeat::No),
    ("claim_tasks", Repeat::No),
    ("deregister_node", Repeat::Yes),
    ("find_executable_tasks", Repeat::Yes),
    ("heartbeat", Repeat::Yes),
    ("nodes.list", Repeat::Yes),
    ("nodes.set_role", Repeat::Yes),
    ("recover_stale_leases", Repeat::Yes),
    ("register_node", Repeat::Yes),
    ("release_lease", Repeat::No),
    ("renew_lease", Repeat::Yes),
    ("report_completion", Repeat::No),
    ("report_failure", Repeat::No),
    ("schedules.create", Repeat::Yes),
    ("schedules.delete", Repeat::No),
    ("schedules.list", Repeat::Yes),
    ("schedules.pause", Repeat::Yes),
    ("schedules.resume", Repeat::Yes),
    ("schedules.runs", Repeat::Yes),
    ("schedules.trigger", Repeat::ByKey),
    ("tasks.cancel", Repeat::Yes),
    ("tasks.counts", Repeat::Yes),
    ("tasks.create", Repeat::ByKey),
    ("tasks.events", Repeat::Yes),
    ("tasks.get", Repeat::Yes),
    ("tasks.list", Repeat::Yes),
    ("tasks.retry", Repeat::No),
    ("tasks.subscribe", Repeat::Yes),
    ("tasks.tree", Repeat::Yes),
];

/// Their names, sorted.
pub(super) const NAMES: [&str; METHODS.len()] = {
    let mut names = [""; METHODS.len()];
    let mut at = 0;
    while at < METHODS.len() {
        names[at] = METHODS[at].0;
        at += 1;
    }
    names
};

/// A method of the task plane with parameters that only the node can check.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskCall {
    name: &'static str,
    repeat: Repeat,
    /// Its parameters by name.
    pub params: Map<String, Value>,
}

impl TaskCall {
    /// A call of the method of that name; nothing if the task plane has none.
    pub fn new(name: &str, params: Map<String, Value>) -> Option<Self> {
        let (name, repeat) = METHODS.into_iter().find(|(known, _)| *known == name)?;
        Some(Self { name, repeat, params })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn is_repeatable(&self) -> bool {
        match self.repeat {
            Repeat::Yes => true,
            Repeat::ByKey => self.params.contains_key(KEY),
            Repeat::No => false,
        }
    }

    pub(super) fn identify(&mut self, id: impl FnOnce() -> RequestId) {
        if self.repeat == Repeat::ByKey {
            self.params.entry(KEY).or_insert_with(|| id().as_str().into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submissions_get_a_key_and_are_repeatable_with_it() {
        for name in ["tasks.create", "schedules.trigger"] {
            let mut call = TaskCall::new(name, Map::new()).unwrap();
            assert!(!call.is_repeatable(), "{name}");
            call.identify(|| "once".parse().unwrap());
            assert_eq!(call.params[KEY], "once");
            assert!(call.is_repeatable(), "{name}");
            call.identify(|| panic!("it has one"));
        }
        let mut claim = TaskCall::new("claim_tasks", Map::new()).unwrap();
        claim.identify(|| panic!("a claim has no key"));
        assert!(!claim.is_repeatable());
        assert!(TaskCall::new("tasks.get", Map::new()).unwrap().is_repeatable());
        assert_eq!(TaskCall::new("tasks.explode", Map::new()), None);
    }
}
