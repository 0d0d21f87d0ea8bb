//! A worker with a grant: its life, its cores, and what is promised of them.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::{BootEpoch, Token};

use super::command::Segment;

/// A worker with a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Worker {
    /// Its life.
    pub boot: BootEpoch,
    /// The grant in force.
    pub grant: Token,
    /// How long the lease is.
    pub lease_ms: u64,
    /// Its cores.
    pub cores: u32,
    /// What it can beyond what every worker can.
    pub capabilities: BTreeSet<String>,
    /// Cores promised, by segment.
    pub(super) promised: BTreeMap<Segment, u32>,
}

impl Worker {
    pub(super) fn new(
        boot: BootEpoch,
        grant: Token,
        lease_ms: u64,
        cores: u32,
        capabilities: BTreeSet<String>,
    ) -> Self {
        Self { boot, grant, lease_ms, cores, capabilities, promised: BTreeMap::new() }
    }

    /// What is promised to whom.
    pub fn promised(&self) -> impl ExactSizeIterator<Item = (&Segment, u32)> {
        self.promised.iter().map(|(segment, cores)| (segment, *cores))
    }

    /// Cores that are not promised.
    pub fn free(&self) -> u32 {
        let promised: u64 = self.promised.values().map(|cores| u64::from(*cores)).sum();
        u64::from(self.cores).saturating_sub(promised) as u32
    }
}
