use std::net::{Ipv4Addr, SocketAddr};

use hyperscale_types::{BootEpoch, NodeId, Now, Role};
use proptest::prelude::*;

use super::*;
use crate::claim::Incarnation;

fn peer(number: u64) -> Peer {
    let role = if number.is_multiple_of(3) { Role::Manager } else { Role::Worker };
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, number as u16));
    Peer { node: NodeId::new(number).unwrap(), addr, role }
}

fn claim(incarnation: u32, status: Status) -> Claim {
    Claim { boot: BootEpoch(1), incarnation: Incarnation(incarnation), status }
}

#[derive(Clone, Debug)]
enum Step {
    Put(u64, u32, Status),
    Remove(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let status =
        prop_oneof![Just(Status::Alive), Just(Status::Suspect), Just(Status::Dead), Just(Status::Left)];
    prop_oneof![
        4 => (1u64..20, 0u32..5, status).prop_map(|(node, inc, status)| Step::Put(node, inc, status)),
        1 => (1u64..20).prop_map(Step::Remove),
    ]
}

fn check(members: &Members) {
    let status_of = |slot: &Slot| members.get(*slot).status();
    assert!(members.live().iter().all(|slot| status_of(slot).is_live()));
    assert!(members.dead().iter().all(|slot| status_of(slot) == Status::Dead));
    let count = |wanted: fn(Status) -> bool| members.iter().filter(|m| wanted(m.status())).count();
    assert_eq!(members.live().len(), count(Status::is_live));
    assert_eq!(members.dead().len(), count(|status| status == Status::Dead));
    let managers = members.iter().filter(|m| m.status().is_live() && m.peer.role == Role::Manager).count();
    assert_eq!(members.managers().len(), managers);
    let mut digest = Digest::default();
    for member in members.iter().filter(|member| member.status().is_live()) {
        digest.add(member.peer.node.get(), member.fingerprint());
    }
    assert_eq!(&digest, members.digest());
    for member in members.iter() {
        let slot = members.find(member.peer.node).unwrap();
        assert_eq!(members.get(slot).peer, member.peer);
    }
    assert_eq!(members.iter().count(), members.len());
}

proptest! {
    #[test]
    fn lists_index_and_digest_agree_with_the_members(steps in proptest::collection::vec(any_step(), 0..80)) {
        let mut members = Members::new();
        for step in steps {
            match step {
                Step::Put(number, inc, status) => match members.find(peer(number).node) {
                    Some(slot) => members.set_claim(slot, peer(number), claim(inc, status), Now(1)),
                    None => {
                        members.insert(peer(number), claim(inc, status), Now(1));
                    }
                },
                Step::Remove(number) => {
                    if let Some(slot) = members.find(peer(number).node) {
                        members.remove(slot);
                    }
                }
            }
            check(&members);
        }
    }
}

#[test]
fn member_stays_small_because_a_cluster_holds_n_squared_of_them() {
    assert!(size_of::<Option<Member>>() <= 104, "{}", size_of::<Option<Member>>());
}

#[test]
fn since_tells_when_the_status_changed_not_when_it_was_repeated() {
    let mut members = Members::new();
    let slot = members.insert(peer(1), claim(0, Status::Alive), Now(5));
    members.set_claim(slot, peer(1), claim(1, Status::Alive), Now(6));
    assert_eq!(members.get(slot).since, Now(5));
    members.set_claim(slot, peer(1), claim(1, Status::Suspect), Now(7));
    assert_eq!(members.get(slot).since, Now(7));
}
