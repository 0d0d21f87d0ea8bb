//! The session that listens, notifies and holds the advisory locks of this process.
//!
//! A free lock says that its process is dead: PostgreSQL frees it in milliseconds when the socket closes. Acting on that early is
//! safe because of epochs and fences. Behind a pooler there is no such session, and expiry alone decides.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use deadpool_postgres::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use super::super::{Liveness, Result, StoreError};
use crate::database::{Database, DatabaseConnection};
use crate::domain::BootId;

/// Pause between notifications: they are for waking up, and take a lock of the whole database.
const NOTIFY_EVERY: Duration = Duration::from_millis(10);

/// Longest pause before a notification of another process is handed on, in milliseconds: not all processes ask at once.
const HEAR_JITTER_MS: u64 = 5;

/// Pause before a lost session is opened again.
const RECONNECT_AFTER: Duration = Duration::from_millis(250);

/// How long the lock of a process may take.
const LOCK_WITHIN: Duration = Duration::from_secs(5);

/// Notifications are hints, and nothing else is written here: their commits need not be synced.
const SETTINGS: &str = "SET synchronous_commit = off";

/// A watcher whose process has gone is noticed by the server, though it waits.
const WATCHER_SETTINGS: &str = "SET client_connection_check_interval = '5s'";

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

/// What a session is kept with.
struct Keeper {
    database: Database,
    /// Raised by notifications of others, and whenever a session begins: some may have been missed.
    changes: watch::Sender<u64>,
    /// What others are to be told.
    announce: watch::Receiver<u64>,
    wanted: watch::Receiver<BTreeSet<BootId>>,
    state: watch::Sender<State>,
}

impl Session {
    /// Starts the session.
    pub(super) fn start(
        database: Database,
        changes: watch::Sender<u64>,
        announce: watch::Receiver<u64>,
        background: &mut JoinSet<()>,
    ) -> Self {
        let wanted = watch::Sender::new(BTreeSet::new());
        let (state_sender, state) = watch::channel(State::default());
        let keeper = Keeper { database, changes, announce, wanted: wanted.subscribe(), state: state_sender };
        background.spawn(keeper.keep());
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

impl Keeper {
    /// Keeps a session open until it is aborted.
    async fn keep(mut self) {
        loop {
            if let Err(error) = self.one_session().await {
                tracing::warn!(%error, "the listening session to PostgreSQL was lost");
            }
            self.state.send_modify(|state| state.locked.clear());
            sleep(RECONNECT_AFTER).await;
        }
    }

    async fn one_session(&mut self) -> Result<()> {
        let (client, connection) = self.database.connect().await?;
        let own = Arc::new(AtomicI32::new(0));
        let (heard, hear) = watch::channel(0);
        // Both end with the session.
        let mut drivers = JoinSet::new();
        drivers.spawn(drive(connection, own.clone(), heard));
        drivers.spawn(hand_on(hear, self.changes.clone()));
        client.batch_execute(SETTINGS).await?;
        let sql = "SELECT pg_backend_pid(), 'hyperscale_tasks_' || current_schema()";
        let row = client.query_one(sql, &[]).await?;
        own.store(row.get(0), Ordering::Relaxed);
        let channel: String = row.get(1);
        client.batch_execute(&format!("LISTEN \"{channel}\"")).await?;
        let notify = client.prepare("SELECT pg_notify($1, '')").await?;
        self.state.send_modify(|state| state.generation += 1);
        self.changes.send_modify(|count| *count += 1);
        let mut next_notify = Instant::now();
        loop {
            let boots = self.wanted.borrow_and_update().clone();
            let locked = self.state.borrow().locked.clone();
            for boot in boots.difference(&locked) {
                client.execute("SELECT pg_advisory_lock($1)", &[&lock_number(*boot)]).await?;
                self.state.send_modify(|state| {
                    state.locked.insert(*boot);
                });
            }
            // The first announcement goes out at once, what comes within the pause together after it.
            let is_asked = self.announce.has_changed().unwrap_or(false);
            tokio::select! {
                asked = self.wanted.changed() => if asked.is_err() { return Ok(()) },
                _ = drivers.join_next() => return Err(StoreError::Unavailable("connection closed".to_owned())),
                asked = self.announce.changed(), if !is_asked => if asked.is_err() { return Ok(()) } else { self.announce.mark_changed() },
                () = sleep_until(next_notify), if is_asked => {
                    self.announce.mark_unchanged();
                    client.execute(&notify, &[&channel]).await?;
                    next_notify = Instant::now() + NOTIFY_EVERY;
                }
            }
        }
    }
}

/// Moves the bytes of a connection until it ends; every notification of another process is heard.
async fn drive(mut connection: DatabaseConnection, own: Arc<AtomicI32>, heard: watch::Sender<u64>) {
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        match message {
            AsyncMessage::Notification(note) if note.process_id() != own.load(Ordering::Relaxed) => {
                heard.send_modify(|count| *count += 1);
            }
            _ => {}
        }
    }
}

/// Hands on what was heard, after a pause that differs from process to process. Ends with the connection.
async fn hand_on(mut heard: watch::Receiver<u64>, changes: watch::Sender<u64>) {
    let mut rng = fastrand::Rng::with_seed(std::process::id().into());
    while heard.changed().await.is_ok() {
        sleep(Duration::from_millis(rng.u64(..=HEAR_JITTER_MS))).await;
        heard.mark_unchanged();
        changes.send_modify(|count| *count += 1);
    }
    // The end of the connection is told by the one that drives it.
    std::future::pending::<()>().await;
}

/// Waits in a session of its own for the lock of a boot. All who wait are let in at the same time.
pub(super) async fn until_gone(database: &Database, boot: BootId) -> Result<()> {
    let (client, connection) = database.connect().await?;
    let mut driver = JoinSet::new();
    driver.spawn(drive(connection, Arc::default(), watch::Sender::new(0)));
    client.batch_execute(WATCHER_SETTINGS).await?;
    let sql = "SELECT 1 FROM distributed_nodes WHERE boot_id = $1 AND holds_lock";
    if client.query(sql, &[&boot.0]).await?.is_empty() {
        return std::future::pending().await;
    }
    client.execute("SELECT pg_advisory_lock_shared($1)", &[&lock_number(boot)]).await?;
    Ok(())
}

/// Boots that had a lock which is free now.
pub(super) async fn dead_boots(client: &Client, boots: &[BootId]) -> Result<Vec<BootId>> {
    let (ids, locks): (Vec<Uuid>, Vec<i64>) = boots.iter().map(|boot| (boot.0, lock_number(*boot))).unzip();
    let statement = client
        .prepare_cached(
            "SELECT b.id FROM unnest($1::uuid[], $2::bigint[]) AS b(id, lock)
             WHERE EXISTS (SELECT 1 FROM distributed_nodes n WHERE n.boot_id = b.id AND n.holds_lock)
                 AND pg_try_advisory_xact_lock_shared(b.lock)",
        )
        .await?;
    Ok(client.query(&statement, &[&ids, &locks]).await?.iter().map(|row| BootId(row.get(0))).collect())
}

/// The number of a boot's lock: the random half of its id.
fn lock_number(boot: BootId) -> i64 {
    let (_, low) = boot.0.as_u64_pair();
    low.cast_signed()
}
