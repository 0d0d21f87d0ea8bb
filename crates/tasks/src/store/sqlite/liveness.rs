//! Liveness as lock files: each process locks its own file. A free lock means that the process is dead.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, create_dir_all, remove_file};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::super::Liveness;
use crate::domain::BootId;

/// The lock files beside a database.
#[derive(Debug)]
pub(super) struct LockFiles {
    folder: PathBuf,
    /// Locks that this process holds. Dropping a file frees its lock.
    held: Mutex<BTreeMap<BootId, File>>,
}

impl LockFiles {
    /// Those beside a database file.
    pub(super) fn beside(database: &Path) -> Self {
        let mut name = database.file_name().unwrap_or_default().to_owned();
        name.push(".boots");
        Self { folder: database.with_file_name(name), held: Mutex::default() }
    }

    /// Locks the file of a boot.
    pub(super) fn hold(&self, boot: BootId) -> io::Result<()> {
        create_dir_all(&self.folder)?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(self.file(boot))?;
        file.lock()?;
        self.table().insert(boot, file);
        Ok(())
    }

    /// Frees and removes the file of a boot that has left.
    pub(super) fn remove(&self, boot: BootId) {
        self.table().remove(&boot);
        // A file that stays behind is harmless: it only says that its process is gone.
        let _ = remove_file(self.file(boot));
    }

    /// Boots whose file exists and is not locked.
    pub(super) fn free(&self, boots: &[BootId]) -> Vec<BootId> {
        boots.iter().copied().filter(|boot| self.is_free(*boot)).collect()
    }

    /// Whether a lock is held here.
    pub(super) fn liveness(&self) -> Liveness {
        if self.table().is_empty() { Liveness::Absent } else { Liveness::Held(1) }
    }

    fn is_free(&self, boot: BootId) -> bool {
        File::open(self.file(boot)).is_ok_and(|file| file.try_lock().is_ok())
    }

    fn file(&self, boot: BootId) -> PathBuf {
        self.folder.join(boot.to_string())
    }

    fn table(&self) -> std::sync::MutexGuard<'_, BTreeMap<BootId, File>> {
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_of_a_process_that_is_gone_is_free_and_one_that_never_was_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("tasks.db");
        let boots: Vec<BootId> = (0..3).map(|number| BootId::new(number, [0; 10])).collect();
        let watcher = LockFiles::beside(&database);
        let (alive, dead) = (LockFiles::beside(&database), LockFiles::beside(&database));
        alive.hold(boots[0]).unwrap();
        dead.hold(boots[1]).unwrap();
        assert_eq!(watcher.free(&boots), []);
        drop(dead);
        assert_eq!(watcher.free(&boots), [boots[1]]);
        watcher.remove(boots[1]);
        assert_eq!(watcher.free(&boots), []);
    }
}
