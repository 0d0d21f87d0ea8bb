//! Opening stores: many processes at once, on a database that is not there yet.

use std::time::Duration;

use hyperscale_tasks::store::Liveness;
use hyperscale_tasks::store::Store as _;
use hyperscale_tasks::store::postgres::{PostgresOptions, PostgresStore};
use hyperscale_tasks::store::sqlite::{SqliteOptions, SqliteStore};
use tokio::task::JoinSet;

use crate::server::Server;
use crate::support::{PATIENCE, boot, profile, record};

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
    let options = PostgresOptions { config: server.schema().await, connections: 2, read_only: false };
    let mut processes = JoinSet::new();
    for _ in 0..8 {
        processes.spawn(PostgresStore::open(options.clone()));
    }
    for store in processes.join_all().await {
        assert!(store.unwrap().leader().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn lost_session_is_noticed_and_its_lock_taken_again() {
    let server = Server::start().await;
    let options = PostgresOptions { config: server.schema().await, connections: 2, read_only: false };
    let store = PostgresStore::open(options.clone()).await.unwrap();
    let other = PostgresStore::open(options).await.unwrap();
    assert_eq!(store.liveness(), Liveness::Absent);
    store.hold_liveness(boot(21)).await.unwrap();
    let Liveness::Held(first) = store.liveness() else { panic!("{:?}", store.liveness()) };
    store.register_node(&record(profile("node"), boot(21))).await.unwrap();
    server.cut_connections().await;
    // It is taken for dead for a moment, and says itself that it may be.
    let again = async {
        while store.liveness() != Liveness::Held(first + 1) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        while !matches!(other.dead_boots(&[boot(21)]).await.as_deref(), Ok([])) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, again).await.expect("the lock is not taken again");
}
