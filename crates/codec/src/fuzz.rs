//! Fuzz harnesses: whatever bytes a member sends, the answer is a value or a reason, and a value is written and read back
//! the same.

use hyperscale_types::{NodeId, Role};
use hyperscale_wire::counters::Counters;
use hyperscale_wire::messages::{Gossip, Membership, Sender};
use prost::Message;

use crate::gossip::{self, Heard};
use crate::{Versions, stream};

/// Whoever the message says it is from, so that reading goes on behind that check.
fn claimed(from: Option<&Sender>) -> NodeId {
    NodeId::new(from.map_or(1, |from| from.node_id)).unwrap_or(NodeId::new(1).unwrap())
}

#[test]
fn fuzz_datagrams() {
    let ours = Versions::OF_THIS_BUILD;
    bolero::check!(name = "datagrams").for_each(|bytes: &[u8]| {
        let node = claimed(Gossip::decode(bytes).unwrap_or_default().from.as_ref());
        for role in Role::ALL {
            let mut counters = Counters::default();
            let mut read = |bytes: &[u8]| gossip::decode(bytes, node, role, ours, &mut counters);
            let heard = read(bytes);
            let again = match &heard {
                Ok(Heard::Member(datagram)) => read(&gossip::encode(datagram, ours)),
                Ok(Heard::Cross(message, sender)) => read(&gossip::encode_cross(message, *sender, ours)),
                Err(error) => Err(*error),
            };
            assert_eq!(again, heard);
            let refused: u64 = counters.iter().map(|(_, count)| count).sum();
            assert_eq!(refused, u64::from(heard.is_err()), "every refusal is counted once");
        }
    });
}

#[test]
fn fuzz_streams() {
    bolero::check!(name = "streams").for_each(|bytes: &[u8]| {
        let Ok(message) = Membership::decode(bytes) else { return };
        let node = claimed(message.from.as_ref());
        let heard = stream::from_message(message, node);
        let again = match &heard {
            Ok(Heard::Member(message)) => stream::to_message(message),
            Ok(Heard::Cross(message, role)) => stream::cross_to_message(message, *role),
            Err(_) => return,
        };
        assert_eq!(stream::from_message(again, node), heard);
    });
}
