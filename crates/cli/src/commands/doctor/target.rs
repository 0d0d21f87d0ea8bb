//! Whether the target can be reached: one request, as `hyperscale ping` sends it.

use hyperscale_clients::http::{Ping, Pong, Times};
use hyperscale_plan::{UrlOptions, UrlTls};
use tokio::task::LocalSet;

use super::{Finding, Verdict};
use crate::commands::ping::{advice, request};
use crate::errors::CommandError;
use crate::identity;

const WHY: &str = "nothing can be measured on what cannot be reached";

/// Sends one request.
pub(super) async fn reach(url: String, insecure: bool) -> Result<Finding, CommandError> {
    let options = UrlOptions {
        url,
        tls: UrlTls { insecure, ..UrlTls::default() },
        redirects: Some(0),
        ..UrlOptions::default()
    };
    let request = request(&options)?;
    let pong = LocalSet::new()
        .run_until(async { Ok(Ping::new(&request, identity::random_u64()).await?.send().await) })
        .await
        .map_err(|error: hyperscale_clients::PrepareError| CommandError::Ping(error.to_string()))?;
    Ok(judge(&pong))
}

fn judge(pong: &Pong) -> Finding {
    let finding = Finding::ok("target", found(pong), WHY);
    match &pong.error {
        None => finding,
        Some(error) if pong.status != 0 => finding.but(Verdict::Warn, advice(error.kind)),
        Some(error) => finding.but(Verdict::Fail, advice(error.kind)),
    }
}

fn found(pong: &Pong) -> String {
    let ms = |name: &str, time: Option<std::time::Duration>| {
        time.map(|time| format!(", {name} {:.3} ms", time.as_secs_f64() * 1e3)).unwrap_or_default()
    };
    if let (Some(error), 0) = (&pong.error, pong.status) {
        return error.to_string();
    }
    let peer = pong.peer.map(|peer| format!(" from {peer}")).unwrap_or_default();
    let Times { dns, connect, tls, wait, .. } = pong.times;
    let times = [("dns", dns), ("connect", connect), ("tls", tls), ("wait", wait)];
    let times: String = times.into_iter().map(|(name, time)| ms(name, time)).collect();
    format!("status {}{peer}{times}", pong.status)
}
