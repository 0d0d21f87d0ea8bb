//! Words about nodes: who a node is, which of its lives is meant, what it does.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Identity of a node, drawn at random when its data directory (or, without one, its process) is made. Never zero:
/// zero is what a message without the field says. Written as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeId(std::num::NonZeroU64);

/// Why something is not the id of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeIdError {
    /// Zero stands for "no node".
    #[error("zero is not the id of a node")]
    Zero,
    /// Not 1 to 16 hexadecimal digits.
    #[error("the id of a node is 1 to 16 hexadecimal digits")]
    BadText,
}

impl NodeId {
    /// The id with this number, unless it is zero.
    pub const fn new(number: u64) -> Option<Self> {
        match std::num::NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Its number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl TryFrom<u64> for NodeId {
    type Error = NodeIdError;
    fn try_from(number: u64) -> Result<Self, NodeIdError> {
        Self::new(number).ok_or(NodeIdError::Zero)
    }
}

impl FromStr for NodeId {
    type Err = NodeIdError;
    fn from_str(text: &str) -> Result<Self, NodeIdError> {
        if text.is_empty() || text.len() > 16 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(NodeIdError::BadText);
        }
        u64::from_str_radix(text, 16).map_err(|_| NodeIdError::BadText)?.try_into()
    }
}

impl TryFrom<String> for NodeId {
    type Error = NodeIdError;
    fn try_from(text: String) -> Result<Self, NodeIdError> {
        text.parse()
    }
}

impl From<NodeId> for String {
    fn from(id: NodeId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Which life of a node: larger after every restart, so that a restarted node always supersedes its old self.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BootEpoch(pub u64);

impl fmt::Display for BootEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Fencing token: the log index of the entry that granted the right. A receiver that has seen a higher one for the same
/// job refuses a lower one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token(pub u64);

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a node does in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Runs segments on its cores.
    Worker,
    /// Voter or learner of a datacenter's log.
    Manager,
    /// Voter or learner of the global log.
    Gate,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Worker, Role::Manager, Role::Gate];

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Worker => "worker",
            Role::Manager => "manager",
            Role::Gate => "gate",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a text is not a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role is `worker`, `manager` or `gate`")]
pub struct RoleError;

impl FromStr for Role {
    type Err = RoleError;
    fn from_str(text: &str) -> Result<Self, RoleError> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or(RoleError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_id_is_written_as_sixteen_digits_and_read_back() {
        let id = NodeId::new(0xbeef).unwrap();
        assert_eq!(id.to_string(), "000000000000beef");
        assert_eq!("beef".parse(), Ok(id));
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn node_id_refuses_zero_and_other_texts() {
        assert_eq!("0".parse::<NodeId>(), Err(NodeIdError::Zero));
        for text in ["", "+1", "g", "11112222333344445"] {
            assert_eq!(text.parse::<NodeId>(), Err(NodeIdError::BadText), "{text}");
        }
    }

    #[test]
    fn roles_are_read_back_from_their_words() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
        }
        assert!("Gate".parse::<Role>().is_err());
    }
}
