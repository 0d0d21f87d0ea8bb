//! Ordering of values: `<`, `<=`, `>` and `>=` between values of different types are errors.
//!
//! The interpreter orders everything (numbers before texts before lists), so that a text out of a header would be
//! greater than any number and a check on it would always hold. Before a source is compiled, each ordering in it becomes
//! a call of [`FUNCTION`], which refuses what has no order. `a < b < c` becomes `(a < b and b < c)`.

use std::iter::Peekable;
use std::vec::IntoIter;

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};

/// The function that orderings call. No name of a plan can begin with `__`.
pub(super) const FUNCTION: &str = "__ordered";

/// Whether the values can be ordered: they have one type.
pub(super) fn have_order(left: &Value, right: &Value) -> bool {
    left.kind() == right.kind() && !left.is_undefined()
}

/// [`FUNCTION`] as the interpreter calls it.
pub(super) fn ordered(left: &Value, op: &str, right: &Value) -> Result<bool, Error> {
    if left.is_undefined() || right.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    if !have_order(left, right) {
        return Err(Error::new(ErrorKind::InvalidOperation, no_order(left, op, right)));
    }
    Ok(match op {
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    })
}

fn no_order(left: &Value, op: &str, right: &Value) -> String {
    let word = |value: &Value| match value.kind() {
        ValueKind::String => "a text",
        ValueKind::Number => "a number",
        ValueKind::Bool => "true or false",
        ValueKind::None => "null",
        ValueKind::Seq => "a list",
        ValueKind::Map => "a map",
        _ => "something else",
    };
    let (left, right) = (word(left), word(right));
    format!(
        "`{op}` cannot order {left} and {right}; `| int` and `| float` make numbers, as does `as` of an extraction"
    )
}

/// The source with calls in place of orderings; `None` if it has none. `in_expr`: without `{{ }}` around it. A source
/// that the interpreter cannot read is left to it.
pub(super) fn with_calls(source: &str, in_expr: bool) -> Option<String> {
    if !source.contains(['<', '>']) {
        return None;
    }
    let mut pieces = Vec::new();
    let mut end = 0;
    let mut statement_begins = false;
    for token in tokenize(source, in_expr, SyntaxConfig::default()) {
        let (token, span) = token.ok()?;
        let range = span.start_offset as usize..span.end_offset as usize;
        let role = if std::mem::take(&mut statement_begins) { Role::Boundary } else { role(&token) };
        statement_begins = matches!(token, Token::BlockStart);
        // White space belongs to what follows it.
        pieces.push(Piece { role, space: source.get(end..range.start)?, text: source.get(range.clone())? });
        end = range.end;
    }
    if !pieces.iter().any(|piece| piece.role == Role::Order) {
        return None;
    }
    let mut out = Writer { pieces: pieces.into_iter().peekable() }.list();
    out.push_str(&source[end..]);
    Some(out)
}

/// What a token is to a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// `<`, `<=`, `>`, `>=`
    Order,
    /// Another comparison.
    Compare,
    /// Begins or ends what an operand can contain.
    Boundary,
    Open,
    Close,
    /// A part of an operand.
    Part,
}

fn role(token: &Token<'_>) -> Role {
    match token {
        Token::Lt | Token::Lte | Token::Gt | Token::Gte => Role::Order,
        Token::Eq | Token::Ne | Token::Ident("in") => Role::Compare,
        Token::Ident("and" | "or" | "not" | "if" | "else")
        | Token::Comma
        | Token::Colon
        | Token::Assign
        | Token::TemplateData(_)
        | Token::VariableStart
        | Token::VariableEnd
        | Token::BlockStart
        | Token::BlockEnd => Role::Boundary,
        Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => Role::Open,
        Token::ParenClose | Token::BracketClose | Token::BraceClose => Role::Close,
        _ => Role::Part,
    }
}

struct Piece<'s> {
    role: Role,
    space: &'s str,
    text: &'s str,
}

/// Operands and the operators between them, as far as they are read.
#[derive(Default)]
struct Chain<'s> {
    done: Vec<(String, Role, &'s str)>,
    operand: String,
}

struct Writer<'s> {
    pieces: Peekable<IntoIter<Piece<'s>>>,
}

impl Writer<'_> {
    /// Everything up to the bracket that closes what was opened, or to the end.
    fn list(&mut self) -> String {
        let (mut out, mut chain) = (String::new(), Chain::default());
        while let Some(piece) = self.pieces.next_if(|piece| piece.role != Role::Close) {
            match piece.role {
                Role::Order | Role::Compare => {
                    chain.operand.push_str(piece.space);
                    chain.done.push((std::mem::take(&mut chain.operand), piece.role, piece.text));
                }
                Role::Boundary => {
                    std::mem::take(&mut chain).write(&mut out);
                    out.push_str(piece.space);
                    out.push_str(piece.text);
                }
                Role::Open | Role::Part | Role::Close => {
                    chain.operand.push_str(piece.space);
                    chain.operand.push_str(piece.text);
                }
            }
            if piece.role == Role::Open {
                chain.operand.push_str(&self.list());
                if let Some(close) = self.pieces.next() {
                    chain.operand.push_str(close.space);
                    chain.operand.push_str(close.text);
                }
            }
        }
        chain.write(&mut out);
        out
    }
}

impl Chain<'_> {
    fn write(self, out: &mut String) {
        let has_order = self.done.iter().any(|(_, role, _)| *role == Role::Order);
        if !has_order {
            for (operand, _, op) in &self.done {
                out.push_str(operand);
                out.push_str(op);
            }
            out.push_str(&self.operand);
            return;
        }
        let rights = self.done.iter().skip(1).map(|(operand, ..)| operand).chain([&self.operand]);
        out.push_str(" (");
        for (at, ((left, role, op), right)) in self.done.iter().zip(rights).enumerate() {
            let (left, right) = (left.trim(), right.trim());
            out.push_str(if at > 0 { " and " } else { "" });
            let parts = match role {
                Role::Order => [FUNCTION, "(", left, ", '", op, "', ", right, ")"],
                _ => ["", "(", left, " ", op, " ", right, ")"],
            };
            out.extend(parts);
        }
        out.push_str(") ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orderings_become_calls_and_nothing_else_does() {
        let rewritten = [
            ("a < b", " (__ordered(a, '<', b)) "),
            ("a + 1 <= b | length and c == 2", " (__ordered(a + 1, '<=', b | length))  and c == 2"),
            ("not a > 'x < y'", "not (__ordered(a, '>', 'x < y')) "),
            ("f(a < b, [c >= d])", "f( (__ordered(a, '<', b)) , [ (__ordered(c, '>=', d)) ])"),
            ("1 < n < 3", " (__ordered(1, '<', n) and __ordered(n, '<', 3)) "),
            ("(a) < (b)[0].c", " (__ordered((a), '<', (b)[0].c)) "),
            ("x if a < b else y", "x if (__ordered(a, '<', b))  else y"),
        ];
        for (source, expected) in rewritten {
            assert_eq!(with_calls(source, true).as_deref(), Some(expected), "{source}");
        }
        for source in ["a == b", "'<'", "a | replace('>', '')", "a in b", "a ="] {
            assert_eq!(with_calls(source, true), None, "{source}");
        }
        let block = "{% if a < b %}<b>{{ c > d }}</b>{% elif e > 1 %}x{% endif %}";
        let expected = "{% if (__ordered(a, '<', b))  %}<b>{{ (__ordered(c, '>', d))  }}</b>{% elif (__ordered(e, '>', 1))  %}x{% endif %}";
        assert_eq!(with_calls(block, false).as_deref(), Some(expected));
    }
}
