//! What can go wrong with `hyperscale new`.

use std::io;
use std::path::PathBuf;

use hyperscale_types::ExitCode;

/// Why no plan was written. Nothing was written at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NewError {
    /// A file is there that nobody said may be replaced.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// Nobody said where the plan goes, and nobody can be asked.
    #[error("no file was named")]
    NoFile,
    /// A template nobody knows.
    #[error("there is no template `{name}`")]
    Template {
        /// As it was written.
        name: String,
        /// The known one that is most like it.
        nearest: Option<&'static str>,
    },
    /// Not a URL that can be tested.
    #[error("`{url}` cannot be tested")]
    Url {
        /// As it was written.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// `--format` and the extension disagree.
    #[error("{} does not fit --format", file.display())]
    Extension {
        /// The file.
        file: PathBuf,
    },
    /// The person went away while being asked.
    #[error("the questions were not answered")]
    Unanswered(#[source] io::Error),
}

impl NewError {
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Unanswered(_) => ExitCode::Error,
            _ => ExitCode::Usage,
        }
    }

    pub(crate) fn why(&self) -> String {
        match self {
            Self::Exists(_) => "files are only replaced when that is asked for".to_owned(),
            Self::NoFile => "there is no terminal to ask on".to_owned(),
            Self::Template { .. } => "templates are part of the program".to_owned(),
            Self::Url { why, .. } => why.clone(),
            Self::Extension { .. } => "its extension says another format".to_owned(),
            Self::Unanswered(source) => source.to_string(),
        }
    }

    pub(crate) fn fix(&self) -> String {
        match self {
            Self::Exists(_) => "choose another name, or replace it with --force".to_owned(),
            Self::NoFile => "name one, for example plan.yaml, or `-` to print the plan".to_owned(),
            Self::Template { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::Template { .. } => "see `hyperscale new --list`".to_owned(),
            Self::Url { .. } => "write it as http://host:port or https://host".to_owned(),
            Self::Extension { .. } => "leave --format out, or name the file after it".to_owned(),
            Self::Unanswered(_) => "answer them, or say everything with flags (see --help)".to_owned(),
        }
    }
}
