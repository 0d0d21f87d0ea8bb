//! Compiled expressions.

use std::fmt;
use std::sync::{Arc, LazyLock};

use minijinja::value::Kwargs;
use minijinja::{Environment, Expression, State, UndefinedBehavior, Value};

use super::compare::Compare;
use super::order;
use super::{FillError, Resolver, Root, Scope, TemplateProblem};

/// Instructions an expression may use before it is stopped.
pub(super) const FUEL: u64 = 200_000;

/// The one environment of all expressions: it holds filters and rules, never values.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(environment);

pub(super) fn environment() -> Environment<'static> {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_fuel(Some(FUEL));
    env.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    env.add_filter("urlencode", urlencode);
    env.add_filter("tojson", tojson);
    env.add_filter("escape", escape);
    env.add_filter("e", escape);
    env.add_function(order::FUNCTION, order::ordered);
    env
}

/// JSON, without the mark of being safe. In a URL that mark means "encoded already" ([`super::Escape`]); the language's
/// own filters mean HTML by it.
fn tojson(value: &Value, indent: Option<Value>, args: Kwargs) -> Result<Value, minijinja::Error> {
    minijinja::filters::tojson(value, indent, args).map(|json| Value::from(json.to_string()))
}

/// Escaped for HTML, without the mark, as above.
fn escape(state: &mut State, value: &Value) -> Result<Value, minijinja::Error> {
    minijinja::filters::escape(state, value).map(|text| Value::from(text.to_string()))
}

/// Percent-encodes everything, `/` too: in a path `/` stands without a filter. Marked, so that a URL takes it as it is.
fn urlencode(value: &Value) -> Result<Value, minijinja::Error> {
    if value.is_undefined() {
        return Err(minijinja::ErrorKind::UndefinedError.into());
    }
    minijinja::filters::urlencode(value).map(|text| Value::from_safe_string(text.replace('/', "%2F")))
}

/// A compiled expression with the names it refers to. Cheap to clone.
#[derive(Clone)]
pub struct Expr {
    inner: Arc<Inner>,
}

struct Inner {
    source: Box<str>,
    compiled: Expression<'static, 'static>,
    names: Names,
    /// The same without the interpreter, if that is possible.
    compare: Option<Compare>,
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expr").field(&self.inner.source).finish()
    }
}

impl Expr {
    /// Compiles an expression (without `{{ }}`) and resolves its names.
    pub fn parse(source: &str, resolver: &dyn Resolver) -> Result<Self, TemplateProblem> {
        let problem = |message| TemplateProblem { message, offset: 0 };
        let compile = |source: String| ENVIRONMENT.compile_expression_owned(source);
        // First as it was written: problems speak of that.
        let mut compiled = compile(source.to_owned()).map_err(|e| problem(explain(&e)))?;
        if let Some(source) = order::with_calls(source, true) {
            compiled = compile(source).map_err(|e| problem(explain(&e)))?;
        }
        let names = Names::resolve(compiled.undeclared_variables(true), resolver).map_err(problem)?;
        let compare = Compare::parse(source, &ENVIRONMENT, resolver);
        Ok(Expr { inner: Arc::new(Inner { source: source.trim().into(), compiled, names, compare }) })
    }

    /// The expression as it was written.
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// All roots it refers to.
    pub fn roots(&self) -> impl Iterator<Item = Root> + '_ {
        self.inner.names.roots()
    }

    /// The names it refers to with their roots, for finding out which parts of a result are needed.
    pub fn names(&self) -> impl Iterator<Item = (Root, &str)> {
        self.inner.names.iter()
    }

    /// Its value.
    pub fn value(&self, scope: &impl Scope) -> Result<Value, FillError> {
        let value = self
            .inner
            .compiled
            .eval(self.inner.names.context(scope))
            .map_err(|e| FillError::Failed { source_text: self.source().to_owned(), message: explain(&e) })?;
        if value.is_undefined() { Err(FillError::Undefined(self.source().to_owned())) } else { Ok(value) }
    }

    /// Whether it is true.
    pub fn is_true(&self, scope: &impl Scope) -> Result<bool, FillError> {
        if let Some(holds) = self.inner.compare.as_ref().and_then(|compare| compare.holds(scope)) {
            return Ok(holds);
        }
        self.value(scope).map(|value| value.is_true())
    }
}

/// The names of an expression or block, resolved.
pub(super) struct Names(Vec<Bound>);

struct Bound {
    /// The dotted text as it stands in the expression.
    text: Box<str>,
    /// The words that name the root: one (`login`) or two (`data`, `users`).
    words: Vec<Box<str>>,
    root: Root,
}

impl Names {
    pub(super) fn resolve(
        names: impl IntoIterator<Item = String>,
        resolver: &dyn Resolver,
    ) -> Result<Names, String> {
        let globals: Vec<&str> = ENVIRONMENT.globals().map(|(name, _)| name).collect();
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort_unstable(); // the set's order is random; problems and contexts must not be
        let mut bound = Vec::with_capacity(names.len());
        for text in names {
            let words: Vec<&str> = text.split('.').collect();
            if globals.contains(&words[0]) {
                continue;
            }
            let (root, taken) = resolver.resolve(&words)?;
            bound.push(Bound {
                root,
                words: words[..taken].iter().map(|word| (*word).into()).collect(),
                text: text.as_str().into(),
            });
        }
        Ok(Names(bound))
    }

    pub(super) fn roots(&self) -> impl Iterator<Item = Root> + '_ {
        self.0.iter().map(|bound| bound.root)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Root, &str)> {
        self.0.iter().map(|bound| (bound.root, &*bound.text))
    }

    /// The context for the interpreter: only what is referred to, names of two words as a map in a map.
    pub(super) fn context(&self, scope: &impl Scope) -> Value {
        let mut flat: Vec<(&str, Value)> = Vec::with_capacity(self.0.len());
        let mut nested: Vec<(&str, Vec<(&str, Value)>)> = Vec::new();
        for bound in &self.0 {
            match &*bound.words {
                [space, key, ..] => {
                    let entry = (&**key, scope.root(bound.root));
                    match nested.iter_mut().find(|(name, _)| *name == &**space) {
                        Some((_, entries)) => entries.push(entry),
                        None => nested.push((space, vec![entry])),
                    }
                }
                [name] => flat.push((name, scope.root(bound.root))),
                [] => {}
            }
        }
        let nested = nested.into_iter().map(|(space, entries)| (space, Value::from_pairs(entries)));
        Value::from_pairs(flat.into_iter().chain(nested))
    }
}

/// The interpreter's message without its internal words and addresses.
pub(super) fn explain(error: &minijinja::Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    }
}
