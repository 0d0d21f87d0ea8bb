//! What a node can run.

use hyperscale_tasks::runtime::Executors;
use hyperscale_tasks::runtime::executors::{Aggregate, Wait};

use super::settings::{ExecutorSettings, ServeError};

/// The executors of a node with these settings. A setting of an executor that does not exist is refused.
pub(crate) fn all(settings: &ExecutorSettings) -> Result<Executors, ServeError> {
    let absent = |origin: &str, value: &str, wanted| {
        Err(ServeError::Value { origin: origin.to_owned(), value: value.to_owned(), wanted })
    };
    if let Some(command) = settings.commands.first() {
        return absent("--allow-command", command, "possible: this version has no executor `command`");
    }
    if let Some(servers) = &settings.load_servers {
        return absent("--load-server", servers, "possible: this version has no executor `load_test`");
    }
    Ok(Executors::default().with(Wait).with(Aggregate))
}
