//! The plan as a whole.

use std::path::Path;

use super::Reader;
use super::names::PlanNames;
use super::protocol::Protocol;
use super::shown;
use crate::document::{Kind, Node};
use crate::model::{Plan, SourceText};

/// Workflows of one plan.
const WORKFLOWS_MAX: usize = 1_000;
/// Bytes of `defaults`: they are read again for every step.
const DEFAULTS_BYTES_MAX: usize = 16 << 10;
/// Characters of a plan's name.
const NAME_CHARS_MAX: usize = 200;

/// `defaults` of the plan or of a workflow.
#[derive(Clone, Copy, Default)]
pub(super) struct Defaults<'n> {
    by_protocol: [Option<&'n Node>; Protocol::COUNT],
}

impl<'n> Defaults<'n> {
    /// Those of one protocol.
    pub(super) fn of(self, protocol: Protocol) -> Option<&'n Node> {
        self.by_protocol[protocol as usize]
    }
}

impl Reader<'_> {
    /// Reads everything. `None` if there is nothing that could be called a plan; a problem says why.
    pub(super) fn plan(&self, root: &Node) -> Option<Plan> {
        let fields = self.fields(root, "a plan")?;
        let name = self.plan_name(fields.take("name"));
        let vars = self.vars(fields.take("vars"));
        let (data, data_names) = self.data(fields.take("data"), &vars);
        let names = PlanNames { vars: &vars, data: &data_names };
        let defaults = self.defaults(fields.take("defaults"), "`defaults`");
        let load = self.plan_load(fields.entry("load"));
        let (workflows, thresholds) = (fields.take("workflows"), fields.take("thresholds"));
        fields.finish(self, "a plan");
        let Some(node) = workflows else {
            self.problems.error(root.place, "a plan needs `workflows`");
            return None;
        };
        let entries = self.named(node, "workflow");
        if entries.len() > WORKFLOWS_MAX {
            let place = entries[WORKFLOWS_MAX].place;
            self.problems.error(place, format!("a plan has at most {WORKFLOWS_MAX} workflows"));
            return None;
        }
        if entries.is_empty() && !self.problems.any_error() {
            self.problems.error(node.place, "`workflows` has no workflow in it");
        }
        let (workflows, mix) = self.workflows(&entries, names, defaults, load.as_ref());
        let thresholds = self.thresholds(thresholds, &workflows);
        let text = shown::without_secrets(self.text.as_str(), root);
        let source = SourceText { name: self.name.to_owned(), text };
        Some(Plan { name, vars, data, workflows, mix, thresholds, source: Some(source) })
    }

    fn plan_name(&self, node: Option<&Node>) -> String {
        let Some(node) = node else {
            let stem = Path::new(self.name).file_stem().and_then(|stem| stem.to_str());
            return stem.unwrap_or("plan").to_owned();
        };
        let name = self.text(node, "a name").unwrap_or_default();
        if name.trim().is_empty()
            || name.chars().any(char::is_control)
            || name.chars().count() > NAME_CHARS_MAX
        {
            let message = format!("a plan's name is 1 to {NAME_CHARS_MAX} printable characters");
            self.problems.error(node.place, message);
        }
        name.to_owned()
    }

    /// `defaults: { http: { … } }`, per protocol.
    pub(super) fn defaults<'n>(&self, node: Option<&'n Node>, what: &str) -> Defaults<'n> {
        let Some(fields) = node.and_then(|node| self.fields(node, what)) else { return Defaults::default() };
        let mut defaults = Defaults::default();
        for (protocol, found) in Protocol::ALL.iter().zip(&mut defaults.by_protocol) {
            let what = format!("`defaults.{}`", protocol.key());
            *found = fields.take(protocol.key()).filter(|node| self.entries(node, &what).is_some());
        }
        fields.finish(self, what);
        defaults.by_protocol.into_iter().flatten().for_each(|node| self.not_too_large(node));
        defaults
    }

    fn not_too_large(&self, node: &Node) {
        fn bytes(node: &Node) -> usize {
            match &node.kind {
                Kind::Seq(items) => items.iter().map(bytes).sum(),
                Kind::Map(entries) => entries.iter().map(|(key, value)| key.text.len() + bytes(value)).sum(),
                _ => node.scalar().map_or(0, str::len),
            }
        }
        if bytes(node) > DEFAULTS_BYTES_MAX {
            self.problems.error(node.place, format!("defaults are at most {DEFAULTS_BYTES_MAX} bytes"));
        }
    }
}
