//! What nodes count, as Prometheus reads it. Names are constants here, so that the list of what must exist is in one place.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use hyperscale_api::response::Circuit;
use hyperscale_cluster::manager::{Counters, LATENCIES, Latencies};
use hyperscale_cluster::message::DispatchRefusal;
use hyperscale_consensus::register::{AttemptState, Register};
use hyperscale_node::manager::Seen;
use hyperscale_node::membership::View;
use hyperscale_node::transport::TransportHandle;
use hyperscale_node::worker::WorkerStatus;
use hyperscale_stats::result::Status as JobStatus;
use hyperscale_swim::{Status, WorkerState};
use hyperscale_wire::counters::Refusal;

use super::view::circuit;

/// Metrics in the text format of Prometheus.
#[derive(Debug, Default)]
pub(crate) struct Metrics(String);

impl Metrics {
    pub(crate) fn text(self) -> String {
        self.0
    }

    fn kind(&mut self, name: &str, kind: &str) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, value: impl Display) {
        self.kind(name, kind);
        let _ = writeln!(self.0, "{name} {value}");
    }

    pub(crate) fn gauge(&mut self, name: &str, value: impl Display) {
        self.one(name, "gauge", value);
    }

    pub(crate) fn counter(&mut self, name: &str, value: u64) {
        self.one(name, "counter", value);
    }

    /// One line for each value of a label.
    pub(crate) fn by<'a>(
        &mut self,
        (name, kind): (&str, &str),
        label: &str,
        values: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.kind(name, kind);
        for (word, value) in values {
            let _ = writeln!(self.0, "{name}{{{label}=\"{word}\"}} {value}");
        }
    }

    fn histogram(&mut self, name: &str, latencies: &Latencies) {
        self.kind(name, "histogram");
        let mut below = 0;
        for (bound, count) in LATENCIES.iter().map(Duration::as_secs_f64).zip(latencies.counts) {
            below += count;
            let _ = writeln!(self.0, "{name}_bucket{{le=\"{bound}\"}} {below}");
        }
        let all: u64 = latencies.counts.iter().sum();
        let _ = writeln!(self.0, "{name}_bucket{{le=\"+Inf\"}} {all}");
        let _ = writeln!(self.0, "{name}_sum {}\n{name}_count {all}", latencies.sum.as_secs_f64());
    }

    /// What the failure detector knows.
    pub(super) fn membership(&mut self, view: &View) {
        let count =
            |status: Status| view.members.iter().filter(|it| it.claim.status == status).count() as u64;
        let states = [
            ("alive", count(Status::Alive)),
            ("suspect", count(Status::Suspect)),
            ("dead", count(Status::Dead)),
            ("left", count(Status::Left)),
        ];
        self.by(("hyperscale_members", "gauge"), "state", states);
        let (counters, suspicions) = (&view.counters, view.suspicions);
        let probes = [
            ("sent", counters.probes),
            ("failed", counters.probes_failed),
            ("skipped", counters.probes_skipped),
        ];
        self.by(("hyperscale_membership_probes_total", "counter"), "outcome", probes);
        let suspicions = [
            ("raised", suspicions.raised),
            ("refuted", suspicions.refuted),
            ("died", suspicions.died),
            // Of this node itself, which it contradicted.
            ("false", counters.refutations),
        ];
        self.by(("hyperscale_membership_suspicions_total", "counter"), "outcome", suspicions);
        self.gauge("hyperscale_membership_health_multiplier", view.lhm);
        self.gauge("hyperscale_membership_load_level", view.level as u8);
    }

    /// What other nodes sent and was refused, by reason; reasons that never occurred are left out.
    pub(super) fn wire(&mut self, transport: &TransportHandle, view: &View) {
        let mut all = transport.counters().wire;
        all.merge(&view.refused);
        let refused = all.iter().filter(|(_, count)| *count > 0);
        let refused: Vec<_> = refused.map(|(refusal, count)| (refusal.name(), count)).collect();
        self.by(("hyperscale_frames_refused_total", "counter"), "reason", refused);
        let limited = [
            ("peer", all.refused(Refusal::RateLimitedPeer)),
            ("source", all.refused(Refusal::RateLimitedSource)),
        ];
        self.by(("hyperscale_rate_limited_total", "counter"), "of", limited);
        self.counter("hyperscale_previous_secret_uses_total", all.previous_secret());
    }

    /// What a manager knows and did.
    pub(super) fn manager(&mut self, seen: &Seen<'_>) {
        let (manager, counters) = (seen.manager, seen.manager.counters());
        self.log(seen, counters);
        let jobs = manager.jobs_by_status();
        let count = |status: JobStatus| jobs.get(status.as_str()).copied().unwrap_or(0);
        let states = JOB_STATES.map(|status| (status.as_str(), count(status)));
        self.by(("hyperscale_jobs", "gauge"), "state", states);
        self.gauge("hyperscale_jobs_open", manager.register().map_or(0, Register::jobs_open));
        self.gauge("hyperscale_jobs_queue_depth", count(JobStatus::Queued));
        self.segments(manager.register());
        let mut workers = [0_u64; 5];
        for (id, _) in manager.register().into_iter().flat_map(Register::workers) {
            let state = manager.worker_state(*id).unwrap_or(WorkerState::Healthy);
            workers[state as usize] += 1;
        }
        let workers = WORKER_STATES.map(|(word, state)| (word, workers[state as usize]));
        self.by(("hyperscale_workers", "gauge"), "state", workers);
        self.gauge("hyperscale_workers_granted", manager.register().map_or(0, |it| it.workers().len()));
        self.gauge("hyperscale_worker_circuits_open", manager.circuits_open());
        self.gauge("hyperscale_backpressure_level", manager.backpressure() as u8);
        self.dispatches(counters);
        self.transfers(counters);
        let windows = [
            ("late", counters.windows_late),
            ("lost", counters.windows_lost),
            ("duplicate", counters.windows_duplicate),
        ];
        self.by(("hyperscale_windows_total", "counter"), "outcome", windows);
    }

    fn log(&mut self, seen: &Seen<'_>, counters: &Counters) {
        self.counter("hyperscale_log_leader_changes_total", seen.counts.leader_changes);
        self.counter("hyperscale_log_snapshots_restored_total", seen.counts.snapshots_restored);
        let has_leader = seen.manager.replica().leader_node().is_some();
        self.gauge("hyperscale_log_has_leader", u8::from(has_leader));
        let proposals = [
            ("applied", counters.proposals_applied),
            ("refused", counters.proposals_refused),
            ("failed", counters.proposals_failed),
        ];
        self.by(("hyperscale_log_proposals_total", "counter"), "outcome", proposals);
        self.histogram("hyperscale_log_commit_latency_seconds", &counters.commit_latencies);
        let now = circuit(seen);
        let states = [("closed", Circuit::Closed), ("half_open", Circuit::HalfOpen), ("open", Circuit::Open)];
        let states = states.map(|(word, state)| (word, u64::from(state == now)));
        self.by(("hyperscale_log_quorum_circuit", "gauge"), "state", states);
    }

    /// Segments of open jobs, by the state of their newest attempt.
    fn segments(&mut self, register: Option<&Register>) {
        let (mut running, mut lost, mut ended) = (0, 0, 0);
        let jobs = register.into_iter().flat_map(Register::jobs).filter(|(_, job)| job.end.is_none());
        for (_, _, attempt) in jobs.flat_map(|(_, job)| job.segments()) {
            match attempt.state {
                AttemptState::Running => running += 1,
                AttemptState::Lost { .. } => lost += 1,
                AttemptState::Ended(_) => ended += 1,
            }
        }
        let states = [("running", running), ("lost", lost), ("ended", ended)];
        self.by(("hyperscale_segments", "gauge"), "state", states);
    }

    fn dispatches(&mut self, counters: &Counters) {
        let dispatches = [
            ("sent", counters.dispatches),
            ("repeated", counters.dispatches_repeated),
            ("unanswered", counters.dispatches_unanswered),
        ];
        self.by(("hyperscale_dispatches_total", "counter"), "outcome", dispatches);
        let refused = |word| (word, counters.refusals.get(word).copied().unwrap_or(0));
        let refusals = DispatchRefusal::WORDS.map(refused);
        self.by(("hyperscale_dispatch_refusals_total", "counter"), "reason", refusals);
        let attempts = [("lost", counters.attempts_lost), ("superseded", counters.attempts_superseded)];
        self.by(("hyperscale_attempts_total", "counter"), "outcome", attempts);
    }

    fn transfers(&mut self, counters: &Counters) {
        let transfers = [
            ("received", counters.transfers_received),
            ("accepted", counters.transfers_accepted),
            ("rejected_unreadable", counters.transfers_unreadable),
            ("rejected_stale_token", counters.transfers_stale),
        ];
        self.by(("hyperscale_job_leader_transfers_total", "counter"), "outcome", transfers);
        self.histogram("hyperscale_job_leader_transfer_latency_seconds", &counters.transfer_latencies);
        self.counter("hyperscale_requests_rerouted_total", counters.requests_rerouted);
    }

    /// What a worker has and did.
    pub(super) fn worker(&mut self, status: &WorkerStatus) {
        let WorkerStatus { is_registered, cores_free, attempts, load, counters, .. } = status;
        let words = WORKER_STATES.map(|(word, state)| (word, u64::from(state == load.state)));
        self.by(("hyperscale_worker_state", "gauge"), "state", words);
        self.gauge("hyperscale_worker_has_lease", u8::from(*is_registered));
        self.gauge("hyperscale_worker_cores_free", cores_free);
        self.gauge("hyperscale_worker_attempts", attempts);
        self.gauge("hyperscale_worker_queue_depth", load.queue_depth);
        self.gauge("hyperscale_worker_other_cpu_percent", load.cpu_percent);
        self.gauge("hyperscale_worker_memory_percent", load.memory_percent);
        self.by(("hyperscale_dispatches_total", "counter"), "outcome", [("taken", counters.taken)]);
        let refused = |word| (word, counters.refusals.get(word).copied().unwrap_or(0));
        let refusals = DispatchRefusal::WORDS.map(refused);
        self.by(("hyperscale_dispatch_refusals_total", "counter"), "reason", refusals);
        let transfers = [
            ("received", counters.transfers_received),
            ("accepted", counters.transfers_accepted),
            ("rejected_stale_token", counters.stale_tokens),
        ];
        self.by(("hyperscale_job_leader_transfers_total", "counter"), "outcome", transfers);
        self.gauge("hyperscale_orphans", status.orphans);
        let cut_off = [("orphaned", counters.orphans_cut_off), ("lease_ended", counters.lease_cut_off)];
        self.by(("hyperscale_attempts_cut_off_total", "counter"), "reason", cut_off);
        self.by(("hyperscale_windows_total", "counter"), "outcome", [("lost", counters.windows_dropped)]);
    }
}

/// States that a job has as far as the log says.
const JOB_STATES: [JobStatus; 9] = [
    JobStatus::Submitted,
    JobStatus::Queued,
    JobStatus::Running,
    JobStatus::Cancelling,
    JobStatus::Completed,
    JobStatus::Partial,
    JobStatus::Failed,
    JobStatus::Cancelled,
    JobStatus::TimedOut,
];

const WORKER_STATES: [(&str, WorkerState); 5] = [
    ("registering", WorkerState::Registering),
    ("healthy", WorkerState::Healthy),
    ("degraded", WorkerState::Degraded),
    ("draining", WorkerState::Draining),
    ("offline", WorkerState::Offline),
];
