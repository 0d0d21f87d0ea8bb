//! Samples, and the judge of plans.

use std::io;
use std::path::{Path, PathBuf};

use hyperscale_convert::{Converted, Options, convert};
use hyperscale_plan::document::Format;
use hyperscale_plan::{Environment, Source, load, render};

/// All formats a plan can be written in.
pub(crate) const FORMATS: [Format; 3] = [Format::Yaml, Format::Toml, Format::Json];

/// All samples, by name.
pub(crate) fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10);
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| (name(path), std::fs::read(path).unwrap())).collect()
}

/// Converts with the usual options.
pub(crate) fn converted(name: &str, bytes: &[u8]) -> Converted {
    convert(name, bytes, None, Options::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The plan that came out is one that can be run, in every format.
#[track_caller]
pub(crate) fn assert_valid(converted: &Converted) {
    for format in FORMATS {
        let text = converted.text(format);
        let source =
            Source { name: "plan", bytes: text.as_bytes(), format: Some(format), folder: Path::new("") };
        if let Err(problems) = load(&source, &Anywhere(&converted.url_variables)) {
            panic!("{}\n{text}", render(&problems));
        }
    }
}

/// Every variable is set, every file is there.
struct Anywhere<'c>(&'c [String]);

impl Environment for Anywhere<'_> {
    fn var(&self, name: &str) -> Option<String> {
        let is_url = self.0.iter().any(|known| known == name);
        Some(if is_url { "http://x" } else { "x" }.to_owned())
    }

    fn overrides(&self) -> &[(String, String)] {
        &[]
    }

    fn head(&self, _: &Path, _: usize) -> io::Result<Vec<u8>> {
        Ok(b"x".to_vec())
    }
}
