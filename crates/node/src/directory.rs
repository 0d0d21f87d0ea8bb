//! The data directory of a node: who it is over all its lives, and which life this one is.
//!
//! ```text
//! DIRECTORY/
//!   lock        held by the process that uses the directory
//!   identity    cluster, environment, role and node id; written once
//!   boot        number of the present life; raised durably before anything else happens
//!   log.redb    the log of a manager or a gate, with a random id of its own
//!   blobs/      what is too large for the log
//!   clocks      what the clocks of jobs show, see `manager::clocks`; may be lost
//! ```
//!
//! A file appears whole or not at all. The id of the log's directory lives in the log's file: whoever loses that file gets
//! another id with the next one, and is recognised as a member that lost its disk.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use hyperscale_consensus::DirectoryId;
use hyperscale_consensus::storage::{DirectoryOwner, FileBlobs, RedbStorage, StorageError};
use hyperscale_types::{BootEpoch, NodeId, Role};
use hyperscale_wire::domain::Domain;
use hyperscale_wire::entropy::draw;

use crate::entropy::{self, OsEntropy};

const LOCK: &str = "lock";
const IDENTITY: &str = "identity";
const BOOT: &str = "boot";
const LOG: &str = "log.redb";
const BLOBS: &str = "blobs";
const CLOCKS: &str = "clocks";
/// First line of the identity, so that a later layout is recognised.
const FORMAT: &str = "hyperscale node 1";
/// What the name of a file begins with that was not finished.
const UNFINISHED: &str = "new-";

/// Why a data directory is not used. Nothing in it was changed, except that its boot may have been raised.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// Another process holds the lock. Stop it, or use another directory.
    #[error("data directory {} is in use by another process; stop it or pass another directory", .0.display())]
    InUse(PathBuf),
    /// It was made for another cluster, environment or role.
    #[error("data directory {} belongs to {found}, not to {wanted}; pass another directory", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// What it was made for.
        found: String,
        /// What this node is.
        wanted: String,
    },
    /// It belongs to another node than the one that the certificate names.
    #[error(
        "data directory {} belongs to node {found}, and the certificate names node {wanted}; pass another directory, or a certificate of node {found}",
        path.display()
    )]
    OtherNode {
        /// The directory.
        path: PathBuf,
        /// The node that lives there.
        found: NodeId,
        /// The node that the certificate names.
        wanted: NodeId,
    },
    /// A file in it is not what this version writes. It must not be guessed: the directory is to be restored or replaced.
    #[error("{} is damaged; restore it, or start with an empty directory", .0.display())]
    Damaged(PathBuf),
    /// The system refused.
    #[error("data directory {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What a node is in its deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ownership {
    /// Cluster and environment.
    pub domain: Domain,
    /// Worker, manager or gate.
    pub role: Role,
}

impl Ownership {
    fn describe(&self) -> String {
        let (cluster, environment) = (self.domain.cluster(), self.domain.environment());
        match environment {
            "" => format!("a {} of cluster '{cluster}'", self.role),
            environment => format!("a {} of cluster '{cluster}', environment '{environment}'", self.role),
        }
    }
}

/// An open data directory. Its lock is held until it is dropped.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    node: NodeId,
    boot: BootEpoch,
    cluster: String,
    _lock: File,
    /// Removed with this value, where no directory was given.
    _temporary: Option<tempfile::TempDir>,
}

impl Directory {
    /// Opens a directory, or makes it, and begins the next life of its node. The node is the one that is named, if one is; else
    /// a new directory gets a random one.
    pub fn open(path: &Path, owner: &Ownership, node: Option<NodeId>) -> Result<Self, DirectoryError> {
        Self::open_in(path.to_owned(), owner, node, None)
    }

    /// Makes a directory that is removed at the end, for a worker that keeps nothing.
    pub fn temporary(owner: &Ownership, node: Option<NodeId>) -> Result<Self, DirectoryError> {
        let made = tempfile::Builder::new().prefix("hyperscale-").tempdir();
        let folder = made.map_err(|source| DirectoryError::Io { path: std::env::temp_dir(), source })?;
        Self::open_in(folder.path().to_owned(), owner, node, Some(folder))
    }

    /// Whether a node could use this directory. It is neither made nor changed, and no life begins.
    pub fn check(path: &Path, owner: &Ownership, named: Option<NodeId>) -> Result<(), DirectoryError> {
        let is_there = |folder: &&Path| folder.exists() && !folder.as_os_str().is_empty();
        let folder = path.ancestors().find(is_there).unwrap_or(Path::new("."));
        // Gone as soon as it is closed.
        tempfile::tempfile_in(folder).map_err(failed(folder))?;
        if path.join(LOCK).exists() {
            lock(path)?;
        }
        known(path, owner, named).map(drop)
    }

    fn open_in(
        path: PathBuf,
        owner: &Ownership,
        named: Option<NodeId>,
        temporary: Option<tempfile::TempDir>,
    ) -> Result<Self, DirectoryError> {
        fs::create_dir_all(&path).map_err(failed(&path))?;
        let lock = lock(&path)?;
        let node = identify(&path, owner, named)?;
        let boot = raise_boot(&path)?;
        let cluster = owner.domain.cluster().to_owned();
        Ok(Self { path, node, boot, cluster, _lock: lock, _temporary: temporary })
    }

    /// The node that lives here.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Its present life.
    pub fn boot(&self) -> BootEpoch {
        self.boot
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the log of a group: a datacenter's name, or the gates.
    pub fn open_log(&self, group: &str) -> Result<RedbStorage, StorageError> {
        let (cluster, group) = (self.cluster.clone(), group.to_owned());
        let owner = DirectoryOwner { cluster, group, node: self.node };
        RedbStorage::open(&self.path.join(LOG), &owner, DirectoryId(draw(&mut OsEntropy)))
    }

    /// Where a manager keeps what the clocks of jobs show.
    pub fn clocks(&self) -> PathBuf {
        self.path.join(CLOCKS)
    }

    /// Opens the store of blobs.
    pub fn open_blobs(&self) -> Result<FileBlobs, StorageError> {
        FileBlobs::open(&self.path.join(BLOBS))
    }
}

fn lock(folder: &Path) -> Result<File, DirectoryError> {
    let path = folder.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(DirectoryError::InUse(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(DirectoryError::Io { path, source }),
    }
}

/// The node that the directory belongs to; a new one if the directory is new.
fn identify(folder: &Path, owner: &Ownership, named: Option<NodeId>) -> Result<NodeId, DirectoryError> {
    if let Some(node) = known(folder, owner, named)? {
        return Ok(node);
    }
    let node = named.unwrap_or_else(entropy::node_id);
    let (cluster, environment) = (owner.domain.cluster(), owner.domain.environment());
    let text = format!("{FORMAT}\n{cluster}\n{environment}\n{}\n{node}\n", owner.role);
    write(folder, IDENTITY, &text)?;
    Ok(node)
}

/// The node that the directory belongs to, if it belongs to one.
fn known(folder: &Path, owner: &Ownership, named: Option<NodeId>) -> Result<Option<NodeId>, DirectoryError> {
    let path = folder.join(IDENTITY);
    let Some(text) = read(&path)? else { return Ok(None) };
    let (found, node) = parse(&text).ok_or(DirectoryError::Damaged(path))?;
    if found != *owner {
        let (found, wanted) = (found.describe(), owner.describe());
        return Err(DirectoryError::Foreign { path: folder.to_owned(), found, wanted });
    }
    if let Some(wanted) = named.filter(|wanted| *wanted != node) {
        return Err(DirectoryError::OtherNode { path: folder.to_owned(), found: node, wanted });
    }
    Ok(Some(node))
}

fn parse(text: &str) -> Option<(Ownership, NodeId)> {
    let lines: Vec<&str> = text.lines().collect();
    let [FORMAT, cluster, environment, role, node] = lines[..] else { return None };
    let domain = Domain::new(cluster, environment).ok()?;
    Some((Ownership { domain, role: role.parse().ok()? }, node.parse().ok()?))
}

fn raise_boot(folder: &Path) -> Result<BootEpoch, DirectoryError> {
    let path = folder.join(BOOT);
    let last: u64 = match read(&path)? {
        None => 0,
        Some(text) => text.trim_end().parse().map_err(|_| DirectoryError::Damaged(path))?,
    };
    let boot = last.saturating_add(1);
    write(folder, BOOT, &format!("{boot}\n"))?;
    Ok(BootEpoch(boot))
}

fn read(path: &Path) -> Result<Option<String>, DirectoryError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(DirectoryError::Damaged(path.to_owned()))
        }
        Err(source) => Err(DirectoryError::Io { path: path.to_owned(), source }),
    }
}

/// Writes a file durably: it has its old content or all of the new one.
fn write(folder: &Path, name: &str, text: &str) -> Result<(), DirectoryError> {
    let (path, unfinished) = (folder.join(name), folder.join(format!("{UNFINISHED}{name}")));
    let written = File::create(&unfinished)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&unfinished, &path))
        .and_then(|()| File::open(folder)?.sync_all());
    written.map_err(failed(&path))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DirectoryError {
    let path = path.to_owned();
    move |source| DirectoryError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(cluster: &str, role: Role) -> Ownership {
        Ownership { domain: Domain::new(cluster, "").unwrap(), role }
    }

    #[test]
    fn node_keeps_its_id_and_raises_its_boot_with_every_start() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Directory::open(folder.path(), &owner("a", Role::Manager), None).unwrap();
        let first = open().boot();
        let id = open().node();
        let third = open();
        assert_eq!((first, third.boot(), third.node()), (BootEpoch(1), BootEpoch(3), id));
    }

    #[test]
    fn second_process_is_refused_while_the_first_one_runs() {
        let folder = tempfile::tempdir().unwrap();
        let owner = owner("a", Role::Manager);
        let first = Directory::open(folder.path(), &owner, None).unwrap();
        let refused = Directory::open(folder.path(), &owner, None).unwrap_err();
        assert!(matches!(&refused, DirectoryError::InUse(path) if path == folder.path()), "{refused}");
        drop(first);
        assert_eq!(Directory::open(folder.path(), &owner, None).unwrap().boot(), BootEpoch(2));
    }

    #[test]
    fn directory_of_another_cluster_or_role_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        Directory::open(folder.path(), &owner("a", Role::Manager), None).unwrap();
        let refused = Directory::open(folder.path(), &owner("b", Role::Gate), None).unwrap_err().to_string();
        assert!(
            refused.contains("belongs to a manager of cluster 'a', not to a gate of cluster 'b'"),
            "{refused}"
        );
        let again = Directory::open(folder.path(), &owner("a", Role::Manager), None).unwrap();
        assert_eq!(again.boot(), BootEpoch(2), "a refused start is no life");
    }

    #[test]
    fn damaged_identity_and_boot_are_refused() {
        for name in [IDENTITY, BOOT] {
            let folder = tempfile::tempdir().unwrap();
            let owner = owner("a", Role::Worker);
            Directory::open(folder.path(), &owner, None).unwrap();
            fs::write(folder.path().join(name), "?").unwrap();
            let refused = Directory::open(folder.path(), &owner, None).unwrap_err();
            assert!(matches!(refused, DirectoryError::Damaged(_)), "{refused}");
        }
    }

    #[test]
    fn temporary_directory_is_gone_with_its_node() {
        let directory = Directory::temporary(&owner("a", Role::Worker), None).unwrap();
        let path = directory.path().to_owned();
        assert!(path.exists());
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn log_that_is_lost_is_recognised_by_another_directory_id() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::open(folder.path(), &owner("a", Role::Manager), None).unwrap();
        let first = directory.open_log("dc").unwrap().directory();
        assert_eq!(directory.open_log("dc").unwrap().directory(), first);
        fs::remove_file(folder.path().join(LOG)).unwrap();
        assert_ne!(directory.open_log("dc").unwrap().directory(), first);
    }

    #[test]
    fn directory_is_made_for_the_node_that_is_named_and_refused_for_another() {
        let folder = tempfile::tempdir().unwrap();
        let (owner, node) = (owner("a", Role::Worker), |number| NodeId::new(number));
        assert_eq!(Directory::open(folder.path(), &owner, node(7)).unwrap().node(), node(7).unwrap());
        assert_eq!(Directory::open(folder.path(), &owner, None).unwrap().node(), node(7).unwrap());
        let refused = Directory::open(folder.path(), &owner, node(8)).unwrap_err();
        assert!(matches!(refused, DirectoryError::OtherNode { .. }), "{refused}");
    }

    #[test]
    fn check_finds_what_opening_would_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, owner) = (folder.path().join("deep/data"), owner("a", Role::Manager));
        Directory::check(&path, &owner, None).unwrap();
        assert!(!path.exists());
        let open = Directory::open(&path, &owner, None).unwrap();
        assert!(matches!(Directory::check(&path, &owner, None), Err(DirectoryError::InUse(_))));
        drop(open);
        Directory::check(&path, &owner, None).unwrap();
        let other = Ownership { role: Role::Worker, ..owner.clone() };
        assert!(matches!(Directory::check(&path, &other, None), Err(DirectoryError::Foreign { .. })));
        assert_eq!(Directory::open(&path, &owner, None).unwrap().boot(), BootEpoch(2), "no life began");
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(Directory::check(&file, &owner, None), Err(DirectoryError::Io { .. })));
    }
}
