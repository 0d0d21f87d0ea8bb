//! What a node can run.

use std::thread;

use hyperscale_api::{Client, Servers};
use hyperscale_tasks::runtime::Executors;
use hyperscale_tasks::runtime::executors::{Aggregate, Command, Http, Script, Sql, Wait, Webhook};

use super::load_test::{LoadTest, LoadTestOptions};
use super::settings::{ExecutorSettings, ServeError};
use crate::args::ServerArgs;
use crate::cluster::remote;

/// The executors of a node with these settings. Programs are run only if the operator allows some.
pub(crate) fn all(settings: &ExecutorSettings) -> Result<Executors, ServeError> {
    let cores =
        thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
    let options = LoadTestOptions { folder: settings.folder.clone(), cluster: cluster(settings)?, cores };
    let executors = Executors::default()
        .with(Wait)
        .with(Aggregate)
        .with(Http::system())
        .with(Webhook::system())
        .with(Sql)
        .with(Script)
        .with(LoadTest::new(options));
    Ok(match settings.commands.as_slice() {
        [] => executors,
        allowed => executors.with(Command::new(allowed)),
    })
}

/// The cluster that load tests are submitted to.
fn cluster(settings: &ExecutorSettings) -> Result<Option<(Servers, Client)>, ServeError> {
    let Some(text) = &settings.load_servers else { return Ok(None) };
    let unusable = |why: String| ServeError::LoadServers { servers: text.clone(), why };
    let servers: Servers =
        text.parse().map_err(|error: hyperscale_api::client::ServersError| unusable(error.to_string()))?;
    let args = ServerArgs { token: settings.load_token.clone(), ..ServerArgs::default() };
    let client = remote::client_of(&args, text).map_err(|error| unusable(error.why()))?;
    Ok(Some((servers, client)))
}
