use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use hyperscale_types::{BootEpoch, NodeId};

use super::super::io::DatacenterLoad;
use super::*;
use crate::claim::Incarnation;
use crate::load::LoadLevel;

fn node(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn addr(number: u64) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, number as u16))
}

fn name(cluster: u64) -> ClusterName {
    ClusterName::new(&format!("dc{cluster}"))
}

fn sender(cluster: &ClusterName, number: u64, boot: u64) -> CrossSender {
    CrossSender {
        cluster: cluster.clone(),
        node: node(number),
        addr: addr(number),
        boot: BootEpoch(boot),
        incarnation: Incarnation(0),
    }
}

fn load(term: u64, cores_available: u32) -> Aggregate {
    Aggregate::Datacenter(DatacenterLoad {
        term,
        leader: None,
        managers_alive: 3,
        managers_total: 3,
        managers: Vec::new(),
        workers_total: 10,
        workers_healthy: 9,
        workers_degraded: 1,
        cores_total: 80,
        cores_available,
        lhm: 0,
        backpressure: LoadLevel::Normal,
    })
}

/// A gate that watches clusters of two managers each; the test plays the clusters.
struct Rig {
    gate: Federation,
    now: Now,
    timers: Vec<(Now, FederationTimer)>,
    silent: Vec<u64>,
    probed: Vec<(Now, u64)>,
    streamed: Vec<u64>,
    /// A silent member that still answers over connections.
    answers_streams: Option<u64>,
    /// Last probe of each member that was not answered.
    unanswered: BTreeMap<u64, u32>,
}

impl Rig {
    fn watching(clusters: u64) -> Self {
        let me = sender(&ClusterName::new("gates"), 1, 1);
        let gate = Federation::new(FederationConfig::wan(), me, 7).unwrap();
        let mut rig = Self {
            gate,
            now: Now::ZERO,
            timers: Vec::new(),
            silent: Vec::new(),
            probed: Vec::new(),
            streamed: Vec::new(),
            answers_streams: None,
            unanswered: BTreeMap::new(),
        };
        for cluster in 1..=clusters {
            let members =
                vec![(addr(cluster * 10), Some(node(cluster * 10))), (addr(cluster * 10 + 1), None)];
            rig.command(FederationCommand::Watch { cluster: name(cluster), members });
        }
        rig
    }

    fn command(&mut self, command: FederationCommand) -> Vec<FederationEvent> {
        self.input(FederationInput::Command(command))
    }

    fn input(&mut self, input: FederationInput) -> Vec<FederationEvent> {
        let mut out = Vec::new();
        self.gate.handle(self.now, input, &mut out);
        let mut events = Vec::new();
        for action in out {
            match action {
                FederationAction::SetTimer { at, timer } => self.timers.push((at, timer)),
                FederationAction::Event(event) => events.push(event),
                FederationAction::SendStream { to, message, .. } => {
                    self.streamed.push(u64::from(to.port()));
                    if let CrossBody::XProbe { seq, .. } = message.body
                        && self.answers_streams == Some(u64::from(to.port()))
                    {
                        let from = sender(&name(u64::from(to.port()) / 10), u64::from(to.port()), 1);
                        events.extend(self.ack(from, seq, load(1, 8)));
                    }
                }
                FederationAction::Send { to, message, .. } => {
                    let number = u64::from(to.port());
                    self.probed.push((self.now, number));
                    let CrossBody::XProbe { seq, .. } = message.body else { continue };
                    if self.silent.contains(&(number / 10)) {
                        self.unanswered.insert(number, seq);
                    } else {
                        events.extend(self.ack(sender(&name(number / 10), number, 1), seq, load(1, 8)));
                    }
                }
            }
        }
        events
    }

    fn ack(&mut self, from: CrossSender, seq: u32, aggregate: Aggregate) -> Vec<FederationEvent> {
        let body = CrossBody::XAck { seq, aggregate: Some(Arc::new(aggregate)) };
        self.input(FederationInput::Message(CrossMessage { from, body }))
    }

    /// The member of a silent cluster answers its next probe.
    fn answer(&mut self, from: CrossSender, aggregate: Aggregate) -> Vec<FederationEvent> {
        let number = u64::from(from.addr.port());
        self.unanswered.clear();
        while !self.unanswered.contains_key(&number) {
            self.advance(1);
        }
        let seq = self.unanswered[&number];
        self.ack(from, seq, aggregate)
    }

    fn advance(&mut self, seconds: u64) -> Vec<FederationEvent> {
        self.advance_by(Duration::from_secs(seconds))
    }

    fn advance_by(&mut self, time: Duration) -> Vec<FederationEvent> {
        let until = self.now.plus(time);
        let mut events = Vec::new();
        while let Some(place) = (0..self.timers.len())
            .filter(|place| self.timers[*place].0 <= until)
            .min_by_key(|place| self.timers[*place].0)
        {
            let (at, timer) = self.timers.swap_remove(place);
            self.now = self.now.max(at);
            events.extend(self.input(FederationInput::Timer(timer)));
        }
        self.now = until;
        events
    }

    fn reachability(&self, cluster: u64) -> Reachability {
        self.gate.clusters().find(|view| *view.name == name(cluster)).unwrap().reachability
    }
}

#[test]
fn every_cluster_is_probed_each_period_at_its_members_in_turn() {
    let mut rig = Rig::watching(3);
    rig.advance(20);
    let of_two: Vec<_> = rig.probed.iter().filter(|(_, number)| number / 10 == 2).collect();
    assert!((9..=11).contains(&of_two.len()), "{}", of_two.len());
    assert!(of_two.windows(2).all(|pair| pair[0].1 != pair[1].1));
    assert!(of_two.windows(2).all(|pair| pair[1].0.since(pair[0].0) == Duration::from_secs(2)));
}

#[test]
fn answer_carries_the_aggregate_and_its_change_is_an_event() {
    let mut rig = Rig::watching(1);
    let events = rig.advance(3);
    assert_eq!(events[0], FederationEvent::Reachable { cluster: name(1) });
    assert!(matches!(&events[1], FederationEvent::AggregateChanged { .. }));
    assert_eq!(rig.advance(10), []);
    rig.silent = vec![1];
    assert_eq!(rig.answer(sender(&name(1), 10, 1), load(2, 4)).len(), 1);
    assert_eq!(rig.answer(sender(&name(1), 10, 1), load(1, 3)), [], "of an older term");
}

#[test]
fn silent_cluster_is_suspected_then_unreachable_then_back() {
    let mut rig = Rig::watching(3);
    rig.advance(10);
    rig.silent = vec![2];
    let events = rig.advance(7);
    assert!(matches!(&events[..], [FederationEvent::Suspected { cluster, .. }] if *cluster == name(2)));
    let events = rig.advance(11);
    assert!(matches!(&events[..], [FederationEvent::Unreachable { cluster, .. }] if *cluster == name(2)));
    assert_eq!(rig.reachability(1), Reachability::Reachable);
    rig.silent.clear();
    assert_eq!(rig.advance(3), [FederationEvent::Reachable { cluster: name(2) }]);
}

#[test]
fn silent_cluster_is_asked_at_all_its_members_by_datagram_and_by_stream_before_it_is_given_up() {
    let mut rig = Rig::watching(1);
    rig.advance(10);
    assert!(rig.streamed.is_empty(), "a cluster that answers is asked at one member a period");
    rig.silent = vec![1];
    rig.advance(7);
    rig.probed.clear();
    rig.advance(4);
    let of = |number: u64| rig.probed.iter().filter(|(_, probed)| *probed == number).count();
    assert_eq!((of(10), of(11)), (2, 2), "both, in both periods");
    assert!(rig.streamed.contains(&10) && rig.streamed.contains(&11));
}

#[test]
fn cluster_of_which_one_member_answers_over_connections_only_is_not_given_up() {
    let mut rig = Rig::watching(1);
    rig.advance(10);
    (rig.silent, rig.answers_streams) = (vec![1], Some(10));
    let events = rig.advance(60);
    assert!(!events.iter().any(|event| matches!(event, FederationEvent::Unreachable { .. })), "{events:?}");
}

#[test]
fn question_on_a_connection_is_answered_there() {
    let mut rig = Rig::watching(1);
    let body = CrossBody::XProbe { seq: 9, target: None };
    let from = sender(&name(1), 10, 1);
    let mut out = Vec::new();
    rig.gate.handle(rig.now, FederationInput::Stream(CrossMessage { from, body }), &mut out);
    assert!(matches!(&out[..], [FederationAction::SendStream { node: Some(it), .. }] if *it == node(10)));
}

#[test]
fn one_member_that_answers_is_enough() {
    let mut rig = Rig::watching(1);
    rig.advance(5);
    // Every second probe goes to a member that is never played: cut the first one off instead of the cluster.
    rig.command(FederationCommand::Watch {
        cluster: name(1),
        members: vec![(addr(10), Some(node(10))), (addr(9999), Some(node(9999)))],
    });
    rig.silent = vec![999];
    assert_eq!(rig.advance(60), []);
}

#[test]
fn judgement_is_held_when_most_clusters_fall_silent_together() {
    let mut rig = Rig::watching(4);
    rig.advance(10);
    rig.silent = vec![1, 2, 3];
    let events = rig.advance(40);
    assert!(events.contains(&FederationEvent::JudgementHeld { suspected: 3, total: 4 }));
    assert!(!events.iter().any(|event| matches!(event, FederationEvent::Unreachable { .. })));
    assert!(rig.gate.is_holding());
    assert_eq!(rig.reachability(1), Reachability::Suspected);
    // Two come back: the third gets its time anew and is judged then.
    rig.silent = vec![3];
    let events = rig.advance(4);
    assert!(events.contains(&FederationEvent::JudgementResumed { timed_out: false }));
    assert_eq!(rig.reachability(3), Reachability::Suspected);
    rig.advance(10);
    assert_eq!(rig.reachability(3), Reachability::Unreachable);
}

#[test]
fn datacenter_lost_long_ago_does_not_hide_that_the_others_fall_silent_together() {
    let mut rig = Rig::watching(3);
    rig.advance(10);
    rig.silent = vec![1];
    rig.advance(600);
    assert_eq!(rig.reachability(1), Reachability::Unreachable);
    rig.silent = vec![1, 2, 3];
    let events = rig.advance(30);
    assert!(events.contains(&FederationEvent::JudgementHeld { suspected: 2, total: 3 }), "{events:?}");
    assert_eq!([2, 3].map(|cluster| rig.reachability(cluster)), [Reachability::Suspected; 2]);
    // One of the two answers: the other is judged, although the first is still away.
    rig.silent = vec![1, 3];
    let events = rig.advance(4);
    assert!(events.contains(&FederationEvent::JudgementResumed { timed_out: false }), "{events:?}");
}

#[test]
fn held_judgement_is_spoken_after_its_limit() {
    let mut rig = Rig::watching(3);
    rig.advance(10);
    rig.silent = vec![1, 2, 3];
    let events = rig.advance(80);
    assert!(events.contains(&FederationEvent::JudgementResumed { timed_out: true }));
    assert_eq!(rig.reachability(2), Reachability::Unreachable);
}

#[test]
fn half_of_the_clusters_may_fail_without_a_hold() {
    let mut rig = Rig::watching(4);
    rig.advance(10);
    rig.silent = vec![1, 2];
    let events = rig.advance(30);
    assert!(!events.iter().any(|event| matches!(event, FederationEvent::JudgementHeld { .. })));
    assert_eq!(rig.reachability(1), Reachability::Unreachable);
}

#[test]
fn identities_are_namespaced_by_cluster() {
    let mut rig = Rig::watching(2);
    rig.advance(5);
    rig.silent = vec![1, 2];
    // The same node id in another cluster with a lower boot is another node.
    rig.answer(sender(&name(1), 10, 9), load(1, 1));
    rig.command(FederationCommand::Watch { cluster: name(2), members: vec![(addr(20), Some(node(10)))] });
    rig.answer(CrossSender { addr: addr(20), ..sender(&name(2), 10, 3) }, load(1, 2));
    assert_eq!(rig.reachability(2), Reachability::Reachable);
    assert_eq!(rig.gate.counters().stale_identities, 0);
    rig.answer(sender(&name(1), 10, 8), load(1, 3));
    assert_eq!(rig.gate.counters().stale_identities, 1);
}

#[test]
fn answers_of_strangers_are_dropped_and_counted() {
    let mut rig = Rig::watching(1);
    rig.ack(sender(&name(1), 77, 1), 1, load(1, 1));
    rig.ack(sender(&name(5), 10, 1), 1, load(1, 1));
    assert_eq!(rig.gate.counters().unknown_senders, 2);
}

#[test]
fn answer_to_what_was_not_asked_does_not_make_a_cluster_reachable() {
    let mut rig = Rig::watching(2);
    rig.advance(10);
    rig.silent = vec![1];
    rig.advance(20);
    let seq = rig.unanswered[&10];
    for (number, seq) in [(10, 999_999), (10, rig.unanswered[&11]), (11, seq)] {
        assert_eq!(rig.ack(sender(&name(1), number, 1), seq, load(9, 9)), []);
    }
    assert_eq!((rig.reachability(1), rig.gate.counters().unasked), (Reachability::Unreachable, 3));
    assert_eq!(rig.ack(sender(&name(1), 10, 1), seq, load(9, 9)).len(), 2);
    assert_eq!(rig.reachability(1), Reachability::Reachable);
    rig.ack(sender(&name(1), 10, 1), seq, load(9, 9));
    assert_eq!(rig.gate.counters().unasked, 4, "an answer counts once");
}

#[test]
fn identity_of_an_answer_that_was_not_asked_for_is_not_remembered() {
    let mut rig = Rig::watching(1);
    rig.ack(sender(&name(1), 10, 99), 999_999, load(1, 1));
    rig.advance(5);
    assert_eq!((rig.reachability(1), rig.gate.counters().stale_identities), (Reachability::Reachable, 0));
}

#[test]
fn only_cluster_watched_is_judged_in_its_time_without_a_hold() {
    let mut rig = Rig::watching(1);
    rig.advance(10);
    rig.silent = vec![1];
    let events = rig.advance(18);
    assert!(!events.iter().any(|event| matches!(event, FederationEvent::JudgementHeld { .. })), "{events:?}");
    assert_eq!(rig.reachability(1), Reachability::Unreachable);
}

#[test]
fn watching_again_does_not_bring_probes_forward() {
    let mut rig = Rig::watching(1);
    rig.advance(10);
    let before = rig.probed.len();
    for _ in 0..200 {
        rig.command(FederationCommand::Watch { cluster: name(1), members: vec![(addr(10), None)] });
        rig.advance_by(Duration::from_millis(50));
    }
    assert_eq!(rig.probed.len() - before, 5);
}

#[test]
fn list_read_anew_does_not_begin_with_the_first_member_again() {
    let mut rig = Rig::watching(1);
    let members: Vec<_> = (10..15).map(|number| (addr(number), Some(node(number)))).collect();
    for _ in 0..5 {
        rig.command(FederationCommand::Watch { cluster: name(1), members: members.clone() });
        rig.advance(2);
    }
    let probed: std::collections::BTreeSet<u64> = rig.probed.iter().map(|(_, number)| *number).collect();
    assert_eq!(probed.len(), 5);
}

#[test]
fn probe_is_answered_with_the_own_aggregate_unless_meant_for_another() {
    let mut gate = Rig::watching(0).gate;
    let mut out = Vec::new();
    gate.handle(Now::ZERO, FederationInput::Command(FederationCommand::SetAggregate(load(3, 3))), &mut out);
    let from = sender(&name(1), 10, 1);
    let mut probe = |target| {
        let body = CrossBody::XProbe { seq: 5, target };
        let mut out = Vec::new();
        let message = CrossMessage { from: from.clone(), body };
        gate.handle(Now::ZERO, FederationInput::Message(message), &mut out);
        out
    };
    let answers = probe(Some(node(1)));
    let FederationAction::Send { to, message, .. } = &answers[0] else { panic!() };
    assert_eq!(*to, addr(10));
    assert_eq!(message.body, CrossBody::XAck { seq: 5, aggregate: Some(Arc::new(load(3, 3))) });
    assert!(probe(Some(node(2))).is_empty());
    assert_eq!(probe(None).len(), 1);
}

#[test]
fn node_that_slept_does_not_judge() {
    let mut rig = Rig::watching(3);
    rig.advance(10);
    rig.now = rig.now.plus(Duration::from_mins(2));
    let events = rig.advance(1);
    assert!(!events.iter().any(|event| matches!(event, FederationEvent::Suspected { .. })), "{events:?}");
}

/// The gate sleeps for two minutes; these clusters do not respond afterwards.
fn slept(rig: &mut Rig, silent: &[u64]) {
    rig.silent = silent.to_vec();
    rig.now = rig.now.plus(Duration::from_mins(2));
}

fn given_up(events: &[FederationEvent]) -> bool {
    events.iter().any(|event| matches!(event, FederationEvent::Unreachable { .. }))
}

#[test]
fn node_that_slept_probes_for_the_full_time_before_it_gives_a_cluster_up() {
    let mut rig = Rig::watching(1);
    rig.advance(10);
    slept(&mut rig, &[1]);
    rig.streamed.clear();
    let events = rig.advance(12);
    assert_eq!(rig.reachability(1), Reachability::Suspected, "{events:?}");
    assert!([10, 11].iter().all(|member| rig.streamed.contains(member)));
    assert!(given_up(&rig.advance(3)));
}

#[test]
fn sleep_during_a_suspicion_does_not_count_as_silence() {
    let mut rig = Rig::watching(1);
    rig.advance(10);
    rig.silent = vec![1];
    rig.advance(8);
    assert_eq!(rig.reachability(1), Reachability::Suspected);
    slept(&mut rig, &[1]);
    let events = rig.advance(4);
    assert!(!given_up(&events), "{events:?}");
    assert!(given_up(&rig.advance(3)));
}

/// Simulator seed 41855: one datacenter responds once after the gate wakes up and is suspected seconds after the other.
#[test]
fn judgement_is_held_when_clusters_fall_silent_within_the_window_after_a_sleep() {
    let mut rig = Rig::watching(2);
    rig.advance(10);
    slept(&mut rig, &[1]);
    let mut events = rig.advance(1);
    rig.silent = vec![1, 2];
    events.extend(rig.advance(30));
    assert!(events.contains(&FederationEvent::JudgementHeld { suspected: 2, total: 2 }), "{events:?}");
    assert!(!given_up(&events), "{events:?}");
}

#[test]
fn sleep_does_not_count_towards_the_limit_of_a_hold() {
    let mut rig = Rig::watching(2);
    rig.advance(10);
    rig.silent = vec![1, 2];
    rig.advance(10);
    assert!(rig.gate.is_holding());
    slept(&mut rig, &[1, 2]);
    let events = rig.advance(40);
    assert_eq!((events, rig.gate.is_holding()), (Vec::new(), true));
    assert!(given_up(&rig.advance(20)));
}

#[test]
fn node_starved_of_cpu_sends_as_many_probes_before_it_gives_a_cluster_up() {
    let mut rig = Rig::watching(1);
    rig.advance(10);
    rig.silent = vec![1];
    rig.probed.clear();
    // Every tick is late, but not late enough to count as a sleep.
    let mut events = Vec::new();
    while !given_up(&events) {
        rig.now = rig.now.plus(Duration::from_millis(1900));
        events = rig.advance_by(Duration::ZERO);
        rig.now = rig.now.plus(Duration::from_millis(500));
    }
    assert!(rig.probed.len() >= 10, "both members in five periods, not {}", rig.probed.len());
}

#[test]
fn clusters_and_members_are_bounded() {
    let mut rig = Rig::watching(0);
    for cluster in 0..CLUSTERS_MAX as u64 + 3 {
        rig.command(FederationCommand::Watch { cluster: name(cluster), members: vec![(addr(1), None); 70] });
    }
    assert_eq!(rig.gate.counters().clusters_refused, 3);
    assert_eq!(rig.gate.counters().members_cut, 6 * (CLUSTERS_MAX as u64 + 3));
}
