//! Peers that the benchmarks compare with: Debian packages, and oha from source.

use std::path::Path;

use anyhow::Result;

use super::client::Peers;
use crate::packages::{self, Needed};
use crate::steps::{cargo, run};

const NEEDED: &[Needed] = &[
    Needed { program: "nginx", package: "nginx-light" },
    Needed { program: "wrk", package: "wrk" },
    Needed { program: "h2load", package: "nghttp2-client" },
    Needed { program: "valgrind", package: "valgrind" },
    Needed { program: "openssl", package: "openssl" },
    Needed { program: "taskset", package: "util-linux" },
];

pub(super) fn packages(root: &Path) -> Result<()> {
    packages::install_missing(root, NEEDED)
}

/// Looks for the peers that Debian does not have. oha is built once, into a folder beside the builds; a quick
/// benchmark does without it.
pub(super) fn peers(root: &Path, target: &Path, is_quick: bool) -> Peers {
    let folder = target.join("peers");
    let own = folder.join("bin/oha");
    if !packages::is_installed("oha") && !own.is_file() && !is_quick {
        eprintln!("  building oha once; this takes some minutes");
        let into = folder.to_str().unwrap_or("target/peers");
        let thin = ["--no-default-features", "--features", "rustls"];
        let install = ["install", "oha", "--locked", "--root", into];
        if let Err(error) = run(root, &cargo(), &[&install[..], &thin].concat()) {
            eprintln!("  oha is left out: {error:#}");
        }
    }
    let oha = Some(own).filter(|own| own.is_file()).or_else(|| packages::locate("oha"));
    Peers { oha: oha.and_then(|oha| oha.to_str().map(str::to_owned)), has_k6: packages::is_installed("k6") }
}
