//! The granter's side: which leases the log says are held, and, while this node leads, when each runs out.
//!
//! A key that is granted anew has two leases for a while: the new one, which its holder renews, and the former one, which
//! nobody can renew any more and which ends when its time is over. Until then its former holder may use it.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use hyperscale_types::{Now, Token};

#[cfg(feature = "bugs")]
use crate::bugs::Bugs;
use crate::id::ReadId;

/// Most claims in one batch of renewals.
pub const CLAIMS_MAX: usize = 10_000;
/// Most batches that wait for their read-index round.
const BATCHES_MAX: usize = 1024;
/// An expiry that was proposed and not applied is proposed again after this time.
const PROPOSE_AGAIN: Duration = Duration::from_secs(1);

/// A renewal: this holder claims this lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim<K> {
    /// The lease that is renewed.
    pub key: K,
    /// The token it was granted with.
    pub token: Token,
}

/// A lease that ran out, by the leader's clock. To be proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry<K> {
    /// The lease that ran out.
    pub key: K,
    /// The grant that ends.
    pub token: Token,
}

/// Why a claim is not renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// Nobody holds it, as far as the log says.
    #[error("lease is not held")]
    NotHeld,
    /// It was granted anew.
    #[error("lease was granted anew with token {current}")]
    Stale {
        /// The token in force.
        current: Token,
    },
    /// Its end is proposed.
    #[error("lease is being ended")]
    Ending,
    /// This node does not lead, so its clock says nothing.
    #[error("not the leader")]
    NotLeader,
    /// Too much at once.
    #[error("too many renewals at once")]
    Overloaded,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    token: Token,
    ttl: Duration,
}

/// What the leader's clock says about a lease.
#[derive(Clone, Copy, Debug)]
enum Time {
    EndsAt(Now),
    /// Its end was proposed, last at this time. It cannot be renewed any more.
    Ending(Now),
}

/// Leases of one kind.
#[derive(Debug)]
pub struct Granter<K> {
    /// The newest lease of each key: the one that is renewed.
    held: BTreeMap<K, Lease>,
    /// Leases that were granted anew under another token and have not ended.
    former: BTreeMap<(K, Token), Duration>,
    /// Of both. Only while this node leads.
    clock: Option<BTreeMap<(K, Token), Time>>,
    batches: BTreeMap<ReadId, Vec<Claim<K>>>,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
}

impl<K: Ord + Clone> Default for Granter<K> {
    fn default() -> Self {
        Self {
            held: BTreeMap::new(),
            former: BTreeMap::new(),
            clock: None,
            batches: BTreeMap::new(),
            #[cfg(feature = "bugs")]
            bugs: Bugs::default(),
        }
    }
}

impl<K: Ord + Clone> Granter<K> {
    /// With deliberate bugs.
    #[cfg(feature = "bugs")]
    pub fn with_bugs(bugs: Bugs) -> Self {
        Self { bugs, ..Self::default() }
    }

    /// The log granted a lease; on every replica, when the entry is applied. A lease that the key had before runs on to its
    /// end.
    pub fn granted(&mut self, now: Now, key: K, token: Token, ttl: Duration) {
        self.begin_clock(now, &key, token, ttl);
        let before = self.held.insert(key.clone(), Lease { token, ttl });
        if let Some(before) = before.filter(|before| before.token != token) {
            self.former.insert((key, before.token), before.ttl);
        }
    }

    /// The log says that a key was granted anew and that this former lease of it has not ended; known from a snapshot.
    pub fn superseded(&mut self, now: Now, key: K, token: Token, ttl: Duration) {
        self.begin_clock(now, &key, token, ttl);
        self.former.insert((key, token), ttl);
    }

    fn begin_clock(&mut self, now: Now, key: &K, token: Token, ttl: Duration) {
        if bug!(self.bugs, LeaseExpiryOnFollowersClock) {
            self.clock.get_or_insert_default();
        }
        if let Some(clock) = &mut self.clock {
            clock.insert((key.clone(), token), Time::EndsAt(now.plus(ttl)));
        }
    }

    /// The log ended a lease, or does not know it.
    pub fn ended(&mut self, key: &K, token: Token) {
        if self.held.get(key).is_some_and(|lease| lease.token == token) {
            self.held.remove(key);
        }
        self.former.remove(&(key.clone(), token));
        if let Some(clock) = &mut self.clock {
            clock.remove(&(key.clone(), token));
        }
    }

    /// This node leads and has applied everything that was decided before: every lease gets a full TTL.
    pub fn lead(&mut self, now: Now) {
        if bug!(self.bugs, LeaseExpiryOnFollowersClock) && self.clock.is_some() {
            return;
        }
        let held = self.held.iter().map(|(key, lease)| ((key.clone(), lease.token), lease.ttl));
        let all = held.chain(self.former.iter().map(|(lease, ttl)| (lease.clone(), *ttl)));
        self.clock = Some(all.map(|(lease, ttl)| (lease, Time::EndsAt(now.plus(ttl)))).collect());
    }

    /// This node does not lead any more: its clock says nothing, and no batch is answered.
    pub fn follow(&mut self) {
        self.batches.clear();
        if bug!(self.bugs, LeaseExpiryOnFollowersClock) {
            return;
        }
        self.clock = None;
    }

    /// Whether this node's clock counts.
    pub fn is_leading(&self) -> bool {
        self.clock.is_some()
    }

    /// A batch of renewals arrived. The host asks for a read-index round under `read` right after; only then may it be
    /// answered. The granter counts from now on, answered or not.
    pub fn renew(&mut self, now: Now, read: ReadId, claims: Vec<Claim<K>>) -> Result<(), LeaseError> {
        let Some(clock) = &mut self.clock else { return Err(LeaseError::NotLeader) };
        if self.batches.len() >= BATCHES_MAX || claims.len() > CLAIMS_MAX {
            return Err(LeaseError::Overloaded);
        }
        for claim in &claims {
            let held = self.held.get(&claim.key).filter(|lease| lease.token == claim.token);
            let time = clock.get_mut(&(claim.key.clone(), claim.token));
            if let (Some(lease), Some(Time::EndsAt(at))) = (held, time) {
                *at = now.plus(lease.ttl);
            }
        }
        self.batches.insert(read, claims);
        Ok(())
    }

    /// The round proved that this node led when the batch arrived.
    pub fn answer(&mut self, read: ReadId) -> Vec<(K, Result<Duration, LeaseError>)> {
        let claims = self.batches.remove(&read).unwrap_or_default();
        claims.into_iter().map(|claim| (claim.key.clone(), self.judge(&claim))).collect()
    }

    /// The round failed: the batch is not answered.
    pub fn drop_batch(&mut self, read: ReadId) {
        self.batches.remove(&read);
    }

    fn judge(&self, claim: &Claim<K>) -> Result<Duration, LeaseError> {
        let clock = self.clock.as_ref().ok_or(LeaseError::NotLeader)?;
        let lease = self.held.get(&claim.key).ok_or(LeaseError::NotHeld)?;
        if lease.token != claim.token {
            return Err(LeaseError::Stale { current: lease.token });
        }
        match clock.get(&(claim.key.clone(), claim.token)) {
            Some(Time::EndsAt(_)) => Ok(lease.ttl),
            Some(Time::Ending(_)) | None => Err(LeaseError::Ending),
        }
    }

    /// Leases that ran out by this leader's clock, to be proposed, unless the log does not know them any more: then the host
    /// says [`Self::ended`]. They cannot be renewed any more.
    pub fn tick(&mut self, now: Now) -> Vec<Expiry<K>> {
        let Some(clock) = &mut self.clock else { return Vec::new() };
        let mut expired = Vec::new();
        for ((key, token), time) in clock.iter_mut() {
            let is_due = match *time {
                Time::EndsAt(at) => now >= at,
                Time::Ending(proposed) => now.since(proposed) >= PROPOSE_AGAIN,
            };
            if is_due {
                *time = Time::Ending(now);
                expired.push(Expiry { key: key.clone(), token: *token });
            }
        }
        expired
    }
}
