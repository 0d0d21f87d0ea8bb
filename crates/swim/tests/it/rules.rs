//! The table of rules in `docs/membership.md` names tests that exist.

use std::fs;
use std::path::Path;

fn sources(folder: &Path, all: &mut String) {
    for entry in fs::read_dir(folder).expect("the folder is part of the crate").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push_str(&fs::read_to_string(path).expect("sources are text"));
        }
    }
}

#[test]
fn every_rule_names_tests_that_exist() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(home.join("../../docs/membership.md")).expect("the table is there");
    let mut all = String::new();
    sources(&home.join("src"), &mut all);
    sources(&home.join("tests"), &mut all);
    let rules: Vec<_> = table.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert!(rules.len() >= 35, "{} rules", rules.len());
    for rule in rules {
        let tests: Vec<_> =
            rule.rsplit('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "no test: {rule}");
        for test in tests {
            assert!(all.contains(&format!("fn {test}(")), "{test} does not exist");
        }
    }
}
