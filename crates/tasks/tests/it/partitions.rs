//! What only PostgreSQL has: events in partitions of a day each, and counts that are kept as changes.

use std::time::Duration;

use hyperscale_tasks::domain::Position;
use hyperscale_tasks::store::{Retention, StoreError};
use tokio_postgres::{Config, NoTls};

use crate::server::{Server, run};
use crate::support::{World, task};

const DAY: Duration = Duration::from_hours(24);

/// The only value of a query.
async fn value(config: &Config, sql: &str) -> i64 {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    let mut driver = tokio::task::JoinSet::new();
    driver.spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

const PARTITIONS: &str = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'task_events'::regclass";

#[tokio::test]
async fn days_of_events_are_made_ahead_and_thrown_away_whole() {
    let server = Server::start().await;
    let world = World::postgres(&server).await;
    let config = world.postgres_config().unwrap();
    let leadership = world.lead().await;
    world.store.maintain(&leadership).await.unwrap();
    let ahead = value(config, PARTITIONS).await;
    assert_eq!(ahead, 5, "today, three days ahead, and one for all others");
    world.store.maintain(&leadership).await.unwrap();
    assert_eq!(value(config, PARTITIONS).await, ahead, "once");

    let old = world.submit_one().await;
    let today = "(clock_timestamp() AT TIME ZONE 'UTC')::date";
    // Three days ago had a partition then.
    run(config, &format!("SELECT make_event_partition({today} - 3)")).await.unwrap();
    run(config, "UPDATE task_events SET timestamp = timestamp - interval '3 days'").await.unwrap();
    let new = world.submit_one().await;
    assert_eq!(value(config, "SELECT count(*) FROM task_events_other").await, 0);
    let retention = Retention { tasks: DAY * 9, events: DAY, limit: 1 };
    let retained = world.store.retain(&leadership, retention).await.unwrap();
    assert_eq!(
        (retained.events, retained.has_more),
        (1, false),
        "the limit is for what is deleted one by one"
    );
    assert_eq!(value(config, PARTITIONS).await, ahead);
    assert_eq!(world.store.events(Some(old), Position::default(), 9).await.unwrap(), []);
    assert_eq!(world.store.events(Some(new), Position::default(), 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn events_of_a_day_without_a_partition_are_kept_and_moved() {
    let server = Server::start().await;
    let world = World::postgres(&server).await;
    let config = world.postgres_config().unwrap();
    let tasks = world.submit(vec![task("a"), task("b")]).await;
    // As if no leader had been there for days.
    run(config, "UPDATE task_events SET timestamp = timestamp + interval '20 days'").await.unwrap();
    assert_eq!(value(config, "SELECT count(*) FROM task_events_other").await, 2);
    let day = "(clock_timestamp() AT TIME ZONE 'UTC' + interval '20 days')::date";
    run(config, &format!("SELECT make_event_partition({day})")).await.unwrap();
    assert_eq!(value(config, "SELECT count(*) FROM task_events_other").await, 0);
    for task in tasks {
        assert_eq!(world.store.events(Some(task), Position::default(), 9).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn changes_of_counts_are_added_up_and_stay_exact() {
    let server = Server::start().await;
    let world = World::postgres(&server).await;
    let config = world.postgres_config().unwrap();
    for _ in 0..60 {
        world.submit_one().await;
        world.complete(world.claim_one().await.held).await;
    }
    world.submit_one().await;
    world.claim_one().await;
    let before = world.store.counts().await.unwrap();
    assert_eq!((before.completed, before.in_progress, before.pending), (60, 1, 0));
    let leadership = world.lead().await;
    assert!(value(config, "SELECT count(*) FROM task_counts").await > 100);
    world.store.maintain(&leadership).await.unwrap();
    assert_eq!(value(config, "SELECT count(*) FROM task_counts").await, 2);
    assert_eq!(world.store.counts().await.unwrap(), before);
    world.store.release_leadership(&leadership).await.unwrap();
    let refused = world.store.maintain(&leadership).await;
    assert!(matches!(refused, Err(StoreError::StaleEpoch(_))), "{refused:?}");
}

/// What was stored by the first version of the schema is still there after all migrations.
#[tokio::test]
async fn database_of_an_older_version_is_brought_up_to_date() {
    let server = Server::start().await;
    let world = World::postgres(&server).await;
    let config = world.postgres_config().unwrap();
    let done = world.submit_one().await;
    world.complete(world.claim_one().await.held).await;
    // Back to the tables of the second version, with what they would hold.
    let sql = "
        CREATE TABLE kept AS SELECT event_id, task_id, event_type, node_id, attempt_id, fence, epoch, details, timestamp, xid
            FROM task_events;
        DROP TABLE task_events; DROP SEQUENCE task_event_ids; DROP TABLE task_counts; DROP TABLE task_messages;
        DROP FUNCTION make_event_partition(date);
        DROP INDEX tasks_key, tasks_status, tasks_executor, tasks_name, tasks_roots;
        ALTER TABLE tasks ADD CONSTRAINT tasks_idempotency_key_key UNIQUE (idempotency_key);
        CREATE TABLE task_events (event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, task_id uuid NOT NULL,
            event_type text NOT NULL, node_id text, attempt_id integer, fence bigint, epoch bigint, details jsonb,
            timestamp timestamptz NOT NULL, xid bigint NOT NULL);
        CREATE INDEX task_events_of ON task_events (task_id, event_id);
        CREATE INDEX task_events_order ON task_events (xid, event_id);
        CREATE INDEX task_events_age ON task_events (timestamp);
        INSERT INTO task_events OVERRIDING SYSTEM VALUE SELECT * FROM kept; DROP TABLE kept;
        DELETE FROM migrations WHERE version > 2;";
    run(config, sql).await.unwrap();
    let store = world.another().await;
    assert_eq!(store.events(Some(done), Position::default(), 9).await.unwrap().len(), 4);
    assert_eq!(store.counts().await.unwrap().completed, 1);
    let next = world.submit_one().await;
    let events = store.events(None, Position::default(), 99).await.unwrap();
    assert_eq!(events.last().map(|event| event.task), Some(next), "numbers go on where they were");
}
