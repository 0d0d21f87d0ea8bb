//! Documents that name, for each rule of a crate, the tests that hold it.

use super::Finding;

/// Such documents, and the folders the tests are in.
pub(super) const TABLES: [(&str, &[&str]); 5] = [
    ("docs/consensus.md", &["crates/consensus/"]),
    ("docs/jobs.md", &["crates/cluster/", "crates/job/", "crates/node/", "crates/cli/"]),
    ("docs/membership.md", &["crates/swim/"]),
    ("docs/tasks.md", &["crates/tasks/", "crates/script/", "crates/cli/", "crates/api/"]),
    ("docs/wire.md", &["crates/wire/"]),
];

/// Every row "| rule | `test`, `test` |" names a test, and every test it names is in the sources.
pub(super) fn check(document: &str, text: &str, sources: &str) -> Vec<Finding> {
    let rows: Vec<&str> = text.lines().filter(|line| is_rule(line)).collect();
    if rows.is_empty() {
        return vec![Finding::new(document, "has no table of rules and their tests")];
    }
    rows.into_iter().flat_map(|row| check_row(document, row, sources)).collect()
}

/// Rows of tables but for their heads.
fn is_rule(line: &str) -> bool {
    line.starts_with("| ") && !line.starts_with("| ---") && !line.ends_with("| tests |")
}

fn check_row(document: &str, row: &str, sources: &str) -> Vec<Finding> {
    let tests: Vec<&str> = row.rsplit('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2).collect();
    if tests.is_empty() {
        return vec![Finding::new(document, format!("names no test: {row}"))];
    }
    let is_missing = |test: &&str| !sources.contains(&format!("fn {test}("));
    let missing = tests.into_iter().filter(is_missing);
    missing.map(|test| Finding::new(document, format!("names `{test}`, which is no test"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<String> {
        check("x.md", text, "fn one_test() {}").into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn rules_without_tests_and_tests_that_do_not_exist_are_found() {
        let head = "| rule | tests |\n| --- | --- |\n";
        assert_eq!(rules(&format!("{head}| `a` is b | `one_test` |\n")), [""; 0]);
        assert_eq!(
            rules(&format!("{head}| `a` is b | by design |\n")),
            ["names no test: | `a` is b | by design |"]
        );
        let renamed = rules(&format!("{head}| a | `one_test`, `another` |\n"));
        assert_eq!(renamed, ["names `another`, which is no test"]);
        assert_eq!(rules("no table"), ["has no table of rules and their tests"]);
    }
}
