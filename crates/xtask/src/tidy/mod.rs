//! `cargo xtask tidy`: rules of the house that neither the compiler nor clippy checks.
//!
//! Each check is a function from small inputs to findings, so that it can be shown to fail.

mod architecture;
mod documents;
mod graph;
mod licences;
mod rules;
mod sources;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::steps::{cargo, output};
use graph::Graph;

/// What clippy must not let into pure crates.
const PURE_BANS: &str = "clippy-pure.toml";

/// A rule that is broken somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Crate or file, with line where there is one.
    place: String,
    rule: String,
}

impl Finding {
    fn new(place: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { place: place.into(), rule: rule.into() }
    }
}

/// What the checks found.
#[derive(Debug, Default)]
struct Report {
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
}

/// Runs every check and prints what they found.
pub(crate) fn run(root: &Path) -> Result<()> {
    let report = check(root)?;
    for finding in &report.warnings {
        eprintln!("  warning: {}: {}", finding.place, finding.rule);
    }
    for finding in &report.errors {
        eprintln!("  error: {}: {}", finding.place, finding.rule);
    }
    if !report.errors.is_empty() {
        bail!("broken rules: {}", report.errors.len());
    }
    Ok(())
}

fn check(root: &Path) -> Result<Report> {
    let metadata = output(root, &cargo(), &["metadata", "--format-version", "1", "--locked"])?;
    let graph = Graph::parse(&metadata).context("cannot read the output of 'cargo metadata'")?;
    let mut report = Report::default();
    report.errors.extend(architecture::check(&graph));
    report.errors.extend(licences::check(&graph));
    report.errors.extend(documents::check_dependencies(&graph, &read(root, "docs/dependencies.md")?));
    report.errors.extend(documents::check_architecture(&graph, &read(root, "docs/ARCHITECTURE.md")?));
    report.errors.extend(check_pure_bans(root)?);
    let files = tracked_files(root)?;
    for (document, folders) in rules::TABLES {
        let sources: String = folders.iter().map(|folder| sources_in(root, &files, folder)).collect();
        report.errors.extend(rules::check(document, &read(root, document)?, &sources));
    }
    for path in files {
        let Ok(text) = std::fs::read_to_string(root.join(&path)) else { continue };
        sources::check(&path, &text, &mut report.errors, &mut report.warnings);
    }
    Ok(report)
}

/// Clippy reads the nearest `clippy.toml` only, so each pure crate has to bring the bans along.
fn check_pure_bans(root: &Path) -> Result<Vec<Finding>> {
    let bans = read(root, PURE_BANS)?;
    let is_banned =
        |folder: &&str| read(root, &format!("crates/{folder}/clippy.toml")).is_ok_and(|own| own == bans);
    let unbanned = architecture::pure_folders().filter(|folder| !is_banned(folder));
    let rule = format!("is pure but its clippy.toml is not a link to {PURE_BANS}");
    Ok(unbanned.map(|folder| Finding::new(format!("crates/{folder}"), rule.clone())).collect())
}

fn read(root: &Path, path: &str) -> Result<String> {
    std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}

/// All Rust code of a folder.
fn sources_in(root: &Path, files: &[String], folder: &str) -> String {
    let is_rust = |path: &str| Path::new(path).extension().is_some_and(|extension| extension == "rs");
    let is_source = |path: &&String| path.starts_with(folder) && is_rust(path);
    files.iter().filter(is_source).filter_map(|path| read(root, path).ok()).collect()
}

/// Files git knows about, and new ones it does not ignore. Binary ones fall out when they are read as text.
fn tracked_files(root: &Path) -> Result<Vec<String>> {
    let listed = output(root, "git", &["ls-files", "--cached", "--others", "--exclude-standard"])?;
    Ok(listed.lines().map(str::to_owned).collect())
}
