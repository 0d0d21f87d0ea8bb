mod log;
mod permit;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyperscale_swim::federation::{
    Aggregate, ClusterName, CrossBody, CrossMessage, CrossSender, DatacenterLoad, MANAGERS_MAX,
};
use hyperscale_swim::size::datagram_len;
use hyperscale_swim::{
    BUCKETS, Claim, Datagram, Digest, Embedded, EmbeddedState, GateLoad, Incarnation, LoadLevel, ManagerLoad,
    MemberUpdate, Message, PAGE_MAX, Peer, Phase, Sender, Status, StreamBody, StreamMessage, WorkerLoad,
    WorkerMembership, WorkerState, WorkerUpdate, WorkerVersion,
};
use hyperscale_types::{BootEpoch, NodeId, Role, Token};
use hyperscale_wire::counters::Counters;
use hyperscale_wire::datagram::DATAGRAM_PAYLOAD_MAX;
use hyperscale_wire::limits::{MESSAGE_MAX, WORD_MAX};
use hyperscale_wire::messages::{Control, Gossip, Membership, control, membership};
use proptest::prelude::*;
use prost::Message as _;

use crate::gossip::{self, Heard};
use crate::{Unreadable, Versions, stream};

const OURS: Versions = Versions::OF_THIS_BUILD;

fn node() -> impl Strategy<Value = NodeId> {
    any::<u64>().prop_map(|number| NodeId::new(number.max(1)).unwrap())
}

fn addr() -> impl Strategy<Value = SocketAddr> {
    let v4 = any::<([u8; 4], u16)>().prop_map(SocketAddr::from);
    prop_oneof![v4, any::<([u8; 16], u16)>().prop_map(SocketAddr::from)]
}

fn role() -> impl Strategy<Value = Role> {
    prop::sample::select(&Role::ALL[..])
}

fn peer() -> impl Strategy<Value = Peer> {
    (node(), addr(), role()).prop_map(|(node, addr, role)| Peer { node, addr, role })
}

fn sender() -> impl Strategy<Value = Sender> {
    (peer(), any::<(u64, u32)>()).prop_map(|(peer, (boot, incarnation))| Sender {
        peer,
        boot: BootEpoch(boot),
        incarnation: Incarnation(incarnation),
    })
}

fn member() -> impl Strategy<Value = MemberUpdate> {
    let status = prop::sample::select(&[Status::Alive, Status::Suspect, Status::Dead, Status::Left][..]);
    (sender(), status, node()).prop_map(|(sender, status, accuser)| MemberUpdate {
        peer: sender.peer,
        claim: Claim { boot: sender.boot, incarnation: sender.incarnation, status },
        accuser,
    })
}

fn datacenter() -> impl Strategy<Value = Box<str>> {
    "[a-z0-9-]{0,32}".prop_map(String::into_boxed_str)
}

fn worker() -> impl Strategy<Value = Arc<WorkerUpdate>> {
    use WorkerMembership::{Dead, Evicted, Left, Registered};
    let membership = prop::sample::select(&[Registered, Dead, Evicted, Left][..]);
    let numbers = any::<(u64, u64, u64, u16, u16)>();
    (node(), node(), addr(), prop::option::of(addr()), membership, numbers, datacenter()).prop_map(
        |(worker, owner, addr, api_addr, membership, numbers, datacenter)| {
            let (boot, grant, counter, cores_total, cores_available) = numbers;
            let version = WorkerVersion { boot: BootEpoch(boot), owner_token: Token(grant), counter };
            Arc::new(WorkerUpdate {
                worker,
                owner,
                version,
                addr,
                api_addr,
                membership,
                cores_total,
                cores_available,
                datacenter,
            })
        },
    )
}

fn level() -> impl Strategy<Value = LoadLevel> {
    use LoadLevel::{Critical, Elevated, High, Normal, Severe};
    prop::sample::select(&[Normal, Elevated, High, Severe, Critical][..])
}

fn phase() -> impl Strategy<Value = Phase> {
    prop::sample::select(&[Phase::Syncing, Phase::Active, Phase::Draining][..])
}

fn gate() -> impl Strategy<Value = GateLoad> {
    (any::<(bool, u64, u32)>(), phase(), 0u8..=8).prop_map(|((leader, term, jobs_owned), phase, lhm)| {
        GateLoad { leader, term, phase, jobs_owned, lhm }
    })
}

fn worker_load() -> impl Strategy<Value = WorkerLoad> {
    use WorkerState::{Degraded, Draining, Healthy, Offline, Registering};
    let state = prop::sample::select(&[Registering, Healthy, Degraded, Draining, Offline][..]);
    (state, any::<(u16, u16, u32, u32, u64)>(), 0u8..=100, 0u8..=100, 0u8..=8).prop_map(
        |(
            state,
            (cores_total, cores_available, queue_depth, segments, segments_digest),
            cpu,
            memory,
            lhm,
        )| {
            WorkerLoad {
                state,
                cores_total,
                cores_available,
                queue_depth,
                cpu_percent: cpu,
                memory_percent: memory,
                segments,
                segments_digest,
                lhm,
            }
        },
    )
}

fn manager_load() -> impl Strategy<Value = ManagerLoad> {
    (datacenter(), any::<(bool, u64)>(), phase(), any::<[u32; 6]>(), 0u8..=8, level()).prop_map(
        |(datacenter, (leader, term), phase, counts, lhm, backpressure)| {
            let [jobs, segments, workers_total, workers_healthy, cores_total, cores_available] = counts;
            ManagerLoad {
                datacenter,
                leader,
                term,
                phase,
                jobs,
                segments,
                workers_total,
                workers_healthy,
                cores_total,
                cores_available,
                lhm,
                backpressure,
            }
        },
    )
}

fn embedded() -> impl Strategy<Value = Arc<Embedded>> {
    let state = prop_oneof![
        worker_load().prop_map(EmbeddedState::Worker),
        manager_load().prop_map(EmbeddedState::Manager),
        gate().prop_map(EmbeddedState::Gate),
    ];
    (any::<u64>(), state).prop_map(|(version, state)| Arc::new(Embedded { version, state }))
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        (any::<u32>(), node()).prop_map(|(seq, target)| Message::Probe { seq, target }),
        any::<u32>().prop_map(|seq| Message::Ack { seq }),
        any::<u32>().prop_map(|seq| Message::Nack { seq }),
        (any::<u32>(), node(), addr(), any::<u64>()).prop_map(|(seq, target, addr, nanos)| {
            Message::PingReq { seq, target, addr, nack_after: Duration::from_nanos(nanos) }
        }),
        Just(Message::Gossip),
    ]
}

fn datagram() -> impl Strategy<Value = Datagram> {
    let members = prop::collection::vec(member(), 0..12);
    let workers = prop::collection::vec(worker(), 0..6);
    (sender(), message(), prop::option::of(embedded()), members, workers).prop_map(
        |(from, message, embedded, members, workers)| Datagram { from, message, embedded, members, workers },
    )
}

fn digest() -> impl Strategy<Value = Box<Digest>> {
    prop::collection::vec(any::<u64>(), BUCKETS)
        .prop_map(|buckets| Box::new(Digest(buckets.try_into().expect("the strategy makes that many"))))
}

fn stream_body() -> impl Strategy<Value = StreamBody> {
    let members = || prop::collection::vec(member(), 0..5);
    let workers = || prop::collection::vec(worker(), 0..5);
    prop_oneof![
        Just(StreamBody::Join),
        (members(), any::<bool>()).prop_map(|(members, last)| StreamBody::Members { members, last }),
        (digest(), prop::option::of(digest()))
            .prop_map(|(members, workers)| StreamBody::Digest { members, workers }),
        (any::<(u64, bool)>(), members()).prop_map(|((buckets, answer), members)| {
            StreamBody::MemberDifference { buckets, members, answer }
        }),
        (any::<(u64, bool)>(), workers()).prop_map(|((buckets, answer), workers)| {
            StreamBody::WorkerDifference { buckets, workers, answer }
        }),
        any::<u32>().prop_map(|seq| StreamBody::Probe { seq }),
        any::<u32>().prop_map(|seq| StreamBody::Ack { seq }),
        worker().prop_map(StreamBody::Worker),
        Just(StreamBody::WorkerListRequest),
        (workers(), any::<bool>()).prop_map(|(workers, last)| StreamBody::WorkerList { workers, last }),
    ]
}

fn datacenter_load() -> impl Strategy<Value = DatacenterLoad> {
    let managers = prop::collection::vec((node(), addr()), 0..=MANAGERS_MAX);
    (any::<u64>(), prop::option::of(node()), any::<[u32; 7]>(), 0u8..=8, level(), managers).prop_map(
        |(term, leader, counts, lhm, backpressure, managers)| {
            let [
                managers_total,
                managers_alive,
                workers_total,
                workers_healthy,
                workers_degraded,
                cores_total,
                cores_available,
            ] = counts;
            DatacenterLoad {
                term,
                leader,
                managers_alive,
                managers_total,
                managers,
                workers_total,
                workers_healthy,
                workers_degraded,
                cores_total,
                cores_available,
                lhm,
                backpressure,
            }
        },
    )
}

fn cross() -> impl Strategy<Value = CrossMessage> {
    let aggregate =
        prop_oneof![datacenter_load().prop_map(Aggregate::Datacenter), gate().prop_map(Aggregate::Gates),];
    let body = prop_oneof![
        (any::<u32>(), prop::option::of(node())).prop_map(|(seq, target)| CrossBody::XProbe { seq, target }),
        (any::<u32>(), prop::option::of(aggregate.prop_map(Arc::new)))
            .prop_map(|(seq, aggregate)| CrossBody::XAck { seq, aggregate }),
    ];
    (sender(), "[a-z0-9-]{1,128}", body).prop_map(|(sender, cluster, body)| CrossMessage {
        from: CrossSender {
            cluster: ClusterName::new(&cluster),
            node: sender.peer.node,
            addr: sender.peer.addr,
            boot: sender.boot,
            incarnation: sender.incarnation,
        },
        body,
    })
}

/// Reads as a member of the sender's failure detector.
fn read(bytes: &[u8], from: &Sender) -> Result<Heard, Unreadable> {
    let ours = if from.peer.role == Role::Gate { Role::Gate } else { Role::Manager };
    read_as(ours, bytes, from.peer.node)
}

fn read_as(ours: Role, bytes: &[u8], sealed_by: NodeId) -> Result<Heard, Unreadable> {
    gossip::decode(bytes, sealed_by, ours, OURS, &mut Counters::default())
}

proptest! {
    #[test]
    fn datagrams_are_read_back_and_never_larger_than_the_core_reckons(datagram in datagram()) {
        let bytes = gossip::encode(&datagram, OURS);
        prop_assert!(bytes.len() <= datagram_len(&datagram), "{} bytes", bytes.len());
        prop_assert_eq!(read(&bytes, &datagram.from), Ok(Heard::Member(datagram)));
    }

    #[test]
    fn probes_between_clusters_are_read_back_and_fit_a_datagram(message in cross(), is_gate in any::<bool>()) {
        let (role, ours) = if is_gate { (Role::Gate, Role::Manager) } else { (Role::Manager, Role::Gate) };
        let bytes = gossip::encode_cross(&message, role, OURS);
        prop_assert!(bytes.len() <= DATAGRAM_PAYLOAD_MAX);
        prop_assert_eq!(read_as(ours, &bytes, message.from.node), Ok(Heard::Cross(message, role)));
    }

    #[test]
    fn stream_messages_are_read_back(from in sender(), body in stream_body()) {
        let message = StreamMessage { from, body };
        let bytes = stream::to_message(&message).encode_to_vec();
        let read = Membership::decode(&bytes[..]).unwrap();
        prop_assert_eq!(stream::from_message(read, from.peer.node), Ok(Heard::Member(message)));
    }

    #[test]
    fn probes_between_clusters_are_read_back_from_streams_too(message in cross(), is_gate in any::<bool>()) {
        let role = if is_gate { Role::Gate } else { Role::Manager };
        let bytes = stream::cross_to_message(&message, role).encode_to_vec();
        let read = Membership::decode(&bytes[..]).unwrap();
        prop_assert_eq!(stream::from_message(read, message.from.node), Ok(Heard::Cross(message, role)));
    }

    #[test]
    fn a_message_in_another_nodes_name_is_refused(datagram in datagram(), other in node()) {
        prop_assume!(other != datagram.from.peer.node);
        let bytes = gossip::encode(&datagram, OURS);
        prop_assert_eq!(read_as(Role::Manager, &bytes, other), Err(Unreadable::Impersonated));
        let message = StreamMessage { from: datagram.from, body: StreamBody::Join };
        prop_assert_eq!(stream::from_message(stream::to_message(&message), other), Err(Unreadable::Impersonated));
    }
}

fn id(number: u64) -> NodeId {
    NodeId::new(number).unwrap()
}

fn example_sender() -> Sender {
    let peer = Peer { node: id(1), addr: "10.0.0.1:7000".parse().unwrap(), role: Role::Manager };
    Sender { peer, boot: BootEpoch(3), incarnation: Incarnation(2) }
}

fn example() -> Datagram {
    let from = example_sender();
    let news = |number| MemberUpdate {
        peer: Peer { node: id(number), ..from.peer },
        claim: Claim::alive(from.boot, from.incarnation),
        accuser: id(1),
    };
    let load = GateLoad { leader: true, term: 1, phase: Phase::Active, jobs_owned: 0, lhm: 0 };
    Datagram {
        from,
        message: Message::Ack { seq: 9 },
        embedded: Some(Arc::new(Embedded { version: 1, state: EmbeddedState::Gate(load) })),
        members: vec![news(2), news(3)],
        workers: Vec::new(),
    }
}

fn altered(change: impl FnOnce(&mut Gossip)) -> Result<Heard, Unreadable> {
    let mut message = Gossip::decode(&gossip::encode(&example(), OURS)[..]).unwrap();
    change(&mut message);
    read(&message.encode_to_vec(), &example_sender())
}

/// Makes a good message a bad one.
type Spoil = fn(&mut Gossip);

#[test]
fn broken_fields_are_named() {
    let broken: [(Spoil, Unreadable); 8] = [
        (|it| it.version = None, Unreadable::Version(0)),
        (|it| it.version.as_mut().unwrap().current = 99, Unreadable::Version(99)),
        (|it| it.from = None, Unreadable::Missing("from")),
        (|it| it.from.as_mut().unwrap().address = "nowhere".into(), Unreadable::BadAddress("from.address")),
        (|it| it.from.as_mut().unwrap().role = 99, Unreadable::Unknown("role")),
        (|it| it.members[0].node_id = 0, Unreadable::Missing("members.node_id")),
        (|it| it.members[0].address = "10.0.0.1".into(), Unreadable::BadAddress("members.address")),
        (|it| it.members[1].accuser = 0, Unreadable::Missing("members.accuser")),
    ];
    for (change, why) in broken {
        assert_eq!(altered(change), Err(why));
    }
    assert_eq!(read(&[0xff], &example_sender()), Err(Unreadable::Malformed));
}

#[test]
fn words_of_a_newer_version_cost_the_update_that_has_them_and_no_more() {
    let expected = Datagram { members: vec![example().members[1]], ..example() };
    assert_eq!(altered(|it| it.members[0].state = 77), Ok(Heard::Member(expected)));
    let expected = Datagram { embedded: None, ..example() };
    let newer = altered(|it| it.state.as_mut().unwrap().state = None);
    assert_eq!(newer, Ok(Heard::Member(expected)));
}

#[test]
fn names_are_kept_short_and_numbers_in_range() {
    let update = |change: fn(&mut hyperscale_wire::messages::WorkerUpdate)| {
        let mut worker = crate::update::worker_out(&largest_worker());
        change(&mut worker);
        let body = Some(membership::Body::WorkerAnnounce(worker));
        let from = Some(crate::update::sender_out(&example_sender()));
        stream::from_message(Membership { from, body }, id(1)).map(|_| ())
    };
    assert_eq!(update(|_| {}), Ok(()));
    let long = update(|it| it.datacenter = "x".repeat(WORD_MAX + 1));
    assert_eq!(long, Err(Unreadable::OutOfRange("workers.datacenter")));
    assert_eq!(update(|it| it.cores_total = 70_000), Err(Unreadable::OutOfRange("workers.cores_total")));
}

fn largest_worker() -> WorkerUpdate {
    let addr: SocketAddr = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535".parse().unwrap();
    WorkerUpdate {
        worker: id(u64::MAX),
        owner: id(u64::MAX),
        version: WorkerVersion { boot: BootEpoch(u64::MAX), owner_token: Token(u64::MAX), counter: u64::MAX },
        addr,
        api_addr: Some(addr),
        membership: WorkerMembership::Left,
        cores_total: u16::MAX,
        cores_available: u16::MAX,
        datacenter: "x".repeat(WORD_MAX).into(),
    }
}

#[test]
fn the_largest_page_fits_a_control_message() {
    let workers = (0..PAGE_MAX).map(|_| Arc::new(largest_worker())).collect();
    let body = StreamBody::WorkerDifference { buckets: u64::MAX, workers, answer: true };
    let membership = stream::to_message(&StreamMessage { from: example_sender(), body });
    let body = Some(control::Body::Membership(membership));
    let message = Control { call_id: u64::MAX, answer: true, deadline_ms: u64::MAX, body };
    assert!(message.encoded_len() <= MESSAGE_MAX, "{} bytes", message.encoded_len());
}

#[test]
fn the_scope_of_a_link_local_address_stays_at_home() {
    let mut datagram = example();
    datagram.from.peer.addr = "[fe80::1%3]:7000".parse().unwrap();
    let Ok(Heard::Member(read)) = read(&gossip::encode(&datagram, OURS), &datagram.from) else { panic!() };
    assert_eq!(read.from.peer.addr, "[fe80::1]:7000".parse().unwrap());
}

#[test]
fn builds_of_two_versions_understand_each_other_in_the_older_one() {
    let (old, new) = (Versions::new(1, 1).unwrap(), Versions::new(1, 2).unwrap());
    let said = |writer, reader| {
        let bytes = gossip::encode(&example(), writer);
        gossip::decode(&bytes, id(1), Role::Manager, reader, &mut Counters::default())
    };
    assert_eq!(said(new, old), Err(Unreadable::Version(2)), "before the host knows who is there");
    let careful = new.writing(1).unwrap();
    for (writer, reader) in [(careful, old), (careful, new), (old, careful), (old, new), (new, careful)] {
        assert_eq!(said(writer, reader), Ok(Heard::Member(example())), "{writer:?} to {reader:?}");
    }
    let bytes = gossip::encode(&example(), careful);
    let range = Gossip::decode(&bytes[..]).unwrap().version.unwrap();
    assert_eq!((range.min, range.max, range.current), (1, 2, 1), "it still says what it could speak");
}

#[test]
fn probes_between_clusters_are_written_in_the_older_version_too() {
    let (old, new) = (Versions::new(1, 1).unwrap(), Versions::new(1, 2).unwrap());
    let Sender { peer, boot, incarnation } = example_sender();
    let cluster = ClusterName::new("eu-west-1");
    let from = CrossSender { cluster, node: peer.node, addr: peer.addr, boot, incarnation };
    let message = CrossMessage { from, body: CrossBody::XProbe { seq: 1, target: None } };
    let said = |writer| {
        let bytes = gossip::encode_cross(&message, peer.role, writer);
        gossip::decode(&bytes, id(1), Role::Gate, old, &mut Counters::default())
    };
    assert_eq!(said(new), Err(Unreadable::Version(2)));
    assert_eq!(said(new.writing(1).unwrap()), Ok(Heard::Cross(message.clone(), peer.role)));
}

#[test]
fn a_version_that_is_not_spoken_cannot_be_written() {
    let ours = Versions::new(2, 3).unwrap();
    assert_eq!([1, 4].map(|version| ours.writing(version)), [None, None]);
    assert_eq!([(0, 1), (2, 1)].map(|(min, max)| Versions::new(min, max)), [None, None]);
}
