//! The arguments of a step and their holes.

use super::{Argument, Made};
use crate::model::step::{Action, CheckRule};
use crate::model::{Call, Step, StepKind};
use crate::template::{Expr, Hole, JsonTemplate, Root, Template};

/// All arguments of a step.
pub(super) fn of_step(step: &Step) -> Vec<Argument> {
    let mut list = List(Vec::new());
    if let Some(when) = &step.when {
        list.expr("when", when);
    }
    match &step.kind {
        StepKind::Call(call) => list.call(call),
        StepKind::Metric(metric) => list.template("metric", &metric.value),
        StepKind::Action(Action::Set(document)) => list.json("set", document),
        StepKind::Check | StepKind::Action(Action::Sleep(_)) => {}
    }
    for (name, value) in &step.tags {
        list.template(format!("tag {name}"), value);
    }
    for check in &step.checks {
        let name = format!("check {}", check.name);
        match &check.rule {
            CheckRule::Expr(expr) => list.expr(name, expr),
            CheckRule::BodyContains(text) | CheckRule::Header(_, Some(text)) => list.template(name, text),
            CheckRule::Status(_) | CheckRule::Latency(..) | CheckRule::BodyMatches(_) => list.prepared(name),
            CheckRule::Header(_, None) => list.prepared(name),
        }
    }
    list.0
}

/// Arguments so far.
pub(super) struct List(Vec<Argument>);

impl List {
    fn call(&mut self, call: &Call) {
        match call {
            Call::Http(request) => self.http(request),
            #[cfg(feature = "test-protocol")]
            Call::Echo(echo) => self.template("text", &echo.text),
        }
    }

    pub(super) fn pairs(&mut self, name: &str, pairs: &[(Template, Template)]) {
        if !pairs.is_empty() {
            self.holes(name, pairs.iter().flat_map(|(key, value)| key.holes().chain(value.holes())));
        }
    }

    pub(super) fn template(&mut self, name: impl Into<String>, template: &Template) {
        self.holes(name, template.holes());
    }

    pub(super) fn json(&mut self, name: &str, document: &JsonTemplate) {
        self.holes(name, document.holes());
    }

    pub(super) fn prepared(&mut self, name: impl Into<String>) {
        self.0.push(Argument { name: name.into(), made: Made::Prepared, holes: Vec::new() });
    }

    pub(super) fn holes<'h>(&mut self, name: impl Into<String>, holes: impl Iterator<Item = &'h Hole>) {
        let filled = holes.filter(|hole| !hole.roots().all(Root::is_known_before_load));
        let holes: Vec<String> = filled.map(|hole| hole.source().to_owned()).collect();
        let made = if holes.is_empty() { Made::Prepared } else { Made::Filled };
        self.0.push(Argument { name: name.into(), made, holes });
    }

    fn expr(&mut self, name: impl Into<String>, expr: &Expr) {
        self.0.push(Argument {
            name: name.into(),
            made: Made::Filled,
            holes: vec![expr.source().to_owned()],
        });
    }
}
