//! What every node serves: health, readiness, metrics. A worker serves nothing else.

use std::fmt::Write as _;

use hyperscale_api::{Backend, Readiness};
use hyperscale_node::membership::{MembershipHandle, View};
use hyperscale_node::transport::TransportHandle;
use hyperscale_node::worker::WorkerHandle;
use hyperscale_swim::Status;

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
        let mut text = membership_metrics(&self.membership.view());
        text += &refusal_metrics(&self.transport);
        if let Ok(status) = self.worker.status().await {
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "# TYPE hyperscale_worker_cores_free gauge\nhyperscale_worker_cores_free {}\n\
                 # TYPE hyperscale_worker_attempts gauge\nhyperscale_worker_attempts {}\n\
                 # TYPE hyperscale_worker_has_lease gauge\nhyperscale_worker_has_lease {}\n",
                status.cores_free,
                status.attempts,
                u8::from(status.is_registered),
            );
        }
        text
    }
}

/// What the failure detector knows, as metrics.
pub(super) fn membership_metrics(view: &View) -> String {
    let count = |status: Status| view.members.iter().filter(|it| it.claim.status == status).count();
    let states = [
        ("alive", count(Status::Alive)),
        ("suspect", count(Status::Suspect)),
        ("dead", count(Status::Dead)),
        ("left", count(Status::Left)),
    ];
    let mut text = "# TYPE hyperscale_members gauge\n".to_owned();
    for (state, members) in states {
        // Writing to a string does not fail.
        let _ = writeln!(text, "hyperscale_members{{state=\"{state}\"}} {members}");
    }
    let _ = write!(
        text,
        "# TYPE hyperscale_membership_health_multiplier gauge\nhyperscale_membership_health_multiplier {}\n",
        view.lhm,
    );
    text
}

/// What other nodes sent and was refused, by reason; reasons that never occurred are left out.
pub(super) fn refusal_metrics(transport: &TransportHandle) -> String {
    let mut text = "# TYPE hyperscale_frames_refused_total counter\n".to_owned();
    for (refusal, count) in transport.counters().wire.iter().filter(|(_, count)| *count > 0) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "hyperscale_frames_refused_total{{reason=\"{}\"}} {count}", refusal.name());
    }
    text
}
