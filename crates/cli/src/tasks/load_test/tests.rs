//! Load tests under a running node, against the built-in target.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hyperscale_api::event::EventKind;
use hyperscale_api::response::{CancelResponse, CancelStatus};
use hyperscale_api::server::to_result;
use hyperscale_api::{
    Access, Backend, Caller, EventFrame, EventId, JobEvent, Limits, Listener, Method, RpcError, Server,
};
use hyperscale_stats::event::Event;
use hyperscale_stats::result::{self as stats, RunResult};
use hyperscale_target::{Options, Running, Target};
use hyperscale_tasks::domain::{Backoff, Settings, Status, Task, TaskId, TaskSpec, TreeSpec, effect_key};
use hyperscale_tasks::runtime::{Executors, NodeOptions, TaskNode};
use hyperscale_tasks::store::Store as _;
use hyperscale_tasks::store::sqlite::{SqliteOptions, SqliteStore};
use hyperscale_types::Token;
use serde_json::{Map, json};
use tempfile::TempDir;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A node with a store and a target of its own.
struct Scene {
    store: Arc<SqliteStore>,
    executors: Executors,
    target: Running,
    _folder: TempDir,
    _node: JoinSet<()>,
}

impl Scene {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Arc::new(SqliteStore::open(SqliteOptions::new(folder.path().join("t.db"))).await.unwrap());
        let options = LoadTestOptions { folder: folder.path().join("plans"), cluster: None, cores: 1 };
        let executors = Executors::default().with(LoadTest::new(options));
        let node = TaskNode::new(NodeOptions {
            name: "node".to_owned(),
            address: None,
            capabilities: Map::new(),
            settings: Settings::default(),
            executors: executors.clone(),
            store: store.clone(),
        });
        let (node, mut run) = (node.unwrap(), JoinSet::new());
        run.spawn(async move { node.run(CancellationToken::new()).await.unwrap() });
        let target = Target::bind(Options::new(([127, 0, 0, 1], 0).into())).unwrap().spawn().unwrap();
        Self { store, executors, target, _folder: folder, _node: run }
    }

    /// A plan with a file and a variable. No response is as fast as a microsecond.
    fn plan(&self, duration: &str, p99_max: &str) -> Value {
        let base = self.target.handle().listen();
        let plan = format!(
            "vars: {{ base: nobody }}\ndata: {{ users: {{ file: users.csv }} }}\nthresholds: ['Browse.latency.p99 < {p99_max}']\n\
             workflows:\n  Browse:\n    vus: 2\n    duration: {duration}\n    steps:\n      \
             home: {{ http: {{ url: 'http://{{{{ base }}}}/{{{{ data.users.name }}}}' }} }}\n"
        );
        json!({"plan": plan, "files": users(), "vars": {"base": base.to_string()}})
    }

    async fn submit(&self, inputs: Value) -> TaskId {
        let spec = TaskSpec {
            backoff: Backoff::NONE,
            max_attempts: 1,
            ..TaskSpec::new("load", "load_test", inputs)
        };
        let tree = self.executors.prepare(TreeSpec::single(spec)).unwrap();
        self.store.submit(tree).await.unwrap().tree
    }

    async fn when(&self, task: TaskId, is_so: impl Fn(&Task) -> bool) -> Task {
        let begun = Instant::now();
        loop {
            let stored = self.store.task(task).await.unwrap();
            if is_so(&stored) {
                return stored;
            }
            assert!(begun.elapsed() < PATIENCE, "{stored:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn ended(&self, task: TaskId) -> Task {
        self.when(task, |task| !matches!(task.status, Status::Pending | Status::InProgress)).await
    }
}

fn users() -> Value {
    // name\nada\n
    json!([{"path": "users.csv", "base64": "bmFtZQphZGEK"}])
}

#[tokio::test]
async fn plan_runs_here_and_its_result_is_the_tasks() {
    let scene = Scene::start().await;
    let task = scene.submit(scene.plan("1s", "10s")).await;
    let task = scene.ended(task).await;
    let result = task.result.unwrap_or_else(|| panic!("{:?}", task.error));
    assert_eq!(
        (&result["version"], &result["status"], &result["verdict"]),
        (&json!(1), &json!("completed"), &json!("passed"))
    );
    assert_eq!(result["totals"]["requests"].as_u64().unwrap(), scene.target.handle().stats().requests);
    assert_eq!(result["options"]["task"], json!(task.id.to_string()));
}

#[tokio::test]
async fn thresholds_that_failed_are_a_verdict() {
    let scene = Scene::start().await;
    let task = scene.submit(scene.plan("1s", "1us")).await;
    let task = scene.ended(task).await;
    assert_eq!(task.result.unwrap_or_else(|| panic!("{:?}", task.error))["verdict"], json!("failed"));
}

#[tokio::test]
async fn cancelled_load_test_stops_its_load() {
    let scene = Scene::start().await;
    let task = scene.submit(scene.plan("10m", "10s")).await;
    while scene.target.handle().stats().requests == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(scene.store.cancel(task).await.unwrap());
    assert_eq!(scene.ended(task).await.status, Status::Cancelled);
    while scene.target.handle().stats().connections.open > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn job_that_reached_nobody_fails_the_task() {
    let scene = Scene::start().await;
    let plan = json!({"workflows": {"Browse": {"vus": 1, "duration": "1s", "steps": {"home": {"http": {"url": "http://127.0.0.1:1/"}}}}}});
    let task = scene.submit(json!({"plan": plan})).await;
    let task = scene.ended(task).await;
    assert_eq!(task.status, Status::Failed);
    assert!(task.error.unwrap().contains("(unreachable)"));
}

/// A cluster with one job: it ends when it is cancelled, or when it is followed for the second time.
#[derive(Default)]
struct Cluster {
    result: Mutex<Option<RunResult>>,
    keys: Mutex<Vec<String>>,
    streams: AtomicU32,
    ends_only_when_cancelled: AtomicBool,
    cancelled: Notify,
}

impl Cluster {
    fn finished(&self, status: stats::Status) -> JobEvent {
        let mut result = self.result.lock().unwrap().clone().unwrap();
        result.status = status;
        let id = EventId { token: Token(1), sequence: 2 };
        let note = JobEvent::note("j", id, EventKind::Finished, status, "");
        JobEvent { detail: Some(Box::new(Event::Finished(Box::new(result)))), ..note }
    }
}

impl Backend for Cluster {
    fn methods(&self) -> &'static [&'static str] {
        &["jobs.submit", "jobs.cancel"]
    }

    async fn call(&self, _: &Caller, method: Method) -> Result<Value, RpcError> {
        match method {
            Method::JobsSubmit(submit) => {
                self.keys.lock().unwrap().push(submit.idempotency_key.unwrap().as_str().to_owned());
                Ok(
                    json!({"job": "j", "status": "submitted", "token": 1, "job_leader": null, "queue_position": null}),
                )
            }
            Method::JobsCancel(cancel) => {
                self.cancelled.notify_one();
                to_result(&CancelResponse::new(cancel.job, CancelStatus::Requested))
            }
            other => Err(RpcError::unsupported(other.name())),
        }
    }

    async fn events(
        &self,
        _: &Caller,
        _: String,
        _: Option<EventId>,
    ) -> Result<mpsc::Receiver<EventFrame>, RpcError> {
        let (sender, receiver) = mpsc::channel(4);
        if self.ends_only_when_cancelled.load(Ordering::SeqCst) {
            self.cancelled.notified().await;
            sender.try_send((&self.finished(stats::Status::Cancelled)).into()).unwrap();
        } else if self.streams.fetch_add(1, Ordering::SeqCst) > 0 {
            sender.try_send((&self.finished(stats::Status::Completed)).into()).unwrap();
        }
        Ok(receiver)
    }
}

/// The cluster is named by the task. Its first stream ends without a word, as that of a server that is restarted.
#[tokio::test]
async fn job_of_a_cluster_has_the_effect_key_and_is_followed() {
    let scene = Scene::start().await;
    let task = scene.submit(scene.plan("1s", "10s")).await;
    let result = scene.ended(task).await.result.unwrap();
    let cluster = Arc::new(Cluster::default());
    *cluster.result.lock().unwrap() = Some(serde_json::from_value(result.clone()).unwrap());
    let listener = Listener::tcp("127.0.0.1:0".parse().unwrap(), Access::Open, None).await.unwrap();
    let address = listener.address().unwrap();
    let (_stop, stopped) = watch::channel(false);
    let mut servers = JoinSet::new();
    servers.spawn(Server { listener, backend: cluster.clone(), limits: Limits::NODE }.run(stopped));
    let mut inputs = scene.plan("1s", "10s");
    inputs["server"] = json!(format!("http://{address}"));
    let task = scene.submit(inputs.clone()).await;
    assert_eq!(scene.ended(task).await.result, Some(result));
    assert_eq!(*cluster.keys.lock().unwrap(), [effect_key(task, "job")]);
    assert_eq!(cluster.streams.load(Ordering::SeqCst), 2);
    cluster.ends_only_when_cancelled.store(true, Ordering::SeqCst);
    let task = scene.submit(inputs).await;
    while cluster.keys.lock().unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(scene.store.cancel(task).await.unwrap());
    assert_eq!(scene.ended(task).await.status, Status::Cancelled);
}

#[test]
fn bad_inputs_are_named() {
    let options = LoadTestOptions { folder: PathBuf::new(), cluster: None, cores: 1 };
    let executor = LoadTest::new(options);
    let error = |inputs: Value| executor.check(&inputs).unwrap_err();
    assert_eq!(error(json!({})), "`plan` is missing");
    assert!(error(json!({"plan": "load.yaml"})).starts_with("`plan` is `load.yaml`, a path"));
    assert!(error(json!({"plan": "nothing: 1\n"})).starts_with("`plan` is not valid: "));
    assert!(
        error(json!({"plan": "x: 1\n", "server": "host"}))
            .starts_with("`server`: `host` is not the URL of a server")
    );
    assert!(
        error(json!({"plan": "x: 1\n", "files": [{"path": "a", "base64": "?"}]})).starts_with("`files`: ")
    );
}
