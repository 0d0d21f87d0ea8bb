//! Rules of `Load levels`: what a busy node does less of.

use super::*;
use crate::awareness::Lifeguard;
use crate::load::LoadLevel;
use crate::size;

const TICK: Duration = Duration::from_millis(200);

fn busy(lag: Duration) -> Rig {
    let mut rig = Rig::among(2..12);
    rig.well = (2..12).map(node).collect();
    rig.advance(secs(30.0));
    rig.command(Command::RuntimeLag(lag));
    rig
}

#[test]
fn lag_raises_the_level_at_once_and_the_multiplier_at_the_end_of_the_period() {
    let mut rig = Rig::among([2]);
    let actions = rig.command(Command::RuntimeLag(TICK));
    assert_eq!(events(&actions), [Event::LoadChanged { level: LoadLevel::High, lhm: 0 }]);
    rig.well.insert(node(2));
    rig.advance(secs(1.1));
    assert!(rig.swim.lhm() >= 1);
    rig.advance(secs(30.0));
    assert_eq!((rig.swim.lhm(), rig.swim.load_level()), (0, LoadLevel::Normal));
}

#[test]
fn late_timer_counts_as_lag_without_the_host_saying_so() {
    let mut rig = Rig::among([2]);
    rig.well.insert(node(2));
    rig.advance(secs(5.0));
    rig.sleep(secs(3.0));
    rig.advance(Duration::ZERO);
    assert_eq!(rig.swim.lhm(), 2);
}

/// Probes sent in sixteen rounds in which the loop lags as much, each begun in the same health.
fn probes_in_sixteen_rounds(lag: Duration) -> usize {
    let mut rig = busy(Duration::ZERO);
    let (mut probes, last) = (0, rig.swim.prober.rounds + 16);
    while rig.swim.prober.rounds < last {
        rig.swim.awareness = Awareness::new(Lifeguard::On, TICK);
        rig.command(Command::RuntimeLag(lag));
        let actions = rig.advance(secs(0.1));
        probes += datagrams(&actions).iter().filter(|(_, it)| is_probe(it)).count();
    }
    probes
}

#[test]
fn high_load_leaves_out_a_quarter_of_the_probes_and_severe_load_half() {
    let sent = [Duration::ZERO, TICK / 2, TICK, 2 * TICK].map(probes_in_sixteen_rounds);
    assert_eq!(sent, [16, 16, 12, 8]);
}

#[test]
fn critical_load_does_not_probe_peers_that_were_never_reached() {
    let mut rig = busy(8 * TICK);
    rig.gossip(3, &[update(50, 0, Status::Alive, 3)]);
    let tries = |actions: &[Action]| datagrams_to(actions, 50).iter().filter(|it| is_probe(it)).count();
    for _ in 0..20 {
        rig.command(Command::RuntimeLag(8 * TICK));
        let actions = rig.advance(secs(0.5));
        assert_eq!((rig.swim.load_level(), tries(&actions)), (LoadLevel::Critical, 0));
    }
    assert!(tries(&rig.advance(secs(60.0))) > 0, "it is tried once there is time");
}

#[test]
fn critical_load_probes_suspects_only() {
    let mut rig = busy(8 * TICK);
    rig.gossip(3, &[update(4, 0, Status::Suspect, 3)]);
    rig.well.remove(&node(4));
    let mut probed = BTreeSet::new();
    for _ in 0..20 {
        rig.command(Command::RuntimeLag(8 * TICK));
        let actions = rig.advance(secs(0.5));
        probed.extend(datagrams(&actions).into_iter().filter(|(_, it)| is_probe(it)).map(|(to, _)| to));
    }
    assert_eq!(rig.swim.load_level(), LoadLevel::Critical);
    assert_eq!(probed, BTreeSet::from([4]));
}

#[test]
fn high_load_halves_the_piggyback() {
    let mut rig = busy(TICK);
    assert_eq!(rig.swim.load_level(), LoadLevel::High);
    let news: Vec<_> = (1000..1100).map(|number| update(number, 0, Status::Alive, number)).collect();
    rig.gossip(2, &news);
    let actions = rig.hear(3, Message::Probe { seq: 1, target: node(ME) }, &[]);
    let bytes = size::datagram_len(datagrams_to(&actions, 3)[0]);
    assert!((500..=700).contains(&bytes), "{bytes}");
}

#[test]
fn elevated_load_gossips_less_often() {
    let ticks = |lag| {
        let mut rig = Rig::among(2..12);
        rig.well = (2..12).map(node).collect();
        rig.advance(secs(30.0));
        let news: Vec<_> = (1000..1400).map(|number| update(number, 0, Status::Alive, number)).collect();
        rig.gossip(2, &news);
        rig.command(Command::RuntimeLag(lag));
        let actions = rig.advance(secs(0.9));
        datagrams(&actions).iter().filter(|(_, it)| it.message == Message::Gossip).count()
    };
    assert!(ticks(8 * TICK) < ticks(Duration::ZERO) / 2);
}

#[test]
fn busy_node_still_answers_and_helps() {
    let mut rig = busy(8 * TICK);
    let actions = rig.hear(3, Message::Probe { seq: 1, target: node(ME) }, &[]);
    assert_eq!(datagrams_to(&actions, 3)[0].message, Message::Ack { seq: 1 });
}
