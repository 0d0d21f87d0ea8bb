//! What can go wrong before or beside a run: each error says what, why and what to do, and has one exit code.

use std::io;
use std::path::{Path, PathBuf};

use hyperscale_convert::ConvertError;
use hyperscale_engine::StartError;
use hyperscale_export::place::SCHEMES;
use hyperscale_export::{OpenError, PlaceError};
use hyperscale_plan::{Problem, render};
use hyperscale_report::{CompareFormat, ReadError, ReportFormat};
use hyperscale_stats::compare::FailRuleError;
use hyperscale_stats::result::VERSION;
use hyperscale_target::BindError;
use hyperscale_types::ExitCode;

use crate::cluster::node::NodeError;
use crate::cluster::remote::RemoteError;
use crate::commands::new::NewError;
use crate::local::LocalError;
use crate::printer::Printer;
use crate::recording::RecordingError;
use crate::settings::SettingError;
use crate::tasks::settings::ServeError;

/// Why a command did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// Settings cannot be used.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A file named on the command line cannot be read.
    #[error("{what} {} cannot be read", path.display())]
    Unreadable {
        /// What the file is for.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not a recording, or not a whole one.
    #[error("{} cannot be replayed", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: RecordingError,
    },
    /// The plan has problems. They are all in here, warnings too.
    #[error("the plan is invalid")]
    Plan(Vec<Problem>),
    /// A server refused what stands in a file. The problems say where.
    #[error("the server refused the file")]
    Refused(Vec<Problem>, ExitCode),
    /// What the command line says about the load or the request cannot be.
    #[error("the command line is wrong")]
    CommandLine(Vec<Problem>),
    /// A flag that means nothing here.
    #[error("{flag} cannot be used here")]
    Misplaced {
        /// The flag.
        flag: &'static str,
        /// Where it would mean something.
        belongs: &'static str,
    },
    /// A report in a format nobody writes.
    #[error("no report can be written to {}", .0.display())]
    ReportFormat(PathBuf),
    /// A comparison in a format nobody writes.
    #[error("no comparison can be written to {}", .0.display())]
    CompareFormat(PathBuf),
    /// A file that should be the result of a run is something else.
    #[error("{} cannot be compared", path.display())]
    NotAResult {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ReadError,
    },
    /// A rule that cannot be held against the results.
    #[error(transparent)]
    FailRule(#[from] FailRuleError),
    /// A file cannot be written.
    #[error("{} cannot be written", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A place that nothing can be exported to.
    #[error("the run cannot be exported")]
    Export(#[from] PlaceError),
    /// An exporter that cannot begin. Nothing was sent.
    #[error(transparent)]
    ExportOpen(#[from] OpenError),
    /// Not an address.
    #[error("cannot listen on `{text}`")]
    Address {
        /// As it was written.
        text: String,
        /// What is wrong with it.
        source: io::Error,
    },
    /// A local run cannot be found, asked or changed.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// A node cannot be set up or has ended.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// A task node cannot be set up or has ended.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A cluster cannot be asked, or refused.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// No starter plan was written.
    #[error(transparent)]
    New(#[from] NewError),
    /// Nothing can be imported from a file.
    #[error("{file} cannot be converted")]
    Convert {
        /// As it was named.
        file: String,
        /// What is wrong with it.
        source: ConvertError,
    },
    /// The request of a ping cannot be prepared. Nothing was sent.
    #[error("the request cannot be sent")]
    Ping(String),
    /// The target could not be set up.
    #[error("the target cannot start")]
    Bind(#[from] BindError),
    /// The run could not start. Nothing was sent.
    #[error("the run cannot start")]
    Start(#[from] StartError),
    /// The terminal cannot be drawn on.
    #[error("the live screen cannot be shown")]
    Terminal(io::Error),
    /// Something that watched the run has crashed. The run itself has gone on.
    #[error("the {0} has crashed")]
    Face(&'static str),
    /// stdout takes nothing more, and not because its reader went away.
    #[error("the result cannot be printed")]
    Output(io::Error),
    /// The system refused something every command needs.
    #[error("the system refused a runtime or a signal handler")]
    System(io::Error),
}

impl CommandError {
    /// What the caller is told. The only place where errors become exit codes.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Setting(_)
            | Self::Unreadable { .. }
            | Self::Recording { .. }
            | Self::CommandLine(_)
            | Self::Misplaced { .. }
            | Self::ReportFormat(_)
            | Self::CompareFormat(_)
            | Self::FailRule(_)
            | Self::Export(_)
            | Self::ExportOpen(OpenError::Twice { .. })
            | Self::Address { .. } => ExitCode::Usage,
            Self::Local(error) => error.exit_code(),
            Self::Node(error) if error.is_usage() => ExitCode::Usage,
            Self::Node(_) => ExitCode::Error,
            Self::Serve(error) if error.is_usage() => ExitCode::Usage,
            Self::Serve(_) => ExitCode::Error,
            Self::Refused(_, code) => *code,
            Self::Remote(error) => error.exit_code(),
            Self::New(error) => error.exit_code(),
            Self::Plan(_) | Self::Start(StartError::Data(_)) => ExitCode::PlanInvalid,
            Self::Convert { .. }
            | Self::Ping(_)
            | Self::Unwritable { .. }
            | Self::NotAResult { .. }
            | Self::ExportOpen(_)
            | Self::Bind(_)
            | Self::Start(StartError::System(_))
            | Self::Face(_)
            | Self::Terminal(_)
            | Self::Output(_)
            | Self::System(_) => ExitCode::Error,
        }
    }

    /// Tells the person.
    pub(crate) fn report(&self, printer: Printer) {
        match self {
            Self::Plan(problems) | Self::CommandLine(problems) | Self::Refused(problems, _) => {
                printer.verbatim(&render(problems));
            }
            other => printer.error(other, other.why(), other.fix()),
        }
    }

    /// Why it happened, as far as known.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Setting(SettingError::Unreadable { source, .. })
            | Self::Unreadable { source, .. }
            | Self::Unwritable { source, .. }
            | Self::Address { source, .. } => source.to_string(),
            Self::Setting(SettingError::Syntax { message, .. }) => {
                message.trim_end().replace('\n', "\n       ")
            }
            Self::Recording { source, .. } => source.to_string(),
            Self::Setting(_) => "settings are refused rather than ignored or guessed".to_owned(),
            Self::Plan(_) | Self::CommandLine(_) | Self::Refused(..) => String::new(),
            Self::Misplaced { belongs, .. } => format!("it {belongs}"),
            Self::ReportFormat(path) | Self::CompareFormat(path) => match path.extension() {
                Some(extension) => format!("no report has the extension .{}", extension.display()),
                None => "the format of a report is chosen by the extension of its file, and there is none"
                    .to_owned(),
            },
            Self::NotAResult { source, .. } => source.to_string(),
            Self::FailRule(_) => "only steps and quantities of both runs can be compared".to_owned(),
            Self::Local(error) => error.why(),
            Self::Node(error) => error.why(),
            Self::Serve(error) => error.why(),
            Self::Remote(error) => error.why(),
            Self::Export(error) => error.to_string(),
            Self::ExportOpen(error) => open_why(error),
            Self::New(error) => error.why(),
            Self::Convert { source, .. } => source.to_string().replace('\n', "\n       "),
            Self::Ping(why) => why.clone(),
            Self::Bind(error) => error.to_string(),
            Self::Start(error) => error.to_string(),
            Self::Face(_) => "this is a bug; the result does not depend on it".to_owned(),
            Self::Output(source) | Self::System(source) | Self::Terminal(source) => source.to_string(),
        }
    }

    /// What to do.
    pub(crate) fn fix(&self) -> String {
        match self {
            Self::Setting(SettingError::Unknown { nearest: Some(nearest), .. }) => {
                format!("did you mean `{nearest}`?")
            }
            Self::Setting(_) => "correct it, or remove it to get the default".to_owned(),
            Self::Unreadable { path, .. } => unreadable_fix(path),
            Self::Recording { source, .. } => recording_fix(source).to_owned(),
            Self::Plan(_) | Self::CommandLine(_) | Self::Refused(..) => String::new(),
            Self::Misplaced { .. } => "leave it out, or see --help".to_owned(),
            Self::ReportFormat(_) => ends_in(ReportFormat::ALL.map(ReportFormat::extension).as_slice()),
            Self::CompareFormat(_) => ends_in(CompareFormat::ALL.map(CompareFormat::extension).as_slice()),
            Self::NotAResult { source: ReadError::Version { found }, .. } if *found > u64::from(VERSION) => {
                "use a newer hyperscale: at least the version that wrote the file".to_owned()
            }
            Self::NotAResult { .. } => {
                "name files that `hyperscale run --report FILE.json` or `run --json` wrote".to_owned()
            }
            Self::FailRule(_) => "name a step as WORKFLOW.STEP, or leave it out for all steps".to_owned(),
            Self::Unwritable { .. } => "name a file in a folder that exists and may be written".to_owned(),
            Self::Address { .. } => "write it as host:port, for example 127.0.0.1:8080 or [::1]:0".to_owned(),
            Self::Local(error) => error.fix(),
            Self::Node(error) => error.fix(),
            Self::Serve(error) => error.fix(),
            Self::Remote(error) => error.fix(),
            Self::Export(error) => export_fix(error),
            Self::ExportOpen(error) => open_fix(error).to_owned(),
            Self::New(error) => error.fix(),
            Self::Convert { source, .. } => convert_fix(source).to_owned(),
            Self::Ping(_) => "correct the flags of the request; files must be there and readable".to_owned(),
            Self::Bind(error) => bind_fix(error),
            Self::Start(StartError::Data(_)) => {
                "correct the file, or its entry under `data` of the plan".to_owned()
            }
            Self::Start(StartError::System(_)) | Self::System(_) => {
                "check the limits of this machine (`ulimit -a`): open files, processes, memory".to_owned()
            }
            Self::Terminal(_) => "run it again with --no-ui".to_owned(),
            Self::Face(_) => "run it again with --no-ui, and report the message above".to_owned(),
            Self::Output(_) => "check where stdout goes: is the disk full?".to_owned(),
        }
    }
}

fn export_fix(error: &PlaceError) -> String {
    match error {
        PlaceError::Scheme { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
        PlaceError::Scheme { .. } => format!("begin with one of {}", SCHEMES.join(", ")),
        PlaceError::Url { .. } => "write it as otlp+http://host:4318, for example".to_owned(),
        PlaceError::Address { scheme } => format!("write it as {scheme}://127.0.0.1:8125, for example"),
        PlaceError::NoFile => "write it as csv:run.csv, for example".to_owned(),
        PlaceError::NoDatabase { .. } | PlaceError::Option { .. } | PlaceError::Field(_) => {
            "correct what follows the host".to_owned()
        }
    }
}

fn open_why(error: &OpenError) -> String {
    match error {
        OpenError::Listen { source, .. }
        | OpenError::Resolve { source, .. }
        | OpenError::File { source, .. }
        | OpenError::Thread(source) => source.to_string(),
        OpenError::Twice { .. } => "its receiver would see every number twice".to_owned(),
    }
}

fn open_fix(error: &OpenError) -> &'static str {
    match error {
        OpenError::Listen { .. } => "choose a free address of this machine; port 0 picks a free port",
        OpenError::Resolve { .. } => "name a host that can be resolved, and a port",
        OpenError::File { .. } => "name a file in a folder that exists and may be written",
        OpenError::Twice { .. } => "name it once",
        OpenError::Thread(_) => {
            "check the limits of this machine (`ulimit -a`): open files, processes, memory"
        }
    }
}

fn ends_in(extensions: &[&str]) -> String {
    format!("name a file that ends in one of .{}", extensions.join(", ."))
}

fn convert_fix(error: &ConvertError) -> &'static str {
    match error {
        ConvertError::TooLarge(_) | ConvertError::TooMany | ConvertError::PlanTooLarge(_) => {
            "convert a part of it; recordings get smaller with --no-static"
        }
        ConvertError::Unknown | ConvertError::NotText(_) => {
            "say what it is with --from, and check that it is the right file"
        }
        ConvertError::Other { .. } => "leave --from out, or name the other one",
        ConvertError::Version(_) => {
            "export it in a version that is: OpenAPI 3.0 or 3.1, Postman 2.1, HAR 1.2"
        }
        ConvertError::Syntax(_) | ConvertError::Missing(_) | ConvertError::Shell(_) => {
            "correct it, or export it anew"
        }
        ConvertError::Empty(_) => {
            "check that it is the right file; `hyperscale new` writes a plan to begin with"
        }
    }
}

fn recording_fix(error: &RecordingError) -> &'static str {
    match error {
        RecordingError::Foreign => "name a file that was written with `hyperscale run … --record FILE`",
        RecordingError::Newer { .. } => "use the version of hyperscale that wrote it, or a newer one",
        RecordingError::Line { .. } => "restore the file: something other than hyperscale has changed it",
        RecordingError::Truncated { .. } => {
            "the run was killed or the disk was full; only what came before is there"
        }
        RecordingError::Unreadable { .. } => "check the file and its disk",
    }
}

fn unreadable_fix(path: &Path) -> String {
    let text = path.to_string_lossy();
    let host_like = !path.exists() && text.contains(['.', ':']) && !text.contains(char::is_whitespace);
    if host_like
        && !matches!(path.extension().and_then(|e| e.to_str()), Some("yaml" | "yml" | "toml" | "json"))
    {
        return format!("check the path; if it is meant as a URL, write http://{text}");
    }
    "check the path and the permissions of the file".to_owned()
}

fn bind_fix(error: &BindError) -> String {
    let (kind, is_unix) = match error {
        BindError::Listen { source, .. } => (source.kind(), false),
        BindError::Unix { source, .. } => (source.kind(), true),
        BindError::Tls(_) => {
            return "check that certificate and key are PEM files that belong together".to_owned();
        }
        BindError::BodySize(_) => return "choose a smaller --body-size".to_owned(),
    };
    match (kind, is_unix) {
        (io::ErrorKind::AddrInUse, true) => "remove the socket file, or choose another path",
        (io::ErrorKind::AddrInUse, false) => {
            "stop what listens there, or let the system choose a port: --listen 127.0.0.1:0"
        }
        (io::ErrorKind::PermissionDenied, false) => "choose a port from 1024 on; lower ones need privileges",
        (io::ErrorKind::PermissionDenied, true) => "choose a folder that may be written",
        (io::ErrorKind::AddrNotAvailable, _) => "choose an address of this machine, for example 127.0.0.1:0",
        _ => "choose another address",
    }
    .to_owned()
}
