//! Datagrams where there are certificates: what a manager or a gate seals is sealed for one pair of nodes.
//!
//! The shared secret proves that a sender belongs to the cluster, not which node it is: every worker can derive the key of a
//! manager from it. A pair of nodes that met over TLS has a secret of its own, exported from that connection (RFC 5705), and
//! each knows the role that the certificate of the other proves.
//!
//! | sender, as this node knows it   | opens its datagrams    | proven role            |
//! | ------------------------------- | ---------------------- | ---------------------- |
//! | manager or gate, met over TLS   | secret of the pair only | that of its certificate |
//! | worker, met over TLS or not     | shared secret          | worker                 |
//! | nobody it has met               | shared secret          | worker                 |
//!
//! So nobody is heard as a manager or a gate who did not prove it to this very node. A manager that wants to be heard by a
//! node connects to it first; so does one whose peer restarted, as the secret of the pair was lost with it. Workers among
//! each other need no connection.

use aws_lc_rs::aead;
use hyperscale_types::{NodeId, Role};

use crate::limits::DATAGRAM_PEERS_MAX;
use crate::secret::Secret;
use crate::table::BoundedMap;

/// What a node knows of those it has met over TLS. When it is full, the one that was met first is forgotten.
pub(super) struct Pairs {
    own: Role,
    met: BoundedMap<NodeId, Pair>,
}

struct Pair {
    role: Role,
    secret: Secret,
    /// Key of this node for what it seals for that one.
    sealing: aead::LessSafeKey,
}

impl Pairs {
    /// Of a node with this role.
    pub(super) fn new(own: Role) -> Self {
        Self { own, met: BoundedMap::new(DATAGRAM_PEERS_MAX) }
    }

    pub(super) fn meet(&mut self, node: NodeId, role: Role, secret: Secret, sealing: aead::LessSafeKey) {
        self.met.insert(node, Pair { role, secret, sealing });
    }

    /// The key for what is sealed for that node, if it is not sealed under the shared secret.
    pub(super) fn sealing(&self, to: Option<NodeId>) -> Option<&aead::LessSafeKey> {
        let pair = self.met.peek(&to?)?;
        (self.own != Role::Worker).then_some(&pair.sealing)
    }

    /// The only secret that opens datagrams of that node, if it is not the shared one.
    pub(super) fn opening(&self, from: NodeId) -> Option<&Secret> {
        self.met.peek(&from).filter(|pair| pair.role != Role::Worker).map(|pair| &pair.secret)
    }

    /// What that node has proven to be.
    pub(super) fn proven(&self, from: NodeId) -> Role {
        self.met.peek(&from).map_or(Role::Worker, |pair| pair.role)
    }
}
