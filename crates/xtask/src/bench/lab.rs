//! Everything a benchmark needs: a folder, how often and how long, and programs, which are built or installed when a
//! section first asks for them.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::client::{self, Client, SERVER_CPU};
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
    /// When it began, and how busy the machine was then.
    pub(super) begin: Begin,
    target: PathBuf,
    programs: Programs,
}

/// The state of the machine before anything was built or measured.
pub(super) struct Begin {
    pub(super) date: String,
    pub(super) load: String,
}

/// What was needed so far; a peer that cannot be installed is `None`.
#[derive(Default)]
struct Programs {
    hyperscale: OnceCell<PathBuf>,
    minimal: OnceCell<PathBuf>,
    oha: OnceCell<Option<String>>,
    k6: OnceCell<Option<String>>,
}

impl Lab {
    /// Installs the packages that are missing. Nothing is built yet.
    pub(super) fn set_up(root: &Path, args: &BenchArgs) -> Result<Self> {
        let cpus = std::thread::available_parallelism()?.get();
        ensure!(cpus >= 2, "benchmarks need two cores: one for the client, one for the server");
        let target = target_folder(root)?;
        let programs = Programs::default();
        if let Some(binary) = &args.binary {
            ensure!(binary.is_file(), "{} is no file", binary.display());
            programs.hyperscale.get_or_init(|| binary.clone());
        }
        let begin = Begin::now();
        install::packages(root)?;
        let folder = target.join("bench");
        fs::create_dir_all(&folder)?;
        Ok(Self {
            root: root.to_owned(),
            folder,
            runs: args.runs.map_or(if args.quick { RUNS_QUICK } else { RUNS }, usize::from),
            seconds: args.seconds.map_or(if args.quick { SECONDS_QUICK } else { SECONDS }, u64::from),
            cpus,
            open_files: raise_open_files(OPEN_FILES_WANTED)?,
            is_quick: args.quick,
            begin,
            target,
            programs,
        })
    }

    /// The product as its users build it.
    pub(super) fn hyperscale(&self) -> Result<&Path> {
        let built = once(&self.programs.hyperscale, || {
            run(&self.root, &cargo(), &["build", "--release", "--locked", "--bin", "hyperscale"])?;
            Ok(self.target.join("release/hyperscale"))
        })?;
        Ok(built)
    }

    /// Our own client with a URL or a plan, and flags besides.
    pub(super) fn ours(&self, name: &str, what: &str, flags: &str) -> Result<Client> {
        client::hyperscale(self.hyperscale()?, name, what, flags)
    }

    /// The minimal server on the server's core; with its URL.
    pub(super) fn minimal(&self, body: &str) -> Result<(Server, String)> {
        let program = once(&self.programs.minimal, || {
            let example = ["-p", "hyperscale-target", "--example", "minimal"];
            run(&self.root, &cargo(), &[&["build", "--release", "--locked"], &example[..]].concat())?;
            Ok(self.target.join("release/examples/minimal"))
        })?;
        server::minimal(program, SERVER_CPU, body)
    }

    /// Where oha is, if it could be installed. A quick benchmark does not build it.
    pub(super) fn oha(&self) -> Option<&str> {
        self.programs.oha.get_or_init(|| install::oha(&self.root, &self.target, self.is_quick)).as_deref()
    }

    /// Where k6 is, if it could be installed.
    pub(super) fn k6(&self) -> Option<&str> {
        self.programs.k6.get_or_init(|| install::k6(&self.root, &self.target)).as_deref()
    }

    /// The clients that were asked for so far and are not Debian packages: name, and where each is.
    pub(super) fn built<'a>(&'a self) -> Vec<(&'static str, &'a str)> {
        let hyperscale = self.programs.hyperscale.get().and_then(|path| path.to_str());
        let peer = |cell: &'a OnceCell<Option<String>>| cell.get().and_then(Option::as_deref);
        let all =
            [("hyperscale", hyperscale), ("oha", peer(&self.programs.oha)), ("k6", peer(&self.programs.k6))];
        all.into_iter().filter_map(|(name, program)| program.map(|program| (name, program))).collect()
    }

    /// nginx with one worker on the server's core.
    pub(super) fn nginx(&self) -> Result<Nginx> {
        server::nginx(&self.folder.join("nginx"), SERVER_CPU, 1, None)
    }

    /// nginx that reads every upload to its end before `upstream` answers it.
    pub(super) fn nginx_before(&self, upstream: &str) -> Result<Nginx> {
        server::nginx(&self.folder.join("nginx"), SERVER_CPU, 1, Some(upstream))
    }
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder(root: &Path) -> Result<PathBuf> {
    let metadata = output(root, &cargo(), &["metadata", "--format-version", "1", "--no-deps", "--locked"])?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let folder = metadata["target_directory"].as_str().context("cargo tells no target folder")?;
    Ok(PathBuf::from(folder))
}

/// What is in the cell, made first if it is empty.
fn once<T>(cell: &OnceCell<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(value) = cell.get() {
        return Ok(value);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_twice_is_made_once_and_what_failed_is_tried_again() {
        let cell = OnceCell::new();
        assert!(once(&cell, || anyhow::bail!("no compiler")).is_err());
        assert_eq!(once(&cell, || Ok(7)).ok(), Some(&7));
        assert_eq!(once(&cell, || anyhow::bail!("made again")).ok(), Some(&7));
    }
}
