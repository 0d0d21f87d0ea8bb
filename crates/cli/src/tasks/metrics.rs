//! What a task node counts, as Prometheus reads it.

use hyperscale_tasks::domain::{Counts, NodeRecord, NodeStatus};
use hyperscale_tasks::runtime::Counters;

use super::backend::Plane;
use crate::cluster::metrics::Metrics;

/// All metrics of a node. What the database does not say in time is left out.
pub(super) async fn text(plane: &Plane) -> String {
    let mut metrics = Metrics::default();
    let (counts, nodes) = (plane.store.counts().await, plane.store.nodes().await);
    metrics.gauge("hyperscale_tasks_database_up", u8::from(counts.is_ok()));
    if let Ok(counts) = counts {
        tasks(&mut metrics, &counts);
    }
    if let Ok(nodes) = nodes {
        registry(&mut metrics, &nodes);
    }
    if let Some(worker) = &plane.worker {
        metrics.gauge("hyperscale_tasks_leads", u8::from(worker.node.leads().borrow().is_some()));
        counters(&mut metrics, worker.node.counters());
    }
    metrics.text()
}

/// The same while the database has not been reached.
pub(super) fn without_database() -> String {
    let mut metrics = Metrics::default();
    metrics.gauge("hyperscale_tasks_database_up", 0);
    metrics.text()
}

fn tasks(metrics: &mut Metrics, counts: &Counts) {
    let states = [
        ("pending", counts.pending),
        ("in_progress", counts.in_progress),
        ("completed", counts.completed),
        ("failed", counts.failed),
        ("cancelled", counts.cancelled),
    ];
    metrics.by(("hyperscale_tasks", "gauge"), "state", states);
    metrics.gauge("hyperscale_tasks_leases", counts.leases);
}

fn registry(metrics: &mut Metrics, nodes: &[NodeRecord]) {
    let count = |status: NodeStatus| nodes.iter().filter(|node| node.status == status).count() as u64;
    let states = [NodeStatus::Healthy, NodeStatus::Stale, NodeStatus::Dead]
        .map(|status| (status.as_str(), count(status)));
    metrics.by(("hyperscale_tasks_nodes", "gauge"), "state", states);
}

fn counters(metrics: &mut Metrics, counters: &Counters) {
    metrics.counter("hyperscale_tasks_claims_total", counters.claims.get());
    metrics.counter("hyperscale_tasks_finished_total", counters.finished.get());
    metrics.counter("hyperscale_tasks_lease_renewals_total", counters.renewals.get());
    metrics.counter("hyperscale_tasks_leases_lost_total", counters.leases_lost.get());
    metrics.counter("hyperscale_tasks_stale_reports_total", counters.stale_reports.get());
    metrics.counter("hyperscale_tasks_sweeps_total", counters.sweeps.get());
    metrics.counter("hyperscale_tasks_leases_swept_total", counters.swept.get());
    metrics.counter("hyperscale_tasks_schedule_fires_total", counters.fires.get());
}
