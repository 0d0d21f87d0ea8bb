//! Load tests under a running node, against the built-in target.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyperscale_target::{Options, Running, Target};
use hyperscale_tasks::domain::{Backoff, Settings, Status, Task, TaskId, TaskSpec, TreeSpec};
use hyperscale_tasks::runtime::{Executors, NodeOptions, TaskNode};
use hyperscale_tasks::store::Store as _;
use hyperscale_tasks::store::sqlite::{SqliteOptions, SqliteStore};
use serde_json::{Map, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;

/// How long something that must happen may take.
const PATIENCE: Duration = Duration::from_secs(60);

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
        let store = Arc::new(SqliteStore::open(SqliteOptions::new(folder.path().join("t.db"))).await.unwrap());
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

    fn plan(&self, duration: &str) -> String {
        let url = format!("http://{}/{{{{ data.users.name }}}}", self.target.handle().listen());
        format!(
            "vars: {{ limit: 10s }}\ndata: {{ users: {{ file: users.csv }} }}\nthresholds: ['p99 < {{{{ limit }}}}']\n\
             workflows:\n  Browse:\n    vus: 2\n    duration: {duration}\n    steps:\n      home: {{ http: {{ url: '{url}' }} }}\n"
        )
    }

    async fn submit(&self, inputs: Value) -> TaskId {
        let spec = TaskSpec { backoff: Backoff::NONE, max_attempts: 1, ..TaskSpec::new("load", "load_test", inputs) };
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
    let task = scene.submit(json!({"plan": scene.plan("1s"), "files": users()})).await;
    let task = scene.ended(task).await;
    let result = task.result.unwrap_or_else(|| panic!("{:?}", task.error));
    assert_eq!((&result["version"], &result["status"], &result["verdict"]), (&json!(1), &json!("completed"), &json!("passed")));
    assert_eq!(result["totals"]["requests"].as_u64().unwrap(), scene.target.handle().stats().requests);
    assert_eq!(result["options"]["task"], json!(task.id.to_string()));
}

#[tokio::test]
async fn thresholds_that_failed_are_a_verdict() {
    let scene = Scene::start().await;
    let inputs = json!({"plan": scene.plan("1s"), "files": users(), "vars": {"limit": "1us"}});
    let task = scene.submit(inputs).await;
    let task = scene.ended(task).await;
    assert_eq!(task.result.unwrap_or_else(|| panic!("{:?}", task.error))["verdict"], json!("failed"));
}

#[tokio::test]
async fn cancelled_load_test_stops_its_load() {
    let scene = Scene::start().await;
    let task = scene.submit(json!({"plan": scene.plan("10m"), "files": users()})).await;
    while scene.target.handle().stats().requests == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(scene.store.cancel(task).await.unwrap());
    assert_eq!(scene.ended(task).await.status, Status::Cancelled);
    let seen = scene.target.handle().stats().requests;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(scene.target.handle().stats().requests, seen);
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

#[test]
fn bad_inputs_are_named() {
    let options = LoadTestOptions { folder: PathBuf::new(), cluster: None, cores: 1 };
    let executor = LoadTest::new(options);
    let error = |inputs: Value| executor.check(&inputs).unwrap_err();
    assert_eq!(error(json!({})), "`plan` is missing");
    assert!(error(json!({"plan": "load.yaml"})).starts_with("`plan` is `load.yaml`, a path"));
    assert!(error(json!({"plan": "nothing: 1\n"})).starts_with("`plan` is not valid: "));
    assert!(error(json!({"plan": "x: 1\n", "server": "host"})).starts_with("`server`: `host` is not the URL of a server"));
    assert!(error(json!({"plan": "x: 1\n", "files": [{"path": "a", "base64": "?"}]})).starts_with("`files`: "));
}
