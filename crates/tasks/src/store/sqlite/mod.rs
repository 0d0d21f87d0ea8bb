//! The embedded store: one SQLite file, for one host. Several processes may share it.
//!
//! One thread writes and commits what waits together; another one reads. Times come from one clock that is handed in.

mod effect;
mod leader;
mod lease;
mod liveness;
mod message;
mod node;
mod read;
mod retention;
mod schedule;
mod settle;
mod submit;
mod sweep;
mod thread;
mod value;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rusqlite::Connection;
use serde_json::Value;
use tokio::sync::watch;

use self::liveness::LockFiles;
use self::thread::ConnectionThread;
use super::migration::{Migration, pending};
use super::{
    Candidate, Claim, Claimed, Effect, Fire, Held, Holder, Leader, Leadership, Liveness, Renewed, Result,
    Retained, Retention, Run, Store, StoreError, Submitted, Sweep, Swept,
};
#[cfg(feature = "bugs")]
use crate::bugs::Bugs;
use crate::domain::{
    BootId, Counts, Event, Filter, NewTree, NodeAges, NodeProfile, NodeRecord, Position, Report, Schedule,
    ScheduleId, ScheduleSpec, Task, TaskId, Timestamp, TreeMessage, TreeOverview, TreeTask,
};

const MIGRATIONS: [Migration; 4] = [
    Migration { version: 1, sql: include_str!("migrations/V1__tasks.sql") },
    Migration { version: 2, sql: include_str!("migrations/V2__api.sql") },
    Migration { version: 3, sql: include_str!("migrations/V3__history.sql") },
    Migration { version: 4, sql: include_str!("migrations/V4__messages.sql") },
];

/// How often the lock file of another process is looked at.
const LOCKS_LOOKED_AT: Duration = Duration::from_millis(250);

/// Where a store takes its time from.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The clock of the machine.
    pub fn system() -> Self {
        Self::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        })
    }

    /// A clock that says what `now` says.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Clock({})", self.now())
    }
}

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// The database file; it is made if it does not exist.
    pub path: PathBuf,
    /// Where its time comes from.
    pub clock: Clock,
    /// Opens it for reading only: the file must exist with a schema of this version, and every write is refused.
    pub read_only: bool,
    /// Deliberate bugs.
    #[cfg(feature = "bugs")]
    pub bugs: Bugs,
}

impl SqliteOptions {
    /// A file, with the clock of the machine.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            clock: Clock::system(),
            read_only: false,
            #[cfg(feature = "bugs")]
            bugs: Bugs::default(),
        }
    }
}

/// The embedded store.
#[derive(Debug)]
pub struct SqliteStore {
    /// None if it was opened for reading only.
    writer: Option<ConnectionThread>,
    reader: ConnectionThread,
    clock: Clock,
    locks: LockFiles,
    changes: watch::Sender<u64>,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
}

/// What an operation works with: a connection inside of a transaction, and the time of the operation.
struct Tx<'a> {
    db: &'a Connection,
    now: Timestamp,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
}

impl SqliteStore {
    /// Opens a database and brings its schema up to date.
    pub async fn open(options: SqliteOptions) -> Result<Self> {
        let changes = watch::Sender::new(0);
        let (path, read_only) = (options.path.clone(), options.read_only);
        let opened = tokio::task::spawn_blocking(move || {
            if read_only {
                let reader = thread::open_to_read(&path)?;
                check_migrations(&reader)?;
                return Ok::<_, StoreError>((None, reader));
            }
            let writer = thread::open(&path)?;
            migrate(&writer)?;
            Ok((Some(writer), thread::open(&path)?))
        });
        let (writer, reader) = opened.await.map_err(|error| StoreError::Unavailable(error.to_string()))??;
        let reader = match writer {
            Some(_) => ConnectionThread::reader(reader)?,
            None => ConnectionThread::watching_reader(reader, changes.clone())?,
        };
        Ok(Self {
            writer: writer.map(|writer| ConnectionThread::writer(writer, changes.clone())).transpose()?,
            reader,
            clock: options.clock,
            locks: LockFiles::beside(&options.path),
            changes,
            #[cfg(feature = "bugs")]
            bugs: options.bugs,
        })
    }

    async fn write<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let clock = self.clock.clone();
        #[cfg(feature = "bugs")]
        let bugs = self.bugs.clone();
        let run = move |db: &Connection| {
            operation(&Tx {
                db,
                now: clock.now(),
                #[cfg(feature = "bugs")]
                bugs,
            })
        };
        self.writer.as_ref().ok_or(StoreError::ReadOnly)?.run(run).await
    }

    /// As `write`; tells who waits for work that there may be some.
    async fn write_and_wake<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let done = self.write(operation).await?;
        self.changes.send_modify(|count| *count += 1);
        Ok(done)
    }

    async fn read<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.reader.run(operation).await
    }
}

/// Applies what is missing, in one transaction: many processes may open the file at once.
fn migrate(db: &Connection) -> Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    let done = apply_migrations(db);
    db.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done
}

/// Refuses a schema that only a process that writes could bring up to date.
fn check_migrations(db: &Connection) -> Result<()> {
    match pending(&MIGRATIONS, &applied_migrations(db)?)? {
        [] => Ok(()),
        _ => Err(StoreError::Unavailable(
            "its schema is older than this version; start a node that is not an observer first".to_owned(),
        )),
    }
}

fn applied_migrations(db: &Connection) -> Result<Vec<(i32, String)>> {
    let mut statement = db.prepare("SELECT version, checksum FROM migrations ORDER BY version")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn apply_migrations(db: &Connection) -> Result<()> {
    db.execute_batch(
        "CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, checksum TEXT NOT NULL) STRICT",
    )?;
    for migration in pending(&MIGRATIONS, &applied_migrations(db)?)? {
        db.execute_batch(migration.sql)?;
        db.execute("INSERT INTO migrations VALUES (?1, ?2)", (migration.version, migration.checksum()))?;
    }
    Ok(())
}

#[async_trait]
impl Store for SqliteStore {
    async fn now(&self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    async fn submit(&self, tree: NewTree) -> Result<Submitted> {
        self.write_and_wake(move |tx| submit::submit(tx, &tree)).await
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<Claimed>> {
        let claim = claim.clone();
        self.write(move |tx| lease::claim(tx, &claim)).await
    }

    async fn acquire(&self, claim: &Claim, task: TaskId) -> Result<Option<Claimed>> {
        let claim = claim.clone();
        self.write(move |tx| lease::acquire(tx, &claim, task)).await
    }

    async fn executable(&self, node: &NodeProfile, limit: usize) -> Result<Vec<Task>> {
        let (node, now) = (node.clone(), self.clock.now());
        self.read(move |db| read::executable(db, &node, now, limit)).await
    }

    async fn next_due(&self, node: &NodeProfile) -> Result<Option<Duration>> {
        let (node, now) = (node.clone(), self.clock.now());
        self.read(move |db| lease::next_due(db, &node, now)).await
    }

    async fn renew(&self, held: &[Held], lease: Duration) -> Result<Vec<Renewed>> {
        let held = held.to_vec();
        self.write(move |tx| lease::renew(tx, &held, lease)).await
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<TaskId>> {
        self.write_and_wake(move |tx| lease::finish(tx, reports)).await
    }

    async fn release(&self, held: &[Held]) -> Result<Vec<TaskId>> {
        let held = held.to_vec();
        self.write_and_wake(move |tx| lease::release(tx, &held)).await
    }

    async fn progress(&self, held: Held, part: f32) -> Result<bool> {
        self.write(move |tx| lease::progress(tx, held, part)).await
    }

    async fn sweep(&self, leadership: &Leadership, sweep: &Sweep) -> Result<Swept> {
        let (leadership, sweep) = (leadership.clone(), sweep.clone());
        let swept = self.write(move |tx| sweep::sweep(tx, &leadership, &sweep)).await?;
        if !swept.tasks.is_empty() {
            self.changes.send_modify(|count| *count += 1);
        }
        Ok(swept)
    }

    async fn cancel(&self, task: TaskId) -> Result<bool> {
        self.write_and_wake(move |tx| submit::cancel(tx, task)).await
    }

    async fn cancel_tree(&self, task: TaskId) -> Result<u64> {
        self.write_and_wake(move |tx| submit::cancel_tree(tx, task)).await
    }

    async fn retry(&self, task: TaskId) -> Result<()> {
        self.write_and_wake(move |tx| submit::retry(tx, task)).await
    }

    async fn task(&self, task: TaskId) -> Result<Task> {
        self.read(move |db| read::task(db, task)).await
    }

    async fn tasks(&self, filter: &Filter, limit: usize) -> Result<Vec<Task>> {
        let filter = filter.clone();
        self.read(move |db| read::tasks(db, &filter, limit)).await
    }

    async fn tree(&self, task: TaskId) -> Result<Vec<TreeTask>> {
        self.read(move |db| read::whole_tree(db, task)).await
    }

    async fn message(&self, tree: TaskId) -> Result<Option<TreeMessage>> {
        self.read(move |db| message::of_tree(db, tree)).await
    }

    async fn overviews(&self, context: Option<&str>, limit: usize) -> Result<Vec<TreeOverview>> {
        let context = context.map(str::to_owned);
        self.read(move |db| message::overviews(db, context.as_deref(), limit)).await
    }

    async fn events(&self, task: Option<TaskId>, after: Position, limit: usize) -> Result<Vec<Event>> {
        self.read(move |db| read::events(db, task, after, limit)).await
    }

    async fn tree_events(&self, tree: TaskId, after: Position, limit: usize) -> Result<Vec<Event>> {
        self.read(move |db| read::tree_events(db, tree, after, limit)).await
    }

    async fn tree_end(&self, tree: TaskId) -> Result<Option<Position>> {
        self.read(move |db| read::tree_end(db, tree)).await
    }

    async fn events_end(&self) -> Result<Position> {
        self.read(read::events_end).await
    }

    async fn counts(&self) -> Result<Counts> {
        self.read(read::counts).await
    }

    async fn acquire_leadership(&self, candidate: &Candidate) -> Result<Option<Leadership>> {
        let candidate = candidate.clone();
        self.write(move |tx| leader::acquire(tx, &candidate)).await
    }

    async fn renew_leadership(&self, leadership: &Leadership, lease: Duration) -> Result<bool> {
        let leadership = leadership.clone();
        self.write(move |tx| leader::renew(tx, &leadership, lease)).await
    }

    async fn release_leadership(&self, leadership: &Leadership) -> Result<()> {
        let leadership = leadership.clone();
        self.write_and_wake(move |tx| leader::release(tx, &leadership)).await
    }

    async fn leader(&self) -> Result<Option<Leader>> {
        let now = self.clock.now();
        self.read(move |db| leader::current(db, now)).await
    }

    async fn register_node(&self, node: &NodeRecord) -> Result<()> {
        let node = node.clone();
        self.write(move |tx| node::register(tx, &node)).await
    }

    async fn heartbeat(&self, node: &str, boot: BootId) -> Result<bool> {
        let node = node.to_owned();
        self.write(move |tx| node::heartbeat(tx, &node, boot)).await
    }

    async fn deregister_node(&self, node: &str, boot: BootId) -> Result<()> {
        let node = node.to_owned();
        self.write(move |tx| node::deregister(tx, &node, boot)).await?;
        self.locks.remove(boot);
        Ok(())
    }

    async fn nodes(&self) -> Result<Vec<NodeRecord>> {
        self.read(node::all).await
    }

    async fn mark_nodes(&self, leadership: &Leadership, ages: NodeAges) -> Result<u64> {
        let leadership = leadership.clone();
        self.write(move |tx| node::mark(tx, &leadership, ages)).await
    }

    async fn put_schedule(&self, id: ScheduleId, spec: &ScheduleSpec) -> Result<Schedule> {
        let spec = spec.clone();
        self.write_and_wake(move |tx| schedule::put(tx, id, &spec)).await
    }

    async fn remove_schedule(&self, schedule: ScheduleId) -> Result<bool> {
        self.write(move |tx| schedule::remove(tx, schedule)).await
    }

    async fn pause_schedule(&self, schedule: ScheduleId, paused: bool) -> Result<Schedule> {
        self.write_and_wake(move |tx| schedule::pause(tx, schedule, paused)).await
    }

    async fn trigger_schedule(&self, schedule: ScheduleId, tree: NewTree) -> Result<Submitted> {
        self.write_and_wake(move |tx| schedule::trigger(tx, schedule, &tree)).await
    }

    async fn schedules(&self) -> Result<Vec<Schedule>> {
        self.read(schedule::all).await
    }

    async fn fire(&self, leadership: &Leadership, fire: Fire) -> Result<bool> {
        let leadership = leadership.clone();
        self.write_and_wake(move |tx| schedule::fire(tx, &leadership, &fire)).await
    }

    async fn runs(&self, schedule: ScheduleId, limit: usize) -> Result<Vec<Run>> {
        self.read(move |db| schedule::runs(db, schedule, limit)).await
    }

    async fn begin_effect(&self, key: &str, held: Held) -> Result<Effect> {
        let key = key.to_owned();
        self.write(move |tx| effect::begin(tx, &key, held)).await
    }

    async fn finish_effect(&self, key: &str, held: Held, result: Value) -> Result<()> {
        let key = key.to_owned();
        self.write(move |tx| effect::finish(tx, &key, held, &result)).await
    }

    async fn retain(&self, leadership: &Leadership, retention: Retention) -> Result<Retained> {
        let leadership = leadership.clone();
        self.write(move |tx| retention::retain(tx, &leadership, retention)).await
    }

    async fn maintain(&self, leadership: &Leadership) -> Result<()> {
        let leadership = leadership.clone();
        self.write(move |tx| retention::maintain(tx, &leadership)).await
    }

    async fn token_secret(&self, fresh: [u8; 32]) -> Result<Vec<u8>> {
        self.write(move |tx| {
            let sql =
                "INSERT INTO cluster_secrets (singleton, token_key) VALUES (1, ?1) ON CONFLICT DO NOTHING";
            tx.db.execute(sql, [fresh.as_slice()])?;
            Ok(tx.db.query_row("SELECT token_key FROM cluster_secrets", [], |row| row.get(0))?)
        })
        .await
    }

    async fn other_holders(&self, boot: BootId) -> Result<Vec<Holder>> {
        let mut holders = self.read(leader::holders).await?;
        holders.retain(|holder| *holder != boot);
        let free = self.locks.free(&holders);
        Ok(holders.into_iter().map(|boot| Holder { boot, is_gone: free.contains(&boot) }).collect())
    }

    async fn dead_boots(&self, boots: &[BootId]) -> Result<Vec<BootId>> {
        Ok(self.locks.free(boots))
    }

    async fn until_gone(&self, boot: BootId) -> Result<()> {
        while self.locks.free(&[boot]).is_empty() {
            tokio::time::sleep(LOCKS_LOOKED_AT).await;
        }
        Ok(())
    }

    async fn hold_liveness(&self, boot: BootId) -> Result<()> {
        self.locks.hold(boot).map_err(|error| StoreError::Unavailable(error.to_string()))
    }

    fn liveness(&self) -> Liveness {
        self.locks.liveness()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
