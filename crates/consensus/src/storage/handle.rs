//! A redb database that a full disk does not end.
//!
//! After a failed write redb answers nothing more until it is opened again. When there was no room that is what happens here,
//! with the next call: redb goes back to the last transaction that was committed, and the caller writes its batch again.
//! After any other failure the database stays as it is and goes on refusing. A sync that failed may have dropped what it
//! could not write and call it clean; to open the file again would be to build on pages that are not on the disk.

use std::fmt;

use redb::{Database, DatabaseError};

use crate::storage::StorageError;

type Opener = Box<dyn Fn() -> Result<Database, DatabaseError> + Send + Sync>;

/// An open database, and how to open it again.
pub(super) struct Handle {
    /// None after a write for which there was no room.
    database: Option<Database>,
    open_again: Opener,
}

impl Handle {
    pub(super) fn new(
        database: Database,
        open_again: impl Fn() -> Result<Database, DatabaseError> + Send + Sync + 'static,
    ) -> Self {
        Self { database: Some(database), open_again: Box::new(open_again) }
    }

    /// Works with the database; opened again if there was no room the last time.
    pub(super) fn with<T>(
        &mut self,
        work: impl FnOnce(&Database) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => (self.open_again)().map_err(backend)?,
        };
        let done = work(&database);
        if !matches!(done, Err(StorageError::Full)) {
            self.database = Some(database);
        }
        done
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("is_open", &self.database.is_some()).finish_non_exhaustive()
    }
}

/// A full disk can be waited out; everything else cannot.
pub(super) fn backend(error: impl Into<redb::Error>) -> StorageError {
    let error = error.into();
    match &error {
        redb::Error::Io(io) if io.kind() == std::io::ErrorKind::StorageFull => StorageError::Full,
        redb::Error::Corrupted(what) => StorageError::Damaged(what.clone()),
        _ => StorageError::Backend(error.to_string()),
    }
}
