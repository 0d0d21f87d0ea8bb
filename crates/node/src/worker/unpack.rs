//! A plan that came from elsewhere, with its files: unpacked into a folder, read and checked as a local run would.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hyperscale_cluster::bundle::Bundle;
use hyperscale_consensus::BlobId;
use hyperscale_engine::data;
use hyperscale_plan::read::Given;
use hyperscale_plan::{Environment, Loaded, Problem, Source, load};

use super::plans::ReadyPlan;

/// The world of the submitter, with its files in another place.
struct Unpacked<'a> {
    given: &'a Given,
    places: BTreeMap<PathBuf, PathBuf>,
}

impl Environment for Unpacked<'_> {
    fn var(&self, name: &str) -> Option<String> {
        self.given.var(name)
    }

    fn overrides(&self) -> &[(String, String)] {
        self.given.overrides()
    }

    fn head(&self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
        self.given.head(path, bytes_max)
    }

    fn locate(&self, path: &Path) -> PathBuf {
        self.places.get(path).cloned().unwrap_or_else(|| path.to_owned())
    }
}

/// Reads the blob of a plan; its files go into a folder of their own. Says why it cannot be run here, in a sentence.
pub(super) fn unpack(folder: &Path, blob: BlobId, bytes: &Bytes) -> Result<ReadyPlan, String> {
    let bundle = Bundle::decode(bytes).map_err(|error| format!("the plan cannot be read: {error}"))?;
    let loaded = load_bundle(&folder.join(name_of(blob)), &bundle)
        .map_err(|error| format!("the files of the plan cannot be written here: {error}"))?;
    let mut plan = Arc::new(loaded.map_err(|problems| unusable(&problems))?.plan);
    let data = data::open(&plan).map_err(|error| error.to_string())?;
    data::limit_vus(&mut plan, &data);
    Ok(ReadyPlan { plan, data })
}

/// Reads a plan whose files are written into a folder, which must outlast the run. The outer error is the disk's.
pub fn load_bundle(folder: &Path, bundle: &Bundle) -> io::Result<Result<Loaded, Vec<Problem>>> {
    let places = write_files(folder, &bundle.given)?;
    let world = Unpacked { given: &bundle.given, places };
    Ok(load(&Source::file(Path::new(&bundle.name), &bundle.text), &world))
}

/// Numbered, as paths of another machine may be anything.
fn write_files(folder: &Path, given: &Given) -> io::Result<BTreeMap<PathBuf, PathBuf>> {
    let mut places = BTreeMap::new();
    if !given.files.is_empty() {
        std::fs::create_dir_all(folder)?;
    }
    for (number, (path, content)) in given.files.iter().enumerate() {
        let place = folder.join(number.to_string());
        std::fs::write(&place, content)?;
        places.insert(path.clone(), place);
    }
    Ok(places)
}

fn name_of(blob: BlobId) -> String {
    blob.hash.iter().fold(String::new(), |mut name, byte| {
        // Writing to a string does not fail.
        let _ = write!(name, "{byte:02x}");
        name
    })
}

fn unusable(problems: &[Problem]) -> String {
    let first = problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
    format!("the plan is not valid for this build, which has other rules than the manager: {first}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_plan_are_found_where_they_were_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let text = "data: { users: { file: ../users.csv } }\n\
                    workflows:\n  Browse:\n    vus: 1\n    duration: 1s\n    steps:\n      \
                    home: { http: { url: 'http://127.0.0.1:9/{{ data.users.name }}' } }\n";
        let mut given = Given::default();
        given.files.insert("plans/../users.csv".into(), b"name\nada\n".to_vec());
        let bundle = Bundle { name: "plans/browse.yaml".to_owned(), text: text.into(), given };
        let bytes = bundle.encode();
        let ready = unpack(folder.path(), BlobId::of(&bytes), &bytes).unwrap();
        assert_eq!(ready.data[0].as_ref().unwrap().rows(), 1);
        assert!(ready.plan.data[0].path.starts_with(folder.path()));
    }

    #[test]
    fn plan_that_cannot_be_run_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let bundle = Bundle { name: "a.yaml".to_owned(), text: "nothing: 1".into(), ..Bundle::default() };
        let bytes = bundle.encode();
        let why = unpack(folder.path(), BlobId::of(&bytes), &bytes).unwrap_err();
        assert!(why.contains("not valid"), "{why}");
        assert!(unpack(folder.path(), BlobId::of(b"x"), &Bytes::from_static(b"\xff")).is_err());
    }
}
