//! Arguments of the commands that write plans, completions and manuals.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use hyperscale_plan::document::Format;

/// `hyperscale new`.
#[derive(Debug, Args)]
#[command(after_help = "\
Asks for what is missing when it runs on a terminal. Examples:
  hyperscale new plan.yaml --template load --url https://shop.example.com
  hyperscale new - --template smoke --format toml      print it instead of writing a file
  hyperscale new --list")]
pub(crate) struct NewArgs {
    /// The plan file to write; `-` prints it
    pub(crate) file: Option<PathBuf>,
    /// What kind of test (see --list)
    #[arg(long, short, value_name = "NAME")]
    pub(crate) template: Option<String>,
    /// What is tested, http://… or https://…
    #[arg(long, short, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Format (default: by the file's extension, else YAML)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<PlanFormat>,
    /// Replace files that are there
    #[arg(long, short)]
    pub(crate) force: bool,
    /// List the templates and write nothing
    #[arg(long, conflicts_with_all = ["file", "template", "url", "format", "force"])]
    pub(crate) list: bool,
}

/// How a plan is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// YAML, with comments
    Yaml,
    /// TOML
    Toml,
    /// JSON
    Json,
}

impl From<PlanFormat> for Format {
    fn from(format: PlanFormat) -> Self {
        match format {
            PlanFormat::Yaml => Self::Yaml,
            PlanFormat::Toml => Self::Toml,
            PlanFormat::Json => Self::Json,
        }
    }
}

/// `hyperscale convert`.
#[derive(Debug, Args)]
#[command(after_help = "\
What cannot be translated is said on stderr with its place. Tokens and passwords become variables. Examples:
  hyperscale convert session.har --only shop.example.com --no-static --think -o plan.yaml
  pbpaste | hyperscale convert - > plan.yaml           a command copied from a browser
  hyperscale convert openapi.yaml --format toml")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line, independent of the others"
)]
pub(crate) struct ConvertArgs {
    /// What is imported: curl commands, HAR, OpenAPI 3 or a Postman collection; `-` for stdin
    pub(crate) file: String,
    /// What it is (default: seen from the content)
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) from: Option<ImportOrigin>,
    /// The plan file to write (default: stdout)
    #[arg(long, short, value_name = "PLAN")]
    pub(crate) output: Option<PathBuf>,
    /// Format (default: by the plan file's extension, else YAML)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<PlanFormat>,
    /// Replace the plan file if it is there
    #[arg(long, short)]
    pub(crate) force: bool,
    /// HAR: leave out images, styles, scripts and fonts
    #[arg(long)]
    pub(crate) no_static: bool,
    /// HAR: take requests to this host, or hosts below it, only (may be repeated)
    #[arg(long, value_name = "HOST")]
    pub(crate) only: Vec<String>,
    /// HAR: wait between requests as it was recorded
    #[arg(long)]
    pub(crate) think: bool,
    /// HAR: cookies as the answers set them, or as they were recorded
    #[arg(long, value_name = "WHICH", default_value = "jar")]
    pub(crate) cookies: Cookies,
    /// Write tokens and passwords into the plan
    #[arg(long)]
    pub(crate) keep_secrets: bool,
}

/// Who wrote what is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportOrigin {
    /// Commands as a shell takes them
    Curl,
    /// HTTP archive 1.2
    Har,
    /// OpenAPI 3.0 or 3.1, JSON or YAML
    Openapi,
    /// Postman collection 2.0 or 2.1
    Postman,
}

/// Which cookies are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cookies {
    /// Those that answers set
    Jar,
    /// Those of the recording
    Recorded,
}

/// `hyperscale completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Try it in this shell:    source <(hyperscale completions bash)
Keep it (bash):          hyperscale completions bash > ~/.local/share/bash-completion/completions/hyperscale
Keep it (zsh):           hyperscale completions zsh > \"${fpath[1]}/_hyperscale\"
Keep it (fish):          hyperscale completions fish > ~/.config/fish/completions/hyperscale.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}

/// `hyperscale man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Read it now:     hyperscale man | man -l -
Install it:      hyperscale man --dir ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write a page for every command into this folder instead of printing the first one
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
