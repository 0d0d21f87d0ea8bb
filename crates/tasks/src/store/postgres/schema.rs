//! Migrations of the schema, under a lock.

use deadpool_postgres::{GenericClient, Pool};

use super::super::migration::{Migration, pending};
use super::super::{Result, StoreError};

const MIGRATIONS: [Migration; 4] = [
    Migration { version: 1, sql: include_str!("migrations/V1__tasks.sql") },
    Migration { version: 2, sql: include_str!("migrations/V2__api.sql") },
    Migration { version: 3, sql: include_str!("migrations/V3__history.sql") },
    Migration { version: 4, sql: include_str!("migrations/V4__messages.sql") },
];

/// The number of the lock under which migrations run, beside the schema's own.
const MIGRATION_LOCK: i32 = 0x6879_7065;

/// Applies what is missing under a lock: many nodes may start at once.
pub(super) async fn migrate(pool: &Pool) -> Result<()> {
    let mut client = pool.get().await?;
    let tx = client.transaction().await?;
    // A table with many rows takes as long as it takes, and others wait for it.
    tx.batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0").await?;
    let lock = "SELECT pg_advisory_xact_lock($1, hashtext(current_schema()))";
    tx.execute(lock, &[&MIGRATION_LOCK]).await?;
    let table = "CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, checksum text NOT NULL)";
    tx.batch_execute(table).await?;
    for migration in pending(&MIGRATIONS, &applied(&tx).await?)? {
        tx.batch_execute(migration.sql).await?;
        let insert = "INSERT INTO migrations VALUES ($1, $2)";
        tx.execute(insert, &[&migration.version, &migration.checksum()]).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Refuses a schema that only a process that writes could bring up to date.
pub(super) async fn check(pool: &Pool) -> Result<()> {
    match pending(&MIGRATIONS, &applied(&pool.get().await?).await?)? {
        [] => Ok(()),
        _ => Err(StoreError::Unavailable(
            "its schema is older than this version; start a node that is not an observer first".to_owned(),
        )),
    }
}

async fn applied(client: &impl GenericClient) -> Result<Vec<(i32, String)>> {
    let rows = client.query("SELECT version, checksum FROM migrations ORDER BY version", &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}
