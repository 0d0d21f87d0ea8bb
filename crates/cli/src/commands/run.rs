//! `hyperscale run`: a plan or a URL, run from this machine.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use hyperscale_plan::{
    Loaded, Overrides, UrlLoad, UrlOptions, UrlTls, add_thresholds, from_url, override_load, render,
};
use hyperscale_types::ExitCode;

use super::said;
use super::session::{self, Session};
use crate::args::{LoadArgs, RequestArgs, RunArgs, TlsArgs};
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
    let (record, exports) = (args.record.clone(), args.export.urls.clone());
    let thresholds = args.thresholds.clone();
    let (mut loaded, options) = load(args)?;
    loaded.warnings.extend(add_thresholds(&mut loaded.plan, &thresholds).map_err(CommandError::CommandLine)?);
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

/// The plan, and what the result says about how it was started.
fn load(args: RunArgs) -> Result<(Loaded, BTreeMap<String, String>), CommandError> {
    if plan_file::is_url(&args.plan) {
        if !args.vars.is_empty() {
            return Err(CommandError::Misplaced { flag: "--var", belongs: "sets a variable of a plan file" });
        }
        let url = url_options(args.plan, args.load, args.request)?;
        let mut loaded = from_url(&url).map_err(CommandError::CommandLine)?;
        loaded.plan.source = said::plan_of_url(&url);
        return Ok((loaded, said::about_url(&url, args.load)));
    }
    if let Some(flag) = args.request.first_given() {
        return Err(CommandError::Misplaced { flag, belongs: "goes with a URL; a plan says it itself" });
    }
    let said = said::about_plan(&args.plan, &args.vars, args.load);
    let mut loaded = plan_file::read(&args.plan, args.vars)?;
    let LoadArgs { vus, duration, rate, iterations } = args.load;
    let overrides =
        Overrides { vus: vus.map(Into::into), duration, rate, iterations: iterations.map(Into::into) };
    override_load(&mut loaded.plan, &overrides).map_err(CommandError::CommandLine)?;
    Ok((loaded, said))
}

fn url_options(url: String, load: LoadArgs, request: RequestArgs) -> Result<UrlOptions, CommandError> {
    Ok(UrlOptions {
        load: UrlLoad {
            vus: load.vus.map(Into::into),
            duration: load.duration.map(|duration| duration.to_string()),
            rate: load.rate.map(|rate| rate.to_string()),
            iterations: load.iterations.map(Into::into),
        },
        ..request_options(url, request)?
    })
}

/// A request without a word about how often.
pub(super) fn request_options(url: String, request: RequestArgs) -> Result<UrlOptions, CommandError> {
    let (body, body_file) = body(request.body)?;
    Ok(UrlOptions {
        url,
        method: request.method,
        headers: request.headers,
        body,
        body_file,
        http2: request.http2,
        connections: request.connections.map(Into::into),
        timeout: request.timeout.map(|timeout| timeout.to_string()),
        tls: tls(request.tls)?,
        redirects: if request.no_redirects { Some(0) } else { request.max_redirects },
        max_body: request.max_body.map(|size| size.0.to_string()),
        no_keepalive: request.no_keepalive,
        proxy: request.proxy,
        unix: request.unix,
        ..UrlOptions::default()
    })
}

fn tls(tls: TlsArgs) -> Result<UrlTls, CommandError> {
    for (what, path) in
        [("the authorities", &tls.ca), ("the client certificate", &tls.cert), ("its private key", &tls.key)]
    {
        path.as_ref().map_or(Ok(()), |path| readable(what, path))?;
    }
    let TlsArgs { insecure, tls_resume: resume, ca, cert, key } = tls;
    Ok(UrlTls { insecure, resume, ca, cert, key })
}

fn readable(what: &'static str, path: &str) -> Result<(), CommandError> {
    let read = File::open(path).and_then(|mut file| file.read(&mut [0; 1]));
    read.map(drop).map_err(|source| CommandError::Unreadable { what, path: path.into(), source })
}

/// The text itself, or the file behind an `@`, which must be readable.
fn body(given: Option<String>) -> Result<(Option<String>, Option<String>), CommandError> {
    let Some(text) = given else { return Ok((None, None)) };
    let Some(path) = text.strip_prefix('@') else { return Ok((Some(text), None)) };
    readable("the body", path)?;
    Ok((None, Some(path.to_owned())))
}
