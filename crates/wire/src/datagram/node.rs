//! One node's end of all its datagrams: sealing, opening, challenges.

mod challenge;

use std::fmt;

use aws_lc_rs::aead;
use hyperscale_types::{NodeId, Now, Role};

use challenge::Challenged;

use super::header::{DATAGRAM_PAYLOAD_MAX, DatagramKind, HEADER, Header, TAG};
use super::pairs::Pairs;
use super::replay::ReplayWindow;
use super::{BootId, DatagramError, PayloadTooLarge, Received};
use crate::counters::{Counters, Refusal};
use crate::domain::Domain;
use crate::entropy::Entropy;
use crate::limits::{CHALLENGES_MAX, DATAGRAM_PEERS_MAX, UNHEARD_MAX};
use crate::noise::crypto::{aes_key, nonce};
use crate::secret::{Secret, SecretChoice, Secrets};
use crate::table::BoundedMap;

/// One node's end of all its datagrams.
pub struct Datagrams {
    pub(super) me: NodeId,
    boot: BootId,
    domain: Domain,
    secrets: Secrets,
    counter: u64,
    current: aead::LessSafeKey,
    previous: Option<aead::LessSafeKey>,
    peers: BoundedMap<NodeId, Peer>,
    challenged: BoundedMap<(NodeId, BootId), Challenged>,
    /// While keys rotate: the secret to try next with nodes that have not spoken yet.
    guesses: BoundedMap<NodeId, SecretChoice>,
    /// Where there are certificates.
    pairs: Option<Pairs>,
    counters: Counters,
}

struct Peer {
    boot: BootId,
    key: aead::LessSafeKey,
    choice: SecretChoice,
    window: ReplayWindow,
    /// Datagrams sealed for it since it was last heard.
    unheard: u32,
}

impl Peer {
    /// A boot that has just answered a challenge.
    fn met(boot: BootId, key: aead::LessSafeKey, choice: SecretChoice, answer: u64) -> Self {
        Self { boot, key, choice, window: ReplayWindow::met_with(answer), unheard: 0 }
    }
}

/// A datagram that opened.
struct Open {
    header: Header,
    data: Vec<u8>,
    standing: Standing,
    secret: SecretChoice,
}

/// What is known of the boot that sealed a datagram.
enum Standing {
    /// It is known, with the key that opened the datagram.
    Known,
    /// It is known with its key of the other secret; this is the one that opened the datagram.
    Changed(aead::LessSafeKey),
    /// It is not known; this is its key.
    New(aead::LessSafeKey),
}

impl fmt::Debug for Datagrams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Datagrams")
            .field("me", &self.me)
            .field("peers", &self.peers.len())
            .finish_non_exhaustive()
    }
}

impl Datagrams {
    /// For this node in this life.
    pub fn new(me: NodeId, boot: BootId, domain: Domain, secrets: Secrets) -> Self {
        let key = |choice| sender_key(&secrets, choice, &domain, me, boot);
        let current = key(SecretChoice::Current).expect("there is always a current secret");
        let previous = key(SecretChoice::Previous);
        Self {
            me,
            boot,
            domain,
            secrets,
            counter: 0,
            current,
            previous,
            peers: BoundedMap::new(DATAGRAM_PEERS_MAX),
            challenged: BoundedMap::new(CHALLENGES_MAX),
            guesses: BoundedMap::new(DATAGRAM_PEERS_MAX),
            pairs: None,
            counters: Counters::default(),
        }
    }

    /// The same where nodes have certificates, for a node with this role: nobody is heard as a manager or a gate who has not
    /// proven it to this node, see [`Datagrams::pair_with`].
    #[must_use]
    pub fn with_certificates(mut self, own: Role) -> Self {
        self.pairs = Some(Pairs::new(own));
        self
    }

    /// A node was met over TLS. Its certificate proves `role`, and `exported` is what both ends exported from the connection.
    /// To be called on both ends, with every new connection. Without certificates it has no effect.
    pub fn pair_with(&mut self, node: NodeId, role: Role, exported: Secret) {
        let sealing = key_of(&exported, &self.domain, self.me, self.boot);
        if let Some(pairs) = &mut self.pairs {
            pairs.meet(node, role, exported, sealing);
            // What it was known by before is worth nothing any more.
            self.peers.remove(&node);
            self.forget_challenges(node);
        }
    }

    fn proven(&self, node: NodeId) -> Option<Role> {
        self.pairs.as_ref().map(|pairs| pairs.proven(node))
    }

    /// What was refused so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// For whoever reads what datagrams carry, to count what is refused there.
    pub fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    /// Senders that are known and boots that wait for their answer.
    pub fn table_sizes(&self) -> (usize, usize) {
        (self.peers.len(), self.challenged.len())
    }

    /// Seals a payload for a node and appends the datagram.
    pub fn seal(&mut self, to: NodeId, payload: &[u8], out: &mut Vec<u8>) -> Result<(), PayloadTooLarge> {
        if payload.len() > DATAGRAM_PAYLOAD_MAX {
            return Err(PayloadTooLarge(payload.len()));
        }
        let choice = self.secret_of(to).unwrap_or_else(|| self.guess(to));
        self.put(DatagramKind::Data, Some(to), choice, payload, out);
        Ok(())
    }

    /// The secret a node speaks under: one that uses the previous secret may not know the current one yet. After a long
    /// silence nothing is sure any more, as it may have been started anew with other secrets.
    fn secret_of(&mut self, node: NodeId) -> Option<SecretChoice> {
        let peer = self.peers.get_mut(&node)?;
        peer.unheard = peer.unheard.saturating_add(1);
        (peer.unheard <= UNHEARD_MAX).then_some(peer.choice)
    }

    /// Which secrets a node has that has not spoken yet cannot be known: while keys rotate both are tried in turn.
    fn guess(&mut self, to: NodeId) -> SecretChoice {
        if self.previous.is_none() {
            return SecretChoice::Current;
        }
        let (next, _) = self.guesses.get_or_insert_with(&to, || SecretChoice::Current);
        let choice = *next;
        *next = match choice {
            SecretChoice::Current => SecretChoice::Previous,
            SecretChoice::Previous => SecretChoice::Current,
        };
        choice
    }

    /// Appends a datagram for whoever is at an address: it makes that node send a challenge, whose answer makes us known
    /// to it and which tells who it is.
    pub fn hail(&mut self, choice: SecretChoice, out: &mut Vec<u8>) {
        self.put(DatagramKind::Hail, None, choice, &[], out);
    }

    /// Takes a datagram. The caller sends a [`Received::Reply`] back to where it came from.
    ///
    /// Before this nothing a datagram says about its sender can be believed: the caller charges every datagram to the
    /// source address, and only what was accepted to the peer it is from. Otherwise whoever names somebody else would
    /// pass without limit, or use up what that one may send.
    pub fn open(
        &mut self,
        now: Now,
        datagram: &[u8],
        entropy: &mut dyn Entropy,
    ) -> Result<Received, DatagramError> {
        let received = self.unseal(datagram).and_then(|open| self.dispatch(now, open, entropy));
        match &received {
            Ok(
                Received::Payload { secret: SecretChoice::Previous, .. }
                | Received::Confirmed { secret: SecretChoice::Previous, .. },
            ) => self.counters.use_previous_secret(),
            Ok(_) => {}
            Err(error) => self.counters.refuse(error.refusal()),
        }
        received
    }

    fn dispatch(
        &mut self,
        now: Now,
        open: Open,
        entropy: &mut dyn Entropy,
    ) -> Result<Received, DatagramError> {
        match open.header.kind {
            DatagramKind::Data => self.data(now, open, entropy),
            DatagramKind::Challenge => self.answer(&open),
            DatagramKind::Answer => self.confirm(now, open),
            DatagramKind::Hail => Ok(self.challenge(now, open, entropy)),
        }
    }

    fn data(&mut self, now: Now, open: Open, entropy: &mut dyn Entropy) -> Result<Received, DatagramError> {
        if let Standing::New(_) = open.standing {
            self.counters.refuse(Refusal::DatagramUnconfirmed);
            return Ok(self.challenge(now, open, entropy));
        }
        let Open { header: Header { sender, boot, counter, .. }, data, standing, secret } = open;
        self.hear(sender, counter, standing, secret)?;
        Ok(Received::Payload { from: sender, boot, secret, proven: self.proven(sender), data })
    }

    /// A known boot said something new. From now on it is spoken to under the secret it uses now.
    fn hear(
        &mut self,
        sender: NodeId,
        counter: u64,
        standing: Standing,
        secret: SecretChoice,
    ) -> Result<(), DatagramError> {
        let peer = self.peers.get_mut(&sender).expect("its boot is known");
        peer.window.accept(counter)?;
        peer.unheard = 0;
        if let Standing::Changed(key) = standing {
            (peer.key, peer.choice) = (key, secret);
        }
        Ok(())
    }

    fn reply(&mut self, kind: DatagramKind, to: NodeId, choice: SecretChoice, payload: &[u8]) -> Received {
        let mut datagram = Vec::new();
        self.put(kind, Some(to), choice, payload, &mut datagram);
        Received::Reply { to, datagram }
    }

    pub(super) fn put(
        &mut self,
        kind: DatagramKind,
        to: Option<NodeId>,
        choice: SecretChoice,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) {
        self.counter += 1;
        let header = Header { kind, sender: self.me, boot: self.boot, counter: self.counter }.encode();
        let shared = match choice {
            SecretChoice::Previous => self.previous.as_ref().unwrap_or(&self.current),
            SecretChoice::Current => &self.current,
        };
        let key = self.pairs.as_ref().and_then(|pairs| pairs.sealing(to)).unwrap_or(shared);
        out.extend_from_slice(&header);
        let begin = out.len();
        out.extend_from_slice(payload);
        let tag = key
            .seal_in_place_separate_tag(nonce(self.counter), aad(&header, to), &mut out[begin..])
            .expect("a datagram is far below the limit of AES-GCM");
        out.extend_from_slice(tag.as_ref());
    }

    fn unseal(&self, datagram: &[u8]) -> Result<Open, DatagramError> {
        let (header, header_bytes, sealed) = Header::decode(datagram)?;
        if header.sender == self.me {
            return Err(DatagramError::Forged);
        }
        let to = (header.kind != DatagramKind::Hail).then_some(self.me);
        let try_open = |key: &aead::LessSafeKey| {
            let (body, tag) = sealed.split_at(sealed.len() - TAG);
            let mut data = vec![0; body.len()];
            let opened =
                key.open_separate_gather(nonce(header.counter), aad(header_bytes, to), body, tag, &mut data);
            opened.is_ok().then_some(data)
        };
        let known = self.peers.peek(&header.sender).filter(|peer| peer.boot == header.boot);
        if let Some(peer) = known
            && let Some(data) = try_open(&peer.key)
        {
            return Ok(Open { header, data, standing: Standing::Known, secret: peer.choice });
        }
        for secret in [SecretChoice::Current, SecretChoice::Previous] {
            // A boot that is known may change from one secret to the other while keys rotate.
            if known.is_some_and(|peer| peer.choice == secret) {
                continue;
            }
            let key = self.opening_key(secret, &header);
            if let Some((key, data)) = key.and_then(|key| try_open(&key).map(|data| (key, data))) {
                let standing = if known.is_some() { Standing::Changed(key) } else { Standing::New(key) };
                return Ok(Open { header, data, standing, secret });
            }
        }
        Err(DatagramError::Forged)
    }

    /// The key that a sender has by this secret. One that proved to be a manager or a gate has that of the pair and no other.
    fn opening_key(&self, secret: SecretChoice, header: &Header) -> Option<aead::LessSafeKey> {
        match self.pairs.as_ref().and_then(|pairs| pairs.opening(header.sender)) {
            Some(_) if secret == SecretChoice::Previous => None,
            Some(pair) => Some(key_of(pair, &self.domain, header.sender, header.boot)),
            None => sender_key(&self.secrets, secret, &self.domain, header.sender, header.boot),
        }
    }
}

fn sender_key(
    secrets: &Secrets,
    choice: SecretChoice,
    domain: &Domain,
    sender: NodeId,
    boot: BootId,
) -> Option<aead::LessSafeKey> {
    Some(key_of(secrets.get(choice)?, domain, sender, boot))
}

fn key_of(secret: &Secret, domain: &Domain, sender: NodeId, boot: BootId) -> aead::LessSafeKey {
    let parts: [&[u8]; 4] =
        [domain.cluster().as_bytes(), domain.environment().as_bytes(), &sender.get().to_be_bytes(), &boot.0];
    aes_key(&secret.derive("datagram", &parts))
}

/// Header and receiver; zero stands for whoever receives it.
fn aad(header: &[u8; HEADER], to: Option<NodeId>) -> aead::Aad<[u8; HEADER + 8]> {
    let mut bytes = [0; HEADER + 8];
    bytes[..HEADER].copy_from_slice(header);
    bytes[HEADER..].copy_from_slice(&to.map_or(0, NodeId::get).to_be_bytes());
    aead::Aad::from(bytes)
}
