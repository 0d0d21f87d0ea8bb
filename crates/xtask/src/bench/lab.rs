//! Everything a benchmark needs: programs built and installed, a folder, how often and how long.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::client::{Peers, SERVER_CPU};
use super::process::raise_open_files;
use super::server::{self, Nginx, Server};
use super::{BenchArgs, install};
use crate::steps::{cargo, output, run};

/// Open files the largest benchmark needs: a connection per virtual user.
const OPEN_FILES_WANTED: u64 = 70_000;

const RUNS: usize = 5;
const RUNS_QUICK: usize = 3;
const SECONDS: u64 = 6;
const SECONDS_QUICK: u64 = 2;

/// The laboratory.
pub(super) struct Lab {
    pub(super) root: PathBuf,
    /// Configurations, certificates and outputs of the benchmarks.
    pub(super) folder: PathBuf,
    pub(super) runs: usize,
    pub(super) seconds: u64,
    pub(super) cpus: usize,
    pub(super) open_files: u64,
    pub(super) is_quick: bool,
    pub(super) hyperscale: PathBuf,
    pub(super) peers: Peers,
    minimal: PathBuf,
}

impl Lab {
    /// Builds and installs what is missing.
    pub(super) fn set_up(root: &Path, args: &BenchArgs) -> Result<Self> {
        let cpus = std::thread::available_parallelism()?.get();
        ensure!(cpus >= 2, "benchmarks need two cores: one for the client, one for the server");
        let target = target_folder(root)?;
        install::packages(root)?;
        let peers = install::peers(root, &target, args.quick);
        let folder = target.join("bench");
        fs::create_dir_all(&folder)?;
        Ok(Self {
            hyperscale: product(root, &target, args.binary.as_deref())?,
            minimal: minimal(root, &target)?,
            root: root.to_owned(),
            folder,
            runs: args.runs.map_or(if args.quick { RUNS_QUICK } else { RUNS }, usize::from),
            seconds: args.seconds.map_or(if args.quick { SECONDS_QUICK } else { SECONDS }, u64::from),
            cpus,
            open_files: raise_open_files(OPEN_FILES_WANTED)?,
            is_quick: args.quick,
            peers,
        })
    }

    /// The minimal server on the server's core; with its URL.
    pub(super) fn minimal(&self, body: &str) -> Result<(Server, String)> {
        server::minimal(&self.minimal, SERVER_CPU, body)
    }

    /// nginx with one worker on the server's core.
    pub(super) fn nginx(&self) -> Result<Nginx> {
        server::nginx(&self.folder.join("nginx"), SERVER_CPU, 1)
    }
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder(root: &Path) -> Result<PathBuf> {
    let metadata = output(root, &cargo(), &["metadata", "--format-version", "1", "--no-deps", "--locked"])?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let folder = metadata["target_directory"].as_str().context("cargo tells no target folder")?;
    Ok(PathBuf::from(folder))
}

/// The product as its users build it.
fn product(root: &Path, target: &Path, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(binary) = given {
        ensure!(binary.is_file(), "{} is no file", binary.display());
        return Ok(binary.to_owned());
    }
    run(root, &cargo(), &["build", "--release", "--locked", "--bin", "hyperscale"])?;
    Ok(target.join("release/hyperscale"))
}

fn minimal(root: &Path, target: &Path) -> Result<PathBuf> {
    let example = ["-p", "hyperscale-target", "--example", "minimal"];
    run(root, &cargo(), &[&["build", "--release", "--locked"], &example[..]].concat())?;
    Ok(target.join("release/examples/minimal"))
}
