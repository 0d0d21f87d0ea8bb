//! The federation core: one tick probes every cluster and judges their silence.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use hyperscale_types::Now;

use super::cluster::{Change, Cluster, ClusterMember, ClusterView, Reachability};
use super::config::{FederationConfig, FederationConfigError};
use super::hold::{Hold, Verdict};
use super::io::{
    Aggregate, ClusterName, CrossBody, CrossMessage, CrossSender, FederationAction, FederationCommand,
    FederationEvent, FederationInput, FederationTimer,
};
use crate::alarm::Alarm;

/// Clusters watched; more are refused and counted.
pub const CLUSTERS_MAX: usize = 1024;
/// Members of one cluster that are probed in turn; more are cut off and counted.
pub const CLUSTER_MEMBERS_MAX: usize = 64;
/// Ticks per period: silence is judged this much finer than it is probed.
const TICKS_PER_PERIOD: u32 = 4;

/// What was refused or dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FederationCounters {
    /// Clusters refused because there are too many.
    pub clusters_refused: u64,
    /// Members cut off because a cluster has too many.
    pub members_cut: u64,
    /// Answers of nodes that are not watched.
    pub unknown_senders: u64,
    /// Answers to what was not asked: made up, repeated, or many periods late.
    pub unasked: u64,
    /// Messages with an identity older than one heard before.
    pub stale_identities: u64,
    /// Probes meant for another node.
    pub misdirected: u64,
}

/// Probes between clusters, of one node.
#[derive(Clone, Debug)]
pub struct Federation {
    config: FederationConfig,
    me: CrossSender,
    rng: Rng,
    clusters: BTreeMap<ClusterName, Cluster>,
    hold: Hold,
    aggregate: Option<Arc<Aggregate>>,
    seq: u32,
    ticks: u32,
    alarm: Alarm,
    counters: FederationCounters,
}

impl Federation {
    /// Watches nothing yet; answers probes.
    pub fn new(config: FederationConfig, me: CrossSender, seed: u64) -> Result<Self, FederationConfigError> {
        config.check()?;
        Ok(Self {
            config,
            me,
            rng: Rng::with_seed(seed),
            clusters: BTreeMap::new(),
            hold: Hold::No,
            aggregate: None,
            seq: 0,
            ticks: 0,
            alarm: Alarm::default(),
            counters: FederationCounters::default(),
        })
    }

    /// Deals with one input; what is to be done is appended to `out`.
    pub fn handle(&mut self, now: Now, input: FederationInput, out: &mut Vec<FederationAction>) {
        match input {
            FederationInput::Message(message) => self.message(now, message, false, out),
            FederationInput::Stream(message) => self.message(now, message, true, out),
            FederationInput::Timer(timer) => self.tick(now, timer, out),
            FederationInput::Command(command) => self.command(now, command, out),
        }
    }

    /// The watched clusters, by name.
    pub fn clusters(&self) -> impl Iterator<Item = ClusterView<'_>> {
        self.clusters.iter().map(|(name, cluster)| ClusterView {
            name,
            reachability: cluster.reachability,
            heard: cluster.heard,
            aggregate: cluster.aggregate.as_deref(),
        })
    }

    /// Whether judgement is held because too many fell silent together.
    pub fn is_holding(&self) -> bool {
        self.hold.is_holding()
    }

    /// What was refused or dropped.
    pub fn counters(&self) -> FederationCounters {
        self.counters
    }

    fn command(&mut self, now: Now, command: FederationCommand, out: &mut Vec<FederationAction>) {
        match command {
            FederationCommand::Watch { cluster, members } => self.watch(now, cluster, members, out),
            FederationCommand::Forget(cluster) => {
                self.clusters.remove(&cluster);
            }
            FederationCommand::SetAggregate(aggregate) => self.aggregate = Some(Arc::new(aggregate)),
            FederationCommand::SetIncarnation(incarnation) => self.me.incarnation = incarnation,
        }
    }

    fn watch(
        &mut self,
        now: Now,
        name: ClusterName,
        mut members: Vec<ClusterMember>,
        out: &mut Vec<FederationAction>,
    ) {
        self.counters.members_cut += members.len().saturating_sub(CLUSTER_MEMBERS_MAX) as u64;
        members.truncate(CLUSTER_MEMBERS_MAX);
        if let Some(cluster) = self.clusters.get_mut(&name) {
            cluster.set_members(members);
        } else if self.clusters.len() < CLUSTERS_MAX {
            self.clusters.insert(name, Cluster::new(members, now));
        } else {
            self.counters.clusters_refused += 1;
        }
        // A random phase, so that gates started together do not probe together. Once ticking, a cluster that is watched
        // waits for its turn: else each command would bring the next probes of all clusters forward.
        if !self.alarm.is_set() {
            let first = now.plus((self.config.period / TICKS_PER_PERIOD).mul_f64(self.rng.f64()));
            self.set_alarm(first, out);
        }
    }

    fn set_alarm(&mut self, at: Now, out: &mut Vec<FederationAction>) {
        if let Some(number) = self.alarm.set(at) {
            out.push(FederationAction::SetTimer { at, timer: FederationTimer(number) });
        }
    }

    fn tick(&mut self, now: Now, timer: FederationTimer, out: &mut Vec<FederationAction>) {
        let Some(due) = self.alarm.fired(timer.0) else { return };
        if self.ticks.is_multiple_of(TICKS_PER_PERIOD) {
            self.probe_all(out);
        }
        self.ticks = self.ticks.wrapping_add(1);
        let late = now.since(due);
        self.exclude_lateness(now, late);
        // A node that slept has its answers waiting: it judges with the next tick.
        if late < self.config.period {
            self.judge_all(now, out);
        }
        if !self.clusters.is_empty() {
            self.set_alarm(now.plus(self.config.period / TICKS_PER_PERIOD), out);
        }
    }

    /// A cluster that answers is asked at one member in turn, one that does not at all of them, by datagram and by stream: it
    /// is given up only if nobody there can be reached in any way.
    fn probe_all(&mut self, out: &mut Vec<FederationAction>) {
        for cluster in self.clusters.values_mut() {
            let is_silent = cluster.reachability != Reachability::Reachable;
            let probes = if is_silent { cluster.len() } else { 1 };
            for _ in 0..probes {
                let seq = self.seq.wrapping_add(1);
                let Some((to, node)) = cluster.ask_next(seq) else { break };
                self.seq = seq;
                let message =
                    CrossMessage { from: self.me.clone(), body: CrossBody::XProbe { seq, target: node } };
                if is_silent {
                    out.push(FederationAction::SendStream { to, node, message: message.clone() });
                }
                out.push(FederationAction::Send { to, node, message });
            }
        }
    }

    /// Silence is measured in the time in which this node sends probes: a node that slept, or is starved of CPU, must not
    /// blame other clusters for it.
    fn exclude_lateness(&mut self, now: Now, late: Duration) {
        self.clusters.values_mut().for_each(|cluster| cluster.exclude_lateness(now, late));
        self.hold.exclude_lateness(late);
    }

    fn judge_all(&mut self, now: Now, out: &mut Vec<FederationAction>) {
        // First who falls silent, then whether that is too many at once, then who has been silent for too long.
        self.judge(now, true, out);
        self.update_hold(now, out);
        if !self.hold.is_holding() || bug!(self.config, JudgeWhileHeld) {
            self.judge(now, false, out);
        }
    }

    fn judge(&mut self, now: Now, held: bool, out: &mut Vec<FederationAction>) {
        for (name, cluster) in &mut self.clusters {
            let silent = now.since(cluster.silent_since());
            let event = match cluster.judge(now, &self.config, held) {
                Change::None => continue,
                Change::Suspected => FederationEvent::Suspected { cluster: name.clone(), silent },
                Change::Unreachable => FederationEvent::Unreachable { cluster: name.clone(), silent },
            };
            out.push(FederationAction::Event(event));
        }
    }

    fn update_hold(&mut self, now: Now, out: &mut Vec<FederationAction>) {
        let total = self.clusters.len();
        // Not the unreachable: what was lost long ago says nothing about who is cut off now.
        let suspected = |cluster: &&Cluster| cluster.reachability == Reachability::Suspected;
        let suspected_at =
            self.clusters.values().filter(suspected).filter_map(|cluster| cluster.suspected_at);
        let suspected = suspected_at.clone().count();
        let event = match self.hold.update(now, suspected_at, total, &self.config) {
            Verdict::Unchanged => return,
            Verdict::Began => FederationEvent::JudgementHeld { suspected, total },
            Verdict::Resolved => FederationEvent::JudgementResumed { timed_out: false },
            Verdict::TimedOut => FederationEvent::JudgementResumed { timed_out: true },
        };
        out.push(FederationAction::Event(event.clone()));
        if event == (FederationEvent::JudgementResumed { timed_out: false }) {
            for cluster in self.clusters.values_mut() {
                cluster.resume(now, &self.config);
            }
        }
    }

    fn message(&mut self, now: Now, message: CrossMessage, is_stream: bool, out: &mut Vec<FederationAction>) {
        let CrossMessage { from, body } = message;
        match body {
            CrossBody::XProbe { seq, target } => {
                if target.is_some_and(|target| target != self.me.node) {
                    self.counters.misdirected += 1;
                    return;
                }
                let body = CrossBody::XAck { seq, aggregate: self.aggregate.clone() };
                let message = CrossMessage { from: self.me.clone(), body };
                let (to, node) = (from.addr, Some(from.node));
                out.push(if is_stream {
                    FederationAction::SendStream { to, node, message }
                } else {
                    FederationAction::Send { to, node, message }
                });
            }
            CrossBody::XAck { seq, aggregate } => self.answered(now, &from, seq, aggregate.as_ref(), out),
        }
    }

    fn answered(
        &mut self,
        now: Now,
        from: &CrossSender,
        seq: u32,
        aggregate: Option<&Arc<Aggregate>>,
        out: &mut Vec<FederationAction>,
    ) {
        let Some(cluster) =
            self.clusters.get_mut(&from.cluster).filter(|it| it.has_member(from.node, from.addr))
        else {
            self.counters.unknown_senders += 1;
            return;
        };
        if !cluster.was_asked(seq, from.node, from.addr) {
            self.counters.unasked += 1;
            return;
        }
        cluster.learn(from.node, from.addr);
        if !cluster.admit(from) {
            self.counters.stale_identities += 1;
            return;
        }
        if bug!(self.config, UnreachableForEver) && cluster.reachability == Reachability::Unreachable {
            return;
        }
        if cluster.answered(now) {
            let event = FederationEvent::Reachable { cluster: from.cluster.clone() };
            out.push(FederationAction::Event(event));
        }
        if let Some(aggregate) = aggregate
            && cluster.says(aggregate)
        {
            let (cluster, aggregate) = (from.cluster.clone(), Arc::clone(aggregate));
            out.push(FederationAction::Event(FederationEvent::AggregateChanged { cluster, aggregate }));
        }
    }
}

#[cfg(test)]
mod tests;
