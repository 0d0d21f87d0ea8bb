//! What each source address may do: connections at a time, and a token bucket of requests.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::limits::{Limits, RateLimit};

/// Addresses that are remembered; the one not seen for longest makes room. One that is forgotten begins with a full
/// bucket, so a limit could be evaded only from more addresses than this.
const SOURCES_MAX: usize = 4_096;

/// All sources of a server.
#[derive(Debug)]
pub(super) struct Sources {
    began: Instant,
    connections_max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    buckets: Buckets,
    /// Bounded by the connections of the server.
    connections: HashMap<IpAddr, usize>,
}

/// A connection that counts for its source as long as it is held.
#[derive(Debug)]
pub(super) struct Held {
    sources: Arc<Sources>,
    source: IpAddr,
}

impl Sources {
    pub(super) fn new(limits: Limits) -> Self {
        let state = State { buckets: Buckets::new(limits.rate, SOURCES_MAX), connections: HashMap::new() };
        Self {
            began: Instant::now(),
            connections_max: limits.source_connections_max,
            state: Mutex::new(state),
        }
    }

    /// Counts a connection; `None` if the source has too many.
    pub(super) fn connect(self: &Arc<Self>, address: IpAddr) -> Option<Held> {
        let source = source_of(address);
        let mut state = self.lock();
        let count = state.connections.entry(source).or_default();
        if *count >= self.connections_max {
            return None;
        }
        *count += 1;
        Some(Held { sources: Arc::clone(self), source })
    }

    /// Takes this many requests from the bucket of a source, or says after what time there are enough.
    pub(super) fn take(&self, address: IpAddr, requests: u32) -> Result<(), Duration> {
        let now = self.began.elapsed();
        self.lock().buckets.take(source_of(address), requests, now)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Counters stay usable whatever happened to another holder.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.sources.lock();
        if let Some(count) = state.connections.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                state.connections.remove(&self.source);
            }
        }
    }
}

/// What counts as one source: an IPv4 address, or a network of 64 bits, which one host can use all of.
fn source_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// A token bucket per source, for a bounded number of sources. Time is handed in.
#[derive(Debug)]
struct Buckets {
    rate: RateLimit,
    sources_max: usize,
    sources: HashMap<IpAddr, Bucket>,
    /// By when they were used last.
    order: BTreeMap<u64, IpAddr>,
    uses: u64,
}

#[derive(Debug)]
struct Bucket {
    tokens: f64,
    filled_at: Duration,
    use_number: u64,
}

impl Buckets {
    fn new(rate: RateLimit, sources_max: usize) -> Self {
        Self { rate, sources_max, sources: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    fn take(&mut self, source: IpAddr, requests: u32, now: Duration) -> Result<(), Duration> {
        let (per_second, burst) = (f64::from(self.rate.per_second.get()), f64::from(self.rate.burst.get()));
        let bucket = self.touch(source, burst, now);
        let grown = now.saturating_sub(bucket.filled_at).as_secs_f64() * per_second;
        bucket.tokens = (bucket.tokens + grown).min(burst);
        bucket.filled_at = now;
        let wanted = f64::from(requests);
        if bucket.tokens >= wanted {
            bucket.tokens -= wanted;
            return Ok(());
        }
        Err(Duration::from_secs_f64((wanted - bucket.tokens) / per_second))
    }

    /// The bucket of a source, now the last one that was used.
    fn touch(&mut self, source: IpAddr, burst: f64, now: Duration) -> &mut Bucket {
        self.uses += 1;
        let use_number = self.uses;
        if let Some(bucket) = self.sources.get(&source) {
            self.order.remove(&bucket.use_number);
        } else if self.sources.len() >= self.sources_max
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.sources.remove(&oldest);
        }
        self.order.insert(use_number, source);
        let bucket =
            self.sources.entry(source).or_insert(Bucket { tokens: burst, filled_at: now, use_number });
        bucket.use_number = use_number;
        bucket
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn buckets(sources_max: usize) -> Buckets {
        let rate = RateLimit { per_second: NonZeroU32::new(10).unwrap(), burst: NonZeroU32::new(3).unwrap() };
        Buckets::new(rate, sources_max)
    }

    fn source(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn burst_is_taken_at_once_and_then_the_rate() {
        let mut buckets = buckets(8);
        for _ in 0..3 {
            assert_eq!(buckets.take(source(1), 1, at(0)), Ok(()));
        }
        assert_eq!(buckets.take(source(1), 1, at(0)), Err(at(100)));
        assert_eq!(buckets.take(source(2), 1, at(0)), Ok(()), "another source has its own");
        assert_eq!(buckets.take(source(1), 1, at(100)), Ok(()));
        assert_eq!(buckets.take(source(1), 2, at(150)), Err(at(150)));
        assert_eq!(buckets.take(source(1), 3, at(60_000)), Ok(()), "never more than the burst");
        assert!(buckets.take(source(1), 1, at(60_000)).is_err());
    }

    #[test]
    fn source_not_seen_for_longest_is_forgotten_first() {
        let mut buckets = buckets(2);
        for last in [1, 2, 1, 3] {
            let _ = buckets.take(source(last), 1, at(0));
        }
        assert_eq!((buckets.sources.len(), buckets.order.len()), (2, 2));
        assert!(buckets.sources.contains_key(&source(1)) && !buckets.sources.contains_key(&source(2)));
    }

    #[test]
    fn addresses_of_one_host_are_one_source() {
        let address = |text: &str| source_of(text.parse().unwrap());
        assert_eq!(address("::ffff:10.0.0.1"), address("10.0.0.1"));
        assert_eq!(address("2001:db8::1"), address("2001:db8::2"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
    }

    #[test]
    fn connections_are_counted_until_they_are_dropped() {
        let limits = Limits { source_connections_max: 2, ..Limits::NODE };
        let sources = Arc::new(Sources::new(limits));
        let held = [sources.connect(source(1)), sources.connect(source(1))];
        assert!(held.iter().all(Option::is_some) && sources.connect(source(1)).is_none());
        assert!(sources.connect(source(2)).is_some());
        drop(held);
        assert!(sources.lock().connections.is_empty());
    }
}
