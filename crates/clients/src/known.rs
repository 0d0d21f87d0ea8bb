//! What is known when a call is prepared: values that are the same for the whole load.

use hyperscale_plan::template::{Escape, FillError, Hole, Root, Scope, Template};

/// Which roots are known in preparation, and their values.
pub struct Known<'a, S> {
    scope: &'a S,
    known: &'a dyn Fn(Root) -> bool,
}

impl<'a, S: Scope> Known<'a, S> {
    /// `known` says which roots have their final value in `scope`.
    pub fn new(scope: &'a S, known: &'a dyn Fn(Root) -> bool) -> Self {
        Known { scope, known }
    }

    /// The hole's text, if everything it refers to is known and always gives the same.
    pub(crate) fn fill(&self, hole: &Hole, escape: Escape) -> Result<Option<Vec<u8>>, FillError> {
        if !hole.is_pure() || !hole.roots().all(self.known) {
            return Ok(None);
        }
        let mut text = Vec::new();
        hole.fill(self.scope, escape, &mut text)?;
        Ok(Some(text))
    }

    /// The template's text, if all of it is known.
    pub(crate) fn text(&self, template: &Template) -> Result<Option<String>, FillError> {
        let prepared = template.prepare(self.scope, self.known, Escape::None)?;
        Ok(prepared.as_constant().map(str::to_owned))
    }
}

/// The scope of a call without holes: it refers to nothing.
pub(crate) struct Nothing;

impl Scope for Nothing {
    fn root(&self, _: Root) -> minijinja::Value {
        minijinja::Value::UNDEFINED
    }
}
