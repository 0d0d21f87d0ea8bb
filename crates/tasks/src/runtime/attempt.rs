//! One attempt: an executor with the limits it runs under.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::executor::{Context, Executor, Failure};
use crate::domain::Outcome;

/// An attempt that was leased.
pub(super) struct Attempt {
    pub(super) executor: Arc<dyn Executor>,
    pub(super) inputs: Value,
    pub(super) context: Context,
    /// Until when the lease surely lasts; moved by renewals.
    pub(super) lease_end: watch::Receiver<Instant>,
    /// When its time is over.
    pub(super) deadline: Option<Instant>,
    /// How long it may take to stop after it was cancelled.
    pub(super) grace: Duration,
}

impl Attempt {
    /// Runs it. Returns `None` if the lease ended first: the result may not be reported any more.
    pub(super) async fn run(self) -> Option<Outcome> {
        let Self { executor, inputs, context, lease_end, deadline, grace } = self;
        let cancelled = context.cancelled.clone();
        tokio::select! {
            done = executor.run(&inputs, &context) => Some(outcome(done)),
            () = lease_over(lease_end) => None,
            () = past(deadline) => Some(Outcome::Failed("timeout: the deadline has passed".to_owned())),
            () = ignored(&cancelled, grace) => Some(Outcome::Cancelled),
        }
    }
}

fn outcome(done: Result<Value, Failure>) -> Outcome {
    match done {
        Ok(result) => Outcome::Completed(result),
        Err(Failure::Retry(error)) => Outcome::Failed(error),
        Err(Failure::ForGood(error)) => Outcome::FailedForGood(error),
        Err(Failure::Cancelled) => Outcome::Cancelled,
    }
}

/// Ends when the lease does, however often it is extended before. A worker that is gone extends nothing.
async fn lease_over(mut lease_end: watch::Receiver<Instant>) {
    loop {
        let end = *lease_end.borrow_and_update();
        tokio::select! {
            () = sleep_until(end) => return,
            extended = lease_end.changed() => if extended.is_err() { return sleep_until(end).await },
        }
    }
}

async fn past(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Ends when an executor has ignored its cancellation for the grace.
async fn ignored(cancelled: &CancellationToken, grace: Duration) {
    cancelled.cancelled().await;
    sleep(grace).await;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use async_trait::async_trait;
    use serde_json::{Map, json};

    use super::*;
    use crate::domain::Fence;
    use crate::runtime::new_task_id;
    use crate::store::Held;
    use crate::store::sqlite::{SqliteOptions, SqliteStore};

    /// Never ends by itself, and says when it was dropped.
    struct Endless(Arc<AtomicBool>);

    struct OnDrop(Arc<AtomicBool>);

    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[async_trait]
    impl Executor for Endless {
        fn name(&self) -> &'static str {
            "endless"
        }

        fn schema(&self) -> Value {
            json!({})
        }

        fn check(&self, _: &Value) -> Result<(), String> {
            Ok(())
        }

        async fn run(&self, _: &Value, _: &Context) -> Result<Value, Failure> {
            let _stopped = OnDrop(self.0.clone());
            std::future::pending().await
        }
    }

    /// Runs an endless executor with a lease of 50 ms; the sender extends it.
    async fn run(deadline: Option<Duration>, cancel: bool, extend: bool) -> (Option<Outcome>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(SqliteOptions::new(folder.path().join("tasks.db"))).await.unwrap();
        let (lease, lease_end) = watch::channel(Instant::now() + Duration::from_millis(50));
        let (stopped, cancelled) = (Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let context = Context {
            store: Arc::new(store),
            held: Held { task: new_task_id(), fence: Fence(1) },
            attempt: 1,
            dependencies: Map::new(),
            cancelled: cancelled.clone(),
            progress: Arc::new(AtomicU32::new(0)),
        };
        if cancel {
            cancelled.cancel();
        }
        if extend {
            lease.send_replace(Instant::now() + Duration::from_mins(10));
        }
        let attempt = Attempt {
            executor: Arc::new(Endless(stopped.clone())),
            inputs: Value::Null,
            context,
            lease_end,
            deadline: deadline.map(|deadline| Instant::now() + deadline),
            grace: Duration::from_millis(100),
        };
        (attempt.run().await, stopped.load(Ordering::SeqCst))
    }

    #[tokio::test]
    async fn executor_is_stopped_before_a_lease_that_is_not_renewed_ends() {
        assert_eq!(run(None, false, false).await, (None, true));
    }

    #[tokio::test]
    async fn executor_that_ignores_its_cancellation_is_dropped() {
        assert_eq!(run(None, true, true).await, (Some(Outcome::Cancelled), true));
    }

    #[tokio::test]
    async fn executor_is_stopped_at_its_deadline() {
        let (outcome, stopped) = run(Some(Duration::from_millis(100)), false, true).await;
        assert!(matches!(outcome, Some(Outcome::Failed(error)) if error.starts_with("timeout")));
        assert!(stopped);
    }
}
