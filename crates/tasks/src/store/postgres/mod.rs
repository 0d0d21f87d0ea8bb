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
mod session;
mod settle;
mod submit;
mod sweep;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::{
    Client, GenericClient, Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_postgres::error::SqlState;

use self::session::Session;
use super::migration::{Migration, pending};
use super::placing::Classes;
use super::{
    Candidate, Claim, Claimed, Effect, Fire, Held, Leader, Leadership, Liveness, Renewed, Result, Retained,
    Retention, Run, Store, StoreError, Submitted, Sweep, Swept,
};
#[cfg(feature = "bugs")]
use crate::bugs::{Bug, Bugs};
use crate::database::Database;
use crate::domain::{
    BootId, Counts, Event, Filter, NewTree, NodeAges, NodeProfile, NodeRecord, Position, Report, Schedule,
    ScheduleId, ScheduleSpec, Task, TaskId, Timestamp, TreeMessage, TreeOverview, TreeTask,
};

const MIGRATIONS: [Migration; 3] = [
    Migration { version: 1, sql: include_str!("migrations/V1__tasks.sql") },
    Migration { version: 2, sql: include_str!("migrations/V2__api.sql") },
    Migration { version: 3, sql: include_str!("migrations/V3__messages.sql") },
];

/// How often a transaction that lost against others is repeated.
const TRIES_MAX: u32 = 5;

/// The number of the lock under which migrations run, beside the schema's own.
const MIGRATION_LOCK: i32 = 0x6879_7065;

/// How long to wait for a connection.
const WAIT: Duration = Duration::from_secs(10);

/// Limits of a connection. A process that is stopped in the middle of a transaction must not keep its locks: the tasks it was just
/// claiming, or the leader's row, would be out of reach for all others.
const LIMITS: &str =
    "SET idle_in_transaction_session_timeout = '5s'; SET lock_timeout = '5s'; SET statement_timeout = '10s'";

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
    pool: Pool,
    /// Placement classes as they were read last.
    classes: Mutex<Arc<Classes>>,
    session: Session,
    changes: watch::Sender<u64>,
    /// Asks for a notification.
    announce: watch::Sender<u64>,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
    /// The listening session and the notifier; they end with the store.
    _background: JoinSet<()>,
}

/// Runs a transaction, and again if it lost against others.
macro_rules! transact {
    ($store:expr, |$tx:ident| $body:expr) => {{
        let mut tries = 1;
        loop {
            let mut client = $store.client().await?;
            let $tx = client.transaction().await?;
            let done: Result<_> = $body.await;
            let done = match done {
                Ok(value) => $tx.commit().await.map(|()| value).map_err(StoreError::from),
                Err(error) => Err(error),
            };
            match done {
                Err(StoreError::Contended(_)) if tries < TRIES_MAX => tries += 1,
                done => break done,
            }
        }
    }};
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
                    let limits = format!("{LIMITS}{limits}");
                    client.batch_execute(&limits).await.map_err(HookError::Backend)
                })
            }))
            .build()
            .map_err(|error| StoreError::Unavailable(error.to_string()))?;
        if options.read_only {
            check_migrations(&pool).await?;
        } else {
            migrate(&pool).await?;
        }
        let (changes, announce) = (watch::Sender::new(0), watch::Sender::new(0));
        let mut background = JoinSet::new();
        let session = Session::start(database, changes.clone(), &mut background);
        background.spawn(session::notify(pool.clone(), announce.subscribe()));
        let classes = Mutex::default();
        Ok(Self {
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

    /// The placement classes; read again only when there are more of them, as none is ever changed or removed.
    async fn classes(&self) -> Result<Arc<Classes>> {
        let client = self.client().await?;
        let known = self.classes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if read::class_count(&client).await? == known.len() {
            return Ok(known);
        }
        let classes = Arc::new(read::classes(&client).await?);
        self.classes.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&classes);
        Ok(classes)
    }
}

/// Applies what is missing under a lock: many nodes may start at once.
async fn migrate(pool: &Pool) -> Result<()> {
    let mut client = pool.get().await?;
    let tx = client.transaction().await?;
    let lock = "SELECT pg_advisory_xact_lock($1, hashtext(current_schema()))";
    tx.execute(lock, &[&MIGRATION_LOCK]).await?;
    let table = "CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY, checksum text NOT NULL)";
    tx.batch_execute(table).await?;
    for migration in pending(&MIGRATIONS, &applied_migrations(&tx).await?)? {
        tx.batch_execute(migration.sql).await?;
        let insert = "INSERT INTO migrations VALUES ($1, $2)";
        tx.execute(insert, &[&migration.version, &migration.checksum()]).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Refuses a schema that only a process that writes could bring up to date.
async fn check_migrations(pool: &Pool) -> Result<()> {
    match pending(&MIGRATIONS, &applied_migrations(&pool.get().await?).await?)? {
        [] => Ok(()),
        _ => Err(StoreError::Unavailable(
            "its schema is older than this version; start a node that is not an observer first".to_owned(),
        )),
    }
}

async fn applied_migrations(client: &impl GenericClient) -> Result<Vec<(i32, String)>> {
    let rows = client.query("SELECT version, checksum FROM migrations ORDER BY version", &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(&(SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE)) => {
                Self::Contended(error.to_string())
            }
            Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => Self::ReadOnly,
            _ => match error.as_db_error() {
                Some(db) => Self::Unavailable(format!("{}: {}", db.code().code(), db.message())),
                None => Self::Unavailable(error.to_string()),
            },
        }
    }
}

impl From<deadpool_postgres::PoolError> for StoreError {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// A duration as the database takes it.
fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A stored JSON value as a type of ours.
fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| StoreError::Corrupt(error.to_string()))
}

/// A type of ours as JSON.
fn to_json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A count or number that the database keeps signed.
fn unsigned(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// How many rows at most.
fn rows_max(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

#[async_trait]
impl Store for PostgresStore {
    async fn now(&self) -> Result<Timestamp> {
        let row = self.client().await?.query_one("SELECT to_ms(clock_timestamp())", &[]).await?;
        Ok(Timestamp(row.get(0)))
    }

    async fn submit(&self, tree: NewTree) -> Result<Submitted> {
        let submitted = transact!(self, |tx| submit::submit(&tx, &tree))?;
        self.wake();
        Ok(submitted)
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<Claimed>> {
        let classes = self.classes().await?;
        transact!(self, |tx| lease::claim(&tx, &classes, claim, None))
    }

    async fn acquire(&self, claim: &Claim, task: TaskId) -> Result<Option<Claimed>> {
        let classes = self.classes().await?;
        let claimed: Vec<Claimed> = transact!(self, |tx| lease::claim(&tx, &classes, claim, Some(task)))?;
        Ok(claimed.into_iter().next())
    }

    async fn executable(&self, node: &NodeProfile, limit: usize) -> Result<Vec<Task>> {
        read::executable(&self.client().await?, &*self.classes().await?, node, limit).await
    }

    async fn next_due(&self, node: &NodeProfile) -> Result<Option<Duration>> {
        let classes = self.classes().await?;
        lease::next_due(&self.client().await?, &classes, node).await
    }

    async fn renew(&self, held: &[Held], lease: Duration) -> Result<Vec<Renewed>> {
        transact!(self, |tx| lease::renew(&tx, held, lease))
    }

    async fn start(&self, held: &[Held]) -> Result<Vec<TaskId>> {
        transact!(self, |tx| lease::start(&tx, held))
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<TaskId>> {
        #[cfg(feature = "bugs")]
        let reports = if self.bugs.has(Bug::FinishWithoutFence) {
            transact!(self, |tx| broken::with_current_fences(&tx, &reports))?
        } else {
            reports
        };
        let finished = transact!(self, |tx| lease::finish(&tx, &reports))?;
        self.wake();
        Ok(finished)
    }

    async fn release(&self, held: &[Held]) -> Result<Vec<TaskId>> {
        let released = transact!(self, |tx| lease::release(&tx, held))?;
        self.wake();
        Ok(released)
    }

    async fn progress(&self, held: Held, part: f32) -> Result<bool> {
        lease::progress(&self.client().await?, held, part).await
    }

    async fn sweep(&self, leadership: &Leadership, sweep: &Sweep) -> Result<Swept> {
        #[cfg(feature = "bugs")]
        if self.bugs.has(Bug::SweepUnlocked) {
            transact!(self, |tx| broken::expire_what_looked_expired(&tx, sweep))?;
        }
        let leadership = &self.right(leadership).await?;
        let swept: Swept = transact!(self, |tx| sweep::sweep(&tx, leadership, sweep))?;
        if !swept.tasks.is_empty() {
            self.wake();
        }
        Ok(swept)
    }

    async fn cancel(&self, task: TaskId) -> Result<bool> {
        let asked = transact!(self, |tx| submit::cancel(&tx, task))?;
        self.wake();
        Ok(asked)
    }

    async fn cancel_tree(&self, task: TaskId) -> Result<u64> {
        let cancelled = transact!(self, |tx| submit::cancel_tree(&tx, task))?;
        self.wake();
        Ok(cancelled)
    }

    async fn retry(&self, task: TaskId) -> Result<()> {
        transact!(self, |tx| submit::retry(&tx, task))?;
        self.wake();
        Ok(())
    }

    async fn task(&self, task: TaskId) -> Result<Task> {
        read::task(&self.client().await?, &*self.classes().await?, task).await
    }

    async fn tasks(&self, filter: &Filter, limit: usize) -> Result<Vec<Task>> {
        read::tasks(&self.client().await?, &*self.classes().await?, filter, limit).await
    }

    async fn tree(&self, task: TaskId) -> Result<Vec<TreeTask>> {
        read::whole_tree(&self.client().await?, &*self.classes().await?, task).await
    }

    async fn message(&self, tree: TaskId) -> Result<Option<TreeMessage>> {
        message::of_tree(&self.client().await?, tree).await
    }

    async fn overviews(&self, context: Option<&str>, limit: usize) -> Result<Vec<TreeOverview>> {
        message::overviews(&self.client().await?, context, limit).await
    }

    async fn events(&self, task: Option<TaskId>, after: Position, limit: usize) -> Result<Vec<Event>> {
        read::events(&self.client().await?, task, after, limit).await
    }

    async fn tree_events(&self, tree: TaskId, after: Position, limit: usize) -> Result<Vec<Event>> {
        read::tree_events(&self.client().await?, tree, after, limit).await
    }

    async fn tree_end(&self, tree: TaskId) -> Result<Option<Position>> {
        read::tree_end(&self.client().await?, tree).await
    }

    async fn events_end(&self) -> Result<Position> {
        read::events_end(&self.client().await?).await
    }

    async fn counts(&self) -> Result<Counts> {
        read::counts(&self.client().await?).await
    }

    async fn acquire_leadership(&self, candidate: &Candidate) -> Result<Option<Leadership>> {
        #[cfg(feature = "bugs")]
        if self.bugs.has(Bug::RenewLeaderByName)
            && let Some(leadership) = broken::acquire_by_name(&self.client().await?, candidate).await?
        {
            return Ok(Some(leadership));
        }
        leader::acquire(&self.client().await?, candidate).await
    }

    async fn renew_leadership(&self, leadership: &Leadership, lease: Duration) -> Result<bool> {
        let leadership = self.right(leadership).await?;
        leader::renew(&self.client().await?, &leadership, lease).await
    }

    async fn release_leadership(&self, leadership: &Leadership) -> Result<()> {
        leader::release(&self.client().await?, leadership).await?;
        self.wake();
        Ok(())
    }

    async fn leader(&self) -> Result<Option<Leader>> {
        leader::current(&self.client().await?).await
    }

    async fn register_node(&self, node: &NodeRecord) -> Result<()> {
        let holds_lock = matches!(self.session.liveness(), Liveness::Held(_));
        node::register(&self.client().await?, node, holds_lock).await
    }

    async fn heartbeat(&self, node: &str, boot: BootId) -> Result<bool> {
        node::heartbeat(&self.client().await?, node, boot).await
    }

    async fn deregister_node(&self, node: &str, boot: BootId) -> Result<()> {
        node::deregister(&self.client().await?, node, boot).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRecord>> {
        node::all(&self.client().await?).await
    }

    async fn mark_nodes(&self, leadership: &Leadership, ages: NodeAges) -> Result<u64> {
        transact!(self, |tx| node::mark(&tx, leadership, ages))
    }

    async fn put_schedule(&self, id: ScheduleId, spec: &ScheduleSpec) -> Result<Schedule> {
        let now = self.now().await?;
        let schedule = schedule::put(&self.client().await?, id, spec, now).await?;
        self.wake();
        Ok(schedule)
    }

    async fn remove_schedule(&self, schedule: ScheduleId) -> Result<bool> {
        schedule::remove(&self.client().await?, schedule).await
    }

    async fn pause_schedule(&self, schedule: ScheduleId, paused: bool) -> Result<Schedule> {
        let schedule = transact!(self, |tx| schedule::pause(&tx, schedule, paused))?;
        self.wake();
        Ok(schedule)
    }

    async fn trigger_schedule(&self, schedule: ScheduleId, tree: NewTree) -> Result<Submitted> {
        let submitted = transact!(self, |tx| schedule::trigger(&tx, schedule, &tree))?;
        self.wake();
        Ok(submitted)
    }

    async fn schedules(&self) -> Result<Vec<Schedule>> {
        schedule::all(&self.client().await?).await
    }

    async fn fire(&self, leadership: &Leadership, fire: Fire) -> Result<bool> {
        let fired = transact!(self, |tx| schedule::fire(&tx, leadership, &fire))?;
        self.wake();
        Ok(fired)
    }

    async fn runs(&self, schedule: ScheduleId, limit: usize) -> Result<Vec<Run>> {
        schedule::runs(&self.client().await?, schedule, limit).await
    }

    async fn begin_effect(&self, key: &str, held: Held) -> Result<Effect> {
        #[cfg(feature = "bugs")]
        if self.bugs.has(Bug::EffectPerLease) {
            transact!(self, |tx| broken::forget_other_leases(&tx, key, held))?;
        }
        transact!(self, |tx| effect::begin(&tx, key, held))
    }

    async fn finish_effect(&self, key: &str, held: Held, result: Value) -> Result<()> {
        transact!(self, |tx| effect::finish(&tx, key, held, &result))
    }

    async fn retain(&self, leadership: &Leadership, retention: Retention) -> Result<Retained> {
        transact!(self, |tx| retention::retain(&tx, leadership, retention))
    }

    async fn token_secret(&self, fresh: [u8; 32]) -> Result<Vec<u8>> {
        let client = self.client().await?;
        let sql = "INSERT INTO cluster_secrets (token_key) VALUES ($1) ON CONFLICT DO NOTHING";
        client.execute(sql, &[&fresh.as_slice()]).await?;
        Ok(client.query_one("SELECT token_key FROM cluster_secrets", &[]).await?.get(0))
    }

    async fn holders(&self) -> Result<Vec<BootId>> {
        leader::holders(&self.client().await?).await
    }

    async fn dead_boots(&self, boots: &[BootId]) -> Result<Vec<BootId>> {
        session::dead_boots(&self.client().await?, boots).await
    }

    async fn hold_liveness(&self, boot: BootId) -> Result<()> {
        self.session.hold(boot).await
    }

    fn liveness(&self) -> Liveness {
        self.session.liveness()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
