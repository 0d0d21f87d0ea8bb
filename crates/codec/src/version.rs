//! Which version of the protocol datagrams are written in, and which ones are read.
//!
//! A datagram goes to whoever is there, without a hello in which two sides agree. While nodes of two builds run mixed, all
//! of them must write in a version that all can read: the lowest of their newest ones. Who is there and what they speak
//! is known to the host (from hellos, registrations and the committed `ClusterVersion`), so the host says which one it is.

use hyperscale_wire::hello::{PROTOCOL_MAX, PROTOCOL_MIN};
use hyperscale_wire::messages::VersionRange;

use crate::Unreadable;

/// The versions that a node reads, and the one it writes, which is one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    min: u32,
    max: u32,
    current: u32,
}

impl Versions {
    /// Those of this build. Writes the newest one, which is right where all nodes are of this build or a newer one.
    pub const OF_THIS_BUILD: Self = Self { min: PROTOCOL_MIN, max: PROTOCOL_MAX, current: PROTOCOL_MAX };

    /// Those of some build, writing its newest one. `None`: there are no such versions.
    pub const fn new(min: u32, max: u32) -> Option<Self> {
        if min == 0 || min > max { None } else { Some(Self { min, max, current: max }) }
    }

    /// The same, writing another version. `None`: it is not among them.
    pub fn writing(self, version: u32) -> Option<Self> {
        self.reads(version).then_some(Self { current: version, ..self })
    }

    fn reads(self, version: u32) -> bool {
        (self.min..=self.max).contains(&version)
    }

    pub(crate) const fn to_message(self) -> VersionRange {
        VersionRange { min: self.min, max: self.max, current: self.current }
    }

    pub(crate) fn check(self, theirs: VersionRange) -> Result<(), Unreadable> {
        if self.reads(theirs.current) { Ok(()) } else { Err(Unreadable::Version(theirs.current)) }
    }
}
