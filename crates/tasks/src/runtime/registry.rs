//! The node's entry in the registry.

use std::sync::Arc;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{NodeError, Shared};
use crate::domain::{NodeRecord, NodeStatus, Timestamp};
use crate::store::{Liveness, StoreError};

/// Writes down that the node is here.
pub(super) async fn register(shared: &Shared) -> Result<(), StoreError> {
    let record = NodeRecord {
        profile: shared.profile.clone(),
        boot: shared.boot,
        status: NodeStatus::Healthy,
        // The store's clock decides both.
        heartbeat_at: Timestamp(0),
        registered_at: Timestamp(0),
        address: shared.address.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    shared.store.register_node(&record).await
}

/// Sends heartbeats; a node that was forgotten, or whose liveness lock changed hands, registers again.
pub(super) async fn run(shared: Arc<Shared>, shutdown: CancellationToken) -> Result<(), NodeError> {
    let mut session = shared.store.liveness();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => return Ok(()),
            () = sleep(shared.settings.heartbeat) => {}
        }
        if let Err(error) = beat(&shared, &mut session).await {
            tracing::warn!(%error, "a heartbeat was not written");
        }
    }
}

async fn beat(shared: &Shared, session: &mut Liveness) -> Result<(), StoreError> {
    let now = shared.store.liveness();
    let is_known = shared.store.heartbeat(&shared.profile.name, shared.boot).await?;
    if !is_known || now != *session {
        register(shared).await?;
        *session = now;
    }
    Ok(())
}
