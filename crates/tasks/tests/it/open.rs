//! Opening stores: many processes at once, on a database that is not there yet.

use hyperscale_tasks::store::Store as _;
use hyperscale_tasks::store::postgres::{PostgresOptions, PostgresStore};
use hyperscale_tasks::store::sqlite::{SqliteOptions, SqliteStore};
use tokio::task::JoinSet;

use crate::server::Server;

#[tokio::test]
async fn many_processes_make_one_sqlite_database() {
    let folder = tempfile::tempdir().unwrap();
    let options = SqliteOptions::new(folder.path().join("tasks.db"));
    let mut processes = JoinSet::new();
    for _ in 0..8 {
        processes.spawn(SqliteStore::open(options.clone()));
    }
    for store in processes.join_all().await {
        assert!(store.unwrap().leader().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn many_processes_make_one_postgres_schema() {
    let server = Server::start().await;
    let options = PostgresOptions { config: server.schema().await, connections: 2 };
    let mut processes = JoinSet::new();
    for _ in 0..8 {
        processes.spawn(PostgresStore::open(options.clone()));
    }
    for store in processes.join_all().await {
        assert!(store.unwrap().leader().await.unwrap().is_none());
    }
}
