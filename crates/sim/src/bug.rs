//! All deliberate bugs by name, whichever crate they live in.

use std::fmt;
use std::str::FromStr;

use hyperscale_cluster::bugs as cluster;
use hyperscale_consensus::bugs as consensus;
use hyperscale_swim as swim;

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Of the membership core.
    Swim(swim::Bug),
    /// Of the replicated log.
    Consensus(consensus::Bug),
    /// Of managers and workers.
    Cluster(cluster::Bug),
    /// Of what a node does with wire and codec.
    Wire(WireBug),
}

/// A deliberate bug of the host, which tells the wire and the codec which versions to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireBug {
    /// Gossip is written in the newest version of the build, whatever others read.
    NewestVersionAlways,
}

impl WireBug {
    const ALL: [WireBug; 1] = [WireBug::NewestVersionAlways];
}

/// A name that no bug has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBug(String);

impl Bug {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Bug> {
        let swim = swim::Bug::ALL.into_iter().map(Bug::Swim);
        let consensus = consensus::Bug::ALL.into_iter().map(Bug::Consensus);
        let cluster = cluster::Bug::ALL.into_iter().map(Bug::Cluster);
        swim.chain(consensus).chain(cluster).chain(WireBug::ALL.into_iter().map(Bug::Wire))
    }

    /// The bug for the membership core.
    pub fn swim(bug: Option<Bug>) -> swim::Bugs {
        match bug {
            Some(Bug::Swim(bug)) => swim::Bugs::one(bug),
            Some(Bug::Consensus(_) | Bug::Cluster(_) | Bug::Wire(_)) | None => swim::Bugs::NONE,
        }
    }

    /// The bug for hosts of the wire.
    pub fn wire(bug: Option<Bug>) -> Option<WireBug> {
        match bug {
            Some(Bug::Wire(bug)) => Some(bug),
            Some(Bug::Swim(_) | Bug::Consensus(_) | Bug::Cluster(_)) | None => None,
        }
    }

    /// The bug for the log.
    pub fn consensus(bug: Option<Bug>) -> consensus::Bugs {
        match bug {
            Some(Bug::Consensus(bug)) => [bug].into_iter().collect(),
            Some(Bug::Swim(_) | Bug::Cluster(_) | Bug::Wire(_)) | None => consensus::Bugs::default(),
        }
    }

    /// The bugs for managers and workers: their own, and those of the log.
    pub fn cluster(bug: Option<Bug>) -> cluster::Bugs {
        let own = match bug {
            Some(Bug::Cluster(bug)) => Some(bug),
            Some(Bug::Swim(_) | Bug::Consensus(_) | Bug::Wire(_)) | None => None,
        };
        cluster::Bugs::new(own, Self::consensus(bug))
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bug::Swim(bug) => write!(f, "swim:{bug:?}"),
            Bug::Consensus(bug) => write!(f, "consensus:{bug:?}"),
            Bug::Cluster(bug) => write!(f, "cluster:{bug:?}"),
            Bug::Wire(bug) => write!(f, "wire:{bug:?}"),
        }
    }
}

impl FromStr for Bug {
    type Err = UnknownBug;

    fn from_str(text: &str) -> Result<Self, UnknownBug> {
        Bug::all().find(|bug| bug.to_string() == text).ok_or_else(|| UnknownBug(text.to_owned()))
    }
}

impl fmt::Display for UnknownBug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<String> = Bug::all().map(|bug| bug.to_string()).collect();
        write!(f, "no bug is called '{}'; there are {}", self.0, known.join(", "))
    }
}

impl std::error::Error for UnknownBug {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bugs_are_read_back_from_their_names() {
        for bug in Bug::all() {
            assert_eq!(bug.to_string().parse(), Ok(bug));
        }
        let error = "swim:Nothing".parse::<Bug>().unwrap_err().to_string();
        assert!(error.starts_with("no bug is called 'swim:Nothing'; there are swim:"));
    }
}
