//! Thresholds: rules over the job's statistics. What they name must exist.

use std::path::Path;

use hyperscale_types::rule::{Metric, Rule, Stat};
use hyperscale_types::{Name, Span};

use super::command_line::COMMAND_LINE;
use super::{Given, Reader};
use crate::document::{Kind, Node, Place, Text};
use crate::model::step::MetricKind;
use crate::model::{Load, Plan, Step, StepKind, Threshold, Workflow};
use crate::problem::{Problem, Problems, Severity};

/// Thresholds of one plan.
const THRESHOLDS_MAX: usize = 1_000;

/// Adds rules that were given beside a plan to its thresholds; hands warnings back. If one of them is wrong, all problems come
/// back and the plan is as it was.
pub fn add_thresholds(plan: &mut Plan, rules: &[String]) -> Result<Vec<Problem>, Vec<Problem>> {
    let (mut added, mut all) = (Vec::new(), Vec::new());
    for rule in rules {
        let (threshold, problems) = given_rule(rule, &plan.workflows);
        added.extend(threshold);
        all.extend(problems);
    }
    if plan.thresholds.len() + rules.len() > THRESHOLDS_MAX {
        let message = format!("a run has at most {THRESHOLDS_MAX} thresholds, those of the plan included");
        all.push(Problem::general(COMMAND_LINE, message));
    }
    if all.iter().any(|problem| problem.severity == Severity::Error) {
        return Err(all);
    }
    plan.thresholds.extend(added);
    Ok(all)
}

/// A rule, and what is wrong with it.
fn given_rule(rule: &str, workflows: &[Workflow]) -> (Option<Threshold>, Vec<Problem>) {
    let about = |problem: Problem| Problem {
        message: format!("--threshold `{rule}`: {}", problem.message),
        line: 0,
        column: 0,
        snippet: None,
        ..problem
    };
    let text = match Text::new(rule.as_bytes()) {
        Ok(text) => text,
        Err(error) => return (None, vec![about(Problem::general(COMMAND_LINE, error.to_string()))]),
    };
    let (problems, environment) = (Problems::new(COMMAND_LINE, &text), Given::default());
    let reader = Reader::new(&problems, &text, &environment, Path::new(""), COMMAND_LINE);
    let node = Node { place: Place::START, kind: Kind::Str(rule.into()) };
    let threshold = reader.threshold(&node, workflows);
    (threshold, problems.into_sorted().into_iter().map(about).collect())
}

impl Reader<'_> {
    /// All thresholds.
    pub(super) fn thresholds(&self, node: Option<&Node>, workflows: &[Workflow]) -> Vec<Threshold> {
        let Some(node) = node else { return Vec::new() };
        if let Kind::Map(_) = node.kind {
            self.problems
                .error(node.place, "`thresholds` must be a list, not a map")
                .hint("for example `- Browse.latency.p99 < 300ms`");
            return Vec::new();
        }
        let items = node.items();
        if items.len() > THRESHOLDS_MAX {
            self.problems.error(node.place, format!("a plan has at most {THRESHOLDS_MAX} thresholds"));
        }
        items.iter().take(THRESHOLDS_MAX).filter_map(|item| self.threshold(item, workflows)).collect()
    }

    /// A rule, or `{ rule: …, abort: …, after: …, allow_empty: … }`.
    fn threshold(&self, node: &Node, workflows: &[Workflow]) -> Option<Threshold> {
        if !matches!(node.kind, Kind::Map(_)) {
            let rule = self.rule(node, workflows)?;
            return Some(Threshold { rule, abort: false, after: Span::ZERO, allow_empty: false });
        }
        let fields = self.fields(node, "a threshold")?;
        let flag = |key| fields.take(key).and_then(|node| self.boolean(node)).unwrap_or(false);
        let (rule, abort, after) = (fields.take("rule"), flag("abort"), fields.take("after"));
        let allow_empty = flag("allow_empty");
        fields.finish(self, "a threshold");
        if let (Some(after), false) = (after, abort) {
            self.problems.warning(after.place, "`after` has no effect without `abort: true`");
        }
        let after = after.map_or(Some(Span::ZERO), |node| self.parsed(node, "a duration"));
        if rule.is_none() {
            self.problems.error(node.place, "a threshold needs `rule`");
        }
        Some(Threshold { rule: self.rule(rule?, workflows)?, abort, after: after?, allow_empty })
    }

    fn rule(&self, node: &Node, workflows: &[Workflow]) -> Option<Rule> {
        let rule: Rule = self.parsed(node, "a rule")?;
        let Some(name) = &rule.workflow else {
            self.rule_of_all(&rule, workflows, node.place);
            return Some(rule);
        };
        let Some(workflow) = workflows.iter().find(|workflow| workflow.name == *name) else {
            let (message, names) = (format!("there is no workflow `{name}`"), workflows.iter());
            self.problems
                .error(node.place, message)
                .nearest(name.as_str(), names.map(|workflow| workflow.name.as_str()));
            return None;
        };
        let step = match &rule.step {
            None => None,
            Some(name) => Some(self.rule_step(name, workflow, node.place)?),
        };
        self.rule_metric(&rule, workflow, step, node.place);
        Some(rule)
    }

    /// A rule about all workflows: at least one of them must have what it is about.
    fn rule_of_all(&self, rule: &Rule, workflows: &[Workflow], place: Place) {
        match &rule.metric {
            Metric::CheckRate(check) => {
                let steps = workflows.iter().flat_map(|workflow| &workflow.steps.steps);
                let names: Vec<&str> =
                    steps.flat_map(|step| &step.checks).map(|check| check.name.as_str()).collect();
                self.known_check(check, &names, place);
            }
            Metric::Custom(metric, stat) => {
                let all: Vec<(&Name, MetricKind)> = workflows.iter().flat_map(metrics_of).collect();
                self.known_metric(metric, *stat, &all, None, place);
                let kinds = || all.iter().filter(|(name, _)| *name == metric).map(|(_, kind)| *kind);
                if kinds().any(|kind| Some(kind) != kinds().next()) {
                    self.problems
                        .error(
                            place,
                            format!("the metric `{metric}` is not of the same kind in all workflows"),
                        )
                        .hint(format!("name the workflow: `{}.{}`", workflows[0].name, rule.text));
                }
            }
            Metric::Dropped | Metric::Late => {
                if !workflows.iter().any(|workflow| matches!(workflow.load, Load::Open { .. })) {
                    self.problems.warning(place, "no workflow has an open load model: this is always 0");
                }
            }
            Metric::Missed => {
                if !workflows.iter().any(|workflow| matches!(workflow.load, Load::Paced { .. })) {
                    self.problems.warning(place, "no workflow has a paced load model: this is always 0");
                }
            }
            _ => {
                if !workflows.iter().any(Workflow::is_test) {
                    self.problems.error(place, "no workflow has a test step; nothing is measured");
                }
            }
        }
    }

    fn rule_step<'w>(&self, name: &Name, workflow: &'w Workflow, place: Place) -> Option<&'w Step> {
        let steps = &workflow.steps.steps;
        let found = steps.iter().find(|step| step.name == *name);
        if found.is_none() {
            self.problems
                .error(place, format!("workflow `{}` has no step `{name}`", workflow.name))
                .nearest(name.as_str(), steps.iter().map(|step| step.name.as_str()));
        }
        found
    }

    fn rule_metric(&self, rule: &Rule, workflow: &Workflow, step: Option<&Step>, place: Place) {
        match &rule.metric {
            Metric::CheckRate(check) => self.rule_check(check, workflow, step, place),
            Metric::Custom(metric, stat) => self.rule_custom(metric, *stat, workflow, step, place),
            Metric::Dropped | Metric::Late => {
                if rule.step.is_some() {
                    self.problems.error(place, "`dropped` and `late` exist for a workflow, not for a step");
                } else if !matches!(workflow.load, Load::Open { .. }) {
                    let message = format!("`{}` has no open load model: this is always 0", workflow.name);
                    self.problems.warning(place, message);
                }
            }
            Metric::Missed => {
                if rule.step.is_some() {
                    self.problems.error(place, "`missed` exists for a workflow, not for a step");
                } else if !matches!(workflow.load, Load::Paced { .. }) {
                    let message = format!("`{}` has no paced load model: this is always 0", workflow.name);
                    self.problems.warning(place, message);
                }
            }
            _ => {
                if let Some(step) = step.filter(|step| !step.is_test()) {
                    let message = format!("`{}` is not a test step; it is not measured", step.name);
                    self.problems.error(place, message);
                } else if !workflow.is_test() {
                    let message = format!("`{}` has no test step; nothing of it is measured", workflow.name);
                    self.problems.error(place, message);
                }
            }
        }
    }

    fn rule_check(&self, check: &Name, workflow: &Workflow, step: Option<&Step>, place: Place) {
        let steps =
            workflow.steps.steps.iter().filter(|other| step.is_none_or(|step| step.name == other.name));
        let names: Vec<&str> = steps.flat_map(|step| &step.checks).map(|check| check.name.as_str()).collect();
        self.known_check(check, &names, place);
    }

    fn known_check(&self, check: &Name, names: &[&str], place: Place) {
        if !names.contains(&check.as_str()) {
            self.problems
                .error(place, format!("there is no check `{check}`"))
                .nearest(check.as_str(), names.iter().copied());
        }
    }

    fn rule_custom(&self, metric: &Name, stat: Stat, workflow: &Workflow, step: Option<&Step>, place: Place) {
        let metrics: Vec<(&Name, MetricKind)> = metrics_of(workflow).collect();
        if let Some(step) = step.filter(|step| step.name != *metric) {
            self.problems.error(place, format!("`{}` is not the metric step `{metric}`", step.name));
        }
        self.known_metric(metric, stat, &metrics, Some(&workflow.name), place);
    }

    fn known_metric(
        &self,
        metric: &Name,
        stat: Stat,
        metrics: &[(&Name, MetricKind)],
        workflow: Option<&Name>,
        place: Place,
    ) {
        let Some((_, kind)) = metrics.iter().find(|(name, _)| *name == metric) else {
            let message = match workflow {
                Some(name) => format!("workflow `{name}` has no metric `{metric}`"),
                None => format!("no workflow has a metric `{metric}`"),
            };
            self.problems
                .error(place, message)
                .nearest(metric.as_str(), metrics.iter().map(|(name, _)| name.as_str()));
            return;
        };
        let distribution = matches!(kind, MetricKind::Distribution | MetricKind::Timing);
        if !distribution && matches!(stat, Stat::Percentile(_) | Stat::Stdev) {
            self.problems
                .error(place, format!("the metric `{metric}` is not a distribution: it has no percentiles"))
                .hint("make it `distribution` or `timing`");
        }
    }
}

/// Names and kinds of a workflow's metrics.
fn metrics_of(workflow: &Workflow) -> impl Iterator<Item = (&Name, MetricKind)> {
    workflow.steps.steps.iter().filter_map(|step| match &step.kind {
        StepKind::Metric(metric) => Some((&step.name, metric.kind)),
        _ => None,
    })
}
