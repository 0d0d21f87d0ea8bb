//! A plan with everything it names, on its way from a command to a manager.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hyperscale_api::method::{BlobHash, Content, PlanFile, Submit};
use hyperscale_api::{ErrorCode, RpcError};
use hyperscale_cluster::bundle::Bundle;
use hyperscale_plan::Environment;
use hyperscale_plan::read::Given;

/// The world of this process, noting everything that a plan asks of it.
pub(crate) struct Noting<'a> {
    world: &'a dyn Environment,
    noted: RefCell<Noted>,
}

/// What a plan has asked for.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    vars: Vec<(String, String)>,
    files: Vec<PathBuf>,
}

impl<'a> Noting<'a> {
    /// Notes what is asked of this world.
    pub(crate) fn new(world: &'a dyn Environment) -> Self {
        Self { world, noted: RefCell::default() }
    }

    /// A submission of the plan with this name and text, with all that it has asked for.
    pub(crate) fn into_submit(self, name: &str, text: Bytes) -> Result<Submit, (PathBuf, io::Error)> {
        let mut submit = Submit::new(name, text);
        submit.variables = self.world.overrides().iter().cloned().collect();
        let noted = self.noted.into_inner();
        submit.environment = noted.vars.into_iter().collect();
        for path in noted.files {
            let content = fs::read(&path).map_err(|source| (path.clone(), source))?;
            let content = Content::Inline(content.into());
            submit.files.push(PlanFile { path: path.to_string_lossy().into_owned(), content });
        }
        Ok(submit)
    }
}

impl Environment for Noting<'_> {
    fn var(&self, name: &str) -> Option<String> {
        let value = self.world.var(name)?;
        self.noted.borrow_mut().vars.push((name.to_owned(), value.clone()));
        Some(value)
    }

    fn overrides(&self) -> &[(String, String)] {
        self.world.overrides()
    }

    fn head(&self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
        let head = self.world.head(path, bytes_max)?;
        let mut noted = self.noted.borrow_mut();
        if !noted.files.iter().any(|known| known == path) {
            noted.files.push(path.to_owned());
        }
        Ok(head)
    }
}

/// The bundle of a submission; `find` knows what was uploaded before.
pub(super) fn to_bundle(
    submit: &Submit,
    find: impl Fn(&BlobHash) -> Option<Bytes>,
) -> Result<Bundle, RpcError> {
    let bytes = |content: &Content| match content {
        Content::Inline(bytes) => Ok(bytes.clone()),
        Content::Blobs(hashes) => {
            let mut all = Vec::new();
            for hash in hashes {
                let part = find(hash).ok_or_else(|| {
                    RpcError::new(
                        ErrorCode::UnknownBlob,
                        "the submission names a file that was not uploaded here",
                    )
                    .fix("upload it with PUT /blobs to this server and submit again")
                })?;
                all.extend_from_slice(&part);
            }
            Ok(all.into())
        }
    };
    let mut given = Given {
        vars: submit.environment.clone(),
        overrides: submit.variables.clone().into_iter().collect(),
        ..Given::default()
    };
    for file in &submit.files {
        given.files.insert(PathBuf::from(&file.path), bytes(&file.content)?.to_vec());
    }
    Ok(Bundle { name: submit.plan.name.clone(), text: bytes(&submit.plan.content)?, given })
}

#[cfg(test)]
mod tests {
    use hyperscale_plan::{Source, load};

    use super::*;

    struct World;

    impl Environment for World {
        fn var(&self, name: &str) -> Option<String> {
            (name == "HOST").then(|| "127.0.0.1:9".to_owned())
        }
        fn overrides(&self) -> &[(String, String)] {
            &[]
        }
        fn head(&self, path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
            fs::read(path).map(|bytes| bytes[..bytes.len().min(bytes_max)].to_vec())
        }
    }

    #[test]
    fn everything_a_plan_asks_for_travels_with_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("users.csv"), "name\nada\n").unwrap();
        let text = "vars: { host: '${env:HOST}' }\ndata: { users: { file: users.csv } }\n\
                    workflows:\n  Browse:\n    vus: 1\n    duration: 1s\n    steps:\n      \
                    home: { http: { url: 'http://{{ host }}/{{ data.users.name }}' } }\n";
        let path = folder.path().join("plan.yaml");
        fs::write(&path, text).unwrap();
        let noting = Noting::new(&World);
        load(&Source::file(&path, text.as_bytes()), &noting).unwrap();
        let submit = noting.into_submit(&path.to_string_lossy(), text.into()).unwrap();
        fs::remove_dir_all(folder.path()).unwrap();
        let bundle = to_bundle(&submit, |_| None).unwrap();
        assert_eq!(bundle.load().unwrap().plan.data.len(), 1);
    }
}
