//! Documents that must keep up with the code.

use std::collections::BTreeSet;

use super::Finding;
use super::graph::Graph;

const DEPENDENCIES: &str = "docs/dependencies.md";
const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";

/// Every crate from outside that we use directly has a row, and every row such a crate; rows are sorted.
pub(super) fn check_dependencies(graph: &Graph, document: &str) -> Vec<Finding> {
    let used: BTreeSet<&str> = graph
        .members()
        .flat_map(|member| graph.direct(member, false))
        .filter(|package| !package.is_member)
        .map(|package| package.name.as_str())
        .collect();
    let rows: Vec<&str> = document.lines().filter_map(row_name).collect();
    let listed: BTreeSet<&str> = rows.iter().copied().collect();
    let missing = used.difference(&listed).map(|name| format!("has no row for {name}: why it, what else?"));
    let left_over = listed.difference(&used).map(|name| format!("has a row for {name}, which nobody uses"));
    let mut findings: Vec<Finding> =
        missing.chain(left_over).map(|rule| Finding::new(DEPENDENCIES, rule)).collect();
    if let Some((first, second)) =
        rows.iter().zip(rows.iter().skip(1)).find(|(first, second)| first >= second)
    {
        findings.push(Finding::new(DEPENDENCIES, format!("is not sorted: {first} before {second}")));
    }
    findings
}

/// The name in a row like "| `name` | why | what else |".
fn row_name(line: &str) -> Option<&str> {
    line.strip_prefix("| `")?.split('`').next()
}

/// Every crate of the workspace is described.
pub(super) fn check_architecture(graph: &Graph, document: &str) -> Vec<Finding> {
    let folders = graph.members().map(|member| member.name.trim_start_matches("hyperscale-"));
    folders
        .filter(|folder| !document.contains(&format!("`crates/{folder}`")))
        .map(|folder| Finding::new(ARCHITECTURE, format!("does not describe `crates/{folder}`")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::graph::tests::graph;
    use super::*;

    fn rules(findings: Vec<Finding>) -> Vec<String> {
        findings.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn rows_and_dependencies_must_match() {
        let graph = graph(&["hyperscale-a: b dev:c hyperscale-d", "b: below"]);
        assert_eq!(rules(check_dependencies(&graph, "| `b` | x | y |\n| `c` | x | y |\n")), [""; 0]);
        let found = rules(check_dependencies(&graph, "| crate |\n| `z` | x | y |\n| `b` | x | y |\n"));
        assert_eq!(
            found,
            [
                "has no row for c: why it, what else?",
                "has a row for z, which nobody uses",
                "is not sorted: z before b"
            ]
        );
    }

    #[test]
    fn crates_missing_from_the_map_are_found() {
        let graph = graph(&["hyperscale-a: b", "xtask: b"]);
        assert_eq!(rules(check_architecture(&graph, "`crates/a` and")), ["does not describe `crates/xtask`"]);
    }
}
