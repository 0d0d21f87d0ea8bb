//! The world around the plans of these tests.

use std::fs;
use std::path::{Path, PathBuf};

use hyperscale_plan::{Given, Loaded, Problem, Source, load};

/// A folder of plans.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name)
}

/// What the plans refer to.
pub(crate) fn world() -> Given {
    let files = [
        ("users.csv", "name,password\nann,a1\nbob,b2\n"),
        ("empty.csv", ""),
        ("header.csv", "name,password\n"),
        ("twice.csv", "name,name\na,b\n"),
        ("items.jsonl", "{\"id\": 1}\n{\"id\": 2}\n"),
        ("broken.jsonl", "[1]\n"),
        ("cat.jpg", "meow"),
        ("ca.pem", "-"),
        ("cert.pem", "-"),
        ("key.pem", "-"),
    ];
    Given {
        vars: [("API_KEY".to_owned(), "secret".to_owned())].into(),
        overrides: Vec::new(),
        files: files.map(|(name, text)| (PathBuf::from(name), text.as_bytes().to_vec())).into(),
    }
}

/// Loads a file of a folder under its bare name.
pub(crate) fn load_file(path: &Path) -> Result<Loaded, Vec<Problem>> {
    let bytes = fs::read(path).expect("the file of the test is there");
    let name = Path::new(path.file_name().expect("it is a file"));
    load(&Source::file(name, &bytes), &world())
}
