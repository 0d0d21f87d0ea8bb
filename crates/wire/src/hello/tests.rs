use super::*;
use crate::messages::NodeRef;

fn local(id: u64, role: Role) -> Local {
    Local {
        domain: Domain::new("default", "prod").unwrap(),
        node: NodeRef {
            node_id: id,
            boot_epoch: 5,
            role: messages::Role::from(role).into(),
            ..NodeRef::default()
        },
        versions: (1, 3),
        features: vec!["blobs".to_owned(), "drain".to_owned()],
        build: "test".to_owned(),
    }
}

fn control() -> Admission {
    Admission::new(Lane::Control, None)
}

fn hello_of(local: &Local) -> Hello {
    control().greet(local, None)
}

#[test]
fn the_highest_common_version_and_the_common_features_are_agreed_on() {
    let (manager, mut worker) = (local(1, Role::Manager), local(2, Role::Worker));
    worker.versions = (2, 9);
    worker.features = vec!["blobs".to_owned(), "telepathy".to_owned()];
    let mut admission = control();
    let peer = admission.admit(&manager, &hello_of(&worker), &mut Counters::default()).unwrap();
    let expected = Peer {
        node: NodeId::new(2).unwrap(),
        boot: BootEpoch(5),
        role: Role::Worker,
        version: 3,
        newest: 9,
        features: vec!["blobs".to_owned()],
        said: worker.node.clone(),
    };
    assert_eq!(*peer, expected);
}

#[test]
fn versions_agree_by_a_table() {
    let range = |min, max| VersionRange { min, max, current: 0 };
    for (ours, theirs, expected) in [
        ((1, 1), range(1, 1), Some(1)),
        ((1, 3), range(2, 5), Some(3)),
        ((2, 5), range(1, 3), Some(3)),
        ((1, 2), range(2, 2), Some(2)),
        ((1, 2), range(3, 4), None),
        ((3, 4), range(1, 2), None),
        ((1, 9), range(5, 4), None),
        ((1, 9), range(0, 0), None),
    ] {
        assert_eq!(agree(ours, theirs).ok(), expected, "{ours:?} and {theirs:?}");
    }
}

#[test]
fn no_common_version_is_a_named_refusal_that_says_what_we_speak() {
    let (manager, mut worker) = (local(1, Role::Manager), local(2, Role::Worker));
    worker.versions = (7, 9);
    let error = control().admit(&manager, &hello_of(&worker), &mut Counters::default()).unwrap_err();
    let told = error.to_message();
    assert_eq!(told.code(), ErrorCode::VersionMismatch);
    assert_eq!(told.details.unwrap().version, Some(VersionRange { min: 1, max: 3, current: 0 }));
    assert_eq!(told.message, "no protocol version in common: we speak 1 to 3, the peer 7 to 9");
}

/// Makes a good hello a bad one.
type Spoil = fn(&mut Hello);

#[test]
fn a_hello_for_somebody_or_something_else_is_refused() {
    let (manager, worker) = (local(1, Role::Manager), local(2, Role::Worker));
    let cases: [(Spoil, Refusal); 10] = [
        (|hello| hello.cluster = "other".to_owned(), Refusal::ForeignCluster),
        (|hello| hello.environment = "staging".to_owned(), Refusal::ForeignEnvironment),
        (|hello| hello.lane = messages::Lane::Bulk.into(), Refusal::WrongLane),
        (|hello| hello.lane = 77, Refusal::WrongLane),
        (|hello| hello.receiver = 3, Refusal::HelloMisdirected),
        (|hello| hello.node = None, Refusal::HelloInvalid),
        (|hello| hello.node.as_mut().unwrap().role = 99, Refusal::HelloInvalid),
        (|hello| hello.node.as_mut().unwrap().node_id = 1, Refusal::HelloInvalid),
        (|hello| hello.features = vec![String::new(); FEATURES_MAX + 1], Refusal::HelloInvalid),
        (|hello| hello.node.as_mut().unwrap().peer_address = "x".repeat(WORD_MAX + 1), Refusal::HelloInvalid),
    ];
    for (change, expected) in cases {
        let mut hello = hello_of(&worker);
        change(&mut hello);
        let mut counters = Counters::default();
        assert!(control().admit(&manager, &hello, &mut counters).is_err());
        assert_eq!(counters.refused(expected), 1, "{expected}");
    }
}

#[test]
fn a_workers_certificate_cannot_be_used_as_a_manager() {
    let proven =
        |role| CertificateIdentity { cluster: "default".to_owned(), role, node: NodeId::new(2).unwrap() };
    let manager = local(1, Role::Manager);
    let claims_manager = hello_of(&local(2, Role::Manager));
    let mut admission = Admission::new(Lane::Control, Some(proven(Role::Worker)));
    let mut counters = Counters::default();
    assert!(admission.admit(&manager, &claims_manager, &mut counters).is_err());
    assert_eq!(counters.refused(Refusal::HelloInvalid), 1);
    let mut admission = Admission::new(Lane::Control, Some(proven(Role::Manager)));
    assert!(admission.admit(&manager, &claims_manager, &mut counters).is_ok());
}

#[test]
fn workers_and_gates_do_not_connect() {
    let mut admission = control();
    let mut counters = Counters::default();
    let (gate, worker) = (local(1, Role::Gate), local(2, Role::Worker));
    assert!(admission.admit(&gate, &hello_of(&worker), &mut counters).is_err());
    assert_eq!(counters.refused(Refusal::NotPermitted), 1);
}

#[test]
fn hello_comes_once_and_first_and_then_the_role_decides() {
    let (manager, worker) = (local(1, Role::Manager), local(2, Role::Worker));
    let (mut admission, mut counters) = (control(), Counters::default());
    assert_eq!(admission.check(Kind::Ping, &mut counters), Err(HelloError::OutOfOrder));
    assert_eq!(admission.check(Kind::Hello, &mut counters), Ok(()));
    assert_eq!(admission.check(Kind::Error, &mut counters), Ok(()));
    admission.admit(&manager, &hello_of(&worker), &mut counters).unwrap();
    assert_eq!(admission.check(Kind::Ping, &mut counters), Ok(()));
    assert_eq!(admission.check(Kind::Hello, &mut counters), Err(HelloError::OutOfOrder));
    assert!(admission.check(Kind::Raft, &mut counters).is_err());
    assert_eq!(counters.refused(Refusal::NotPermitted), 1);
    assert_eq!(admission.admit(&manager, &hello_of(&worker), &mut counters), Err(HelloError::OutOfOrder));
    assert_eq!(counters.refused(Refusal::HelloOutOfOrder), 3);
}
