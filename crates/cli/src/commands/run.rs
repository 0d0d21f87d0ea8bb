//! `hyperscale run`: a plan or a URL, run from this machine.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hyperscale_plan::{Loaded, Overrides, UrlOptions, from_url, override_load, render};
use hyperscale_report::{TextOptions, summary, to_json};
use hyperscale_stats::result::RunResult;
use hyperscale_types::ExitCode;

use super::session::{self, Session};
use crate::args::{LoadArgs, RequestArgs, RunArgs};
use crate::errors::CommandError;
use crate::plan_file;
use crate::printer::Printer;
use crate::settings::Settings;

/// Runs a plan or a URL and shows the result.
pub(crate) async fn run(
    args: RunArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let reports = args.reports.iter().map(|path| ReportFile::new(path)).collect::<Result<Vec<_>, _>>()?;
    let options = shown_options(&args);
    let loaded = load(args)?;
    if !loaded.warnings.is_empty() {
        printer.verbatim(&render(&loaded.warnings));
    }
    let result = Session { plan: loaded.plan, options, settings, printer }.play().await?;
    session::show(&result, settings, printer)?;
    for report in &reports {
        report.write(&result)?;
    }
    Ok(session::exit_code(&result))
}

fn load(args: RunArgs) -> Result<Loaded, CommandError> {
    if plan_file::is_url(&args.plan) {
        if !args.vars.is_empty() {
            return Err(CommandError::Misplaced { flag: "--var", belongs: "sets a variable of a plan file" });
        }
        return from_url(&url_options(args.plan, args.load, args.request)?)
            .map_err(CommandError::CommandLine);
    }
    if let Some(flag) = args.request.first_given() {
        return Err(CommandError::Misplaced { flag, belongs: "goes with a URL; a plan says it itself" });
    }
    let mut loaded = plan_file::read(&args.plan, args.vars)?;
    let LoadArgs { vus, duration, rate, iterations } = args.load;
    let overrides =
        Overrides { vus: vus.map(Into::into), duration, rate, iterations: iterations.map(Into::into) };
    override_load(&mut loaded.plan, &overrides).map_err(CommandError::CommandLine)?;
    Ok(loaded)
}

fn url_options(url: String, load: LoadArgs, request: RequestArgs) -> Result<UrlOptions, CommandError> {
    Ok(UrlOptions {
        url,
        method: request.method,
        headers: request.headers,
        body: request.body.map(body).transpose()?,
        vus: load.vus.map(Into::into),
        duration: load.duration.map(|duration| duration.to_string()),
        rate: load.rate.map(|rate| rate.to_string()),
        iterations: load.iterations.map(Into::into),
        http2: request.http2,
        connections: request.connections.map(Into::into),
        timeout: request.timeout.map(|timeout| timeout.to_string()),
        insecure: request.insecure,
        no_redirects: request.no_redirects,
        no_keepalive: request.no_keepalive,
        proxy: request.proxy,
        unix: request.unix,
    })
}

/// The text itself, or the file behind an `@`.
fn body(text: String) -> Result<String, CommandError> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text) };
    fs::read_to_string(path).map_err(|source| CommandError::Unreadable {
        what: "the body",
        path: path.into(),
        source,
    })
}

/// What the result says about how it was started. Header values and bodies may be secret and stay out.
fn shown_options(args: &RunArgs) -> BTreeMap<String, String> {
    let LoadArgs { vus, duration, rate, iterations } = args.load;
    let given = [
        ("plan", Some(args.plan.clone())),
        ("vus", vus.map(|n| n.to_string())),
        ("duration", duration.map(|span| span.to_string())),
        ("rate", rate.map(|rate| rate.to_string())),
        ("iterations", iterations.map(|n| n.to_string())),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// A file that a report goes to.
struct ReportFile {
    path: PathBuf,
    format: ReportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportFormat {
    Json,
    Text,
}

impl ReportFile {
    /// Looks at everything that can be wrong before load is made for nothing.
    fn new(path: &Path) -> Result<Self, CommandError> {
        let format = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => ReportFormat::Json,
            Some("txt") => ReportFormat::Text,
            _ => return Err(CommandError::ReportFormat(path.to_owned())),
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let problem = if path.is_dir() {
            Some("it is a folder")
        } else if !folder.is_dir() {
            Some("its folder does not exist")
        } else {
            None
        };
        match problem {
            Some(why) => {
                Err(CommandError::Unwritable { path: path.to_owned(), source: io::Error::other(why) })
            }
            None => Ok(Self { path: path.to_owned(), format }),
        }
    }

    fn write(&self, result: &RunResult) -> Result<(), CommandError> {
        let text = match self.format {
            ReportFormat::Json => format!("{}\n", to_json(result, true)),
            ReportFormat::Text => summary(result, TextOptions::default()),
        };
        fs::write(&self.path, text)
            .map_err(|source| CommandError::Unwritable { path: self.path.clone(), source })
    }
}
