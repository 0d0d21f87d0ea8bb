//! `cargo xtask test`: everything that has to hold before a change lands.

use std::path::Path;

use anyhow::Result;

use crate::bench::lab::target_folder;
use crate::e2e;
use crate::instructions;
use crate::packages;
use crate::python;
use crate::sim;
use crate::steps::{self, Steps, cargo, output};
use crate::tidy;

/// Runs all steps, cheap ones first, and prints how long each took.
pub(crate) fn run(root: &Path, quick: bool) -> Result<()> {
    let mut steps = Steps::default();
    let outcome = do_steps(root, quick, &mut steps);
    eprintln!("\n{}", steps.summary());
    outcome
}

fn do_steps(root: &Path, quick: bool, steps: &mut Steps) -> Result<()> {
    let cargo = cargo();
    if !quick {
        steps.step("packages", "install them and start again", || {
            packages::install_missing(root, packages::FOR_TESTS)?;
            python::install_missing(root, &target_folder(root)?)
        })?;
    }
    steps.step("format", "run 'cargo fmt' and commit the result", || {
        steps::run(root, &cargo, &["fmt", "--all", "--check"])
    })?;
    steps.step("tidy", "each line above says which rule and where", || tidy::run(root))?;
    if !quick {
        steps.step(
            "clippy",
            "fix the warnings; an exception needs #[expect(…, reason = \"…\")]",
            || {
                steps::run(
                    root,
                    &cargo,
                    &["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"],
                )
            },
        )?;
    }
    steps.step("tests", "run the failed one alone with 'cargo test -p CRATE NAME'", || {
        let is_root = e2e::is_root(root)?;
        let without_hosts = format!("not test(/^{}/)", e2e::HOSTS);
        if has_nextest(root, &cargo) {
            let words = ["nextest", "run", "--locked", "--workspace", "--no-fail-fast"];
            let filter: &[&str] = if is_root { &[] } else { &["-E", &without_hosts] };
            steps::run(root, &cargo, &[&words, filter].concat())
        } else {
            let words = ["test", "--locked", "--workspace", "--lib", "--bins", "--tests"];
            let filter: &[&str] = if is_root { &[] } else { &["--", "--skip", e2e::HOSTS] };
            steps::run(root, &cargo, &[&words, filter].concat())
        }
    })?;
    if !quick {
        steps.step(
            "contract",
            "a protocol is a folder and one variant; the engine knows nothing else",
            || {
                let filter = ["--features", "test-protocol", "--test", "it", "protocol::"];
                steps::run(
                    root,
                    &cargo,
                    &[&["test", "--locked", "-p", "hyperscale-engine"], &filter[..]].concat(),
                )
            },
        )?;
        steps.step("simulator", "the command above repeats the seed that failed", || sim::test(root))?;
        steps.step("doc tests", "the examples in the documentation must run", || {
            steps::run(root, &cargo, &["test", "--locked", "--workspace", "--doc"])
        })?;
        steps.step("instructions", "the hot path became more expensive", || instructions::check(root))?;
    }
    Ok(())
}

fn has_nextest(root: &Path, cargo: &str) -> bool {
    output(root, cargo, &["nextest", "--version"]).is_ok()
}
