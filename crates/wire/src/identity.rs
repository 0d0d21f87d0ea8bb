//! Who a certificate says its holder is.
//!
//! A certificate of ours has one URI among its subject alternative names: `hyperscale://CLUSTER/ROLE/NODE`, the node id in
//! hexadecimal digits. Everything else in it is the business of TLS.

use std::fmt;

use hyperscale_types::{NodeId, Role};

use crate::counters::{Counters, Refusal};
use crate::limits::WORD_MAX;

const SCHEME: &str = "hyperscale://";

/// Cluster, role and node that a certificate proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateIdentity {
    /// Name of the cluster.
    pub cluster: String,
    /// What the node may be.
    pub role: Role,
    /// The node.
    pub node: NodeId,
}

/// Why the names in a certificate do not say who its holder is. The connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// No name of ours.
    #[error("the certificate has no name of the form hyperscale://CLUSTER/ROLE/NODE")]
    Missing,
    /// More than one: it could be used as either.
    #[error("the certificate names more than one identity")]
    Ambiguous,
    /// One of ours that cannot be read.
    #[error("the certificate's name hyperscale://CLUSTER/ROLE/NODE cannot be read")]
    Malformed,
}

impl IdentityError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        Refusal::CertificateInvalid
    }
}

impl CertificateIdentity {
    /// Finds the identity among the URI names of a certificate.
    pub fn from_uri_names<'a>(
        names: impl IntoIterator<Item = &'a str>,
        counters: &mut Counters,
    ) -> Result<Self, IdentityError> {
        Self::find(names).inspect_err(|error| counters.refuse(error.refusal()))
    }

    fn find<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, IdentityError> {
        let mut ours = names.into_iter().filter_map(|name| name.strip_prefix(SCHEME));
        let name = ours.next().ok_or(IdentityError::Missing)?;
        if ours.next().is_some() {
            return Err(IdentityError::Ambiguous);
        }
        Self::parse(name).ok_or(IdentityError::Malformed)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.split('/');
        let (cluster, role, node) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || cluster.is_empty() || cluster.len() > WORD_MAX {
            return None;
        }
        Some(Self { cluster: cluster.to_owned(), role: role.parse().ok()?, node: node.parse().ok()? })
    }
}

impl fmt::Display for CertificateIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}/{}", self.cluster, self.role, self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_found_among_other_names() {
        let identity = CertificateIdentity {
            cluster: "prod".to_owned(),
            role: Role::Worker,
            node: NodeId::new(0xab).unwrap(),
        };
        let name = identity.to_string();
        assert_eq!(name, "hyperscale://prod/worker/00000000000000ab");
        assert_eq!(CertificateIdentity::find(["https://example.org/", &name]), Ok(identity));
    }

    #[test]
    fn missing_ambiguous_and_broken_names_are_refused() {
        let mut counters = Counters::default();
        assert_eq!(
            CertificateIdentity::from_uri_names(["https://x/"], &mut counters),
            Err(IdentityError::Missing)
        );
        assert_eq!(counters.refused(Refusal::CertificateInvalid), 1);
        let two = ["hyperscale://a/worker/1", "hyperscale://a/manager/1"];
        assert_eq!(CertificateIdentity::find(two), Err(IdentityError::Ambiguous));
        for name in
            ["", "a", "a/worker", "a/worker/0", "a/king/1", "a/worker/1/2", "/worker/1", "a/worker/xyz"]
        {
            let name = format!("hyperscale://{name}");
            assert_eq!(CertificateIdentity::find([&*name]), Err(IdentityError::Malformed), "{name}");
        }
    }
}
