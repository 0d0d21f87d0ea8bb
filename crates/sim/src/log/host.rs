//! A node's replica over its lives: off, or the production replica of this life with its host.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use hyperscale_consensus::{BlobId, DirectoryId};
use hyperscale_types::Now;

use super::disk::Disk;
use crate::jobs::Voter;

/// What a manager or a gate keeps of the log, whether it runs or not.
#[derive(Debug)]
pub struct Host {
    /// Another one after its disk was lost.
    pub directory: DirectoryId,
    /// Its disk.
    pub disk: Disk,
    /// Blobs on its disk, synced.
    pub blobs: BTreeMap<BlobId, Bytes>,
    /// Whether it runs.
    pub stage: Stage,
    /// The time of its replica's timer.
    pub timer: Option<Now>,
}

/// How far a replica has come.
pub enum Stage {
    /// Its process does not run.
    Off,
    /// Its process runs; the replica says how far it has come.
    Running(Box<Voter>),
}

impl Host {
    /// A host that never ran.
    pub fn new(directory: DirectoryId) -> Self {
        let disk = Disk::default();
        Self { directory, disk, blobs: BTreeMap::new(), stage: Stage::Off, timer: None }
    }

    /// Its disk is replaced by an empty one, with this directory.
    pub fn lose_disk(&mut self, directory: DirectoryId) {
        self.disk = Disk::default();
        self.blobs.clear();
        self.directory = directory;
    }

    /// What it runs, once its replica takes part.
    pub fn manager(&self) -> Option<&Voter> {
        match &self.stage {
            Stage::Running(manager) if manager.replica().group().is_some() => Some(manager),
            Stage::Running(_) | Stage::Off => None,
        }
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Off => f.write_str("Off"),
            Stage::Running(manager) => manager.fmt(f),
        }
    }
}
