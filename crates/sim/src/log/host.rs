//! A node's replica over its lives.
//!
//! ```text
//! Off ─start─► Asking ─every founder is empty─► Running ─crash─► Off
//!   └─has a log──────────────────────────────────► ▲
//!                └─has been added by an operator───┘
//! ```

use std::fmt;

use hyperscale_consensus::{Bootstrap, DirectoryId, RaftId};

use super::disk::Disk;
use crate::jobs::Office;

/// What a manager or a gate keeps of the log, whether it runs or not.
#[derive(Debug)]
pub struct Host {
    /// Its data directory.
    pub directory: DirectoryId,
    /// Its id in the group, once it has one; kept beside the log.
    pub raft_id: Option<RaftId>,
    /// Its disk.
    pub disk: Disk,
    /// How far it has come in this life.
    pub stage: Stage,
    /// Disks it lost, with the ids it had: what others counted on was on them.
    lost: Vec<(RaftId, Disk)>,
}

/// How far a replica has come.
pub enum Stage {
    /// Its process does not run.
    Off,
    /// It asks its peers what it is.
    Asking(Box<Bootstrap>),
    /// It takes part.
    Running(Box<Office>),
}

impl Host {
    /// A host that never ran.
    pub fn new(directory: DirectoryId) -> Self {
        let (raft_id, disk, lost) = (None, Disk::default(), Vec::new());
        Self { directory, raft_id, disk, stage: Stage::Off, lost }
    }

    /// Its disk is replaced by an empty one, with this directory.
    pub fn lose_disk(&mut self, directory: DirectoryId) {
        let disk = std::mem::take(&mut self.disk);
        self.lost.extend(self.raft_id.take().map(|id| (id, disk)));
        self.directory = directory;
    }

    /// Its disks, those it lost too, with the ids they were used under.
    pub fn disks(&self) -> impl Iterator<Item = (RaftId, &Disk)> {
        let present = self.raft_id.map(|id| (id, &self.disk));
        self.lost.iter().map(|(id, disk)| (*id, disk)).chain(present)
    }

    /// What it runs, if it does.
    pub fn office(&self) -> Option<&Office> {
        match &self.stage {
            Stage::Running(office) => Some(office),
            Stage::Off | Stage::Asking(_) => None,
        }
    }
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Off => "Off",
            Stage::Asking(_) => "Asking",
            Stage::Running(_) => "Running",
        })
    }
}
