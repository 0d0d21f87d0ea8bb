//! What a plan may ask of the world around it, handed in by the caller.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The world around a plan file. The plan crate reads neither variables nor files by itself.
pub trait Environment {
    /// An environment variable, for `${env:NAME}` in `vars`.
    fn var(&self, name: &str) -> Option<String>;

    /// Variables that replace those of the file (`--var k=v`), in the order they were given.
    fn overrides(&self) -> &[(String, String)];

    /// The first bytes of a file, at most `bytes_max`. Used to see that it can be read and to find its columns.
    fn head(&self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>>;

    /// Where a file that the plan names is on this machine: elsewhere, if the plan came from another one.
    fn locate(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }
}

/// An environment that holds everything itself: for tests, and for nodes that got a plan with its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Environment variables.
    pub vars: BTreeMap<String, String>,
    /// Variables that replace those of the file.
    pub overrides: Vec<(String, String)>,
    /// Files.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Environment for Given {
    fn var(&self, name: &str) -> Option<String> {
        self.vars.get(name).cloned()
    }

    fn overrides(&self) -> &[(String, String)] {
        &self.overrides
    }

    fn head(&self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
        let bytes = self.files.get(path).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(bytes[..bytes.len().min(bytes_max)].to_vec())
    }
}
