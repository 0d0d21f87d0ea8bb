//! The arguments of a step and their holes.

use super::{Argument, Made};
use crate::model::http::{Auth, Body, HttpRequest, PartContent};
use crate::model::step::{Action, CheckRule};
use crate::model::{Step, StepKind};
use crate::template::{Expr, Hole, JsonTemplate, Root, Template};

/// All arguments of a step.
pub(super) fn of_step(step: &Step) -> Vec<Argument> {
    let mut list = List(Vec::new());
    if let Some(when) = &step.when {
        list.expr("when", when);
    }
    match &step.kind {
        StepKind::Http(request) => list.http(request),
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
struct List(Vec<Argument>);

impl List {
    fn http(&mut self, request: &HttpRequest) {
        self.template("url", &request.url);
        self.pairs("query", &request.query);
        for (name, value) in &request.headers {
            self.template(format!("header {name}"), value);
        }
        for (name, value) in &request.cookies {
            self.template(format!("cookie {name}"), value);
        }
        self.auth(request.auth.as_ref());
        match &request.body {
            Body::Empty => {}
            Body::Text(text) => self.template("body", text),
            Body::Json(document) => self.json("json", document),
            Body::Form(pairs) => self.pairs("form", pairs),
            Body::File(_) => self.prepared("file"),
            Body::Bytes(_) => self.prepared("bytes"),
            Body::Multipart(parts) => {
                for part in parts {
                    let name = format!("part {}", part.name);
                    match &part.content {
                        PartContent::Text(text) => self.template(name, text),
                        PartContent::File { .. } => self.prepared(name),
                    }
                }
            }
        }
    }

    fn auth(&mut self, auth: Option<&Auth>) {
        match auth {
            None => {}
            Some(Auth::Basic { user, password }) => {
                self.holes("auth basic", user.holes().chain(password.holes()));
            }
            Some(Auth::Digest { user, password }) => {
                self.holes("auth digest", user.holes().chain(password.holes()));
            }
            Some(Auth::Bearer(token)) => self.template("auth bearer", token),
            Some(Auth::OAuth2(_)) => self.prepared("auth oauth2"),
        }
    }

    fn pairs(&mut self, name: &str, pairs: &[(Template, Template)]) {
        if !pairs.is_empty() {
            self.holes(name, pairs.iter().flat_map(|(key, value)| key.holes().chain(value.holes())));
        }
    }

    fn template(&mut self, name: impl Into<String>, template: &Template) {
        self.holes(name, template.holes());
    }

    fn json(&mut self, name: &str, document: &JsonTemplate) {
        self.holes(name, document.holes());
    }

    fn prepared(&mut self, name: impl Into<String>) {
        self.0.push(Argument { name: name.into(), made: Made::Prepared, holes: Vec::new() });
    }

    fn holes<'h>(&mut self, name: impl Into<String>, holes: impl Iterator<Item = &'h Hole>) {
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
