//! Large values: content-addressed, stored on a quorum of voters before an entry that names them is proposed.
//!
//! [`Placement`] counts who has stored a blob. The bytes travel and are stored by the host; it checks them against their
//! hash with [`BlobId::of`].

use std::collections::BTreeSet;
use std::fmt;

use crate::id::RaftId;
use crate::message::Configuration;

/// Largest blob.
pub const BLOB_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// SHA-256 and length of a blob: equal ids, equal bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId {
    /// SHA-256.
    pub hash: [u8; 32],
    /// How many bytes it has.
    pub length: u64,
}

impl BlobId {
    /// The id of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
        let hash = digest.as_ref().try_into().expect("SHA-256 has 32 bytes");
        Self { hash, length: bytes.len() as u64 }
    }

    /// Whether these are its bytes.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        self.length == bytes.len() as u64 && *self == Self::of(bytes)
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hash.iter().take(6).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        write!(f, "…/{}", self.length)
    }
}

/// Who has stored a blob that is about to be named in the log.
#[derive(Clone, Debug)]
pub struct Placement {
    blob: BlobId,
    stored: BTreeSet<RaftId>,
}

impl Placement {
    /// Nobody yet.
    pub fn new(blob: BlobId) -> Self {
        Self { blob, stored: BTreeSet::new() }
    }

    /// Returns the blob that is about to be named.
    pub fn blob(&self) -> BlobId {
        self.blob
    }

    /// A member says that the blob is on its disk, synced.
    pub fn stored(&mut self, member: RaftId) {
        self.stored.insert(member);
    }

    /// Whether an entry may name it: a majority of the voters has it, of both configurations while one changes. Learners do
    /// not count.
    pub fn is_placed(&self, configuration: &Configuration) -> bool {
        let has_majority = |voters: &[RaftId]| {
            voters.is_empty()
                || voters.iter().filter(|id| self.stored.contains(id)).count() > voters.len() / 2
        };
        !configuration.voters.is_empty()
            && has_majority(&configuration.voters)
            && has_majority(&configuration.voters_outgoing)
    }

    /// Members to send it to.
    pub fn missing<'a>(&'a self, configuration: &'a Configuration) -> impl Iterator<Item = RaftId> + 'a {
        let members = configuration.voters.iter().chain(&configuration.voters_outgoing);
        members.copied().filter(|id| !self.stored.contains(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(numbers: &[u64]) -> Vec<RaftId> {
        numbers.iter().map(|number| RaftId::new(*number).unwrap()).collect()
    }

    #[test]
    fn blob_is_known_by_its_content() {
        let id = BlobId::of(b"values");
        assert!(id.matches(b"values") && !id.matches(b"valueS"));
        assert!(format!("{:?}", BlobId::of(b"")).starts_with("e3b0c44298fc"));
    }

    #[test]
    fn entry_may_name_a_blob_only_when_a_quorum_of_voters_has_it() {
        let configuration =
            Configuration { voters: ids(&[1, 2, 3]), learners: ids(&[4]), ..Configuration::default() };
        let mut placement = Placement::new(BlobId::of(b"x"));
        placement.stored(ids(&[1])[0]);
        placement.stored(ids(&[4])[0]);
        assert!(!placement.is_placed(&configuration), "a learner does not count");
        assert_eq!(placement.missing(&configuration).collect::<Vec<_>>(), ids(&[2, 3]));
        placement.stored(ids(&[3])[0]);
        assert!(placement.is_placed(&configuration));
    }

    #[test]
    fn while_the_configuration_changes_both_majorities_must_have_it() {
        let configuration = Configuration {
            voters: ids(&[1, 2, 3]),
            voters_outgoing: ids(&[3, 4, 5]),
            ..Configuration::default()
        };
        let mut placement = Placement::new(BlobId::of(b"x"));
        for id in ids(&[1, 2, 3]) {
            placement.stored(id);
        }
        assert!(!placement.is_placed(&configuration));
        placement.stored(ids(&[4])[0]);
        assert!(placement.is_placed(&configuration));
    }

    #[test]
    fn blob_is_never_placed_in_an_empty_configuration() {
        assert!(!Placement::new(BlobId::of(b"x")).is_placed(&Configuration::default()));
    }
}
