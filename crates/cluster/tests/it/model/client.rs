//! What a test asks of the model, and what it looks at.

use std::time::Duration;

use hyperscale_cluster::manager::{self, Rejection, Request, RequestNumber, Response};
use hyperscale_cluster::message::{Backpressure, JobAttempt, ToManager};
use hyperscale_consensus::RaftGroup;
use hyperscale_consensus::register::{JobEnd, JobId, JobOptions, Register};
use hyperscale_stats::result::RunResult;
use hyperscale_swim::{WorkerLoad, WorkerState};
use hyperscale_types::{NodeId, Token};

use super::{Cluster, ManagerNode, bundle};

/// What the clock of the host shows whenever something is submitted: 14 November 2023.
const SUBMITTED_AT_MS: u64 = 1_700_000_000_000;

impl Cluster {
    pub(crate) fn submit(&mut self, to: NodeId, key: &str, text: &str) -> RequestNumber {
        self.submit_with(to, key, text, JobOptions::default())
    }

    pub(crate) fn submit_with(
        &mut self,
        to: NodeId,
        key: &str,
        text: &str,
        options: JobOptions,
    ) -> RequestNumber {
        let (key, caller) = (key.to_owned(), "test".to_owned());
        let (bundle, options) = (Box::new(bundle(text)), Box::new(options));
        self.ask(to, Request::Submit { key, bundle, options, caller, submitted_at_ms: SUBMITTED_AT_MS })
    }

    pub(crate) fn ask(&mut self, to: NodeId, what: Request) -> RequestNumber {
        self.numbers += 1;
        let request = RequestNumber(self.numbers);
        self.soon_manager(to, manager::Input::Request { request, what });
        request
    }

    /// A worker says something to a manager, whatever its core thinks.
    pub(crate) fn say(&mut self, from: NodeId, to: NodeId, message: ToManager) {
        self.soon_manager(to, manager::Input::Worker { from, message });
    }

    /// Whether a worker has a lease that it may use.
    pub(crate) fn is_usable(&self, node: NodeId) -> bool {
        self.workers[&node].core.is_usable(self.now)
    }

    pub(crate) fn response(&mut self, request: RequestNumber) -> Response {
        self.wait("a response", Duration::from_secs(20), |it| it.responses.contains_key(&request));
        self.responses.remove(&request).unwrap()
    }

    /// Whether a manager's process runs.
    pub(crate) fn runs_manager(&self, node: NodeId) -> bool {
        self.managers.contains_key(&node)
    }

    /// The token of a job's leader, as the group decided it.
    pub(crate) fn leadership(&self, job: JobId) -> Token {
        let registers = self.managers.values().filter_map(|it| it.core.register());
        registers.filter_map(|register| Some(register.job(job)?.leader?.1)).max().unwrap_or(Token(0))
    }

    /// Whether a worker's process runs.
    pub(crate) fn has_worker(&self, node: NodeId) -> bool {
        self.workers.contains_key(&node)
    }

    /// Submits and waits for the acceptance.
    pub(crate) fn accepted(&mut self, to: NodeId, key: &str, text: &str) -> (JobId, NodeId) {
        self.accepted_with(to, key, text, &JobOptions::default())
    }

    /// The same with options. A client submits again under the same key what could not be decided.
    pub(crate) fn accepted_with(
        &mut self,
        to: NodeId,
        key: &str,
        text: &str,
        options: &JobOptions,
    ) -> (JobId, NodeId) {
        for _ in 0..20 {
            let request = self.submit_with(to, key, text, options.clone());
            match self.response(request) {
                Response::Accepted { job, .. } => {
                    self.wait("a job leader", Duration::from_secs(20), |it| it.leader_of(job).is_some());
                    return (job, self.leader_of(job).unwrap().0);
                }
                Response::Rejected(
                    Rejection::Unavailable(_) | Rejection::QuorumTimeout(_) | Rejection::QuorumCircuitOpen(_),
                ) => {}
                other => panic!("{other:?}"),
            }
        }
        panic!("not accepted after 20 submissions");
    }

    /// How a job ended, once all managers that run say so.
    pub(crate) fn end_of(&mut self, job: JobId, within: Duration) -> JobEnd {
        let end = |it: &ManagerNode| it.core.register()?.job(job)?.end.clone();
        self.wait("the job ends", within, |it| it.managers.values().all(|it| end(it).is_some()));
        let ends: Vec<JobEnd> = self.managers.values().filter_map(end).collect();
        assert!(ends.iter().all(|it| it.how == ends[0].how));
        ends[0].clone()
    }

    /// The result of a job that has ended.
    pub(crate) fn result(&mut self, end: &JobEnd) -> RunResult {
        let blob = end.how.result.unwrap();
        let bytes = self.blobs.values().find_map(|blobs| blobs.get(&blob)).unwrap();
        serde_json::from_slice(bytes).unwrap()
    }

    pub(crate) fn leader_of(&self, job: JobId) -> Option<(NodeId, Token)> {
        self.managers.values().find_map(|it| it.core.register()?.job(job)?.leader)
    }

    pub(crate) fn cluster_leader(&self) -> Option<NodeId> {
        let leads = |it: &ManagerNode| it.core.replica().group().is_some_and(RaftGroup::is_established);
        self.managers.iter().find(|(_, it)| leads(it)).map(|(node, _)| *node)
    }

    pub(crate) fn register(&self, node: NodeId) -> &Register {
        self.managers[&node].core.register().unwrap()
    }

    /// The log of whichever manager runs.
    pub(crate) fn register_of_any(&self) -> &Register {
        self.managers.values().find_map(|it| it.core.register()).unwrap()
    }

    /// Members of the group, as a manager knows them.
    pub(crate) fn members(&self, node: NodeId) -> Vec<NodeId> {
        let group = self.managers[&node].core.replica().group().unwrap();
        group.roster().members().map(|member| member.node).collect()
    }

    /// Whether a manager takes another node for gone.
    pub(crate) fn is_gone(&self, at: NodeId, node: NodeId) -> bool {
        self.managers[&at].core.is_gone(node)
    }

    /// What a manager takes a worker for.
    pub(crate) fn worker_state(&self, node: NodeId, worker: NodeId) -> Option<WorkerState> {
        self.managers.get(&node)?.core.worker_state(worker)
    }

    /// What a worker says of itself.
    pub(crate) fn load_of(&self, worker: NodeId) -> WorkerLoad {
        self.workers[&worker].core.load()
    }

    pub(crate) fn counters(&self, node: NodeId) -> &manager::Counters {
        self.managers[&node].core.counters()
    }

    pub(crate) fn circuits_open(&self, node: NodeId) -> usize {
        self.managers[&node].core.circuits_open()
    }

    pub(crate) fn backpressure(&self, node: NodeId) -> Backpressure {
        self.managers[&node].core.backpressure()
    }

    /// How often a manager looked after a job.
    pub(crate) fn drives(&self, node: NodeId) -> u64 {
        self.managers[&node].core.drives()
    }

    /// Attempts that run now, on workers that run.
    pub(crate) fn running(&self) -> Vec<JobAttempt> {
        self.workers.values().flat_map(|it| it.attempts.keys().copied()).collect()
    }
}
