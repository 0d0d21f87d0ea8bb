//! Where blobs are kept, apart from the log's database: one file each, so that a large value neither bloats the log's file
//! nor waits for its transactions.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::blob::BlobId;
use crate::storage::StorageError;

/// A store of blobs.
pub trait BlobStore {
    /// All that are stored.
    fn list(&mut self) -> Result<BTreeSet<BlobId>, StorageError>;

    /// Stores a blob, synced: all of it or nothing. One that is there stays.
    fn put(&mut self, blob: BlobId, bytes: &[u8]) -> Result<(), StorageError>;

    /// A blob; nothing if it is not there. One whose bytes are not what they should be is removed, and is not there.
    fn get(&mut self, blob: BlobId) -> Result<Option<Bytes>, StorageError>;

    /// Removes a blob, if it is there.
    fn remove(&mut self, blob: BlobId) -> Result<(), StorageError>;
}

/// Blobs in a folder, a file each, named by hash and length.
#[derive(Debug)]
pub struct FileBlobs {
    folder: PathBuf,
}

/// How the name of a file begins that was not finished.
const UNFINISHED: &str = "new-";

impl FileBlobs {
    /// Opens the folder, or makes it. What was not finished when a process ended is removed.
    pub fn open(folder: &Path) -> Result<Self, StorageError> {
        fs::create_dir_all(folder).map_err(failed)?;
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_file(entry.path()).map_err(failed)?;
            }
        }
        Ok(Self { folder: folder.to_owned() })
    }

    fn path(&self, blob: BlobId) -> PathBuf {
        self.folder.join(name(blob))
    }

    /// A new file counts only when its folder is synced too.
    fn sync_folder(&self) -> Result<(), StorageError> {
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }
}

impl BlobStore for FileBlobs {
    fn list(&mut self) -> Result<BTreeSet<BlobId>, StorageError> {
        let entries = fs::read_dir(&self.folder).map_err(failed)?;
        let names =
            entries.map(|entry| Ok(entry.map_err(failed)?.file_name().to_string_lossy().into_owned()));
        let names = names.collect::<Result<Vec<_>, StorageError>>()?;
        Ok(names.iter().filter_map(|name| parse(name)).collect())
    }

    fn put(&mut self, blob: BlobId, bytes: &[u8]) -> Result<(), StorageError> {
        let (path, unfinished) = (self.path(blob), self.folder.join(format!("{UNFINISHED}{}", name(blob))));
        if path.exists() {
            return Ok(());
        }
        let mut file = File::create(&unfinished).map_err(failed)?;
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(error) = written.and_then(|()| fs::rename(&unfinished, &path)) {
            // What is left of it is removed at the next start if it cannot be now.
            let _ = fs::remove_file(&unfinished);
            return Err(failed(error));
        }
        self.sync_folder()
    }

    fn get(&mut self, blob: BlobId) -> Result<Option<Bytes>, StorageError> {
        match fs::read(self.path(blob)) {
            Ok(bytes) if blob.matches(&bytes) => Ok(Some(bytes.into())),
            Ok(_) => self.remove(blob).map(|()| None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    fn remove(&mut self, blob: BlobId) -> Result<(), StorageError> {
        match fs::remove_file(self.path(blob)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
            _ => self.sync_folder(),
        }
    }
}

fn name(blob: BlobId) -> String {
    let mut name = String::new();
    for byte in blob.hash {
        write!(name, "{byte:02x}").expect("a string takes everything");
    }
    name + &format!("-{}", blob.length)
}

fn parse(name: &str) -> Option<BlobId> {
    let (digits, length) = name.split_once('-')?;
    let mut hash = [0; 32];
    if digits.len() != 2 * hash.len() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(BlobId { hash, length: length.parse().ok()? })
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` hands over")]
fn failed(error: io::Error) -> StorageError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageError::Full,
        _ => StorageError::Backend(error.to_string()),
    }
}
