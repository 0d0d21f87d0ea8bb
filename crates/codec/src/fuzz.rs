//! Fuzz harnesses: whatever bytes a member sends, the answer is a value or a reason, and a value is written and read back
//! the same.

use hyperscale_types::NodeId;
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
        match gossip::decode(bytes, node, ours) {
            Ok(Heard::Member(datagram)) => {
                let again = gossip::decode(&gossip::encode(&datagram, ours), node, ours);
                assert_eq!(again, Ok(Heard::Member(datagram)));
            }
            Ok(Heard::Cross(message, role)) => {
                let again = gossip::decode(&gossip::encode_cross(&message, role, ours), node, ours);
                assert_eq!(again, Ok(Heard::Cross(message, role)));
            }
            Err(_) => {}
        }
    });
}

#[test]
fn fuzz_streams() {
    bolero::check!(name = "streams").for_each(|bytes: &[u8]| {
        let Ok(message) = Membership::decode(bytes) else { return };
        let node = claimed(message.from.as_ref());
        if let Ok(read) = stream::from_message(message, node) {
            assert_eq!(stream::from_message(stream::to_message(&read), node), Ok(read));
        }
    });
}
