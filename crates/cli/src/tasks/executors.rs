//! What a node can run.

use hyperscale_tasks::runtime::Executors;
use hyperscale_tasks::runtime::executors::{Aggregate, Wait};

use super::settings::ExecutorSettings;

/// The executors of a node with these settings.
pub(crate) fn all(_settings: &ExecutorSettings) -> Executors {
    Executors::default().with(Wait).with(Aggregate)
}
