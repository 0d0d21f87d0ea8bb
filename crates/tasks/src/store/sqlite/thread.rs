//! The two threads that own connections: one writes, one reads. Writes that wait are committed together, with one sync.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::{oneshot, watch};

use super::super::StoreError;

/// Operations that wait for a thread; more are refused, as the database is too slow for its callers.
const WAITING_MAX: usize = 4_096;

/// Writes that are committed together at most: bounds how long the first one waits.
const GROUP_MAX: usize = 256;

/// How often the writer looks whether another process has written, in milliseconds.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a writer waits for that of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Tells the caller after the commit. It is handed what went wrong with the group, if anything.
type Reply = Box<dyn FnOnce(Option<StoreError>) + Send>;

/// An operation, given a connection or why there is none: `false` if its changes are to be undone.
type Operation = Box<dyn FnOnce(Result<&Connection, StoreError>) -> (bool, Reply) + Send>;

/// A thread with a connection. It ends when this is dropped.
#[derive(Debug, Clone)]
pub(super) struct ConnectionThread {
    operations: SyncSender<Operation>,
}

/// Opens a connection with the settings that durability needs.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

/// Opens a connection that cannot write. The file must exist.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(connection)
}

impl ConnectionThread {
    /// Starts the writer. `changes` is raised when another process has written.
    pub(super) fn writer(connection: Connection, changes: watch::Sender<u64>) -> Result<Self, StoreError> {
        start("tasks-sqlite-write", move |operations| write_groups(&connection, &operations, &changes))
    }

    /// Starts the reader.
    pub(super) fn reader(connection: Connection) -> Result<Self, StoreError> {
        start("tasks-sqlite-read", move |operations| {
            while let Ok(operation) = operations.recv() {
                let (_, reply) = operation(Ok(&connection));
                reply(None);
            }
        })
    }

    /// Starts a reader without a writer beside it. `changes` is raised when another process has written.
    pub(super) fn watching_reader(
        connection: Connection,
        changes: watch::Sender<u64>,
    ) -> Result<Self, StoreError> {
        start("tasks-sqlite-read", move |operations| {
            let read = |first: Operation, rest: &mut dyn Iterator<Item = Operation>| {
                for operation in std::iter::once(first).chain(rest) {
                    let (_, reply) = operation(Ok(&connection));
                    reply(None);
                }
            };
            watch(&connection, &operations, &changes, read);
        })
    }

    /// Runs an operation and waits for it, and for its commit.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, wait) = oneshot::channel();
        let boxed: Operation = Box::new(move |connection| {
            let result = connection.and_then(operation);
            let is_kept = result.is_ok();
            let reply = move |failure: Option<StoreError>| {
                // A caller that has gone away does not want to know.
                let _ = done.send(failure.map_or(result, Err));
            };
            (is_kept, Box::new(reply))
        });
        self.operations.try_send(boxed).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Unavailable(format!("{WAITING_MAX} operations are waiting")),
            TrySendError::Disconnected(_) => StoreError::Unavailable("its thread has ended".to_owned()),
        })?;
        wait.await.map_err(|_| StoreError::Unavailable("its thread has ended".to_owned()))?
    }
}

fn start(
    name: &str,
    body: impl FnOnce(Receiver<Operation>) + Send + 'static,
) -> Result<ConnectionThread, StoreError> {
    let (operations, inbox) = sync_channel(WAITING_MAX);
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(move || body(inbox)).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    Ok(ConnectionThread { operations })
}

fn write_groups(connection: &Connection, operations: &Receiver<Operation>, changes: &watch::Sender<u64>) {
    watch(connection, operations, changes, |first, rest| {
        write_group(connection, std::iter::once(first).chain(rest));
    });
}

/// Hands operations on in groups, and looks between them whether another process has written.
fn watch(
    connection: &Connection,
    operations: &Receiver<Operation>,
    changes: &watch::Sender<u64>,
    run: impl Fn(Operation, &mut dyn Iterator<Item = Operation>),
) {
    let mut seen = data_version(connection);
    loop {
        match operations.recv_timeout(LOOK_EVERY) {
            Ok(first) => run(first, &mut operations.try_iter().take(GROUP_MAX - 1)),
            Err(RecvTimeoutError::Timeout) => {
                let now = data_version(connection);
                if now != seen {
                    seen = now;
                    changes.send_modify(|count| *count += 1);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// One transaction for all of them; each can be undone alone.
fn write_group(connection: &Connection, operations: impl Iterator<Item = Operation>) {
    if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
        for operation in operations {
            let (_, reply) = operation(Err(StoreError::Unavailable(reason(&error))));
            reply(None);
        }
        return;
    }
    let mut replies: Vec<Reply> = Vec::new();
    for operation in operations {
        // Where the disk is full SQLite may undo the whole transaction. What follows must not begin another one by itself.
        let reply = if connection.is_autocommit() {
            operation(Err(StoreError::Unavailable(UNDONE.to_owned()))).1
        } else {
            write_one(connection, operation)
        };
        replies.push(reply);
    }
    let failure = if connection.is_autocommit() {
        Some(UNDONE.to_owned())
    } else {
        connection.execute_batch("COMMIT").err().as_ref().map(reason)
    };
    if failure.is_some() && !connection.is_autocommit() {
        let _ = connection.execute_batch("ROLLBACK");
    }
    for reply in replies {
        reply(failure.clone().map(StoreError::Unavailable));
    }
}

fn write_one(connection: &Connection, operation: Operation) -> Reply {
    if let Err(error) = connection.execute_batch("SAVEPOINT one") {
        return operation(Err(error.into())).1;
    }
    let (is_kept, reply) = operation(Ok(connection));
    if connection.is_autocommit() {
        // All of the group was undone, and with it the mark.
        return reply;
    }
    let end = if is_kept { "RELEASE one" } else { "ROLLBACK TO one; RELEASE one" };
    match connection.execute_batch(end) {
        Ok(()) => reply,
        Err(error) => Box::new(move |_| reply(Some(error.into()))),
    }
}

fn data_version(connection: &Connection) -> Option<i64> {
    connection.query_row("PRAGMA data_version", [], |row| row.get(0)).ok()
}

/// Why writes of a group are not kept of which another one found no room.
const UNDONE: &str = "the disk is full or cannot be written; nothing was changed";

fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            "the disk is full; nothing was changed, and it works again when there is room".to_owned()
        }
        _ => error.to_string(),
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Unavailable(reason(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one table that cannot grow beyond its first pages.
    fn full() -> (tempfile::TempDir, ConnectionThread) {
        let folder = tempfile::tempdir().unwrap();
        let connection = open(&folder.path().join("full.db")).unwrap();
        connection.execute_batch("CREATE TABLE notes (text TEXT); PRAGMA max_page_count = 8").unwrap();
        (folder, ConnectionThread::writer(connection, watch::Sender::new(0)).unwrap())
    }

    async fn write(thread: &ConnectionThread, bytes: usize) -> Result<usize, StoreError> {
        let text = "x".repeat(bytes);
        thread.run(move |db| Ok(db.execute("INSERT INTO notes VALUES (?1)", [text])?)).await
    }

    async fn count(thread: &ConnectionThread) -> usize {
        thread.run(|db| Ok(db.query_row("SELECT count(*) FROM notes", [], |row| row.get(0))?)).await.unwrap()
    }

    #[tokio::test]
    async fn full_disk_refuses_writes_and_keeps_what_was_acknowledged() {
        let (_folder, thread) = full();
        let mut acknowledged = 0;
        // Groups of writes of which some find room and some do not.
        for _ in 0..20 {
            let (a, b, c) = tokio::join!(write(&thread, 100), write(&thread, 9_000), write(&thread, 100));
            for written in [a, b, c] {
                match written {
                    Ok(_) => acknowledged += 1,
                    Err(error) => assert!(error.to_string().contains("the disk is full"), "{error}"),
                }
            }
        }
        assert!(write(&thread, 40_000).await.is_err());
        assert_eq!(count(&thread).await, acknowledged);
        thread.run(|db| Ok(db.execute_batch("DELETE FROM notes")?)).await.unwrap();
        write(&thread, 100).await.expect("there is room again");
        assert_eq!(count(&thread).await, 1);
    }
}
