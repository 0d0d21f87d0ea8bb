//! One connection for one attempt.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{CancelToken, Client, Transaction};

use super::inputs::{Inputs, Statement};
use super::params::Param;
use super::rows::{self, Rows};
use crate::database::{Database, causes};

/// How long connecting may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// The number of the lock under which the table is created.
const TABLE_LOCK: i64 = 0x6879_7065_5f65_6666;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS hyperscale_task_effects (
    effect_key text PRIMARY KEY, result jsonb NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp())";

/// Why statements have no result. The transaction was rolled back, or its end is unknown.
#[derive(Debug)]
pub(super) struct SqlError {
    /// Whether another attempt may succeed.
    pub(super) may_pass: bool,
    pub(super) why: String,
}

impl SqlError {
    fn for_good(why: impl Into<String>) -> Self {
        Self { may_pass: false, why: why.into() }
    }

    fn of(what: &str, error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(db) => {
                let (code, message) = (db.code(), db.message());
                Self {
                    may_pass: may_pass(code),
                    why: format!("{what}: {message} (SQLSTATE {})", code.code()),
                }
            }
            None => Self { may_pass: true, why: format!("{what}: {}", causes(error)) },
        }
    }
}

/// Whether the server may say something else another time: connection, rollback of a victim, resources, locks, operators.
fn may_pass(code: &SqlState) -> bool {
    let class = &code.code()[..2];
    matches!(class, "08" | "40" | "53" | "57" | "58") || *code == SqlState::LOCK_NOT_AVAILABLE
}

/// A connection. It closes, and the server rolls back, when this is dropped.
pub(super) struct Session {
    client: Client,
    _driver: JoinSet<()>,
}

impl Session {
    pub(super) async fn open(database: &Database) -> Result<Self, SqlError> {
        let failed = |error: tokio_postgres::Error| SqlError::of("cannot connect to the database", &error);
        let connected = timeout(CONNECT_WITHIN, database.connect()).await;
        let late = |_| SqlError {
            may_pass: true,
            why: format!("no connection to the database within {CONNECT_WITHIN:?}"),
        };
        let (client, connection) = connected.map_err(late)?.map_err(failed)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        // A server that computes notices only so that its client is gone: this node may be killed.
        let notice = client.batch_execute("SET client_connection_check_interval = '1s'").await;
        notice.map_err(failed)?;
        Ok(Self { client, _driver: driver })
    }

    pub(super) fn cancel_handle(&self) -> CancelToken {
        self.client.cancel_token()
    }

    /// Runs the statements and commits, or finds what an earlier attempt has left.
    pub(super) async fn run(&mut self, inputs: &Inputs, key: &str) -> Result<Value, SqlError> {
        if inputs.once {
            self.ensure_table().await?;
        }
        let begin = |error: tokio_postgres::Error| SqlError::of("BEGIN", &error);
        let tx = self.client.transaction().await.map_err(begin)?;
        let number = if inputs.once {
            if let Some(result) = stored(&tx, key).await? {
                return Ok(result);
            }
            Some(transaction_number(&tx).await?)
        } else {
            None
        };
        let result = statements(&tx, &inputs.statements).await?;
        if let Some(number) = number {
            if transaction_number(&tx).await? != number {
                return Err(SqlError::for_good(
                    "a statement ended the transaction; its effects may have happened",
                ));
            }
            store(&tx, key, &result).await?;
        }
        tx.commit().await.map_err(|error| SqlError::of("COMMIT", &error))?;
        Ok(result)
    }

    /// Creates the table of effects where it is missing. Two creations at once would make one of them fail.
    async fn ensure_table(&mut self) -> Result<(), SqlError> {
        let failed = |error: tokio_postgres::Error| {
            let mut error = SqlError::of("the table hyperscale_task_effects cannot be created", &error);
            error.why += "; grant CREATE on the schema, or set `once` to false if the statements only read";
            error
        };
        let found = "SELECT to_regclass('hyperscale_task_effects') IS NOT NULL";
        let is_there: bool = self.client.query_one(found, &[]).await.map_err(failed)?.get(0);
        if is_there {
            return Ok(());
        }
        let tx = self.client.transaction().await.map_err(failed)?;
        tx.execute("SELECT pg_advisory_xact_lock($1)", &[&TABLE_LOCK]).await.map_err(failed)?;
        tx.batch_execute(TABLE).await.map_err(failed)?;
        tx.commit().await.map_err(failed)
    }
}

/// What an attempt of the same task has left. Attempts of one task take turns.
async fn stored(tx: &Transaction<'_>, key: &str) -> Result<Option<Value>, SqlError> {
    let failed =
        |error: tokio_postgres::Error| SqlError::of("the effect of the task cannot be looked up", &error);
    tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", &[&key]).await.map_err(failed)?;
    let sql = "SELECT result FROM hyperscale_task_effects WHERE effect_key = $1";
    Ok(tx.query_opt(sql, &[&key]).await.map_err(failed)?.map(|row| row.get(0)))
}

async fn store(tx: &Transaction<'_>, key: &str, result: &Value) -> Result<(), SqlError> {
    let sql = "INSERT INTO hyperscale_task_effects (effect_key, result) VALUES ($1, $2)";
    let stored = tx.execute(sql, &[&key, result]).await;
    stored.map(drop).map_err(|error| SqlError::of("the effect of the task cannot be written", &error))
}

async fn transaction_number(tx: &Transaction<'_>) -> Result<String, SqlError> {
    let row = tx.query_one("SELECT pg_current_xact_id()::text", &[]).await;
    row.map(|row| row.get(0)).map_err(|error| SqlError::of("the transaction cannot be looked up", &error))
}

async fn statements(tx: &Transaction<'_>, statements: &[Statement]) -> Result<Value, SqlError> {
    let (mut counts, mut last) = (Vec::new(), Rows::default());
    for (at, statement) in statements.iter().enumerate() {
        last = execute(tx, statement, &format!("statements[{at}]")).await?;
        counts.push(last.count);
    }
    let mut result = json!({"rows": last.kept, "row_counts": counts});
    if last.truncated {
        result["truncated"] = json!(true);
    }
    Ok(result)
}

async fn execute(tx: &Transaction<'_>, statement: &Statement, what: &str) -> Result<Rows, SqlError> {
    let failed = |error: tokio_postgres::Error| SqlError::of(what, &error);
    let prepared = tx.prepare(&statement.sql).await.map_err(failed)?;
    let (wanted, given) = (prepared.params().len(), statement.params.len());
    if wanted != given {
        return Err(SqlError::for_good(format!(
            "{what} has {wanted} parameters, but {given} values are given"
        )));
    }
    rows::check(prepared.columns()).map_err(|why| SqlError::for_good(format!("{what}: {why}")))?;
    let params: Vec<Param<'_>> = statement.params.iter().map(Param).collect();
    let params = params.iter().map(|param| param as &(dyn ToSql + Sync));
    let stream = tx.query_raw(&prepared, params).await.map_err(failed)?;
    rows::read(stream).await.map_err(failed)
}
