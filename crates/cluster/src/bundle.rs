//! A plan as it travels: its text, the variables it refers to, and every file it names, in one blob.
//!
//! A receiver reads the same plan as the submitter, without looking at a disk or an environment of its own.

use std::fmt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hyperscale_plan::read::Given;
use hyperscale_plan::{Loaded, Problem, Source, load};
use hyperscale_wire::messages as wire;
use prost::Message;

use crate::record::RecordError;

/// A plan with everything it names. Variables and texts may be secret: `Debug` shows sizes only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bundle {
    /// What problems call the plan; its extension says how it is written.
    pub name: String,
    /// Its text.
    pub text: Bytes,
    /// Environment variables, variables that replace those of the plan, and files.
    pub given: Given,
}

impl Bundle {
    /// The bytes of the blob.
    pub fn encode(&self) -> Bytes {
        let variable =
            |name: &String, value: &String| wire::PlanVariable { name: name.clone(), value: value.clone() };
        let file = |(path, content): (&PathBuf, &Vec<u8>)| wire::PlanFile {
            path: path.to_string_lossy().into_owned(),
            content: Bytes::copy_from_slice(content),
        };
        let bundle = wire::PlanBundle {
            name: self.name.clone(),
            text: self.text.clone(),
            environment: self.given.vars.iter().map(|(name, value)| variable(name, value)).collect(),
            variables: self.given.overrides.iter().map(|(name, value)| variable(name, value)).collect(),
            files: self.given.files.iter().map(file).collect(),
        };
        bundle.encode_to_vec().into()
    }

    /// Reads the bytes of the blob.
    pub fn decode(bytes: &Bytes) -> Result<Self, RecordError> {
        let bundle = wire::PlanBundle::decode(bytes.clone()).map_err(|_| RecordError::Malformed)?;
        let pair = |variable: wire::PlanVariable| (variable.name, variable.value);
        let file = |file: wire::PlanFile| (PathBuf::from(file.path), file.content.to_vec());
        let given = Given {
            vars: bundle.environment.into_iter().map(pair).collect(),
            overrides: bundle.variables.into_iter().map(pair).collect(),
            files: bundle.files.into_iter().map(file).collect(),
        };
        Ok(Self { name: bundle.name, text: bundle.text, given })
    }

    /// The plan, or everything that is wrong with it.
    pub fn load(&self) -> Result<Loaded, Vec<Problem>> {
        load(&Source::file(Path::new(&self.name), &self.text), &self.given)
    }
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bundle({}, {} bytes, {} files)", self.name, self.text.len(), self.given.files.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> Bundle {
        let text = "vars: { host: '${env:HOST}' }\n\
                    workflows:\n  Browse:\n    vus: 2\n    duration: 1s\n    steps:\n      home: { http: { url: 'http://{{ host }}/' } }\n";
        let mut given = Given::default();
        given.vars.insert("HOST".to_owned(), "127.0.0.1:9".to_owned());
        given.overrides.push(("user".to_owned(), "ada".to_owned()));
        given.files.insert("users.csv".into(), b"name\nada\n".to_vec());
        Bundle { name: "browse.yaml".to_owned(), text: text.into(), given }
    }

    #[test]
    fn bundle_is_read_back_the_same_and_shows_no_secrets() {
        let bundle = bundle();
        assert_eq!(Bundle::decode(&bundle.encode()), Ok(bundle.clone()));
        let shown = format!("{bundle:?}");
        assert!(!shown.contains("ada") && !shown.contains("127.0.0.1"), "{shown}");
    }

    #[test]
    fn plan_is_loaded_from_the_bundle_alone() {
        let mut bundle = bundle();
        bundle.given.overrides.clear();
        let loaded = bundle.load().unwrap();
        assert_eq!(loaded.plan.workflows.len(), 1);
        bundle.given.vars.clear();
        assert!(bundle.load().is_err(), "the variable is not taken from this process");
    }
}
