//! The session that listens and holds the advisory locks of this process, and the notifier.
//!
//! A free lock says that its process is dead: PostgreSQL frees it in milliseconds when the socket closes. Acting on that early is
//! safe because of epochs and fences. Behind a pooler there is no such session, and expiry alone decides.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::time::Duration;

use deadpool_postgres::{Client, Pool};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use super::super::{Liveness, Result, StoreError};
use crate::database::{Database, DatabaseConnection};
use crate::domain::BootId;

/// Pause between notifications: they are for waking up, and take a lock of the whole database.
const NOTIFY_EVERY: Duration = Duration::from_millis(10);

/// Pause before a lost session is opened again.
const RECONNECT_AFTER: Duration = Duration::from_millis(250);

/// How long the lock of a process may take.
const LOCK_WITHIN: Duration = Duration::from_secs(5);

/// What the session has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// How often a session was opened.
    generation: u64,
    /// Boots whose locks it holds; empty while there is no session.
    locked: BTreeSet<BootId>,
}

/// A handle on the session.
#[derive(Debug)]
pub(super) struct Session {
    wanted: watch::Sender<BTreeSet<BootId>>,
    state: watch::Receiver<State>,
}

impl Session {
    /// Starts the session. `changes` is raised by notifications, and whenever a session begins: some may have been missed.
    pub(super) fn start(
        database: Database,
        changes: watch::Sender<u64>,
        background: &mut JoinSet<()>,
    ) -> Self {
        let wanted = watch::Sender::new(BTreeSet::new());
        let (state_sender, state) = watch::channel(State::default());
        background.spawn(keep(database, changes, wanted.subscribe(), state_sender));
        Self { wanted, state }
    }

    /// Takes the lock of a boot.
    pub(super) async fn hold(&self, boot: BootId) -> Result<()> {
        self.wanted.send_modify(|boots| {
            boots.insert(boot);
        });
        let mut state = self.state.clone();
        let locked = timeout(LOCK_WITHIN, state.wait_for(|state| state.locked.contains(&boot))).await;
        match locked {
            Ok(Ok(_)) => Ok(()),
            _ => Err(StoreError::Unavailable(
                "the session for the liveness lock could not be opened".to_owned(),
            )),
        }
    }

    /// Whether all locks are held.
    pub(super) fn liveness(&self) -> Liveness {
        let (wanted, state) = (self.wanted.borrow(), self.state.borrow());
        if wanted.is_empty() {
            Liveness::Absent
        } else if wanted.is_subset(&state.locked) {
            Liveness::Held(state.generation)
        } else {
            Liveness::Lost
        }
    }
}

/// Keeps a session open until it is aborted.
async fn keep(
    database: Database,
    changes: watch::Sender<u64>,
    mut wanted: watch::Receiver<BTreeSet<BootId>>,
    state: watch::Sender<State>,
) {
    loop {
        if let Err(error) = one_session(&database, &changes, &mut wanted, &state).await {
            tracing::warn!(%error, "the listening session to PostgreSQL was lost");
        }
        state.send_modify(|state| state.locked.clear());
        sleep(RECONNECT_AFTER).await;
    }
}

async fn one_session(
    database: &Database,
    changes: &watch::Sender<u64>,
    wanted: &mut watch::Receiver<BTreeSet<BootId>>,
    state: &watch::Sender<State>,
) -> Result<()> {
    let (client, connection) = database.connect().await?;
    let mut driver = JoinSet::new();
    driver.spawn(drive(connection, changes.clone()));
    let channel = channel_sql();
    let row = client.query_one(&format!("SELECT {channel}"), &[]).await?;
    let name: String = row.get(0);
    client.batch_execute(&format!("LISTEN \"{name}\"")).await?;
    state.send_modify(|state| state.generation += 1);
    changes.send_modify(|count| *count += 1);
    loop {
        let boots = wanted.borrow_and_update().clone();
        let locked = state.borrow().locked.clone();
        for boot in boots.difference(&locked) {
            client.execute("SELECT pg_advisory_lock($1)", &[&lock_number(*boot)]).await?;
            state.send_modify(|state| {
                state.locked.insert(*boot);
            });
        }
        tokio::select! {
            asked = wanted.changed() => if asked.is_err() { return Ok(()) },
            _ = driver.join_next() => return Err(StoreError::Unavailable("connection closed".to_owned())),
        }
    }
}

/// Moves the bytes of a connection until it ends; every notification is a change.
async fn drive(mut connection: DatabaseConnection, changes: watch::Sender<u64>) {
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if matches!(message, AsyncMessage::Notification(_)) {
            changes.send_modify(|count| *count += 1);
        }
    }
}

/// Sends notifications: the first at once, what comes within the pause together after it.
pub(super) async fn notify(pool: Pool, mut announce: watch::Receiver<u64>) {
    while announce.changed().await.is_ok() {
        let sent = async {
            let client = pool.get().await?;
            client.execute(&format!("SELECT pg_notify({}, '')", channel_sql()), &[]).await?;
            Ok::<_, StoreError>(())
        };
        if let Err(error) = sent.await {
            // Others find the work by polling.
            tracing::debug!(%error, "a notification was not sent");
        }
        sleep(NOTIFY_EVERY).await;
    }
}

/// The channel of this schema.
fn channel_sql() -> &'static str {
    "'hyperscale_tasks_' || current_schema()"
}

/// Boots that had a lock which is free now.
pub(super) async fn dead_boots(client: &Client, boots: &[BootId]) -> Result<Vec<BootId>> {
    let (ids, locks): (Vec<Uuid>, Vec<i64>) = boots.iter().map(|boot| (boot.0, lock_number(*boot))).unzip();
    let statement = client
        .prepare_cached(
            "SELECT b.id FROM unnest($1::uuid[], $2::bigint[]) AS b(id, lock)
             WHERE EXISTS (SELECT 1 FROM distributed_nodes n WHERE n.boot_id = b.id AND n.holds_lock)
                 AND pg_try_advisory_xact_lock(b.lock)",
        )
        .await?;
    Ok(client.query(&statement, &[&ids, &locks]).await?.iter().map(|row| BootId(row.get(0))).collect())
}

/// The number of a boot's lock: the random half of its id.
fn lock_number(boot: BootId) -> i64 {
    let (_, low) = boot.0.as_u64_pair();
    low.cast_signed()
}
