//! Checks: assertions that are counted, and the statuses that make a call ok.

use hyperscale_types::{Name, Span, rule::Op};

use super::Reader;
use super::view::View;
use crate::document::{Key, Kind, Node, Place};
use crate::model::http::StatusSet;
use crate::model::step::{Check, CheckRule, Needs, Stop};

/// Checks of one step.
const CHECKS_MAX: usize = 100;

const STOPS: [(&str, Stop); 3] = [("iteration", Stop::Iteration), ("vu", Stop::Vu), ("test", Stop::Test)];

/// What a check needs of the answer, beyond what its templates refer to.
pub(super) fn needs(rule: &CheckRule, needs: &mut Needs) {
    match rule {
        CheckRule::BodyContains(_) | CheckRule::BodyMatches(_) => needs.body = true,
        CheckRule::Header(..) => needs.headers = true,
        CheckRule::Status(_) | CheckRule::Latency(..) | CheckRule::Expr(_) => {}
    }
}

/// The checks of a step while they are read.
struct Found {
    checks: Vec<Check>,
    stop: Option<Stop>,
    /// The name given to the one check of a list's item.
    name: Option<(Name, Place)>,
}

impl Found {
    fn push(&mut self, reader: &Reader<'_>, kind: &str, rule: Option<CheckRule>) {
        let Some(rule) = rule else { return };
        let name = match self.name.take() {
            Some((name, place)) => {
                if self.checks.iter().any(|check| check.name == name) {
                    reader.problems.error(place, format!("there are two checks `{name}`"));
                }
                Some(name)
            }
            None => self.free_name(kind),
        };
        self.checks.extend(name.map(|name| Check { name, rule, stop: self.stop }));
    }

    /// The kind of the check, with a number if there are more of them.
    fn free_name(&self, kind: &str) -> Option<Name> {
        let free = |name: &Name| !self.checks.iter().any(|check| check.name == *name);
        let plain = kind.parse().ok().filter(free);
        plain.or_else(|| (2..=CHECKS_MAX + 1).find_map(|n| format!("{kind}-{n}").parse().ok().filter(free)))
    }
}

impl Reader<'_> {
    /// A map of checks, or a list of such maps.
    pub(super) fn checks(&self, node: Option<&Node>, view: View<'_>, is_call: bool) -> Vec<Check> {
        let Some(node) = node else { return Vec::new() };
        let mut found = Found { checks: Vec::new(), stop: None, name: None };
        for item in node.items() {
            self.check_map(item, view, is_call, &mut found, matches!(node.kind, Kind::Seq(_)));
            if found.checks.len() > CHECKS_MAX {
                self.problems.error(item.place, format!("a step has at most {CHECKS_MAX} checks"));
                break;
            }
        }
        found.checks
    }

    fn check_map(&self, node: &Node, view: View<'_>, is_call: bool, found: &mut Found, in_list: bool) {
        let Some(fields) = self.fields(node, "`check`") else { return };
        found.stop = fields.take("stop").and_then(|node| self.word(node, &STOPS));
        found.name = None;
        let before = found.checks.len();
        if let (Some(node), true) = (fields.take("name"), in_list) {
            let name = self.text(node, "a name").and_then(|text| self.name(text, node.place));
            found.name = name.map(|name| (name, node.place));
        }
        let named = found.name.is_some();
        let answer = ["status", "latency", "body", "header"].map(|key| fields.entry(key));
        for (key, _) in answer.iter().flatten().filter(|_| !is_call) {
            let message = format!("`{}` looks at an answer, and this step calls nothing", key.text);
            self.problems.error(key.place, message).hint("put it into the step that calls, or use `expr`");
        }
        let [status, latency, body, header] = answer.map(|entry| entry.map(|(_, node)| node));
        if let Some(node) = status {
            found.push(self, "status", self.statuses(node).map(CheckRule::Status));
        }
        if let Some(node) = latency {
            found.push(self, "latency", self.latency(node));
        }
        if let Some(node) = fields.take("expr") {
            self.exprs(node, view, found);
        }
        if let Some(node) = body {
            self.body_checks(node, view, found);
        }
        if let Some(node) = header {
            self.header_checks(node, view, found);
        }
        fields.finish(self, "`check`");
        let added = found.checks.len() - before;
        if named && added > 1 {
            self.problems
                .error(node.place, "a check with a `name` has one rule")
                .hint("make several entries of it");
        }
        if added == 0 && !self.problems.any_error() {
            let message = "this checks nothing; use status, latency, expr, body or header";
            self.problems.error(node.place, message);
        }
    }

    /// One expression, or several with names.
    fn exprs(&self, node: &Node, view: View<'_>, found: &mut Found) {
        let Kind::Map(entries) = &node.kind else {
            return found.push(self, "expr", self.expr(node, &view).map(CheckRule::Expr));
        };
        for (Key { text, place }, node) in entries.iter().take(CHECKS_MAX + 1) {
            found.name = self.name(text, *place).map(|name| (name, *place));
            found.push(self, "expr", self.expr(node, &view).map(CheckRule::Expr));
        }
    }

    /// `< 500ms`
    fn latency(&self, node: &Node) -> Option<CheckRule> {
        let text = self.text(node, "a comparison")?;
        let Some(("", op, right)) = Op::split(text) else {
            let message = format!("`{text}` is not a comparison with a duration");
            self.problems.error(node.place, message).hint("for example `latency: < 500ms`");
            return None;
        };
        match right.parse::<Span>() {
            Ok(span) => Some(CheckRule::Latency(op, span)),
            Err(problem) => {
                self.problems.error(node.place, problem.to_string());
                None
            }
        }
    }

    /// A text, or `{ contains: …, matches: … }`.
    fn body_checks(&self, node: &Node, view: View<'_>, found: &mut Found) {
        if !matches!(node.kind, Kind::Map(_)) {
            return found.push(self, "body", self.template(node, &view).map(CheckRule::BodyContains));
        }
        let Some(fields) = self.fields(node, "`body`") else { return };
        if let Some(node) = fields.take("contains") {
            found.push(self, "body", self.template(node, &view).map(CheckRule::BodyContains));
        }
        if let Some(node) = fields.take("matches") {
            found.push(self, "body", self.regex(node).map(CheckRule::BodyMatches));
        }
        fields.finish(self, "`body`");
    }

    /// A header name, or a map from header names to values (`true`: any value).
    fn header_checks(&self, node: &Node, view: View<'_>, found: &mut Found) {
        let Kind::Map(entries) = &node.kind else {
            let name = self.text(node, "a header name").and_then(|name| self.header_name(name, node.place));
            return found.push(self, "header", name.map(|name| CheckRule::Header(name, None)));
        };
        for (key, node) in entries.iter().take(CHECKS_MAX + 1) {
            let value = match node.kind {
                Kind::Bool(true) | Kind::Null => None,
                _ => match self.template(node, &view) {
                    Some(value) => Some(value),
                    None => continue,
                },
            };
            let name = self.header_name(&key.text, key.place);
            let kind = name.as_ref().map_or_else(|| "header".to_owned(), |name| format!("header-{name}"));
            found.push(self, &kind, name.map(|name| CheckRule::Header(name, value)));
        }
    }

    /// `expect: { status: … }`
    pub(super) fn expect(&self, node: &Node) -> Option<StatusSet> {
        let fields = self.fields(node, "`expect`")?;
        let status = fields.take("status");
        fields.finish(self, "`expect`");
        if status.is_none() {
            self.problems.error(node.place, "`expect` needs `status`");
        }
        self.statuses(status?)
    }

    /// `200`, `2xx`, `200-299`, or a list of these.
    pub(super) fn statuses(&self, node: &Node) -> Option<StatusSet> {
        let items = node.items();
        if items.is_empty() {
            self.problems.error(node.place, "no status is given");
            return None;
        }
        items.iter().map(|item| self.status(item)).collect::<Option<Vec<_>>>().map(StatusSet)
    }

    fn status(&self, node: &Node) -> Option<(u16, u16)> {
        let text = self.text(node, "a status")?;
        let code = |text: &str| text.trim().parse::<u16>().ok().filter(|code| (100..=999).contains(code));
        let class = |text: &str| {
            let digit = text.strip_suffix("xx").or_else(|| text.strip_suffix("XX"))?.parse::<u16>().ok()?;
            (1..=9).contains(&digit).then_some((digit * 100, digit * 100 + 99))
        };
        let range = |text: &str| {
            let (low, high) = text.split_once('-').or_else(|| text.split_once('–'))?;
            Some((code(low)?, code(high)?)).filter(|(low, high)| low <= high)
        };
        let found = code(text).map(|code| (code, code)).or_else(|| class(text)).or_else(|| range(text));
        if found.is_none() {
            let message = format!("`{text}` is not a status");
            self.problems.error(node.place, message).hint("write 200, 2xx, 200-299 or a list of these");
        }
        found
    }
}
