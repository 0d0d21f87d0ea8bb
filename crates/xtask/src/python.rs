//! Python packages that tests need: clients of others that talk to our servers.
//!
//! Each list of packages gets an environment of its own below the target folder, and is installed again only when it changes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::packages;
use crate::steps::{output, run};

/// Lists of packages, with all versions. Tests find the environment by the name of its list.
const LISTS: &str = "crates/cli/tests/a2a";
/// What an environment was made from.
const STAMP: &str = "installed.txt";

/// Makes the environments that are missing or out of date.
pub(crate) fn install_missing(root: &Path, target: &Path) -> Result<()> {
    for list in lists(root)? {
        let wanted = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        let place = place(target, &list);
        if fs::read_to_string(place.join(STAMP)).is_ok_and(|installed| installed == wanted) {
            continue;
        }
        if output(root, "python3", &["-c", "import ensurepip"]).is_err() {
            packages::install(root, &["python3-venv"])?;
        }
        let place_text = place.to_string_lossy();
        run(root, "python3", &["-m", "venv", "--clear", &place_text])?;
        let pip = place.join("bin/pip");
        let words = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r"];
        run(root, &pip.to_string_lossy(), &[&words[..], &[&list.to_string_lossy()]].concat())?;
        fs::write(place.join(STAMP), wanted)?;
    }
    Ok(())
}

fn lists(root: &Path) -> Result<Vec<PathBuf>> {
    let folder = root.join(LISTS);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut lists = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    lists.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    lists.sort();
    Ok(lists)
}

fn place(target: &Path, list: &Path) -> PathBuf {
    target.join("python").join(list.file_stem().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_one_version() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let lists = lists(&root).unwrap();
        assert!(!lists.is_empty());
        for list in lists {
            let text = fs::read_to_string(&list).unwrap();
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                assert!(line.split_once("==").is_some_and(|(_, version)| !version.is_empty()), "{line}");
            }
        }
        assert_eq!(place(Path::new("target"), Path::new("a/v1_0.txt")), Path::new("target/python/v1_0"));
    }
}
