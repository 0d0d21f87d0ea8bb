//! Configured peers: addresses to join through, retried for ever with back-off until they are reached.
//!
//! An address stays unreached until a node at it has spoken to this node. While this node has no member list yet, even
//! reached contacts are asked for it, and so are members that reached it first. A contact whose member was forgotten counts
//! as unreached again.

use std::net::SocketAddr;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_types::Now;

use crate::config::ContactConfig;

/// Configured peers kept; more are dropped and counted.
pub const CONTACTS_MAX: usize = 256;
/// Pause between the first tries of neighbouring contacts, so that one answer can spare the others.
const STAGGER: Duration = Duration::from_millis(250);

#[derive(Clone, Debug)]
struct Contact {
    addr: SocketAddr,
    since: Now,
    attempts: u32,
    next: Now,
    reached: bool,
    warned: bool,
}

/// A contact whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) addr: SocketAddr,
    /// How long it has been tried in vain, if the host should be warned now.
    pub(crate) warn: Option<Duration>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Contacts {
    contacts: Vec<Contact>,
    /// Whether a member list was received.
    joined: bool,
}

impl Contacts {
    /// Adds addresses; the number that found no room.
    pub(crate) fn add(&mut self, addrs: &[SocketAddr], now: Now) -> u64 {
        let mut dropped = 0;
        for addr in addrs {
            if self.contacts.iter().any(|contact| contact.addr == *addr) {
                continue;
            }
            if self.contacts.len() >= CONTACTS_MAX {
                dropped += 1;
                continue;
            }
            let next = now.plus(STAGGER * self.contacts.len() as u32);
            let contact =
                Contact { addr: *addr, since: now, attempts: 0, next, reached: false, warned: false };
            self.contacts.push(contact);
        }
        dropped
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.contacts.len()
    }

    pub(crate) fn is_joined(&self) -> bool {
        self.joined
    }

    /// A member list arrived; true the first time.
    pub(crate) fn joined(&mut self) -> bool {
        !std::mem::replace(&mut self.joined, true)
    }

    pub(crate) fn reached(&mut self, addr: SocketAddr) {
        if let Some(contact) = self.find(addr) {
            contact.reached = true;
        }
    }

    /// Its member was forgotten: start over.
    pub(crate) fn lost(&mut self, addr: SocketAddr, now: Now) {
        if let Some(contact) = self.find(addr) {
            *contact = Contact { since: now, attempts: 0, next: now, reached: false, warned: false, addr };
        }
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Option<Now> {
        self.contacts
            .iter()
            .filter(|contact| !contact.reached || !self.joined)
            .map(|contact| contact.next)
            .min()
    }

    /// One contact to try now; schedules its next try. Until it was warned about, that is not later than the warning is
    /// due: pauses are as long as the time to it.
    pub(crate) fn pop_due(&mut self, now: Now, config: &ContactConfig, rng: &mut Rng) -> Option<Due> {
        let joined = self.joined;
        let contact = self
            .contacts
            .iter_mut()
            .filter(|contact| (!contact.reached || !joined) && contact.next <= now)
            .min_by_key(|contact| contact.next)?;
        let waited = now.since(contact.since);
        let warn = !contact.warned && !contact.reached && waited >= config.warn_after;
        contact.warned |= warn;
        contact.next = now.plus(back_off(config, contact.attempts, rng));
        if !contact.warned && !contact.reached {
            contact.next = contact.next.min(contact.since.plus(config.warn_after));
        }
        contact.attempts += 1;
        Some(Due { addr: contact.addr, warn: warn.then_some(waited) })
    }

    fn find(&mut self, addr: SocketAddr) -> Option<&mut Contact> {
        self.contacts.iter_mut().find(|contact| contact.addr == addr)
    }
}

/// The pause after that many vain attempts: doubled each time up to the longest, less up to a quarter at random.
pub(crate) fn back_off(config: &ContactConfig, attempts: u32, rng: &mut Rng) -> Duration {
    let doubled = config.retry_min.saturating_mul(1 << attempts.min(16));
    let pause = doubled.min(config.retry_max);
    pause.mul_f64(1.0 - rng.f64() / 4.0)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::config::Config;

    fn addr(port: u16) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    fn tries(contacts: &mut Contacts, until: Duration) -> Vec<(Now, Due)> {
        let (config, mut rng) = (Config::lan().contact, Rng::with_seed(1));
        let mut all = Vec::new();
        while let Some(at) = contacts.next().filter(|at| *at <= Now::after_start(until)) {
            all.extend(contacts.pop_due(at, &config, &mut rng).map(|due| (at, due)));
        }
        all
    }

    #[test]
    fn unreached_contact_is_retried_for_ever_with_growing_pauses() {
        let mut contacts = Contacts::default();
        contacts.add(&[addr(1)], Now::ZERO);
        let tries = tries(&mut contacts, Duration::from_hours(1));
        let pauses: Vec<_> = tries.windows(2).map(|pair| pair[1].0.since(pair[0].0)).collect();
        assert!(pauses.len() > 60, "{}", pauses.len());
        let (least, longest) = (Duration::from_millis(750), Duration::from_mins(1));
        assert!(pauses.iter().all(|pause| (least..=longest).contains(pause)), "{pauses:?}");
        assert!(pauses[5] > pauses[0] * 10);
        assert!(pauses.last().is_some_and(|pause| *pause >= Duration::from_secs(45)));
    }

    #[test]
    fn unreached_contact_is_warned_about_once_after_a_minute() {
        let mut contacts = Contacts::default();
        contacts.add(&[addr(1)], Now::ZERO);
        let warnings: Vec<_> = tries(&mut contacts, Duration::from_hours(1))
            .into_iter()
            .filter(|(_, due)| due.warn.is_some())
            .collect();
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].0, Now::after_start(Duration::from_mins(1)));
    }

    #[test]
    fn reached_contact_is_left_alone_once_there_is_a_member_list() {
        let mut contacts = Contacts::default();
        contacts.add(&[addr(1), addr(2)], Now::ZERO);
        contacts.reached(addr(1));
        assert!(contacts.next().is_some());
        assert!(contacts.joined());
        assert!(!contacts.joined());
        contacts.reached(addr(2));
        assert_eq!(contacts.next(), None);
        contacts.lost(addr(2), Now(5));
        assert_eq!(contacts.next(), Some(Now(5)));
    }

    #[test]
    fn contacts_are_bounded_and_distinct() {
        let mut contacts = Contacts::default();
        let addrs: Vec<_> = (1..=300).map(addr).collect();
        assert_eq!(contacts.add(&addrs, Now::ZERO), 44);
        assert_eq!(contacts.add(&addrs[..10], Now::ZERO), 0);
        assert_eq!(contacts.len(), CONTACTS_MAX);
    }
}
