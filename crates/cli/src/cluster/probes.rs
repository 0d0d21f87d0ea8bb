//! What every node serves: health, readiness, metrics. A worker serves nothing else.

use hyperscale_api::{Backend, Readiness};
use hyperscale_node::membership::MembershipHandle;
use hyperscale_node::transport::TransportHandle;
use hyperscale_node::worker::WorkerHandle;

use super::metrics::Metrics;

/// A worker behind its probes.
#[derive(Debug)]
pub(crate) struct WorkerProbes {
    /// The worker.
    pub(crate) worker: WorkerHandle,
    /// Its failure detector.
    pub(crate) membership: MembershipHandle,
    /// Its connections.
    pub(crate) transport: TransportHandle,
}

impl Backend for WorkerProbes {
    async fn readiness(&self) -> Readiness {
        match self.worker.status().await {
            Ok(status) if status.is_registered => Readiness::Ready,
            Ok(_) => {
                Readiness::NotReady("the worker has no lease: it is not registered with a manager".to_owned())
            }
            Err(error) => Readiness::NotReady(error.to_string()),
        }
    }

    async fn metrics(&self) -> String {
        let (view, mut metrics) = (self.membership.view(), Metrics::default());
        metrics.membership(&view);
        metrics.wire(&self.transport, &view);
        if let Ok(status) = self.worker.status().await {
            metrics.worker(&status);
        }
        metrics.text()
    }
}
