//! `hyperscale run`: a plan or a URL, run from this machine.

use std::collections::BTreeMap;
use std::fs;

use hyperscale_plan::{Loaded, Overrides, UrlOptions, from_url, override_load, render};
use hyperscale_types::ExitCode;

use super::session::{self, Session};
use crate::args::{LoadArgs, RequestArgs, RunArgs};
use crate::errors::CommandError;
use crate::plan_file;
use crate::printer::Printer;
use crate::report_file::Reports;
use crate::settings::Settings;

/// Runs a plan or a URL and shows the result.
pub(crate) async fn run(
    args: RunArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let reports = Reports::open(&args.reports)?;
    let options = shown_options(&args);
    let (record, exports) = (args.record.clone(), args.export.urls.clone());
    let loaded = load(args)?;
    if !loaded.warnings.is_empty() {
        printer.verbatim(&render(&loaded.warnings));
    }
    let session = Session { plan: loaded.plan, options, record, exports, settings, printer };
    let played = session.play().await?;
    // Neither a closed stdout nor a full disk may cost the other places their result.
    let shown = session::show(&played.result, settings, printer);
    let written = reports.write(&played.result, printer);
    shown?;
    if written { session::conclude(played) } else { Ok(ExitCode::Error) }
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
        vus: load.vus.map(Into::into),
        duration: load.duration.map(|duration| duration.to_string()),
        rate: load.rate.map(|rate| rate.to_string()),
        iterations: load.iterations.map(Into::into),
        ..request_options(url, request)?
    })
}

/// A request without a word about how often.
pub(super) fn request_options(url: String, request: RequestArgs) -> Result<UrlOptions, CommandError> {
    Ok(UrlOptions {
        url,
        method: request.method,
        headers: request.headers,
        body: request.body.map(body).transpose()?,
        http2: request.http2,
        connections: request.connections.map(Into::into),
        timeout: request.timeout.map(|timeout| timeout.to_string()),
        insecure: request.insecure,
        no_redirects: request.no_redirects,
        no_keepalive: request.no_keepalive,
        proxy: request.proxy,
        unix: request.unix,
        ..UrlOptions::default()
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
