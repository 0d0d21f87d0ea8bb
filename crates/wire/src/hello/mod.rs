//! The first message of each side: who we are, what we speak.
//!
//! | state | message | next |
//! | --- | --- | --- |
//! | greeting | `hello` that fits | admitted: version, features and peer are agreed on |
//! | greeting | `hello` that does not | refused with the reason |
//! | greeting | anything else (but `error`) | refused |
//! | admitted | `hello` | refused |
//! | admitted | anything the peer's role may say to ours | passes |

#[cfg(test)]
mod tests;

use hyperscale_types::{BootEpoch, NodeId, Role};

use crate::class::Lane;
use crate::counters::{Counters, Refusal};
use crate::domain::Domain;
use crate::identity::CertificateIdentity;
use crate::kind::Kind;
use crate::limits::{FEATURES_MAX, WORD_MAX};
use crate::messages::{self, Error, ErrorCode, ErrorDetails, Hello, VersionRange};
use crate::speak::{NotPermitted, permit};

/// Oldest protocol version that this build speaks.
pub const PROTOCOL_MIN: u32 = 1;
/// Newest protocol version that this build speaks.
pub const PROTOCOL_MAX: u32 = 1;

/// What a node says about itself in its hello.
#[derive(Clone, Debug)]
pub struct Local {
    /// Where it belongs.
    pub domain: Domain,
    /// Who and where it is.
    pub node: messages::NodeRef,
    /// Protocol versions it speaks.
    pub versions: (u32, u32),
    /// Names of what it can do beyond its version, sorted.
    pub features: Vec<String>,
    /// Its build, for people.
    pub build: String,
}

/// The other side, after its hello fitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The node at the other end.
    pub node: NodeId,
    /// In which life.
    pub boot: BootEpoch,
    /// What it does. Claimed with the shared secret, proven with a certificate.
    pub role: Role,
    /// Highest version that both speak.
    pub version: u32,
    /// Highest version that the peer speaks.
    pub newest: u32,
    /// What both can do.
    pub features: Vec<String>,
    /// What it said of itself: beside the above its datacenter and where it listens, which nobody has checked.
    pub said: messages::NodeRef,
}

/// Why a hello, or a message around it, was refused. The connection must be closed after the peer was told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// No version in common.
    #[error(
        "no protocol version in common: we speak {ours_min} to {ours_max}, the peer {theirs_min} to {theirs_max}"
    )]
    Version {
        /// Our oldest.
        ours_min: u32,
        /// Our newest.
        ours_max: u32,
        /// Their oldest.
        theirs_min: u32,
        /// Their newest.
        theirs_max: u32,
    },
    /// Another cluster.
    #[error("the peer belongs to another cluster")]
    ForeignCluster,
    /// Another environment.
    #[error("the peer belongs to another environment")]
    ForeignEnvironment,
    /// It means the other lane.
    #[error("the peer means another lane")]
    WrongLane,
    /// It wanted to reach somebody else.
    #[error("the peer wanted to reach another node")]
    Misdirected,
    /// A field is missing, too long or contradicts the certificate.
    #[error("the hello is invalid: {0}")]
    Invalid(&'static str),
    /// Something came before the hello, or a second one came.
    #[error("a hello is expected once and first")]
    OutOfOrder,
    /// The role may not say this.
    #[error(transparent)]
    NotPermitted(#[from] NotPermitted),
}

impl HelloError {
    /// The counter it belongs to.
    pub const fn refusal(&self) -> Refusal {
        match self {
            HelloError::Version { .. } => Refusal::VersionMismatch,
            HelloError::ForeignCluster => Refusal::ForeignCluster,
            HelloError::ForeignEnvironment => Refusal::ForeignEnvironment,
            HelloError::WrongLane => Refusal::WrongLane,
            HelloError::Misdirected => Refusal::HelloMisdirected,
            HelloError::Invalid(_) => Refusal::HelloInvalid,
            HelloError::OutOfOrder => Refusal::HelloOutOfOrder,
            HelloError::NotPermitted(_) => Refusal::NotPermitted,
        }
    }

    /// As it is told to the peer.
    pub fn to_message(&self) -> Error {
        let (code, details) = match *self {
            HelloError::Version { ours_min, ours_max, .. } => {
                let version = Some(VersionRange { min: ours_min, max: ours_max, current: 0 });
                (ErrorCode::VersionMismatch, Some(ErrorDetails { version, ..ErrorDetails::default() }))
            }
            HelloError::ForeignCluster => (ErrorCode::ForeignCluster, None),
            HelloError::ForeignEnvironment => (ErrorCode::ForeignEnvironment, None),
            HelloError::Misdirected => (ErrorCode::UnknownNode, None),
            HelloError::WrongLane | HelloError::Invalid(_) | HelloError::OutOfOrder => {
                (ErrorCode::Invalid, None)
            }
            HelloError::NotPermitted(_) => (ErrorCode::NotPermitted, None),
        };
        Error { code: code.into(), message: self.to_string(), retry_after_ms: 0, details }
    }
}

/// What one side lets pass on one connection.
#[derive(Debug)]
pub struct Admission {
    lane: Lane,
    proven: Option<CertificateIdentity>,
    state: State,
}

#[derive(Debug)]
enum State {
    Greeting,
    Admitted { peer: Box<Peer>, our_role: Role },
}

impl Admission {
    /// For a fresh connection; `proven` is what the peer's certificate says, in certificate mode.
    pub const fn new(lane: Lane, proven: Option<CertificateIdentity>) -> Self {
        Self { lane, proven, state: State::Greeting }
    }

    /// Our hello for the peer whose id is expected, if it is known.
    pub fn greet(&self, local: &Local, receiver: Option<NodeId>) -> Hello {
        let (min, max) = local.versions;
        Hello {
            version: Some(VersionRange { min, max, current: 0 }),
            features: local.features.clone(),
            build: local.build.clone(),
            node: Some(local.node.clone()),
            cluster: local.domain.cluster().to_owned(),
            environment: local.domain.environment().to_owned(),
            lane: match self.lane {
                Lane::Control => messages::Lane::Control,
                Lane::Bulk => messages::Lane::Bulk,
            }
            .into(),
            receiver: receiver.map_or(0, NodeId::get),
        }
    }

    /// Takes the peer's hello.
    pub fn admit(
        &mut self,
        local: &Local,
        hello: &Hello,
        counters: &mut Counters,
    ) -> Result<&Peer, HelloError> {
        self.take(local, hello).inspect_err(|error| counters.refuse(error.refusal()))?;
        Ok(self.peer().expect("it was admitted just now"))
    }

    fn take(&mut self, local: &Local, hello: &Hello) -> Result<(), HelloError> {
        if matches!(self.state, State::Admitted { .. }) {
            return Err(HelloError::OutOfOrder);
        }
        self.check_place(local, hello)?;
        let peer = self.check_peer(local, hello)?;
        let our_role = role_of(&local.node).ok_or(HelloError::Invalid("our own role is unknown"))?;
        permit(peer.role, our_role, Kind::Hello)?;
        self.state = State::Admitted { peer: Box::new(peer), our_role };
        Ok(())
    }

    /// The peer, once it was admitted.
    pub const fn peer(&self) -> Option<&Peer> {
        match &self.state {
            State::Greeting => None,
            State::Admitted { peer, .. } => Some(peer),
        }
    }

    /// Whether a message may be looked at. A `hello` is for [`Admission::admit`].
    pub fn check(&self, kind: Kind, counters: &mut Counters) -> Result<(), HelloError> {
        let outcome = match (&self.state, kind) {
            (State::Greeting, Kind::Hello | Kind::Error) => Ok(()),
            (State::Greeting, _) | (State::Admitted { .. }, Kind::Hello) => Err(HelloError::OutOfOrder),
            (State::Admitted { peer, our_role }, kind) => {
                permit(peer.role, *our_role, kind).map_err(HelloError::from)
            }
        };
        outcome.inspect_err(|error| counters.refuse(error.refusal()))
    }

    fn check_place(&self, local: &Local, hello: &Hello) -> Result<(), HelloError> {
        if hello.cluster != local.domain.cluster() {
            return Err(HelloError::ForeignCluster);
        }
        if hello.environment != local.domain.environment() {
            return Err(HelloError::ForeignEnvironment);
        }
        let lane = match hello.lane() {
            messages::Lane::Control => Some(Lane::Control),
            messages::Lane::Bulk => Some(Lane::Bulk),
            messages::Lane::Unspecified => None,
        };
        if lane != Some(self.lane) {
            return Err(HelloError::WrongLane);
        }
        if hello.receiver != 0 && hello.receiver != local.node.node_id {
            return Err(HelloError::Misdirected);
        }
        Ok(())
    }

    fn check_peer(&self, local: &Local, hello: &Hello) -> Result<Peer, HelloError> {
        let node = hello.node.as_ref().ok_or(HelloError::Invalid("the node is missing"))?;
        let id = NodeId::new(node.node_id).ok_or(HelloError::Invalid("the node id is zero"))?;
        let role = role_of(node).ok_or(HelloError::Invalid("the role is unknown"))?;
        if node.node_id == local.node.node_id {
            return Err(HelloError::Invalid("the node id is ours"));
        }
        let long = |word: &String| word.len() > WORD_MAX;
        if hello.features.len() > FEATURES_MAX || hello.features.iter().any(long) || long(&hello.build) {
            return Err(HelloError::Invalid("features or build are too long"));
        }
        if [&node.datacenter, &node.gossip_address, &node.peer_address, &node.api_address, &node.name]
            .into_iter()
            .any(long)
        {
            return Err(HelloError::Invalid("datacenter, name or addresses are too long"));
        }
        let claimed = CertificateIdentity { cluster: hello.cluster.clone(), role, node: id };
        if self.proven.as_ref().is_some_and(|proven| *proven != claimed) {
            return Err(HelloError::Invalid("the certificate is of another cluster, node or role"));
        }
        let theirs = hello.version.unwrap_or_default();
        let version = agree(local.versions, theirs)?;
        let features =
            local.features.iter().filter(|feature| hello.features.contains(feature)).cloned().collect();
        let (boot, said) = (BootEpoch(node.boot_epoch), node.clone());
        Ok(Peer { node: id, boot, role, version, newest: theirs.max, features, said })
    }
}

/// The highest version that both speak.
fn agree((ours_min, ours_max): (u32, u32), theirs: VersionRange) -> Result<u32, HelloError> {
    let version = ours_max.min(theirs.max);
    if theirs.min > theirs.max || version < ours_min.max(theirs.min) || version == 0 {
        return Err(HelloError::Version {
            ours_min,
            ours_max,
            theirs_min: theirs.min,
            theirs_max: theirs.max,
        });
    }
    Ok(version)
}

fn role_of(node: &messages::NodeRef) -> Option<Role> {
    match node.role() {
        messages::Role::Unspecified => None,
        messages::Role::Worker => Some(Role::Worker),
        messages::Role::Manager => Some(Role::Manager),
        messages::Role::Gate => Some(Role::Gate),
    }
}

impl From<Role> for messages::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Worker => messages::Role::Worker,
            Role::Manager => messages::Role::Manager,
            Role::Gate => messages::Role::Gate,
        }
    }
}
