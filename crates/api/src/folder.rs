//! Where the runs of one user listen: one folder that only this user can enter, one socket per run, named by its job.
//!
//! ```text
//! $XDG_RUNTIME_DIR/hyperscale/      or, without it,  TMP/hyperscale-UID/
//!   run-20260102T030405-1a2b3c4d.sock
//! ```
//! A folder that belongs to somebody else, or that others can enter, is never used: neither to listen nor to ask. Sockets of
//! processes that were killed are removed by whoever finds them.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// What the name of a socket ends with.
const SUFFIX: &str = ".sock";
/// What the name of a socket begins with that nobody listens on yet.
const UNREADY: &str = ".";
/// Permissions of the folder and of the sockets in it.
const FOLDER_MODE: u32 = 0o700;
const SOCKET_MODE: u32 = 0o600;
/// Sockets looked at in one folder. More runs at a time are a mistake.
const SOCKETS_MAX: usize = 1_024;

/// A folder that belongs to this user alone.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// Why a folder is not used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It is not there, or cannot be looked at.
    #[error("the folder {} cannot be used: {source}", path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else has its name, a link for example.
    #[error("{} is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// Another user made it.
    #[error("the folder {} belongs to user {owner}", path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others can enter it.
    #[error("the folder {} can be entered by others (mode {mode:o})", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

impl FolderError {
    /// Whether there is no such folder, so that nobody listens in it.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Unusable { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// A socket in a folder, removed with its owner.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Somebody may have removed it already.
        drop(fs::remove_file(&self.path));
    }
}

/// The user of this process.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Where the folder of this user is: in the runtime folder of the session, if there is one, else with the temporary files.
pub fn path(runtime: Option<&Path>, temporary: &Path, user: u32) -> PathBuf {
    match runtime.filter(|runtime| runtime.is_absolute() && runtime.is_dir()) {
        Some(runtime) => runtime.join("hyperscale"),
        None => temporary.join(format!("hyperscale-{user}")),
    }
}

impl Folder {
    /// The folder, made if it is not there.
    pub fn make(path: &Path, user: u32) -> Result<Self, FolderError> {
        match DirBuilder::new().mode(FOLDER_MODE).create(path) {
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                Err(FolderError::Unusable { path: path.to_owned(), source })
            }
            _ => Self::open(path, user),
        }
    }

    /// The folder, if it is there and belongs to this user alone.
    pub fn open(path: &Path, user: u32) -> Result<Self, FolderError> {
        let path = path.to_owned();
        let facts = match fs::symlink_metadata(&path) {
            Ok(facts) => facts,
            Err(source) => return Err(FolderError::Unusable { path, source }),
        };
        if !facts.is_dir() {
            return Err(FolderError::NotAFolder(path));
        }
        if facts.uid() != user {
            return Err(FolderError::Foreign { path, owner: facts.uid() });
        }
        let mode = facts.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(FolderError::Open { path, mode });
        }
        Ok(Self { path })
    }

    /// Listens as this job. The socket gets its name when it listens, so that nobody takes it for that of a dead process.
    pub fn listen(&self, job: &str) -> io::Result<(UnixListener, Socket)> {
        let unready = Socket { path: self.path.join(format!("{UNREADY}{job}{SUFFIX}")) };
        let listener = UnixListener::bind(&unready.path)?;
        fs::set_permissions(&unready.path, Permissions::from_mode(SOCKET_MODE))?;
        let ready = self.path.join(format!("{job}{SUFFIX}"));
        fs::rename(&unready.path, &ready)?;
        Ok((listener, Socket { path: ready }))
    }

    /// The sockets of jobs that are alive, by job. Those of dead processes are removed.
    pub async fn sockets(&self) -> io::Result<Vec<(String, PathBuf)>> {
        let mut alive = Vec::new();
        for entry in fs::read_dir(&self.path)?.take(SOCKETS_MAX) {
            let path = entry?.path();
            if let Some(job) = job_of(&path)
                && is_alive(&path).await
            {
                alive.push((job.to_owned(), path));
            }
        }
        alive.sort();
        Ok(alive)
    }
}

fn job_of(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(SUFFIX).filter(|job| !job.is_empty() && !job.starts_with(UNREADY))
}

/// Whether somebody listens; where nobody ever will again, the socket is removed.
async fn is_alive(path: &Path) -> bool {
    match UnixStream::connect(path).await {
        Ok(_) => true,
        Err(error) => {
            if error.kind() == io::ErrorKind::ConnectionRefused {
                drop(fs::remove_file(path));
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    fn names(path: &Path) -> Vec<String> {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn folder_is_in_the_runtime_folder_or_else_with_temporary_files() {
        let there = tempfile::tempdir().unwrap();
        let temporary = Path::new("/tmp");
        assert_eq!(path(Some(there.path()), temporary, 7), there.path().join("hyperscale"));
        for absent in
            [None, Some(Path::new("/nonexistent")), Some(Path::new("relative")), Some(Path::new(""))]
        {
            assert_eq!(path(absent, temporary, 7), Path::new("/tmp/hyperscale-7"));
        }
    }

    #[test]
    fn made_folder_is_closed_to_others_and_found_again() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("hyperscale");
        Folder::make(&path, user()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        Folder::make(&path, user()).unwrap();
        Folder::open(&path, user()).unwrap();
    }

    #[test]
    fn folder_of_others_or_open_to_others_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("hyperscale");
        assert!(Folder::open(&path, user()).unwrap_err().is_absent());
        Folder::make(&path, user()).unwrap();
        assert!(matches!(Folder::make(&path, user() + 1), Err(FolderError::Foreign { .. })));
        let link = base.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(matches!(Folder::make(&link, user()), Err(FolderError::NotAFolder(_))));
        for mode in [0o701, 0o710, 0o777] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert!(matches!(Folder::make(&path, user()), Err(FolderError::Open { .. })), "{mode:o}");
        }
    }

    #[test]
    fn sockets_are_private_found_by_job_and_gone_with_their_owner() {
        let base = tempfile::tempdir().unwrap();
        let folder = Folder::make(&base.path().join("f"), user()).unwrap();
        runtime().block_on(async {
            let (_listener, socket) = folder.listen("run-1").unwrap();
            assert_eq!(fs::metadata(&socket.path).unwrap().mode() & 0o777, 0o600);
            let found = folder.sockets().await.unwrap();
            assert_eq!(found, [("run-1".to_owned(), socket.path.clone())]);
            drop(socket);
            assert_eq!(names(&folder.path), [""; 0]);
        });
    }

    #[test]
    fn sockets_of_dead_processes_are_removed_and_foreign_files_are_not() {
        let base = tempfile::tempdir().unwrap();
        let folder = Folder::make(&base.path().join("f"), user()).unwrap();
        fs::write(folder.path.join("notes.txt"), "").unwrap();
        runtime().block_on(async {
            let (listener, socket) = folder.listen("run-dead").unwrap();
            drop(listener);
            std::mem::forget(socket);
            assert_eq!(folder.sockets().await.unwrap(), []);
        });
        assert_eq!(names(&folder.path), ["notes.txt"]);
    }
}
