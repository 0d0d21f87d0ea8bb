//! The steps of one graph of a workflow: their kinds and everything that all kinds have in common.

use hyperscale_types::Span;

use super::extract::extraction_names;
use super::fields::Named;
use super::graph::Ordered;
use super::names::{Gives, PlanNames, StepNames, WorkflowNames};
use super::plan::Defaults;
use super::protocol::Protocol;
use super::view::{Sees, View};
use super::{Reader, STEPS_MAX as PLAN_STEPS_MAX};
use crate::document::{Kind, Node};
use crate::model::step::{Action, Needs, Think};
use crate::model::{Part, Step, StepGraph, StepKind};

/// Steps of one graph.
const STEPS_MAX: usize = 1_000;
/// How often one step may run per iteration.
const REPEAT_MAX: u32 = 1_000_000;
/// Tags of one step.
const TAGS_MAX: usize = 16;

/// What makes a step a step, beside the protocols; exactly one of them, or `check` alone.
const KINDS: [&str; 4] = ["metric", "sleep", "set", "action"];
/// Kinds that a plan will have, but not yet.
const LATER: [&str; 18] = [
    "graphql",
    "grpc",
    "websocket",
    "ws",
    "sse",
    "tcp",
    "udp",
    "postgres",
    "mysql",
    "mongodb",
    "redis",
    "kafka",
    "amqp",
    "smtp",
    "ftp",
    "native",
    "script",
    "http3",
];

/// The steps of one graph, not yet read.
pub(super) struct PartSteps<'n> {
    pub(super) part: Part,
    pub(super) steps: Vec<Named<'n>>,
    pub(super) graph: Ordered,
}

impl PartSteps<'_> {
    /// The steps as others see them.
    pub(super) fn names(&self) -> Vec<StepNames> {
        let names = self.steps.iter().map(|step| {
            let has = |key| step.fields.take(key).is_some();
            let gives =
                if let Some(protocol) = Protocol::ALL.iter().copied().find(|protocol| has(protocol.key())) {
                    Gives::Answer(protocol, extraction_names(step.fields.take("extract")))
                } else if has("set")
                    || has("metric")
                    || step.fields.take("action").is_some_and(|node| node.get("set").is_some())
                {
                    Gives::Value
                } else if has("sleep") || has("action") {
                    Gives::Nothing("sleep")
                } else if has("check") {
                    Gives::Nothing("check")
                } else {
                    Gives::Value // it has no kind, which is a problem of its own
                };
            StepNames { name: step.name.clone(), gives }
        });
        names.collect()
    }
}

impl Reader<'_> {
    /// Names and graph of the steps under a key.
    pub(super) fn part_steps<'n>(&self, node: Option<&'n Node>, part: Part) -> PartSteps<'n> {
        let mut steps = node.map(|node| self.named(node, "step")).unwrap_or_default();
        if steps.len() > STEPS_MAX {
            let message = format!("`{}` has more than {STEPS_MAX} steps", part.key());
            self.problems.error(steps[STEPS_MAX].place, message);
            steps.truncate(STEPS_MAX);
        }
        let left = self.steps_left.get();
        if steps.len() > left {
            self.problems.error(steps[left].place, format!("a plan has at most {PLAN_STEPS_MAX} steps"));
            steps.truncate(left);
        }
        self.steps_left.set(left - steps.len());
        for step in &steps {
            self.not_reserved_step(&step.name, step.place);
        }
        let graph = self.step_graph(&steps);
        PartSteps { part, steps, graph }
    }

    /// Reads the steps of a graph.
    pub(super) fn graph(
        &self,
        part: &PartSteps<'_>,
        plan: PlanNames<'_>,
        names: &WorkflowNames,
        defaults: [Defaults<'_>; 2],
    ) -> StepGraph {
        let ancestors = part.graph.ancestors();
        let read = part.steps.iter().enumerate().map(|(at, named)| {
            let sees = Sees::Ancestors { step: at, ancestors: &ancestors[at], own: false };
            self.step(named, View::new(plan, names, part.part, sees), defaults)
        });
        StepGraph { steps: read.collect(), after: part.graph.after.clone(), order: part.graph.order.clone() }
    }

    fn step(&self, named: &Named<'_>, view: View<'_>, defaults: [Defaults<'_>; 2]) -> Step {
        let fields = &named.fields;
        let what = format!("step `{}`", named.name);
        let kind = self.kind(named, view, defaults);
        let is_call = matches!(kind, Some(StepKind::Call(_)) | None);
        let when = fields.take("when").and_then(|node| self.expr(node, &view));
        let repeat = fields.take("repeat").and_then(|node| self.integer(node, 1..=REPEAT_MAX)).unwrap_or(1);
        let think = fields.take("think").and_then(|node| self.think(node));
        let timeout = fields.take("timeout").and_then(|node| self.step_timeout(node, kind.as_ref()));
        let tags = fields.take("tags").map(|node| self.tags(node, kind.as_ref(), view)).unwrap_or_default();
        let extract = self.extractions(fields.take("extract"), is_call);
        let checks = self.checks(fields.take("check"), view.after_call(), is_call);
        if matches!(kind, Some(StepKind::Check)) && checks.is_empty() && !self.problems.any_error() {
            self.problems.error(named.place, format!("{what} checks nothing"));
        }
        fields.finish(self, &what);
        let mut needs = Needs::default();
        for extraction in &extract {
            super::extract::needs(&extraction.from, &mut needs);
        }
        for check in &checks {
            super::check::needs(&check.rule, &mut needs);
        }
        // A step of no kind is a problem by now; anything stands in for it.
        let kind = kind.unwrap_or(StepKind::Check);
        Step { name: named.name.clone(), kind, when, repeat, think, tags, timeout, extract, checks, needs }
    }

    fn kind(&self, named: &Named<'_>, view: View<'_>, defaults: [Defaults<'_>; 2]) -> Option<StepKind> {
        let fields = &named.fields;
        let later: Vec<_> = LATER.iter().filter_map(|key| fields.entry(key)).collect();
        for (key, _) in &later {
            self.problems.error(key.place, format!("`{}` steps are not supported yet", key.text));
        }
        let calls: Vec<&str> = Protocol::ALL.iter().map(|protocol| protocol.key()).collect();
        let kinds: Vec<_> = calls.iter().chain(&KINDS).filter_map(|key| fields.entry(key)).collect();
        let (key, node) = match &*kinds {
            [] if !later.is_empty() => return None,
            [] if fields.take("check").is_some() => return Some(StepKind::Check),
            [] => {
                let message = format!("step `{}` does nothing", named.name);
                self.problems.error(named.place, message).hint(format!(
                    "it needs {}, {} or check",
                    calls.join(", "),
                    KINDS.join(", ")
                ));
                return None;
            }
            [one] => *one,
            [first, second, ..] => {
                let message = format!("a step does one thing: `{}` or `{}`", first.0.text, second.0.text);
                self.problems.error(second.0.place, message).hint("make two steps of it");
                *first
            }
        };
        if let Some(protocol) = Protocol::of(&key.text) {
            return self.call(protocol, node, fields.take("expect"), view, defaults).map(StepKind::Call);
        }
        match &*key.text {
            "metric" => self.metric(node, view).map(StepKind::Metric),
            "sleep" => self.think(node).map(|think| StepKind::Action(Action::Sleep(think))),
            "set" => self.json_template(node, &view).map(|json| StepKind::Action(Action::Set(json))),
            _ => self.action(node, view).map(StepKind::Action),
        }
    }

    /// `action: { sleep: 1s }` or `action: { set: … }`.
    fn action(&self, node: &Node, view: View<'_>) -> Option<Action> {
        let fields = self.fields(node, "`action`")?;
        let (sleep, set) = (fields.take("sleep"), fields.take("set"));
        fields.finish(self, "`action`");
        match (sleep, set) {
            (Some(node), None) => self.think(node).map(Action::Sleep),
            (None, Some(node)) => self.json_template(node, &view).map(Action::Set),
            _ => {
                self.problems.error(node.place, "`action` is either `{ sleep: … }` or `{ set: … }`");
                None
            }
        }
    }

    /// `1s` or `{ min: 1s, max: 3s }`.
    pub(super) fn think(&self, node: &Node) -> Option<Think> {
        if !matches!(node.kind, Kind::Map(_)) {
            let span = self.parsed(node, "a duration")?;
            return Some(Think { min: span, max: span });
        }
        let fields = self.fields(node, "a pause")?;
        let (min, max) = (fields.take("min"), fields.take("max"));
        fields.finish(self, "a pause");
        let (Some(min), Some(max)) = (min, max) else {
            self.problems.error(node.place, "a pause is a duration or `{ min: …, max: … }`");
            return None;
        };
        let (min, max): (Option<Span>, Option<Span>) =
            (self.parsed(min, "a duration"), self.parsed(max, "a duration"));
        let think = Think { min: min?, max: max? };
        if think.min > think.max {
            self.problems
                .error(node.place, format!("`min` ({}) is longer than `max` ({})", think.min, think.max));
            return None;
        }
        Some(think)
    }

    /// The time limit of a step: for those that wait for something.
    fn step_timeout(&self, node: &Node, kind: Option<&StepKind>) -> Option<Span> {
        if let Some(StepKind::Check | StepKind::Metric(_) | StepKind::Action(Action::Set(_))) = kind {
            let message = "this step waits for nothing, so there is nothing that `timeout` could bound";
            self.problems.error(node.place, message).hint("`http` and `sleep` can have a `timeout`");
        }
        self.timeout(node)
    }

    /// A time limit: longer than nothing.
    pub(super) fn timeout(&self, node: &Node) -> Option<Span> {
        let span: Span = self.parsed(node, "a duration")?;
        if span.is_zero() {
            self.problems.error(node.place, "a time limit of nothing fails every call");
            return None;
        }
        Some(span)
    }

    fn tags(
        &self,
        node: &Node,
        kind: Option<&StepKind>,
        view: View<'_>,
    ) -> Vec<(hyperscale_types::Name, crate::template::Template)> {
        if let Some(StepKind::Check | StepKind::Action(_)) = kind {
            self.problems
                .error(node.place, "`tags` are dimensions of measured calls and of metrics")
                .hint("put them on `http` or `metric` steps");
        }
        let entries = self.entries(node, "`tags`").unwrap_or(&[]);
        if entries.len() > TAGS_MAX {
            self.problems.error(node.place, format!("a step has at most {TAGS_MAX} tags"));
        }
        let tag = |(key, value): &(crate::document::Key, Node)| {
            Some((self.name(&key.text, key.place)?, self.template(value, &view)?))
        };
        let mut tags: Vec<_> = entries.iter().filter_map(tag).collect();
        tags.sort_by(|(a, _), (b, _)| a.cmp(b));
        tags
    }
}
