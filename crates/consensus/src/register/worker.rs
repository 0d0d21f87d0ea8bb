//! Workers: two rights each, and the cores that are promised of them.
//!
//! | right      | granted by    | token                | bound to         | ends with                                        |
//! | ---------- | ------------- | -------------------- | ---------------- | ------------------------------------------------ |
//! | lease      | `WorkerGrant` | grant token          | worker and boot  | `WorkerGone` that names it                       |
//! | ownership  | `WorkerOwner` | owner token          | grant            | the next `WorkerOwner`, or the end of the grant  |
//!
//! A worker that was asked to drain (`WorkerDrain`) keeps both, and gets nothing new under its grant.
//!
//! A worker that restarts is granted at once under its new boot. Its former process may still run: what is promised under the
//! former grant stays promised, and its attempts are not lost, until `WorkerGone` names that grant. A former grant is
//! therefore never renewed; see `lease::Granter`.

use std::collections::{BTreeMap, BTreeSet};

use hyperscale_types::{BootEpoch, NodeId, Token};

use super::change::Change;
use super::command::{JobId, Segment};
use super::limits::{CAPABILITIES_BYTES_MAX, Limit, WORKERS_MAX};
use super::pack::packed;
use super::{CommandRefusal, Outcome, Register};

/// A worker with a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The boot that has the grant.
    pub boot: BootEpoch,
    /// The grant in force.
    pub grant: Token,
    /// The manager that speaks for it, and the owner token. None until one of them registered it under this grant.
    pub owner: Option<(NodeId, Token)>,
    /// How long the lease is.
    pub lease_ms: u64,
    /// Cores that may be promised, those of running attempts included.
    pub cores: u32,
    /// What it can beyond what every worker can.
    pub capabilities: BTreeSet<String>,
    /// It was asked to drain: nothing is assigned to it any more.
    pub is_draining: bool,
    pub(super) promised: Promises,
    /// Cores that former boots may still use.
    pub(super) held_back: u32,
}

/// Cores promised under one grant. Segments of a core group share the group's cores, which are free with its last segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Promises {
    /// Group, zero for none, and cores of each segment.
    pub(super) segments: BTreeMap<Segment, (u32, u32)>,
    /// Cores of each group, and how many segments share them. Follows from the segments.
    groups: BTreeMap<(JobId, u32), (u32, u32)>,
    /// All of them. Follows from the segments.
    cores: u64,
}

/// A grant of an earlier boot whose lease has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerGrant {
    /// The life it was given to.
    pub boot: BootEpoch,
    /// How long the lease is.
    pub lease_ms: u64,
    pub(super) promised: Promises,
}

impl Worker {
    pub(super) fn new(
        boot: BootEpoch,
        grant: Token,
        lease_ms: u64,
        cores: u32,
        capabilities: BTreeSet<String>,
    ) -> Self {
        let promised = Promises::default();
        let (owner, is_draining, held_back) = (None, false, 0);
        Self { boot, grant, owner, lease_ms, cores, capabilities, is_draining, promised, held_back }
    }

    /// What is promised to whom under the grant in force; segments of a core group all name the group's cores.
    pub fn promised(&self) -> impl ExactSizeIterator<Item = (&Segment, u32)> {
        self.promised.iter()
    }

    /// Cores that are neither promised nor in use by a former boot.
    pub fn free(&self) -> u32 {
        let taken = self.promised.cores + u64::from(self.held_back);
        u64::from(self.cores).saturating_sub(taken) as u32
    }

    /// The owner token in force; zero: nobody owns it under this grant.
    pub fn owner_token(&self) -> Token {
        self.owner.map_or(Token(0), |(_, token)| token)
    }
}

impl FormerGrant {
    /// What is promised to whom until the lease has ended.
    pub fn promised(&self) -> impl ExactSizeIterator<Item = (&Segment, u32)> {
        self.promised.iter()
    }
}

impl Promises {
    pub(super) fn new(segments: BTreeMap<Segment, (u32, u32)>) -> Self {
        let mut promises = Self::default();
        for (segment, (group, cores)) in segments {
            promises.add(segment, group, cores);
        }
        promises
    }

    fn iter(&self) -> impl ExactSizeIterator<Item = (&Segment, u32)> {
        self.segments.iter().map(|(segment, (_, cores))| (segment, *cores))
    }

    pub(super) fn into_segments(self) -> impl Iterator<Item = Segment> {
        self.segments.into_keys()
    }

    /// What is promised to a segment: its group and cores.
    pub(super) fn of(&self, segment: &Segment) -> Option<&(u32, u32)> {
        self.segments.get(segment)
    }

    /// Cores of a group that is promised.
    pub(super) fn group(&self, job: JobId, group: u32) -> Option<u32> {
        self.groups.get(&(job, group)).map(|(cores, _)| *cores)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn cores(&self) -> u32 {
        self.cores as u32
    }

    pub(super) fn add(&mut self, segment: Segment, group: u32, cores: u32) {
        self.remove(&segment);
        let is_first = group == 0 || {
            let (_, sharing) = self.groups.entry((segment.job, group)).or_insert((cores, 0));
            *sharing += 1;
            *sharing == 1
        };
        self.cores += if is_first { u64::from(cores) } else { 0 };
        self.segments.insert(segment, (group, cores));
    }

    /// The cores that become free.
    pub(super) fn remove(&mut self, segment: &Segment) -> u32 {
        let Some((group, cores)) = self.segments.remove(segment) else { return 0 };
        let is_last = group == 0 || {
            let shared =
                self.groups.get_mut(&(segment.job, group)).expect("a group is kept with its segments");
            shared.1 -= 1;
            shared.1 == 0
        };
        if !is_last {
            return 0;
        }
        self.groups.remove(&(segment.job, group));
        self.cores -= u64::from(cores);
        cores
    }
}

impl Register {
    /// A worker registered. The same boot keeps its grant; a new one gets its own, and what the former one was promised is
    /// held back until its lease has ended.
    pub(super) fn grant(&mut self, id: NodeId, mut worker: Worker) -> Result<Outcome, CommandRefusal> {
        let known = self.workers.get(&id);
        match known {
            Some(known) if known.boot == worker.boot => return Ok(Outcome::Granted(known.grant)),
            Some(known) if known.boot > worker.boot => return Err(CommandRefusal::OldBoot),
            Some(_) | None => {}
        }
        let others = self.workers.len() - usize::from(known.is_some());
        Limit::Workers.hold(others + 1, WORKERS_MAX)?;
        Limit::CapabilitiesBytes.hold(packed(&worker.capabilities), CAPABILITIES_BYTES_MAX)?;
        if bug!(self.bugs, RestartLosesAttempts) {
            self.end_grant(id);
        }
        self.retire(id);
        worker.held_back = self.former_of(id).map(|(_, former)| former.promised.cores()).sum();
        let grant = worker.grant;
        self.workers.insert(id, worker);
        self.changes.push(Change::Worker(id));
        Ok(Outcome::Granted(grant))
    }

    /// The grant in force becomes a former one, if anything is promised under it.
    fn retire(&mut self, id: NodeId) {
        let Some(Worker { boot, grant, lease_ms, promised, .. }) = self.workers.remove(&id) else { return };
        if !promised.is_empty() {
            self.former.insert((id, grant), FormerGrant { boot, lease_ms, promised });
            self.changes.push(Change::Former(id, grant));
        }
    }

    /// A grant ends, and the attempts under it are lost.
    pub(super) fn gone(&mut self, id: NodeId, grant: Token) -> Result<Outcome, CommandRefusal> {
        let current = self.workers.get(&id).map(|known| known.grant);
        if current == Some(grant) {
            self.end_grant(id);
            return Ok(Outcome::Done);
        }
        let former = self.former.remove(&(id, grant)).ok_or(CommandRefusal::StaleGrant { current })?;
        if let Some(worker) = self.workers.get_mut(&id) {
            worker.held_back -= former.promised.cores();
            self.changes.push(Change::Worker(id));
        }
        self.changes.push(Change::Former(id, grant));
        self.lose(former.promised);
        Ok(Outcome::Done)
    }

    fn end_grant(&mut self, id: NodeId) {
        if let Some(worker) = self.workers.remove(&id) {
            self.changes.push(Change::Worker(id));
            self.lose(worker.promised);
        }
    }

    /// Another manager speaks for the worker. It names what it replaces, so that of two that try only one succeeds.
    pub(super) fn own(
        &mut self,
        index: u64,
        id: NodeId,
        grant: Token,
        owner: NodeId,
        replaces: Token,
    ) -> Result<Outcome, CommandRefusal> {
        let forgets_drain = bug!(self.bugs, ForgetDrainAtTakeover);
        let known = self.workers.get_mut(&id);
        let current = known.as_ref().map(|known| known.grant);
        let worker =
            known.filter(|known| known.grant == grant).ok_or(CommandRefusal::StaleGrant { current })?;
        if worker.owner_token() != replaces {
            return Err(CommandRefusal::StaleOwner { current: worker.owner_token() });
        }
        worker.owner = Some((owner, Token(index)));
        worker.is_draining &= !forgets_drain;
        self.changes.push(Change::Worker(id));
        Ok(Outcome::Granted(Token(index)))
    }

    /// A worker is to finish what it has; nothing takes that back but another grant.
    pub(super) fn drain(&mut self, id: NodeId, grant: Token) -> Result<Outcome, CommandRefusal> {
        let known = self.workers.get_mut(&id);
        let current = known.as_ref().map(|known| known.grant);
        let worker =
            known.filter(|known| known.grant == grant).ok_or(CommandRefusal::StaleGrant { current })?;
        if worker.is_draining {
            return Ok(Outcome::Repeated);
        }
        worker.is_draining = true;
        self.changes.push(Change::Worker(id));
        Ok(Outcome::Done)
    }

    /// What was promised to a segment under this grant is free, if the worker or a former boot of it has the grant.
    pub(super) fn release(&mut self, id: NodeId, grant: Token, segment: &Segment) {
        self.changes.push(Change::Promise(id, grant, segment.clone()));
        if let Some(former) = self.former.get_mut(&(id, grant)) {
            let freed = former.promised.remove(segment);
            if former.promised.is_empty() {
                self.former.remove(&(id, grant));
            }
            if let Some(worker) = self.workers.get_mut(&id) {
                worker.held_back -= freed;
                self.changes.push(Change::Worker(id));
            }
        } else if let Some(worker) = self.workers.get_mut(&id).filter(|worker| worker.grant == grant) {
            worker.promised.remove(segment);
        }
    }

    /// Grants of earlier boots of a worker whose leases have not ended.
    pub fn former_of(&self, worker: NodeId) -> impl Iterator<Item = (Token, &FormerGrant)> {
        let of_worker = self.former.range((worker, Token(0))..=(worker, Token(u64::MAX)));
        of_worker.map(|((_, grant), former)| (*grant, former))
    }

    /// Whether this grant of the worker has not ended: it is in force, or attempts of a former boot depend on it.
    pub fn has_grant(&self, worker: NodeId, grant: Token) -> bool {
        let in_force = self.workers.get(&worker).is_some_and(|known| known.grant == grant);
        in_force || self.former.contains_key(&(worker, grant))
    }

    /// All grants of earlier boots whose leases have not ended.
    pub fn former(&self) -> impl ExactSizeIterator<Item = (NodeId, Token, &FormerGrant)> {
        self.former.iter().map(|((worker, grant), former)| (*worker, *grant, former))
    }
}
