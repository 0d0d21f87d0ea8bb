//! Debian packages that tests and benchmarks need beyond a compiler.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::steps::{output, run};

/// A program and the package it comes from.
pub(crate) struct Needed {
    pub(crate) program: &'static str,
    pub(crate) package: &'static str,
}

/// What the tests need.
pub(crate) const FOR_TESTS: &[Needed] = &[
    // Counts the instructions of the hot path (callgrind).
    Needed { program: "valgrind", package: "valgrind" },
    // A real terminal for the live screen.
    Needed { program: "tmux", package: "tmux" },
    // Scrapes runs and takes their remote writes, as it does at people's.
    Needed { program: "prometheus", package: "prometheus" },
    // Write down every request they see: witnesses that are not ours.
    Needed { program: "nginx", package: "nginx-light" },
    Needed { program: "nghttpd", package: "nghttp2-server" },
    // Hosts of a cluster as network namespaces, whose links are cut and lose packets.
    Needed { program: "ip", package: "iproute2" },
    Needed { program: "nft", package: "nftables" },
    // The shared store of the task plane. Its programs are in no path but that of their version.
    Needed { program: "postgres", package: "postgresql" },
    // Moves the wall clocks of nodes of the task plane.
    Needed { program: "faketime", package: "faketime" },
    // Opens reports as people do.
    Needed { program: "chromium", package: "chromium" },
];

/// Installs what is missing; as somebody other than root it can only say what that is.
pub(crate) fn install_missing(root: &Path, needed: &[Needed]) -> Result<()> {
    match missing(needed, is_installed).as_slice() {
        [] => Ok(()),
        missing => install(root, missing),
    }
}

/// Installs packages; as somebody other than root it can only say which.
pub(crate) fn install(root: &Path, missing: &[&str]) -> Result<()> {
    if output(root, "id", &["-u"])?.trim() != "0" {
        bail!("missing packages: {0}; run once as root: apt-get install {0}", missing.join(" "));
    }
    run(root, "apt-get", &["update", "-qq"])?;
    let install = ["install", "-y", "-qq", "--no-install-recommends"];
    run(root, "apt-get", &[&install[..], missing].concat())
}

/// Whether a program can be started.
pub(crate) fn is_installed(program: &str) -> bool {
    locate(program).is_some()
}

/// Where a program is: in the path, or where the system keeps its servers.
pub(crate) fn locate(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(["/usr/sbin"]).map(PathBuf::from).chain(postgres_folders());
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Debian keeps the programs of each version of PostgreSQL apart.
fn postgres_folders() -> impl Iterator<Item = PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin"))
}

fn missing(needed: &[Needed], is_installed: impl Fn(&str) -> bool) -> Vec<&'static str> {
    needed.iter().filter(|needed| !is_installed(needed.program)).map(|needed| needed.package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absent_programs_are_missing() {
        let needed = [Needed { program: "a", package: "pa" }, Needed { program: "b", package: "pb" }];
        assert_eq!(missing(&needed, |program| program == "a"), ["pb"]);
        assert_eq!(missing(&needed, |_| true), [""; 0]);
    }
}
