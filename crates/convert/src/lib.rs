//! Imports: what other tools wrote becomes a plan document, and a plan document becomes text.
//!
//! ```text
//! curl, HAR, OpenAPI, Postman ──decoder──► Request… ──plan──► document + notes ──write──► YAML, TOML, JSON
//! ```
//! One decoder per origin; what all of them share – names, secrets, bodies, the shape of the plan – is `plan`. Every
//! step is checked by `hyperscale-plan` before it is taken, so that what comes out is a valid plan; what could not be
//! translated is said in a note with its place, never dropped in silence.
//!
//! Pure: text in, document and notes out. It must never read files, open sockets or the environment.

mod curl;
mod error;
mod har;
mod openapi;
mod plan;
mod postman;
pub mod read;
mod text;
pub mod write;

use std::fmt;

pub use error::ConvertError;
use hyperscale_plan::document::Format;
use serde_json::Value;

/// Bytes of what is imported. Recordings carry the answers too and are large.
pub const INPUT_BYTES_MAX: u64 = 64 << 20;
/// Requests of one import.
pub const REQUESTS_MAX: usize = 2_000;
/// Notes that are kept; the rest is counted.
pub const NOTES_MAX: usize = 500;

/// Who wrote what is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// One or more `curl` commands, as a shell takes them.
    Curl,
    /// An HTTP archive, version 1.2.
    Har,
    /// An OpenAPI description, version 3.0 or 3.1, in JSON or YAML.
    OpenApi,
    /// A Postman collection, version 2.0 or 2.1.
    Postman,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Curl => "curl",
            Self::Har => "har",
            Self::OpenApi => "openapi",
            Self::Postman => "postman",
        })
    }
}

/// What may be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// HAR: leave out images, styles, scripts and fonts.
    pub no_static: bool,
    /// HAR: take requests to these hosts and hosts below them; all, if there is none.
    pub only: Vec<String>,
    /// HAR: wait between requests as it was recorded.
    pub think: bool,
    /// HAR: send the cookies that were recorded, instead of those that the answers set.
    pub recorded_cookies: bool,
    /// Write tokens and passwords into the plan, instead of variables for them.
    pub keep_secrets: bool,
}

/// Something that could not be translated, or was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Where: `command 2`, `entry 14`, `paths./users.get`.
    pub place: String,
    /// What.
    pub message: String,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Who wrote it.
    pub origin: Origin,
    /// A valid plan.
    pub plan: Value,
    /// What is different from the original; at most [`NOTES_MAX`].
    pub notes: Vec<Note>,
    /// Notes beyond those.
    pub more_notes: usize,
    /// Requests in the plan.
    pub requests: usize,
    /// Variables of the environment that must hold a URL, because URLs of the plan begin with them.
    pub url_variables: Vec<String>,
}

impl Converted {
    /// The plan as text, under a comment that says what to do next.
    pub fn text(&self, format: Format) -> String {
        let requests = if self.requests == 1 { "request" } else { "requests" };
        let comment = format!(
            "Imported from {}: {} {requests} in one pass of one virtual user.\n\
             For load, raise `vus` and write `duration: 30s` in the place of `iterations`.\n\
             A step that fails skips those after it; `after: []` makes a step independent.",
            self.origin, self.requests
        );
        let plan = if format == Format::Toml { plan::without_null(&self.plan) } else { self.plan.clone() };
        write::document(&plan, format, &comment).expect("only bodies can have null, and those are texts now")
    }
}

/// Translates a text. Without an origin, the text is looked at.
pub fn convert(
    name: &str,
    bytes: &[u8],
    origin: Option<Origin>,
    options: Options,
) -> Result<Converted, ConvertError> {
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        return Err(ConvertError::TooLarge(bytes.len() as u64));
    }
    let input = Input::look(name, bytes, origin)?;
    let mut draft = plan::Draft::new(options);
    let origin = match &input {
        Input::Curl(text) => curl::decode(text, &mut draft).map(|()| Origin::Curl),
        Input::Document(Origin::Har, value) => har::decode(value, &mut draft).map(|()| Origin::Har),
        Input::Document(Origin::Postman, value) => {
            postman::decode(value, &mut draft).map(|()| Origin::Postman)
        }
        Input::Document(_, value) => openapi::decode(value, &mut draft).map(|()| Origin::OpenApi),
    }?;
    draft.finish(origin)
}

/// The text, read as far as all decoders share it.
enum Input {
    Curl(String),
    Document(Origin, Value),
}

impl Input {
    fn look(name: &str, bytes: &[u8], origin: Option<Origin>) -> Result<Self, ConvertError> {
        let text = std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
            .map_err(|problem| ConvertError::NotText(problem.valid_up_to()))?;
        if origin == Some(Origin::Curl) || (origin.is_none() && curl::looks_like(text)) {
            return Ok(Self::Curl(text.to_owned()));
        }
        let format = if text.trim_start().starts_with(['{', '[']) { Format::Json } else { Format::Yaml };
        let value = read::document(name, bytes, format, INPUT_BYTES_MAX)?;
        let seen = Self::seen(&value);
        match (origin, seen) {
            (Some(wanted), Some(seen)) if wanted != seen => Err(ConvertError::Other { wanted, seen }),
            (Some(wanted), _) => Ok(Self::Document(wanted, value)),
            (None, Some(seen)) => Ok(Self::Document(seen, value)),
            (None, None) => Err(ConvertError::Unknown),
        }
    }

    /// What a document looks like.
    fn seen(value: &Value) -> Option<Origin> {
        let has = |pointer: &str| value.pointer(pointer).is_some();
        if has("/log/entries") {
            Some(Origin::Har)
        } else if has("/openapi") || has("/swagger") {
            Some(Origin::OpenApi)
        } else if has("/info") && has("/item") {
            Some(Origin::Postman)
        } else {
            None
        }
    }
}
