//! Templates and expressions: one language (minijinja, strict undefined), cut at load time into constant pieces and
//! holes.
//!
//! A hole that is a plain path (`login.token`, `data.users.name`, `vu.id`) is resolved to a [`Path`] when the plan is
//! read and filled without the interpreter. Anything else is a compiled expression; a text with `{% … %}` is one hole.
//!
//! Rendering is pure: values, time and randomness come from the [`Scope`] that the caller hands in. It never writes a
//! half-filled result: on an error the output is cut back to where it was.

mod compare;
mod cut;
mod expr;
mod json;
mod order;
mod path;
mod text;
mod url;

use std::sync::Arc;

use minijinja::Value;

use crate::lookup::Key;

pub use cut::Hole;
pub use expr::Expr;
pub use json::{JsonPiece, JsonTemplate};
pub use path::Path;
pub use text::{Escape, percent_decode, percent_encode};

/// Where a name of a template leads. Resolved against the plan when it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// A variable of the plan, by position.
    Var(usize),
    /// A row of a data file, by position in [`crate::model::Plan::data`].
    Data(usize),
    /// A used context value, by position in [`crate::model::Workflow::uses`].
    Context(usize),
    /// The result of a set-up step, by position.
    Setup(usize),
    /// The result of a vu_setup step, by position.
    VuSetup(usize),
    /// The result of a step of the graph that is running, by position. In `provide` and `keep`: of `steps`.
    Step(usize),
    /// The VU's number, 1…n.
    VuId,
    /// The VU's iteration, from 0.
    VuIteration,
    /// A kept value, by position in [`crate::model::Workflow::keep`].
    VuKept(usize),
    /// The worker's id.
    WorkerId,
    /// The job's id.
    JobId,
    /// The seed of the run.
    RunSeed,
    /// The workflow's final statistics (only in `provide`).
    Stats,
    /// The function `now_ms()`.
    NowMs,
    /// The function `uuid()`.
    Uuid,
    /// The function `random(a, b)`.
    Random,
}

impl Root {
    /// Whether the value is the same for all iterations of all VUs of a job.
    pub const fn is_constant(self) -> bool {
        matches!(self, Root::Var(_))
    }

    /// Whether the value is known on a worker before its VUs run: what refers to nothing else is prepared once.
    pub const fn is_known_before_load(self) -> bool {
        matches!(
            self,
            Root::Var(_) | Root::Context(_) | Root::Setup(_) | Root::WorkerId | Root::JobId | Root::RunSeed
        )
    }
}

/// What templates see. One implementation per place where templates are rendered.
pub trait Scope {
    /// The value at a root; [`Value::UNDEFINED`] if there is none (for example a step that was skipped).
    fn root(&self, root: Root) -> Value;

    /// The value that `keys` lead to from a root, if there is a shorter way to it than through all of the root's value.
    /// Never something else than the long way gives; `None` if only that can tell.
    fn shortcut(&self, _root: Root, _keys: &[Key]) -> Option<Value> {
        None
    }
}

/// What the names of a template mean; implemented by whoever reads the plan.
pub trait Resolver {
    /// Resolves a dotted name, given as words (`["data", "users", "name"]`), to a root and the number of words it
    /// took. The error says what is wrong with the name and, if it can, what was meant.
    fn resolve(&self, words: &[&str]) -> Result<(Root, usize), String>;
}

/// Why a template could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateProblem {
    /// What is wrong.
    pub message: String,
    /// Where, in bytes from the start of the template.
    pub offset: usize,
}

/// Why a template could not be filled; nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// It refers to something that is not there in this iteration.
    #[error("`{0}` is not there")]
    Undefined(String),
    /// The expression failed.
    #[error("`{source_text}`: {message}")]
    Failed {
        /// The expression.
        source_text: String,
        /// What went wrong.
        message: String,
    },
    /// The value cannot stand here (a line break in a header field, for example).
    #[error("`{source_text}` gives {what}, which cannot stand here")]
    Unfit {
        /// The hole.
        source_text: String,
        /// What the value is.
        what: &'static str,
    },
}

/// A text with holes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Template {
    source: Arc<str>,
    pieces: Arc<[Piece]>,
}

/// A part of a template.
#[derive(Clone, Debug)]
pub enum Piece {
    /// Stands as it is.
    Const(Box<str>),
    /// Is filled.
    Hole(Hole),
}

impl Template {
    /// A text without holes.
    pub fn constant(text: &str) -> Self {
        let pieces = if text.is_empty() { vec![] } else { vec![Piece::Const(text.into())] };
        Template { source: text.into(), pieces: pieces.into() }
    }

    /// Cuts a text into pieces and resolves what its holes refer to.
    pub fn parse(source: &str, resolver: &dyn Resolver) -> Result<Self, TemplateProblem> {
        Ok(Template { source: source.into(), pieces: cut::cut(source, resolver)?.into() })
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its parts in order; neighbouring constants are joined.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether it has no holes.
    pub fn is_constant(&self) -> bool {
        self.as_constant().is_some()
    }

    /// The text, if it has no holes.
    pub fn as_constant(&self) -> Option<&str> {
        match &*self.pieces {
            [] => Some(""),
            [Piece::Const(text)] => Some(text),
            _ => None,
        }
    }

    /// All roots that its holes refer to.
    pub fn roots(&self) -> impl Iterator<Item = Root> + '_ {
        self.holes().flat_map(Hole::roots)
    }

    /// Its holes in order.
    pub fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Const(_) => None,
            Piece::Hole(hole) => Some(hole),
        })
    }

    /// Writes the filled text. On an error `out` is as it was before.
    pub fn fill(&self, scope: &impl Scope, escape: Escape, out: &mut Vec<u8>) -> Result<(), FillError> {
        let begin = out.len();
        for piece in &*self.pieces {
            match piece {
                Piece::Const(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Hole(hole) => hole.fill(scope, escape, out).inspect_err(|_| out.truncate(begin))?,
            }
        }
        Ok(())
    }

    /// The value: typed if the template is nothing but one hole, a string otherwise.
    pub fn value(&self, scope: &impl Scope) -> Result<Value, FillError> {
        if let [Piece::Hole(hole)] = &*self.pieces {
            return hole.value(scope);
        }
        let mut text = Vec::new();
        self.fill(scope, Escape::None, &mut text)?;
        Ok(Value::from(String::from_utf8_lossy(&text).into_owned()))
    }

    /// The template with the given roots replaced by their values, now known: prepared once instead of filled per
    /// request. Holes whose roots are all known become constants.
    pub fn prepare(
        &self,
        scope: &impl Scope,
        known: impl Fn(Root) -> bool,
        escape: Escape,
    ) -> Result<Template, FillError> {
        self.prepare_pieces(self.pieces.iter().map(|piece| (piece, escape)), scope, known)
    }

    /// [`Template::prepare`] for a URL: every value is written as its place wants it.
    pub fn prepare_url(
        &self,
        scope: &impl Scope,
        known: impl Fn(Root) -> bool,
    ) -> Result<Template, FillError> {
        self.prepare_pieces(self.url_pieces(), scope, known)
    }

    fn prepare_pieces<'a>(
        &self,
        given: impl Iterator<Item = (&'a Piece, Escape)>,
        scope: &impl Scope,
        known: impl Fn(Root) -> bool,
    ) -> Result<Template, FillError> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.pieces.len());
        for (piece, escape) in given {
            match piece {
                Piece::Hole(hole) if hole.is_pure() && hole.roots().all(&known) => {
                    let mut text = Vec::new();
                    hole.fill(scope, escape, &mut text)?;
                    cut::push_const(&mut pieces, &String::from_utf8_lossy(&text));
                }
                Piece::Const(text) => cut::push_const(&mut pieces, text),
                Piece::Hole(_) => pieces.push(piece.clone()),
            }
        }
        Ok(Template { source: self.source.clone(), pieces: pieces.into() })
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
