//! Which deployment a node belongs to: cluster and environment.

use aws_lc_rs::digest;

use crate::limits::WORD_MAX;

/// Names of cluster and environment. Both are part of every key: nodes of two clusters with the same secret do not mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    cluster: String,
    environment: String,
}

/// Why a name of a cluster or an environment is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DomainError {
    /// Without a name a cluster is not one; an environment may be empty.
    #[error("the name of the cluster is empty")]
    Empty,
    /// Longer than [`WORD_MAX`].
    #[error("a name of {0} bytes is too long; at most 128 are allowed")]
    TooLong(usize),
    /// Not made of letters, digits, `-`, `_` and `.`.
    #[error("`{0}` is not a name; use letters, digits, `-`, `_` and `.`")]
    BadCharacter(String),
}

/// A short public name for a cluster or an environment: names them apart in a handshake without saying what they are.
pub(crate) type Tag = [u8; 8];

impl Domain {
    /// The deployment with these names.
    pub fn new(cluster: &str, environment: &str) -> Result<Self, DomainError> {
        if cluster.is_empty() {
            return Err(DomainError::Empty);
        }
        for name in [cluster, environment] {
            if name.len() > WORD_MAX {
                return Err(DomainError::TooLong(name.len()));
            }
            if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
                return Err(DomainError::BadCharacter(name.to_owned()));
            }
        }
        Ok(Self { cluster: cluster.to_owned(), environment: environment.to_owned() })
    }

    /// Name of the cluster.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Name of the environment; may be empty.
    pub fn environment(&self) -> &str {
        &self.environment
    }

    pub(crate) fn cluster_tag(&self) -> Tag {
        tag("cluster", &self.cluster)
    }

    pub(crate) fn environment_tag(&self) -> Tag {
        tag("environment", &self.environment)
    }
}

fn tag(kind: &str, name: &str) -> Tag {
    let digest = digest::digest(&digest::SHA256, format!("hyperscale {kind}\0{name}").as_bytes());
    *digest.as_ref().first_chunk().expect("a SHA-256 digest has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        assert!(Domain::new("default", "").is_ok());
        assert_eq!(Domain::new("", "x"), Err(DomainError::Empty));
        assert_eq!(Domain::new("a b", ""), Err(DomainError::BadCharacter("a b".to_owned())));
        assert_eq!(Domain::new("a", &"x".repeat(129)), Err(DomainError::TooLong(129)));
    }

    #[test]
    fn tags_tell_names_and_kinds_apart() {
        let domain = Domain::new("same", "same").unwrap();
        assert_ne!(domain.cluster_tag(), domain.environment_tag());
        assert_ne!(domain.cluster_tag(), Domain::new("other", "same").unwrap().cluster_tag());
    }
}
