//! Licences of everything we ship or build with, against a list of those we accept.

use super::Finding;
use super::graph::Graph;

/// Licences that allow what MIT OR Apache-2.0 promises to our users. Kept in step with `deny.toml`.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Checks every package that is used.
pub(super) fn check(graph: &Graph) -> Vec<Finding> {
    let judged = graph.packages.iter().filter_map(|package| {
        let rule = match package.licence.as_deref() {
            None => "has no licence".to_owned(),
            Some(expression) if is_allowed(expression) => return None,
            Some(expression) => format!("has the licence '{expression}', which is not on the list"),
        };
        Some(Finding::new(&package.name, rule))
    });
    judged.collect()
}

/// Whether an SPDX expression can be satisfied with allowed licences. Broken expressions cannot.
fn is_allowed(expression: &str) -> bool {
    // Older manifests write "MIT/Apache-2.0".
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { tokens: &tokens };
    parser.any() == Some(true) && parser.tokens.is_empty()
}

/// `any := all (OR all)*`, `all := one (AND one)*`, `one := '(' any ')' | id [WITH exception]`.
struct Parser<'a> {
    tokens: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn any(&mut self) -> Option<bool> {
        let mut allowed = self.all()?;
        while self.accept("OR") {
            allowed |= self.all()?;
        }
        Some(allowed)
    }

    fn all(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.accept("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.accept("(") {
            let allowed = self.any()?;
            return self.accept(")").then_some(allowed);
        }
        let name = self.next()?;
        if self.accept("WITH") {
            let exception = self.next()?;
            return Some(ALLOWED.contains(&format!("{name} WITH {exception}").as_str()));
        }
        Some(ALLOWED.contains(&name))
    }

    fn accept(&mut self, token: &str) -> bool {
        let is_next = self.tokens.first() == Some(&token);
        if is_next {
            self.tokens = &self.tokens[1..];
        }
        is_next
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    #[test]
    fn expressions_are_judged_as_a_whole() {
        for (expression, allowed) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0 AND MIT", false),
            ("ISC AND (Apache-2.0 OR GPL-2.0)", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-2.0", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("GPL-2.0 WITH Classpath-exception-2.0", false),
            ("MIT OR", false),
            ("(MIT", false),
            ("MIT Apache-2.0", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression), allowed, "{expression}");
        }
    }

    #[test]
    fn packages_without_licence_or_with_a_wrong_one_are_found() {
        let mut graph = graph(&["hyperscale-a: b c"]);
        graph.packages[1].licence = None;
        graph.packages[2].licence = Some("AGPL-3.0".to_owned());
        let places: Vec<String> = check(&graph).into_iter().map(|finding| finding.place).collect();
        assert_eq!(places, ["b", "c"]);
    }
}
