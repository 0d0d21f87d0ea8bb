//! The shared store: one PostgreSQL database for many nodes. All times are those of the server's clock.
//!
//! A transaction that is chosen as the victim of a deadlock is repeated. Who waits for work is told by `NOTIFY`, at most every
//! 10 ms, in a separate transaction: the lock that `NOTIFY` takes never delays a submission.

#[cfg(feature = "bugs")]
mod broken;
mod effect;
mod leader;
mod lease;
mod message;
mod node;
mod read;
mod retention;
mod schedule;
mod schema;
mod session;
mod settle;
mod store;
mod submit;
mod sweep;
mod transaction;
mod value;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::{Client, Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::session::Session;
use self::value::{from_json, millis, rows_max, to_json, unsigned};
use super::placing::Classes;
use super::{Leadership, Result, StoreError};
#[cfg(feature = "bugs")]
use crate::bugs::{Bug, Bugs};
use crate::database::Database;

/// How long to wait for a connection.
const WAIT: Duration = Duration::from_secs(10);

/// Limits of a connection. A process that is stopped in the middle of a transaction must not keep its locks: the tasks it was just
/// claiming, or the leader's row, would be out of reach for all others.
const LIMITS: &str =
    "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '5s'; SET statement_timeout = '10s'";

/// How statements are planned: row by row through indexes, which is right for batches whatever the statistics say. A plan that was made
/// while a table was small would otherwise read all of it when it is large.
const PLANS: &str =
    "; SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

/// What an observer sets beside the limits.
const READ_ONLY: &str = "; SET default_transaction_read_only = on";

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// Where the database is, who asks, and whom it trusts.
    pub database: Database,
    /// Connections beside the one that listens.
    pub connections: usize,
    /// Deliberate bugs.
    #[cfg(feature = "bugs")]
    pub bugs: Bugs,
    /// Opens it for reading only: the schema must be of this version, and the server refuses every write.
    pub read_only: bool,
}

impl PostgresOptions {
    /// Reads a URL such as `postgres://user@host/database?sslmode=verify-full&sslrootcert=ca.pem`.
    pub fn new(url: &str) -> Result<Self> {
        let database = Database::new(url).map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Self::of(database))
    }

    /// For a database that is known already.
    pub fn of(database: Database) -> Self {
        Self {
            database,
            connections: 8,
            #[cfg(feature = "bugs")]
            bugs: Bugs::default(),
            read_only: false,
        }
    }
}

/// The shared store.
#[derive(Debug)]
pub struct PostgresStore {
    database: Database,
    pool: Pool,
    /// Placement classes as they were read last.
    classes: Mutex<Arc<Classes>>,
    session: Session,
    changes: watch::Sender<u64>,
    /// Asks for a notification.
    announce: watch::Sender<u64>,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
    /// The session that listens and notifies; it ends with the store.
    _background: JoinSet<()>,
}

impl PostgresStore {
    /// Connects and brings the schema up to date.
    pub async fn open(options: PostgresOptions) -> Result<Self> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let mut database = options.database;
        database.config.connect_timeout(WAIT);
        let limits = if options.read_only { READ_ONLY } else { "" };
        let manager = Manager::from_config(database.config.clone(), database.tls.clone(), recycling);
        let pool = Pool::builder(manager)
            .max_size(options.connections)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT))
            .create_timeout(Some(WAIT))
            .post_create(Hook::async_fn(move |client, _| {
                Box::pin(async move {
                    let limits = format!("{LIMITS}{PLANS}{limits}");
                    client.batch_execute(&limits).await.map_err(HookError::Backend)
                })
            }))
            .build()
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        if options.read_only {
            schema::check(&pool).await?;
        } else {
            schema::migrate(&pool).await?;
        }
        let (changes, announce) = (watch::Sender::new(0), watch::Sender::new(0));
        let mut background = JoinSet::new();
        let session =
            Session::start(database.clone(), changes.clone(), announce.subscribe(), &mut background);
        let classes = Mutex::default();
        Ok(Self {
            database,
            pool,
            classes,
            session,
            changes,
            announce,
            #[cfg(feature = "bugs")]
            bugs: options.bugs,
            _background: background,
        })
    }

    /// The leadership that a duty is done under; a deliberate bug takes another one for it.
    #[cfg(feature = "bugs")]
    async fn right(&self, leadership: &Leadership) -> Result<Leadership> {
        if self.bugs.has(Bug::RenewLeaderByName) {
            return broken::by_name(&self.client().await?, leadership).await;
        }
        Ok(leadership.clone())
    }

    /// The leadership that a duty is done under.
    #[cfg(not(feature = "bugs"))]
    async fn right(&self, leadership: &Leadership) -> Result<Leadership> {
        Ok(leadership.clone())
    }

    async fn client(&self) -> Result<Client> {
        Ok(self.pool.get().await?)
    }

    /// Tells who waits for work, here and elsewhere, that there may be some.
    fn wake(&self) {
        self.changes.send_modify(|count| *count += 1);
        self.announce.send_modify(|count| *count += 1);
    }

    /// The placement classes as they were read last. None is ever changed or removed; a claim says when there are more.
    fn known_classes(&self) -> Arc<Classes> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The placement classes; read again only when there are more of them.
    async fn classes(&self) -> Result<Arc<Classes>> {
        let client = self.client().await?;
        let known = self.known_classes();
        if read::class_count(&client).await? == known.len() {
            return Ok(known);
        }
        self.read_classes(&client).await
    }

    async fn read_classes(&self, client: &Client) -> Result<Arc<Classes>> {
        let classes = Arc::new(read::classes(client).await?);
        self.classes.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&classes);
        Ok(classes)
    }
}
