//! Values with templates in them.

use std::path::PathBuf;

use hyperscale_types::Name;
use minijinja::Value;

use super::Reader;
use super::view::View;
use crate::document::{Kind, Node, Place};
use crate::template::{Expr, FillError, JsonTemplate, Resolver, Root, Scope, Template, TemplateProblem};

/// Holes of one template: a short text full of long variables must not become a huge one.
const HOLES_MAX: usize = 1_000;

/// Only variables have a value when a plan is read.
pub(super) struct VarScope<'v>(pub(super) &'v [(Name, Value)]);

impl Scope for VarScope<'_> {
    fn root(&self, root: Root) -> Value {
        match root {
            Root::Var(at) => self.0.get(at).map_or(Value::UNDEFINED, |(_, value)| value.clone()),
            _ => Value::UNDEFINED,
        }
    }
}

impl Reader<'_> {
    /// A text with holes.
    pub(super) fn template(&self, node: &Node, view: &dyn Resolver) -> Option<Template> {
        let text = self.text(node, "a text")?;
        self.template_of(text, node.place, view)
    }

    /// [`Reader::template`] for a text that stands somewhere.
    pub(super) fn template_of(&self, text: &str, place: Place, view: &dyn Resolver) -> Option<Template> {
        self.no_environment(text, place);
        if text.matches("{{").count() > HOLES_MAX {
            self.problems.error(place, format!("a template has at most {HOLES_MAX} holes"));
            return None;
        }
        Template::parse(text, view).map_err(|problem| self.template_problem(problem, text, place)).ok()
    }

    /// A value with a type: texts are templates, numbers and truth values stand for themselves.
    pub(super) fn typed_template(&self, node: &Node, view: &dyn Resolver) -> Option<Template> {
        match &node.kind {
            Kind::Int(..) | Kind::Float(..) | Kind::Bool(_) => {
                let text = format!("{{{{ {} }}}}", self.text(node, "a value")?);
                self.template_of(&text, node.place, view)
            }
            _ => self.template(node, view),
        }
    }

    /// An expression, without braces.
    pub(super) fn expr(&self, node: &Node, view: &dyn Resolver) -> Option<Expr> {
        let text = self.text(node, "an expression")?;
        if text.trim_start().starts_with("{{") {
            let problem = self.problems.error(node.place, "an expression stands without `{{ }}`");
            problem.hint(format!("write `{}`", text.trim().trim_matches(['{', '}']).trim()));
            return None;
        }
        Expr::parse(text, view).map_err(|problem| self.template_problem(problem, text, node.place)).ok()
    }

    /// A JSON document with templates in its strings.
    pub(super) fn json_template(&self, node: &Node, view: &dyn Resolver) -> Option<JsonTemplate> {
        let document = self.json(node)?;
        let mut places = Vec::new();
        places_of_strings(node, &mut places);
        let mut places = places.into_iter();
        JsonTemplate::build(&document, &mut |text| {
            let place = places.next().unwrap_or(node.place);
            self.template_of(text, place, view).ok_or(())
        })
        .ok()
    }

    /// A JSON document as it stands.
    pub(super) fn json(&self, node: &Node) -> Option<serde_json::Value> {
        use serde_json::Value as Json;
        let too_large = |written: &str| {
            let message = format!("JSON cannot hold the number {written} exactly; write it as a text");
            self.problems.error(node.place, message);
            None
        };
        match &node.kind {
            Kind::Null => Some(Json::Null),
            Kind::Bool(value) => Some((*value).into()),
            Kind::Int(value, written) => match (i64::try_from(*value), u64::try_from(*value)) {
                (Ok(int), _) => Some(int.into()),
                (_, Ok(int)) => Some(int.into()),
                _ => too_large(written),
            },
            Kind::Float(value, written) => match serde_json::Number::from_f64(*value) {
                Some(number) => Some(number.into()),
                None => too_large(written),
            },
            Kind::Str(text) => Some(Json::String(text.to_string())),
            Kind::Seq(items) => {
                items.iter().map(|item| self.json(item)).collect::<Option<Vec<_>>>().map(Json::Array)
            }
            Kind::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    if key.text.contains("{{") {
                        self.problems.error(key.place, "a key is constant; templates stand in values only");
                    }
                    Some((key.text.to_string(), self.json(value)?))
                });
                entries.collect::<Option<_>>().map(Json::Object)
            }
        }
    }

    /// A JSON document as a value of the template language.
    pub(super) fn value(&self, node: &Node) -> Option<Value> {
        self.json(node).and_then(|json| serde_json::from_value(json).ok())
    }

    /// A text that is the same for the whole run: its templates may refer to variables only.
    pub(super) fn constant(&self, node: &Node, view: &View<'_>) -> Option<String> {
        let constants = view.constants();
        let template = self.template(node, &constants)?;
        match template.value(&VarScope(view.vars())) {
            Ok(value) => Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            Err(problem) => self.fill_problem(&problem, node.place, view.vars()),
        }
    }

    /// A template over variables cannot be filled. If that is because a variable has a problem, that one is enough.
    pub(super) fn fill_problem<T>(
        &self,
        problem: &FillError,
        place: Place,
        vars: &[(Name, Value)],
    ) -> Option<T> {
        if !vars.iter().any(|(_, value)| value.is_undefined()) {
            self.problems.error(place, problem.to_string());
        }
        None
    }

    /// A file that must be readable, relative to the plan's folder.
    pub(super) fn file(&self, node: &Node, view: &View<'_>) -> Option<PathBuf> {
        let path = self.folder.join(self.constant(node, view)?);
        self.head(&path, node.place, 1)?;
        Some(self.env.locate(&path))
    }

    /// The first bytes of a file.
    pub(super) fn head(&self, path: &std::path::Path, place: Place, bytes_max: usize) -> Option<Vec<u8>> {
        match self.env.head(path, bytes_max) {
            Ok(bytes) => Some(bytes),
            Err(problem) => {
                let problem = match problem.kind() {
                    std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                    _ => problem.to_string(),
                };
                self.problems.error(place, format!("cannot read `{}`: {problem}", path.display()));
                None
            }
        }
    }

    /// Environment variables are read in `vars` only, so that a plan shows at one place what it depends on.
    fn no_environment(&self, text: &str, place: Place) {
        if text.contains("${env:") {
            self.problems
                .error(place, "environment variables are read in `vars` only")
                .hint("add a variable, for example `key: ${env:KEY}`, and write `{{ key }}` here");
        }
    }

    fn template_problem(&self, problem: TemplateProblem, text: &str, place: Place) {
        let place = self.text.within(place, text, problem.offset);
        let (message, hint) = match problem.message.split_once(HINT) {
            Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
            None => (problem.message, None),
        };
        let reported = self.problems.error(place, message);
        if let Some(hint) = hint {
            reported.hint(hint);
        }
    }
}

/// Between the message and the hint of a resolver's answer, which is one text.
pub(super) const HINT: &str = "\u{1f}";

/// The places of all strings, in the order in which a JSON document is walked.
fn places_of_strings(node: &Node, out: &mut Vec<Place>) {
    match &node.kind {
        Kind::Str(_) => out.push(node.place),
        Kind::Seq(items) => items.iter().for_each(|item| places_of_strings(item, out)),
        Kind::Map(entries) => entries.iter().for_each(|(_, value)| places_of_strings(value, out)),
        _ => {}
    }
}
