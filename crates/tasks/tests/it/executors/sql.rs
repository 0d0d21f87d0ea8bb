//! `sql` against a real PostgreSQL server.

use hyperscale_tasks::domain::{NodeProfile, Status, TaskSpec, TreeSpec};
use hyperscale_tasks::runtime::Executors;
use hyperscale_tasks::runtime::executors::Sql;
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use super::Node;
use crate::server::Server;
use crate::support::{World, boot, claim, profile};

async fn ask(server: &Server, sql: &str) -> i64 {
    let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
    let mut driver = tokio::task::JoinSet::new();
    driver.spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

fn executors() -> Executors {
    Executors::default().with(Sql)
}

/// One server for all: starting one takes longer than the tests.
#[tokio::test]
async fn statements_run_on_postgres() {
    let server = Server::start().await;
    let node = Node::start(executors()).await;
    let sql = |statements: Value| json!({"database": server.url(), "statements": statements});

    // Rows of the last statement, with parameters of many types.
    let select = "SELECT $1::int AS i, $2::text AS t, $3::jsonb AS j, $4::numeric AS n, $5::timestamptz AS z, $6::int[] @> '{2}' AS a,
                  $7::uuid AS u, NULL::text AS nothing, true AS yes, 1.5::float8 AS f";
    let params = json!([7, "it's", {"k": [1]}, "12345678901234567890.50", "2024-02-29T12:00:00Z", [1, 2], "00000000-0000-7000-8000-000000000001"]);
    let inputs = sql(
        json!(["CREATE TABLE t (id int)", {"sql": "INSERT INTO t SELECT generate_series(1, $1::int)", "params": [3]}, {"sql": select, "params": params}]),
    );
    let result = node.run("sql", inputs).await.result.unwrap();
    assert_eq!(
        result,
        json!({"row_counts": [0, 3, 1], "rows": [{
            "i": 7, "t": "it's", "j": {"k": [1]}, "n": "12345678901234567890.50", "z": "2024-02-29T12:00:00Z", "a": true,
            "u": "00000000-0000-7000-8000-000000000001", "nothing": null, "yes": true, "f": 1.5
        }]})
    );

    // All or nothing.
    let task = node.run("sql", sql(json!(["INSERT INTO t VALUES (100)", "SELECT 1/0"]))).await;
    assert_eq!((task.status, task.attempt), (Status::Failed, 1));
    assert_eq!(task.error.as_deref(), Some("statements[1]: division by zero (SQLSTATE 22012)"));
    assert_eq!(ask(&server, "SELECT count(*) FROM t WHERE id = 100").await, 0);

    // Rows are bounded.
    let result = node.run("sql", sql(json!(["SELECT generate_series(1, 5000) AS n"]))).await.result.unwrap();
    assert_eq!((result["rows"].as_array().unwrap().len(), &result["row_counts"]), (1_000, &json!([5_000])));
    assert_eq!(result["truncated"], json!(true));

    // What has no JSON form is said before anything is done.
    let task = node.run("sql", sql(json!(["SELECT interval '1 day' AS i"]))).await;
    assert!(task.error.unwrap().contains("column `i` has the type interval"));
    let task = node.run("sql", sql(json!([{"sql": "SELECT $1::int", "params": []}]))).await;
    assert!(task.error.unwrap().contains("has 1 parameters, but 0 values are given"));

    // A transaction that a statement ends, in a way that submission does not see, is noticed.
    let task = node.run("sql", sql(json!(["/* */ COMMIT"]))).await;
    assert!(task.error.unwrap().contains("ended the transaction"));

    done_once(&server).await;
    cancelled(&server, &node).await;
    secret(&server, &node).await;
}

/// A node commits and dies before it reports: the next attempt finds what was done and does nothing.
async fn done_once(server: &Server) {
    let world = World::live_sqlite().await;
    let inputs = json!({"database": server.url(), "statements": ["INSERT INTO t VALUES (200) RETURNING id"]});
    let tree = executors().prepare(TreeSpec::single(TaskSpec::new("one", "sql", inputs))).unwrap();
    let task = world.store.submit(tree).await.unwrap().tree;
    let first = Node::start_on(world, executors()).await;
    let done = first.ended(task).await;
    assert_eq!(done.result, Some(json!({"rows": [{"id": 200}], "row_counts": [1]})));
    // The same task again, as another attempt would run it.
    let world = World::live_sqlite().await;
    let mut tree = executors()
        .prepare(TreeSpec::single(TaskSpec::new(
            "one",
            "sql",
            json!({"database": server.url(), "statements": ["INSERT INTO t VALUES (200) RETURNING id"]}),
        )))
        .unwrap();
    tree.tasks[0].id = task;
    world.store.submit(tree).await.unwrap();
    let node = NodeProfile { executors: executors().names(), ..profile("dead") };
    let held = world
        .store
        .claim(&hyperscale_tasks::store::Claim { node, ..claim("dead", boot(1), 1) })
        .await
        .unwrap()[0]
        .held;
    world.store.release(&[held]).await.unwrap();
    let second = Node::start_on(world, executors()).await;
    let again = second.ended(task).await;
    assert_eq!((again.attempt, again.result), (2, done.result));
    assert_eq!(ask(server, "SELECT count(*) FROM t WHERE id = 200").await, 1);
}

async fn cancelled(server: &Server, node: &Node) {
    let task = node.submit("sql", json!({"database": server.url(), "statements": ["INSERT INTO t VALUES (300)", "SELECT pg_sleep(1000)"]})).await;
    let running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1000)%' AND pid <> pg_backend_pid() AND state = 'active'";
    while ask(server, running).await == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert!(node.world.store.cancel(task).await.unwrap());
    assert_eq!(node.ended(task).await.status, Status::Cancelled);
    while ask(server, running).await > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(ask(server, "SELECT count(*) FROM t WHERE id = 300").await, 0);
}

async fn secret(server: &Server, node: &Node) {
    let inputs = json!({"database": format!("{} password=hidden", server.url()), "statements": ["SELECT 'hidden' AS x"]});
    let task = node.run("sql", inputs).await;
    assert_eq!(task.result.as_ref().unwrap()["rows"], json!([{"x": "***"}]));
    let inputs = json!({"database": "postgres://me:hidden@127.0.0.1:1/x", "statements": ["SELECT 1"]});
    let failed = node.run("sql", inputs).await;
    assert_eq!((failed.status, failed.attempt), (Status::Failed, 3));
    for task in [task.id, failed.id] {
        let all = node.everything(task).await;
        assert!(!all.contains("hidden"), "{all}");
    }
}
