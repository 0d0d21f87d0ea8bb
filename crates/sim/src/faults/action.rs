//! A single thing that breaks or heals.

use std::time::Duration;

use hyperscale_cluster::worker::Readings;

use super::{LeaderMoment, LeaderTrouble};
use crate::moment::Moment;
use crate::network::Partition;
use crate::process::Crash;
use crate::world::Absent;

/// Something that breaks or heals. Nodes are named by their place: whoever took the place of one that ended for ever is hit
/// in its stead.
#[derive(Clone, Debug)]
pub enum Fault {
    /// A process or machine dies.
    Crash {
        /// Index of the node in the world.
        node: usize,
        /// Whether the machine goes down with the process.
        how: Crash,
    },
    /// A node is started again, with its disk.
    Restart {
        /// Index of the node in the world.
        node: usize,
    },
    /// A second process of a worker is started under the same id; the first one runs on until its lease ends.
    StartBeside {
        /// Index of the node in the world.
        node: usize,
    },
    /// A node is started again with the new version of the software.
    Upgrade {
        /// Index of the node in the world.
        node: usize,
    },
    /// A node ends for ever; another takes its place, with a disk and an id of its own.
    Replace {
        /// Index of the node in the world.
        node: usize,
        /// When the other one starts.
        after: Duration,
    },
    /// A machine dies and comes back with an empty disk: the same node, and nothing of what it knew.
    LoseDisk {
        /// Index of the node in the world.
        node: usize,
        /// When it comes back.
        after: Duration,
    },
    /// A node ends for ever.
    Kill {
        /// Index of the node in the world.
        node: usize,
    },
    /// A node announces that it goes.
    Leave {
        /// Index of the node in the world.
        node: usize,
    },
    /// A manager is asked to have a worker drained.
    Drain {
        /// Index of the worker in the world.
        node: usize,
    },
    /// The machine of a worker shows this from now on.
    Press {
        /// Index of the worker in the world.
        node: usize,
        /// How busy it is with other things, and how full its memory is.
        readings: Readings,
    },
    /// A process is stopped for a while.
    Pause {
        /// Index of the node in the world.
        node: usize,
        /// For how long.
        span: Duration,
    },
    /// A machine sleeps for a while.
    Sleep {
        /// Index of the node in the world.
        node: usize,
        /// For how long.
        span: Duration,
    },
    /// A processor becomes slow for a while.
    Slow {
        /// Index of the node in the world.
        node: usize,
        /// How many times slower.
        factor: u32,
        /// For how long.
        span: Duration,
    },
    /// A clock jumps ahead.
    Jump {
        /// Index of the node in the world.
        node: usize,
        /// How far ahead of its time it shows.
        by: Duration,
    },
    /// Links are cut for a while.
    Cut {
        /// Which cut it is.
        number: u32,
        /// The links that lose everything.
        links: Partition,
        /// For how long.
        span: Duration,
    },
    /// A cut is mended.
    Mend {
        /// The number under which it was cut.
        number: u32,
    },
    /// Everything takes longer for a while.
    Spike {
        /// At most this much.
        extra: Duration,
        /// For how long.
        span: Duration,
    },
    /// Syncs of a disk do not return for a while.
    Stall {
        /// Index of the node in the world.
        node: usize,
        /// For how long.
        span: Duration,
    },
    /// A disk has no room for a while.
    Fill {
        /// Index of the node in the world.
        node: usize,
        /// For how long.
        span: Duration,
    },
    /// Whoever leads a group is hit.
    HitLeader {
        /// Index of the cluster whose group is hit.
        cluster: u8,
        /// At which moment of its leadership.
        when: LeaderMoment,
        /// What is done to it.
        trouble: LeaderTrouble,
        /// When all trouble ends.
        until: Moment,
    },
    /// A founder dies at a moment of the founding.
    HitFounder {
        /// Index of the node in the world.
        node: usize,
        /// At which moment.
        when: FounderMoment,
        /// When it comes back.
        back: Duration,
    },
    /// The shared secret changes by one stage, for whoever starts from then on.
    Rotate,
    /// All trouble ends, and everybody who may come back does, but for those who are named.
    Heal {
        /// Those who stay away until the next time.
        absent: Absent,
    },
}

/// At which moment a founder is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FounderMoment {
    /// It has acknowledged the founding and tells the others: its process dies.
    Acknowledged,
    /// Another one says that it has acknowledged: its machine dies, and comes back without its disk.
    OtherAcknowledged,
}

impl Fault {
    /// Whom it hits, if it hits one node.
    pub fn victim(&mut self) -> Option<&mut usize> {
        match self {
            Fault::Crash { node, .. }
            | Fault::Restart { node }
            | Fault::Upgrade { node }
            | Fault::StartBeside { node }
            | Fault::Replace { node, .. }
            | Fault::HitFounder { node, .. }
            | Fault::LoseDisk { node, .. }
            | Fault::Kill { node }
            | Fault::Leave { node }
            | Fault::Drain { node }
            | Fault::Press { node, .. }
            | Fault::Pause { node, .. }
            | Fault::Sleep { node, .. }
            | Fault::Slow { node, .. }
            | Fault::Jump { node, .. }
            | Fault::Stall { node, .. }
            | Fault::Fill { node, .. } => Some(node),
            Fault::HitLeader { .. }
            | Fault::Cut { .. }
            | Fault::Mend { .. }
            | Fault::Spike { .. }
            | Fault::Rotate
            | Fault::Heal { .. } => None,
        }
    }
}
