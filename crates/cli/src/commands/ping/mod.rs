//! `hyperscale ping`: one request (or a few), every phase timed.

mod advice;
mod show;

use std::time::Duration;

pub(super) use advice::advice;
use hyperscale_clients::http::{Ping, Pong};
use hyperscale_plan::model::{Call, HttpRequest, StepKind};
use hyperscale_plan::{UrlLoad, UrlOptions, from_url};
use hyperscale_types::{ErrorKind, ExitCode};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep_until};

use crate::args::{PingArgs, PingHttpArgs, PingProtocol};
use crate::errors::CommandError;
use crate::identity;
use crate::printer::Printer;
use crate::settings::Settings;

use super::run::request_options;

/// Sends and shows.
pub(crate) async fn ping(
    args: PingArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let PingProtocol::Http(args) = args.protocol;
    // Connections of HTTP/2 are driven by local tasks.
    LocalSet::new().run_until(http(*args, settings, printer)).await
}

async fn http(args: PingHttpArgs, settings: Settings, printer: Printer) -> Result<ExitCode, CommandError> {
    let (count, interval) = (args.count.get(), args.interval.to_duration());
    let options = request_options(args.url, args.request)?;
    let request = request(&options)?;
    let face = show::Face::new(&options, &request, count, settings, printer);
    let ping = Ping::new(&request, identity::random_u64())
        .await
        .map_err(|error| CommandError::Ping(error.to_string()))?;
    let (pongs, is_cancelled) = send_all(&ping, count, interval, &face).await?;
    face.summary(&pongs)?;
    Ok(if is_cancelled { ExitCode::Cancelled } else { exit_code(&pongs) })
}

/// The request that `hyperscale run` would send with these flags.
pub(super) fn request(options: &UrlOptions) -> Result<HttpRequest, CommandError> {
    let once = UrlOptions {
        load: UrlLoad { vus: Some(1), iterations: Some(1), ..UrlLoad::default() },
        ..options.clone()
    };
    let loaded = from_url(&once).map_err(CommandError::CommandLine)?;
    let step =
        loaded.plan.workflows.into_iter().next().and_then(|workflow| workflow.steps.steps.into_iter().next());
    match step.map(|step| step.kind) {
        Some(StepKind::Call(Call::Http(request))) => Ok(*request),
        _ => unreachable!("the plan of a URL has one HTTP step"),
    }
}

/// Sends at fixed starts until all are sent or Ctrl-C says that it is enough.
async fn send_all(
    ping: &Ping,
    count: u32,
    interval: Duration,
    face: &show::Face,
) -> Result<(Vec<Pong>, bool), CommandError> {
    let begin = Instant::now();
    let mut pongs = Vec::new();
    for at in 0..count {
        let sent = async {
            sleep_until(begin + interval * at).await;
            ping.send().await
        };
        let answer = tokio::select! {
            answer = sent => answer,
            _ = tokio::signal::ctrl_c() => return Ok((pongs, true)),
        };
        face.each(at + 1, &answer)?;
        pongs.push(answer);
    }
    Ok((pongs, false))
}

/// Any answer is an answer; what was reached but spoke nonsense is an error.
fn exit_code(pongs: &[Pong]) -> ExitCode {
    let kinds = || pongs.iter().filter_map(|pong| pong.error.as_ref()).map(|error| error.kind);
    if pongs.iter().any(|pong| pong.status != 0) {
        ExitCode::Ok
    } else if kinds()
        .any(|kind| matches!(kind, ErrorKind::Protocol | ErrorKind::TooLarge | ErrorKind::Template))
    {
        ExitCode::Error
    } else {
        ExitCode::Unreachable
    }
}
