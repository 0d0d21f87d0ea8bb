//! `sql`: statements on a PostgreSQL database, all in one transaction.
//!
//! Done once: the transaction also writes the effect key of the task and its result into the table `hyperscale_task_effects` of the
//! same database, which is created when it is first needed. An attempt that finds its key there returns the stored result and runs
//! nothing; so even an attempt whose commit succeeded and was not reported is not repeated. `once: false` does without the table,
//! for statements that only read.

mod inputs;
mod params;
mod rows;
mod session;

use async_trait::async_trait;
use serde_json::Value;

use self::inputs::Inputs;
use self::session::{Session, SqlError};
use crate::runtime::{Context, Executor, Failure};

/// The step whose key is written.
const STEP: &str = "sql";

/// Runs statements on a database that the inputs name.
#[derive(Clone, Copy, Debug)]
pub struct Sql;

#[async_trait]
impl Executor for Sql {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn schema(&self) -> Value {
        inputs::schema()
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        Inputs::read(inputs).map(drop)
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let inputs = Inputs::read(inputs).map_err(Failure::ForGood)?;
        let failed = |error: SqlError| {
            let why = inputs.secrets.mask(&error.why);
            if error.may_pass { Failure::Retry(why) } else { Failure::ForGood(why) }
        };
        let mut session = Session::open(&inputs.database).await.map_err(failed)?;
        let key = context.effect_key(STEP);
        let cancel = session.cancel_handle();
        let done = tokio::select! {
            done = session.run(&inputs, &key) => done,
            () = context.cancelled().cancelled() => {
                // The transaction is rolled back when the connection closes, with or without this.
                let _ = cancel.cancel_query(inputs.database.tls.clone()).await;
                return Err(Failure::Cancelled);
            }
        };
        done.map(|result| inputs.secrets.mask_value(result)).map_err(failed)
    }
}
