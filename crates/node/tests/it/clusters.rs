//! Whole clusters on loopback: submit, run, result, with the target as the witness of what was sent.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hyperscale_cluster::bundle::Bundle;
use hyperscale_cluster::manager::{Rejection, Request, Response};
use hyperscale_consensus::register::{JobEnd, JobId, JobOptions, RequestId};
use hyperscale_node::launch::Sockets;
use hyperscale_node::manager::ManagerHandle;
use hyperscale_stats::result::{RunResult, Status};
use hyperscale_target::{Options, Running, Target};
use tempfile::TempDir;

use super::host::{Manager, Worker, bind};
use super::support::{PATIENCE, development};

struct Cluster {
    folders: Vec<TempDir>,
    founders: Vec<SocketAddr>,
    managers: Vec<Option<Manager>>,
    target: Running,
}

impl Cluster {
    fn start(managers: usize) -> Self {
        let folders: Vec<_> = (0..managers).map(|_| tempfile::tempdir().unwrap()).collect();
        let sockets: Vec<_> = (0..managers).map(|_| bind()).collect();
        let founders: Vec<_> = sockets.iter().map(Sockets::address).collect();
        let start = |(folder, sockets): (&TempDir, Sockets)| {
            Some(Manager::start(folder.path(), sockets, &founders, development()))
        };
        let managers = folders.iter().zip(sockets).map(start).collect();
        let target = Target::bind(Options::new(([127, 0, 0, 1], 0).into())).unwrap().spawn().unwrap();
        Self { folders, founders, managers, target }
    }

    fn worker(&self, name: &str, cores: u32) -> Worker {
        Worker::start(name, &self.founders, cores, development())
    }

    fn handle(&self, index: usize) -> &ManagerHandle {
        &self.managers[index].as_ref().unwrap().handle
    }

    fn stop(&mut self, index: usize) {
        self.managers[index].take().unwrap().stop();
    }

    fn restart(&mut self, index: usize) {
        let sockets = Sockets::bind(self.founders[index]).unwrap();
        let folder = self.folders[index].path();
        self.managers[index] = Some(Manager::start(folder, sockets, &self.founders, development()));
    }

    fn plan(&self, load: &str) -> Bundle {
        let url = format!("http://{}/", self.target.handle().listen());
        let text = format!(
            "workflows:\n  Browse:\n    {load}\n    steps:\n      home: {{ http: {{ url: '{url}' }} }}\n"
        );
        Bundle { name: "browse.yaml".to_owned(), text: text.into(), ..Bundle::default() }
    }

    /// Submits as a client does: again until somebody takes it.
    async fn submit(&self, index: usize, key: &str, bundle: Bundle) -> JobId {
        let begun = Instant::now();
        loop {
            let request = Request::Submit {
                key: key.to_owned(),
                bundle: Box::new(bundle.clone()),
                options: Box::new(JobOptions::default()),
                caller: "test".to_owned(),
                submitted_at_ms: 0,
            };
            match self.handle(index).request(request).await.unwrap() {
                Response::Accepted { job, .. } => return job,
                Response::Rejected(
                    Rejection::Unavailable(_) | Rejection::QuorumTimeout(_) | Rejection::QuorumCircuitOpen(_),
                ) => {}
                other => panic!("{other:?}"),
            }
            assert!(begun.elapsed() < PATIENCE, "nobody takes it");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How a job is, according to whoever leads it.
    async fn get(&self, job: JobId) -> Option<Response> {
        for manager in self.managers.iter().flatten() {
            let response = manager.handle.request(Request::Get { job }).await.unwrap();
            if matches!(response, Response::Running { .. } | Response::Ended(_)) {
                return Some(response);
            }
        }
        None
    }

    async fn until(&self, job: JobId, is_so: impl Fn(&RunResult) -> bool) {
        let begun = Instant::now();
        loop {
            if let Some(Response::Running { result, .. }) = self.get(job).await
                && is_so(&result)
            {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not happen");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The result of a job once it has ended.
    async fn result(&self, job: JobId) -> RunResult {
        let begun = Instant::now();
        loop {
            if let Some(Response::Ended(end)) = self.get(job).await
                && let Some(result) = self.read(&end).await
            {
                return result;
            }
            assert!(begun.elapsed() < PATIENCE, "the job does not end: {:?}", self.get(job).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn read(&self, end: &JobEnd) -> Option<RunResult> {
        let blob = end.how.result?;
        for manager in self.managers.iter().flatten() {
            if let Some(bytes) = manager.handle.read(blob).await.unwrap() {
                return Some(serde_json::from_slice(&bytes).unwrap());
            }
        }
        None
    }
}

#[tokio::test]
async fn plan_runs_on_two_workers_and_the_result_counts_what_the_target_saw() {
    let cluster = Cluster::start(3);
    let workers = [cluster.worker("w1", 1), cluster.worker("w2", 1)];
    let job = cluster.submit(0, "once", cluster.plan("vus: 4\n    duration: 1s")).await;
    assert_eq!(cluster.submit(1, "once", cluster.plan("vus: 4\n    duration: 1s")).await, job);
    let result = cluster.result(job).await;
    let seen = cluster.target.handle().settled_stats().await;
    assert_eq!(result.status, Status::Completed, "{:?}", result.reason);
    assert!(seen.requests > 0);
    assert_eq!(result.totals.requests, seen.requests);
    assert_eq!((result.validity.loss.windows_late, result.validity.loss.windows_lost), (0, 0));
    for worker in workers {
        worker.handle.drain().await.unwrap();
        worker.join();
    }
}

#[tokio::test]
async fn job_survives_the_death_of_its_leader() {
    let mut cluster = Cluster::start(3);
    let _workers = [cluster.worker("w1", 1), cluster.worker("w2", 1)];
    let job = cluster.submit(0, "k", cluster.plan("vus: 2\n    duration: 5s")).await;
    cluster.until(job, |result| result.totals.requests > 0).await;
    cluster.stop(0);
    let result = cluster.result(job).await;
    let seen = cluster.target.handle().settled_stats().await;
    assert_eq!(result.status, Status::Completed, "{:?}", result.reason);
    assert_eq!(result.totals.requests, seen.requests, "no healthy attempt was lost or run twice");
    cluster.restart(0);
    assert_eq!(cluster.result(job).await.totals.requests, seen.requests);
}

#[tokio::test]
async fn segment_of_a_worker_that_was_killed_is_resumed_on_another_one() {
    let cluster = Cluster::start(3);
    let mut workers: BTreeMap<&str, Worker> =
        ["w1", "w2", "w3"].into_iter().map(|name| (name, cluster.worker(name, 1))).collect();
    let job = cluster.submit(0, "k", cluster.plan("vus: 2\n    duration: 12s")).await;
    cluster.until(job, |result| result.totals.requests > 0).await;
    let mut busy = None;
    for (name, worker) in &workers {
        if worker.handle.status().await.unwrap().attempts > 0 {
            busy = Some(*name);
        }
    }
    workers.remove(busy.unwrap()).unwrap().kill();
    let result = cluster.result(job).await;
    let seen = cluster.target.handle().settled_stats().await;
    assert_eq!(result.status, Status::Completed, "{:?}", result.reason);
    assert_eq!(result.validity.loss.workers_lost, 1);
    assert_eq!(result.validity.loss.unreported.len(), 1, "{:?}", result.validity.loss);
    assert!(result.totals.requests <= seen.requests);
}

#[tokio::test]
async fn cancelled_job_stops_on_all_workers_and_keeps_what_was_measured() {
    let cluster = Cluster::start(3);
    let _workers = [cluster.worker("w1", 1), cluster.worker("w2", 1)];
    let job = cluster.submit(0, "k", cluster.plan("vus: 2\n    duration: 60s")).await;
    cluster.until(job, |result| result.totals.requests > 0).await;
    let cancel = Request::Cancel {
        job,
        workflows: Vec::new(),
        dependents: true,
        request: RequestId([1; 16]),
        reason: "enough".to_owned(),
        caller: "test".to_owned(),
    };
    let response = cluster.handle(2).request(cancel).await.unwrap();
    assert!(matches!(response, Response::CancelCommitted), "{response:?}");
    let result = cluster.result(job).await;
    let seen = cluster.target.handle().settled_stats().await;
    assert_eq!(result.status, Status::Cancelled);
    assert_eq!(result.totals.requests, seen.requests);
}
