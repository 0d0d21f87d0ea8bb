//! A user with a runtime folder of its own, so that tests see no runs but their own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::support::{Outcome, Process, hyperscale};

/// Where runs of one test listen.
pub(crate) struct Home {
    runtime: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { runtime: tempfile::tempdir().unwrap() }
    }

    /// The binary as this user starts it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = hyperscale();
        command.env("XDG_RUNTIME_DIR", self.runtime.path()).args(args);
        command
    }

    pub(crate) fn start(&self, args: &[&str]) -> Process {
        Process::spawn(&mut self.command(args))
    }

    pub(crate) fn run(&self, args: &[&str]) -> Outcome {
        self.start(args).wait()
    }

    /// The folder in which runs listen.
    pub(crate) fn folder(&self) -> PathBuf {
        self.runtime.path().join("hyperscale")
    }

    /// Everything in it.
    pub(crate) fn sockets(&self) -> Vec<PathBuf> {
        fs::read_dir(self.folder()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}
