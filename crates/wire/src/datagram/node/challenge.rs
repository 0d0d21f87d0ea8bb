//! Challenges: a boot that is not known proves that it lives before it changes anything.

use hyperscale_types::{NodeId, Now};

use super::{Datagrams, Open, Peer, Standing};
use crate::counters::Refusal;
use crate::datagram::header::{DatagramKind, Header};
use crate::datagram::{BootId, DatagramError, Received};
use crate::entropy::{Entropy, draw};
use crate::limits::{CHALLENGE_REPEAT, CHALLENGE_TTL};

/// A boot that was challenged and has not answered.
pub(super) struct Challenged {
    nonce: [u8; 16],
    since: Now,
    repeated: Now,
    /// Counter and payload of its newest datagram.
    held: Option<(u64, Vec<u8>)>,
}

impl Challenged {
    fn is_over(&self, now: Now) -> bool {
        now.since(self.since) >= CHALLENGE_TTL
    }
}

impl Datagrams {
    /// Challenges the boot that sent a datagram, and holds the datagram if it is the newest one.
    pub(super) fn challenge(&mut self, now: Now, open: Open, entropy: &mut dyn Entropy) -> Received {
        let Open { header, data, secret, .. } = open;
        let id = (header.sender, header.boot);
        if self.challenged.peek(&id).is_some_and(|pending| pending.is_over(now)) {
            self.challenged.remove(&id);
        }
        let begins = self.challenged.peek(&id).is_none();
        let (pending, evicted) = self.challenged.get_or_insert_with(&id, || Challenged {
            nonce: draw(entropy),
            since: now,
            repeated: now,
            held: None,
        });
        if header.kind == DatagramKind::Data
            && pending.held.as_ref().is_none_or(|(counter, _)| *counter < header.counter)
        {
            pending.held = Some((header.counter, data));
        }
        if !begins && now.since(pending.repeated) < CHALLENGE_REPEAT {
            return Received::Held;
        }
        pending.repeated = now;
        let mut payload = pending.nonce.to_vec();
        payload.extend_from_slice(&header.boot.0);
        if evicted {
            self.counters.refuse(Refusal::ChallengesFull);
        }
        self.reply(DatagramKind::Challenge, header.sender, secret, &payload)
    }

    /// Answers a challenge, which proves that this boot is alive now.
    pub(super) fn answer(&mut self, open: &Open) -> Result<Received, DatagramError> {
        let (nonce, boot) = open.data.split_at_checked(16).ok_or(DatagramError::Malformed)?;
        if boot != self.boot.0 {
            return Err(DatagramError::MisdirectedChallenge);
        }
        Ok(self.reply(DatagramKind::Answer, open.header.sender, open.secret, nonce))
    }

    /// Takes the answer to a challenge. An answer that somebody kept back proves nothing: the boot may have ended since.
    pub(super) fn confirm(&mut self, now: Now, open: Open) -> Result<Received, DatagramError> {
        let (Header { sender, boot, counter, .. }, secret) = (open.header, open.secret);
        let asked = |pending: &Challenged| open.data == pending.nonce && !pending.is_over(now);
        if !self.challenged.peek(&(sender, boot)).is_some_and(asked) {
            return Err(DatagramError::UnexpectedAnswer);
        }
        let new = match open.standing {
            Standing::New(key) => Some(Peer::met(boot, key, secret, counter)),
            standing => self.hear(sender, counter, standing, secret).map(|()| None)?,
        };
        let pending = self.challenged.remove(&(sender, boot)).expect("it was there just now");
        self.forget_challenges(sender);
        self.guesses.remove(&sender);
        let held = new.and_then(|peer| self.meet(sender, peer, pending.held));
        Ok(Received::Confirmed { from: sender, boot, secret, proven: self.proven(sender), held })
    }

    /// Remembers a boot that was not known, and gives what was held of it. That one may be a repetition, once: nothing
    /// tells whether an earlier life of ours got it.
    fn meet(&mut self, sender: NodeId, mut peer: Peer, held: Option<(u64, Vec<u8>)>) -> Option<Vec<u8>> {
        let held = held.map(|(counter, data)| {
            // If it overtook the answer it is not seen yet.
            peer.window.accept(counter).ok();
            data
        });
        if self.peers.insert(sender, peer).is_some() {
            self.counters.refuse(Refusal::PeersFull);
        }
        held
    }

    /// A node has one life at a time: no other boot of this sender may be confirmed by an answer from before.
    pub(super) fn forget_challenges(&mut self, sender: NodeId) {
        let every_boot = (sender, BootId([0; 16]))..=(sender, BootId([u8::MAX; 16]));
        self.challenged.remove_range(every_boot);
    }
}
