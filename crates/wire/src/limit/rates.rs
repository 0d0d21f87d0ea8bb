//! Token buckets of peers and of source addresses, in tables with a limit.

use std::net::IpAddr;

use hyperscale_types::{NodeId, Now};

use super::bucket::{Rate, RateLimited, TokenBucket};
use crate::class::Class;
use crate::counters::{Counters, Refusal};
use crate::limits::{RATED_PEERS_MAX, SOURCES_MAX};
use crate::table::BoundedMap;

/// Messages per second that one authenticated peer may send, by class. A busy manager of a thousand workers stays well
/// below; a peer in a loop does not.
const PEER: [Rate; Class::ALL.len()] = [
    Rate { per_second: 10_000, burst: 20_000 },
    Rate { per_second: 2_000, burst: 4_000 },
    Rate { per_second: 2_000, burst: 4_000 },
    Rate { per_second: 1_000, burst: 2_000 },
];

/// Connections and datagrams of strangers per second and source: enough for a rack behind one address to start.
const SOURCE: Rate = Rate { per_second: 100, burst: 200 };

/// One bucket per authenticated peer and class.
#[derive(Debug)]
pub struct PeerRates {
    rates: [Rate; Class::ALL.len()],
    peers: BoundedMap<NodeId, [TokenBucket; Class::ALL.len()]>,
}

impl Default for PeerRates {
    fn default() -> Self {
        Self::new(PEER)
    }
}

impl PeerRates {
    /// With other rates than the usual ones, in the order of [`Class::ALL`].
    pub fn new(rates: [Rate; Class::ALL.len()]) -> Self {
        Self { rates, peers: BoundedMap::new(RATED_PEERS_MAX) }
    }

    /// Takes one message of a peer.
    pub fn take(
        &mut self,
        now: Now,
        peer: NodeId,
        class: Class,
        counters: &mut Counters,
    ) -> Result<(), RateLimited> {
        let rates = self.rates;
        let (buckets, _) =
            self.peers.get_or_insert_with(&peer, || rates.map(|rate| TokenBucket::new(rate, now)));
        buckets[class as usize].take(now, 1).inspect_err(|_| counters.refuse(Refusal::RateLimitedPeer))
    }
}

/// Where something came from: an IPv4 address, or the /64 network of an IPv6 address (one host has a whole one).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The address.
    V4([u8; 4]),
    /// The network.
    V6([u8; 8]),
}

impl From<IpAddr> for Source {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Source::V4(address.octets()),
            IpAddr::V6(address) => {
                let octets = address.octets();
                Source::V6(*octets.first_chunk().expect("an address has 16 octets"))
            }
        }
    }
}

/// One small bucket per source address, for everything that is not authenticated yet.
#[derive(Debug)]
pub struct SourceRates {
    rate: Rate,
    sources: BoundedMap<Source, TokenBucket>,
}

impl Default for SourceRates {
    fn default() -> Self {
        Self::new(SOURCE)
    }
}

impl SourceRates {
    /// With another rate than the usual one.
    pub fn new(rate: Rate) -> Self {
        Self { rate, sources: BoundedMap::new(SOURCES_MAX) }
    }

    /// Takes one connection or datagram of a source.
    pub fn take(&mut self, now: Now, source: Source, counters: &mut Counters) -> Result<(), RateLimited> {
        let rate = self.rate;
        let (bucket, _) = self.sources.get_or_insert_with(&source, || TokenBucket::new(rate, now));
        bucket.take(now, 1).inspect_err(|_| counters.refuse(Refusal::RateLimitedSource))
    }

    /// Sources that are remembered.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether none is remembered.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn classes_and_peers_do_not_take_from_each_other() {
        let mut rates = PeerRates::new([Rate { per_second: 1, burst: 1 }; 4]);
        let (a, b) = (NodeId::new(1).unwrap(), NodeId::new(2).unwrap());
        let mut counters = Counters::default();
        let mut take = |peer, class| rates.take(Now::ZERO, peer, class, &mut counters);
        take(a, Class::Telemetry).unwrap();
        assert_eq!(take(a, Class::Telemetry).unwrap_err().retry_after, Duration::from_secs(1));
        assert_eq!(take(a, Class::Control), Ok(()));
        assert_eq!(take(b, Class::Telemetry), Ok(()));
        assert_eq!(counters.refused(Refusal::RateLimitedPeer), 1);
    }

    #[test]
    fn one_host_is_one_source_however_it_writes_its_address() {
        let source = |text: &str| Source::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(source("192.0.2.1"), source("::ffff:192.0.2.1"));
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
    }

    #[test]
    fn a_flood_of_addresses_takes_bounded_memory() {
        let (mut rates, mut counters) = (SourceRates::default(), Counters::default());
        for number in 0..SOURCES_MAX as u32 + 1_000 {
            rates.take(Now::ZERO, Source::V4(number.to_be_bytes()), &mut counters).unwrap();
        }
        assert_eq!(rates.len(), SOURCES_MAX);
    }

    #[test]
    fn a_source_that_sends_too_much_is_refused_and_counted() {
        let (mut rates, mut counters) = (SourceRates::default(), Counters::default());
        let refused = (0..SOURCE.burst + 3)
            .filter(|_| rates.take(Now::ZERO, Source::V4([1; 4]), &mut counters).is_err());
        assert_eq!(refused.count(), 3);
        assert_eq!(counters.refused(Refusal::RateLimitedSource), 3);
    }
}
