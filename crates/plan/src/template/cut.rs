//! Cutting a text at `{{ … }}` into pieces, and filling holes.

use std::fmt;
use std::sync::Arc;

use minijinja::{Environment, Value};

use super::expr::{self, Names};
use super::order;
use super::text::{self, Escape};
use super::{Expr, FillError, Path, Piece, Resolver, Root, Scope, TemplateProblem};

/// The longest template, in bytes.
const SOURCE_BYTES_MAX: usize = 1 << 20;

/// What is filled per request.
#[derive(Clone, Debug)]
pub enum Hole {
    /// A plain path: no interpreter.
    Path(Path),
    /// An expression.
    Expr(Expr),
    /// A text with `{% … %}`: the whole text is one hole.
    Block(Arc<Block>),
}

/// A text with statements.
pub struct Block {
    source: Box<str>,
    env: Environment<'static>,
    names: Names,
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Block").field(&self.source).finish()
    }
}

const BLOCK: &str = "block";

impl Hole {
    /// What stands between the braces.
    pub fn source(&self) -> &str {
        match self {
            Hole::Path(path) => path.text(),
            Hole::Expr(expr) => expr.source(),
            Hole::Block(block) => &block.source,
        }
    }

    /// The roots it refers to.
    pub fn roots(&self) -> Box<dyn Iterator<Item = Root> + '_> {
        match self {
            Hole::Path(path) => Box::new(std::iter::once(path.root())),
            Hole::Expr(expr) => Box::new(expr.roots()),
            Hole::Block(block) => Box::new(block.names.roots()),
        }
    }

    /// The roots it refers to, each with the full dotted name (`users.json.items`).
    pub fn names(&self) -> Vec<(Root, String)> {
        match self {
            Hole::Path(path) => vec![(path.root(), path.text().to_owned())],
            Hole::Expr(expr) => expr.names().map(|(root, name)| (root, name.to_owned())).collect(),
            Hole::Block(block) => block.names.iter().map(|(root, name)| (root, name.to_owned())).collect(),
        }
    }

    /// Whether the same values always give the same text.
    pub fn is_pure(&self) -> bool {
        self.roots().all(|root| !matches!(root, Root::NowMs | Root::Uuid | Root::Random))
    }

    /// Its value.
    pub fn value(&self, scope: &impl Scope) -> Result<Value, FillError> {
        match self {
            Hole::Path(path) => path.value(scope),
            Hole::Expr(expr) => expr.value(scope),
            Hole::Block(block) => block.render(scope).map(Value::from),
        }
    }

    /// Writes its value as text. On an error `out` is as it was before.
    pub fn fill(&self, scope: &impl Scope, escape: Escape, out: &mut Vec<u8>) -> Result<(), FillError> {
        let value = self.value(scope)?;
        let begin = out.len();
        text::write(&value, escape, out).map_err(|what| {
            out.truncate(begin);
            FillError::Unfit { source_text: self.source().to_owned(), what }
        })
    }
}

impl Block {
    fn parse(source: &str, resolver: &dyn Resolver) -> Result<Block, TemplateProblem> {
        let mut env = expr::environment();
        let problem = |message, offset| TemplateProblem { message, offset };
        let mut add = |source| env.add_template_owned(BLOCK, source);
        // First as it was written: problems speak of that.
        add(source.to_owned()).map_err(|e| problem(expr::explain(&e), 0))?;
        if let Some(source) = order::with_calls(source, false) {
            add(source).map_err(|e| problem(expr::explain(&e), 0))?;
        }
        let names = env.get_template(BLOCK).expect("it was just added").undeclared_variables(true);
        let names = Names::resolve(names, resolver).map_err(|message| problem(message, 0))?;
        Ok(Block { source: source.into(), env, names })
    }

    fn render(&self, scope: &impl Scope) -> Result<String, FillError> {
        let template = self.env.get_template(BLOCK).expect("it was added when the block was parsed");
        template.render(self.names.context(scope)).map_err(|e| FillError::Failed {
            source_text: self.source.to_string(),
            message: expr::explain(&e),
        })
    }
}

/// Cuts a text into pieces.
pub(super) fn cut(source: &str, resolver: &dyn Resolver) -> Result<Vec<Piece>, TemplateProblem> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(TemplateProblem { message: "a template is longer than 1 MiB".to_owned(), offset: 0 });
    }
    if source.contains("{%") || source.contains("{#") {
        return Ok(vec![Piece::Hole(Hole::Block(Arc::new(Block::parse(source, resolver)?)))]);
    }
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(open) = source[at..].find("{{").map(|i| at + i) {
        push_const(&mut pieces, &source[at..open]);
        let inner = open + 2;
        let close = find_close(source, inner).ok_or_else(|| TemplateProblem {
            message: "`{{` is never closed with `}}`".to_owned(),
            offset: open,
        })?;
        pieces.push(Piece::Hole(hole(&source[inner..close], inner, resolver)?));
        at = close + 2;
    }
    push_const(&mut pieces, &source[at..]);
    Ok(pieces)
}

/// Appends constant text, joined with a constant before it.
pub(super) fn push_const(pieces: &mut Vec<Piece>, text: &str) {
    if text.is_empty() {
        return;
    }
    if let Some(Piece::Const(before)) = pieces.last_mut() {
        *before = format!("{before}{text}").into();
    } else {
        pieces.push(Piece::Const(text.into()));
    }
}

fn hole(inner: &str, offset: usize, resolver: &dyn Resolver) -> Result<Hole, TemplateProblem> {
    let text = inner.trim();
    let offset = offset + (inner.len() - inner.trim_start().len());
    if text.is_empty() {
        return Err(TemplateProblem { message: "`{{ }}` is empty".to_owned(), offset });
    }
    match Path::parse(text, resolver) {
        Some(Ok(path)) => Ok(Hole::Path(path)),
        // A name with `-` that leads nowhere may still be a subtraction.
        Some(Err(message)) if !text.contains('-') => Err(TemplateProblem { message, offset }),
        _ => Expr::parse(text, resolver)
            .map(Hole::Expr)
            .map_err(|problem| TemplateProblem { offset: offset + problem.offset, ..problem }),
    }
}

/// The position of the `}}` that closes a hole: not one inside a string, and not the end of a map in a map.
fn find_close(source: &str, from: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    let (mut at, mut depth) = (from, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"') => at = end_of_string(bytes, at, quote)?,
            b'{' => depth += 1,
            b'}' if depth > 0 => depth -= 1,
            b'}' if bytes.get(at + 1) == Some(&b'}') => return Some(at),
            _ => {}
        }
        at += 1;
    }
    None
}

fn end_of_string(bytes: &[u8], open: usize, quote: u8) -> Option<usize> {
    let mut at = open + 1;
    while *bytes.get(at)? != quote {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    Some(at)
}
