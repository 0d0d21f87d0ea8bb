//! Comparisons of a plain path with a constant or another plain path, which is what most checks are. They need no
//! interpreter; what it would say differently (something is not there) is left to it.

use minijinja::{Environment, Value};

use super::order::have_order;
use super::{Path, Resolver, Scope};

/// `path op constant` or `path op path`.
#[derive(Debug)]
pub(super) struct Compare {
    left: Path,
    op: Op,
    right: Operand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Eq,
    Ne,
    Le,
    Ge,
    Lt,
    Gt,
}

#[derive(Debug)]
enum Operand {
    Constant(Value),
    Path(Path),
}

/// Longer operators first: each begins with a shorter one.
const OPS: [(&str, Op); 6] =
    [("==", Op::Eq), ("!=", Op::Ne), ("<=", Op::Le), (">=", Op::Ge), ("<", Op::Lt), (">", Op::Gt)];

impl Compare {
    /// Reads a comparison; `None` if the expression is anything else.
    pub(super) fn parse(source: &str, env: &Environment<'_>, resolver: &dyn Resolver) -> Option<Self> {
        let at = source.find(['=', '!', '<', '>'])?;
        let (left, rest) = source.split_at(at);
        let (text, op) = OPS.into_iter().find(|(text, _)| rest.starts_with(text))?;
        let right = rest[text.len()..].trim();
        Some(Compare { left: path(left.trim(), resolver)?, op, right: operand(right, env, resolver)? })
    }

    /// Whether it holds; `None` if a path leads nowhere or the two have no order.
    pub(super) fn holds(&self, scope: &impl Scope) -> Option<bool> {
        let left = self.left.follow(scope);
        if left.is_undefined() {
            return None;
        }
        match &self.right {
            Operand::Constant(right) => self.op.holds(&left, right),
            Operand::Path(path) => {
                let right = path.follow(scope);
                if right.is_undefined() { None } else { self.op.holds(&left, &right) }
            }
        }
    }
}

impl Op {
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        match self {
            Op::Eq => Some(left == right),
            Op::Ne => Some(left != right),
            Op::Le | Op::Ge | Op::Lt | Op::Gt if !have_order(left, right) => None,
            Op::Le => Some(left <= right),
            Op::Ge => Some(left >= right),
            Op::Lt => Some(left < right),
            Op::Gt => Some(left > right),
        }
    }
}

/// A path that means the same to the interpreter, for which `-` is always a minus.
fn path(text: &str, resolver: &dyn Resolver) -> Option<Path> {
    if text.contains('-') { None } else { Path::parse(text, resolver)?.ok() }
}

fn operand(text: &str, env: &Environment<'_>, resolver: &dyn Resolver) -> Option<Operand> {
    if is_constant(text) {
        return Some(Operand::Constant(env.compile_expression(text).ok()?.eval(()).ok()?));
    }
    path(text, resolver).map(Operand::Path)
}

/// A number, a word for a constant, or a text in quotes without any quote or backslash in it.
fn is_constant(text: &str) -> bool {
    if matches!(text, "true" | "false" | "none" | "True" | "False" | "None") {
        return true;
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.starts_with(|c: char| c.is_ascii_digit()) {
        return digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    }
    let Some(quote) = text.chars().next().filter(|c| matches!(c, '\'' | '"')) else { return false };
    text[1..].strip_suffix(quote).is_some_and(|inner| !inner.contains(['\'', '"', '\\']))
}

#[cfg(test)]
mod tests {
    use super::super::expr::environment;
    use super::super::order::with_calls;
    use super::super::{Expr, FillError, Root};
    use super::*;

    struct Names;

    impl Resolver for Names {
        fn resolve(&self, words: &[&str]) -> Result<(Root, usize), String> {
            match words[0] {
                "n" => Ok((Root::Var(0), 1)),
                "text" => Ok((Root::Var(1), 1)),
                "map" => Ok((Root::Var(2), 1)),
                "gone" => Ok((Root::Var(3), 1)),
                other => Err(other.to_owned()),
            }
        }
    }

    impl Scope for Names {
        fn root(&self, root: Root) -> Value {
            match root {
                Root::Var(0) => Value::from(42),
                Root::Var(1) => Value::from("abc"),
                Root::Var(2) => serde_json::from_str(r#"{"f":1.5,"l":[1,null]}"#).unwrap(),
                _ => Value::UNDEFINED,
            }
        }
    }

    #[test]
    fn comparisons_say_what_the_interpreter_says() {
        let env = environment();
        let operands =
            ["n", "text", "map.f", "map.l[0]", "map['l'][1]", "42", "-1", "1.5", "'abc'", "\"b\"", "none"];
        for left in &operands[..5] {
            for right in operands {
                for (op, _) in OPS {
                    let source = format!("{left} {op} {right}");
                    let compare = Compare::parse(&source, &env, &Names).expect(&source);
                    let rewritten = with_calls(&source, true);
                    let said = env.compile_expression(rewritten.as_deref().unwrap_or(&source)).unwrap();
                    let context = minijinja::context! {
                        n => Names.root(Root::Var(0)),
                        text => Names.root(Root::Var(1)),
                        map => Names.root(Root::Var(2)),
                    };
                    let said = said.eval(context).map(|value| value.is_true());
                    assert_eq!(compare.holds(&Names), said.ok(), "{source}");
                }
            }
        }
    }

    #[test]
    fn anything_else_is_left_to_the_interpreter() {
        let others = [
            "n",
            "n + 1 > 2",
            "n > 1 and n < 3",
            "n-1 > 2",
            "1 < n",
            "n == 1 == 2",
            "text | length > 2",
            "n = 1",
            "not n == 1",
            "n == 'a\\'b'",
            "n == [1]",
            "n in [1]",
            "n == 1e3",
            "other == 1",
            "n == 1 if n else 2",
        ];
        for source in others {
            assert!(Compare::parse(source, &environment(), &Names).is_none(), "{source}");
        }
    }

    #[test]
    fn what_is_not_there_is_an_error_as_before() {
        let expr = Expr::parse("gone.x == 1", &Names).unwrap();
        assert!(matches!(expr.is_true(&Names), Err(FillError::Failed { .. } | FillError::Undefined(_))));
        assert!(Compare::parse("map.gone == 1", &environment(), &Names).unwrap().holds(&Names).is_none());
    }
}
