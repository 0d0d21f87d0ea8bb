//! Applying committed entries, the same way on every replica, and proving it: a rolling hash of what applying did.
//!
//! A [`Machine`] must be deterministic: ordered maps, no clock, no randomness. It reports what each command changed to
//! [`Effects`]; the hash after entry *n* covers all entries up to *n*. Replicas exchange hashes with heartbeats, and one that
//! differs from its leader stops. So what is reported must be the same in every build that may take part: bytes of a known
//! layout, never what the compiler makes of a type.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::blob::BlobId;
use crate::election::mix;
use crate::message::StateProof;
use crate::roster::Roster;

/// Hashes of the last entries that are kept for comparison: more than a follower is behind in ordinary times.
pub const HASHES_MAX: usize = 4096;

/// Version of the layout of a snapshot's state.
const FORMAT: u8 = 1;

/// The replicated state machine.
pub trait Machine {
    /// What applying a command returns to whoever proposed it.
    type Outcome;

    /// Applies the command of the entry at `index`. Must do the same on every replica. A command it cannot read changes
    /// nothing and says so in the outcome.
    fn apply(&mut self, index: u64, command: &Bytes, effects: &mut Effects) -> Self::Outcome;

    /// The whole state.
    fn snapshot(&self) -> Bytes;

    /// The state as it is now, to be encoded later and elsewhere. A machine with a large state overrides this: here it is
    /// encoded at once, which holds up everything else.
    fn view(&self) -> StateView {
        let state = self.snapshot();
        StateView::new(move || state)
    }

    /// Takes the state of a snapshot; empty bytes are the state of a new group. Changes nothing if it cannot.
    fn restore(&mut self, state: Bytes) -> Result<(), RestoreError>;

    /// Adds some of the blobs that the state names, which every replica keeps and fetches where they are missing; where the next
    /// ones are, `None` after the last. Stops soon after `limit` of them; a blob may come twice. Between two calls commands may be applied: what was named before the
    /// first one and still is comes all the same, and what is named since is told by [`Machine::take_named`].
    fn named_blobs(&self, _from: NameCursor, _limit: usize, _out: &mut Vec<BlobId>) -> Option<NameCursor> {
        None
    }

    /// Blobs that commands have named since the last call.
    fn take_named(&mut self) -> Vec<BlobId> {
        Vec::new()
    }

    /// All blobs that the state names: takes as long as the state is large.
    fn blobs(&self) -> BTreeSet<BlobId> {
        let (mut all, mut next) = (Vec::new(), Some(NameCursor::default()));
        while let Some(from) = next {
            next = self.named_blobs(from, usize::MAX, &mut all);
        }
        all.into_iter().collect()
    }

    /// Whether the state says that the group has moved on to something this build cannot apply. Asked after every entry and
    /// every snapshot; the replica stops rather than apply the next entry differently than everybody else.
    fn outdated(&self) -> Option<Outdated>;

    /// Parts of the state that were sealed by the last commands and are from now on only listed by their hash. The host stores
    /// them before it writes a snapshot.
    fn take_sealed(&mut self) -> Vec<(BlobId, Bytes)> {
        Vec::new()
    }

    /// Sealed parts that the state lists and this replica has not read: after a snapshot. Nothing is applied before all of them
    /// were supplied.
    fn missing(&self) -> Vec<BlobId> {
        Vec::new()
    }

    /// Reads a sealed part.
    fn supply(&mut self, blob: BlobId, _bytes: &Bytes) -> Result<(), RestoreError> {
        Err(RestoreError(format!("nothing is listed under {blob:?}")))
    }
}

/// Where a listing of the named blobs resumes. The machine that made it knows what it means; the default is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameCursor {
    /// Part of the state.
    pub part: u8,
    /// The first key in it that was not listed.
    pub key: u128,
    /// Elements under that key that were listed.
    pub place: usize,
}

/// A state that does not change any more, not encoded yet.
pub struct StateView(Box<dyn FnOnce() -> Bytes + Send>);

impl StateView {
    /// A view that is encoded by this.
    pub fn new(encode: impl FnOnce() -> Bytes + Send + 'static) -> Self {
        Self(Box::new(encode))
    }

    /// The bytes of the state. Takes as long as the state is large.
    pub fn encode(self) -> Bytes {
        (self.0)()
    }
}

impl fmt::Debug for StateView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateView")
    }
}

/// The group has agreed on a version of commands that this build does not understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the group has agreed on version {agreed} of commands, this build understands {understood}: update this node"
)]
pub struct Outdated {
    /// The version in force.
    pub agreed: u32,
    /// The newest one this build understands.
    pub understood: u32,
}

/// The state of a snapshot cannot be read: it is broken, or was written by a version this one does not understand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("snapshot cannot be read: {0}")]
pub struct RestoreError(pub String);

/// Rolling hash of the state after an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateHash(pub u64);

/// Where a machine reports what a command changed.
#[derive(Debug, Default)]
pub struct Effects {
    hash: u64,
    /// Numbers that were reported.
    count: usize,
}

impl Effects {
    /// A number that was written, removed or decided.
    pub fn number(&mut self, number: u64) {
        self.hash = mix(self.hash ^ number);
        self.count += 1;
    }

    /// How much was reported: what applying costs, without a clock.
    pub fn reported(&self) -> usize {
        self.count
    }

    /// Bytes that were.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.number(u64::from_le_bytes(word));
        }
    }
}

/// A machine, the roster, and the hash of both.
pub(crate) struct Applier<M> {
    pub(crate) machine: M,
    pub(crate) roster: Roster,
    applied: u64,
    hash: StateHash,
    /// Hashes after the last entries, up to `applied`.
    recent: VecDeque<StateHash>,
    /// What the leader's state was after an entry that is not applied here yet.
    expected: Option<StateProof>,
    mismatch: Option<(u64, StateHash, StateHash)>,
}

impl<M: Machine> Applier<M> {
    pub(crate) fn new(machine: M) -> Self {
        let (roster, recent) = (Roster::default(), VecDeque::new());
        let hash = StateHash::default();
        Self { machine, roster, applied: 0, hash, recent, expected: None, mismatch: None }
    }

    pub(crate) fn applied(&self) -> u64 {
        self.applied
    }

    pub(crate) fn proof(&self) -> StateProof {
        StateProof { index: self.applied, hash: self.hash }
    }

    pub(crate) fn command(&mut self, index: u64, command: &Bytes) -> M::Outcome {
        let mut effects = self.begin(index);
        effects.bytes(command);
        let outcome = self.machine.apply(index, command, &mut effects);
        self.end(index, &effects);
        outcome
    }

    /// An entry that is not for the machine; `changed` is what became of it.
    pub(crate) fn other(&mut self, index: u64, changed: &[u8]) {
        let mut effects = self.begin(index);
        effects.bytes(changed);
        self.end(index, &effects);
    }

    fn begin(&self, index: u64) -> Effects {
        let mut effects = Effects { hash: self.hash.0, count: 0 };
        effects.number(index);
        effects
    }

    fn end(&mut self, index: u64, effects: &Effects) {
        self.applied = index;
        self.hash = StateHash(effects.hash);
        self.recent.push_back(self.hash);
        if self.recent.len() > HASHES_MAX {
            self.recent.pop_front();
        }
        if let Some(proof) = self.expected.take_if(|proof| proof.index <= index)
            && proof.index == index
            && proof.hash != self.hash
        {
            self.mismatch = Some((index, self.hash, proof.hash));
        }
    }

    /// The leader's state after an entry that comes; compared when it is applied. One at a time is enough.
    pub(crate) fn expect(&mut self, proof: StateProof) {
        if proof.index > self.applied && self.expected.is_none() {
            self.expected = Some(proof);
        }
    }

    /// An entry after which the state is not the leader's: index, hash here, hash there.
    pub(crate) fn take_mismatch(&mut self) -> Option<(u64, StateHash, StateHash)> {
        self.mismatch.take()
    }

    /// Hash of the state after that entry; `None` if that is not known any more, or not yet.
    pub(crate) fn hash_at(&self, index: u64) -> Option<StateHash> {
        if index == self.applied {
            return Some(self.hash);
        }
        let back = self.applied.checked_sub(index)?;
        let place = (self.recent.len() as u64).checked_sub(back + 1)?;
        self.recent.get(place as usize).copied()
    }

    /// The state of a snapshot, as it is now.
    pub(crate) fn view(&self) -> StateView {
        let (hash, roster, machine) = (self.hash.0, self.roster.clone(), self.machine.view());
        StateView::new(move || {
            let mut out = BytesMut::new();
            out.put_u8(FORMAT);
            out.put_u64(hash);
            roster.write(&mut out);
            out.put_slice(&machine.encode());
            out.freeze()
        })
    }

    /// Takes the state of a snapshot that was made after the entry at `index`.
    pub(crate) fn restore(&mut self, index: u64, mut state: Bytes) -> Result<(), RestoreError> {
        let (hash, roster) = read_head(&mut state)?;
        self.machine.restore(state)?;
        self.roster = roster;
        self.applied = index;
        self.hash = hash;
        self.recent.clear();
        self.expected = None;
        Ok(())
    }
}

/// The members in the state of a snapshot.
pub(crate) fn roster_of(mut state: Bytes) -> Result<Roster, RestoreError> {
    read_head(&mut state).map(|(_, roster)| roster)
}

/// Takes hash and members off the state of a snapshot; the machine's part is left.
fn read_head(state: &mut Bytes) -> Result<(StateHash, Roster), RestoreError> {
    let broken = || RestoreError("the members are cut short".to_owned());
    match state.try_get_u8() {
        Ok(FORMAT) => {}
        Ok(other) => return Err(RestoreError(format!("unknown format {other}"))),
        Err(_) => return Err(RestoreError("it is empty".to_owned())),
    }
    let hash = StateHash(state.try_get_u64().map_err(|_| broken())?);
    Ok((hash, Roster::read(state).ok_or_else(broken)?))
}

/// The state of a new group with these members. Its hash covers them: replicas that were founded with other members, or with
/// other directories of theirs, notice at once.
pub(crate) fn founding_state(roster: &Roster) -> Bytes {
    let mut members = BytesMut::new();
    roster.write(&mut members);
    let mut effects = Effects::default();
    effects.bytes(&members);
    let mut out = BytesMut::new();
    out.put_u8(FORMAT);
    out.put_u64(effects.hash);
    out.put_slice(&members);
    out.freeze()
}
