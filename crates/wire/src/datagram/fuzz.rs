//! Fuzz harness of what is inside of datagrams that are sealed rightly: a node that has the secret may still send nonsense.

use hyperscale_types::{NodeId, Now};

use super::header::DatagramKind;
use super::{BootId, DATAGRAM_PAYLOAD_MAX, DatagramError, Datagrams, Received};
use crate::domain::Domain;
use crate::entropy::SeededEntropy;
use crate::secret::{Secret, SecretChoice, Secrets};

const BOOT: [u8; 16] = [2; 16];

fn node(id: u64, boot: [u8; 16]) -> Datagrams {
    let secrets = Secrets { current: Secret::development(), previous: None };
    Datagrams::new(NodeId::new(id).unwrap(), BootId(boot), Domain::new("default", "").unwrap(), secrets)
}

/// What node 2, which has challenged node 1, makes of such a datagram of it; and the sizes of its tables after that.
fn said_to_node_2(kind: DatagramKind, payload: &[u8]) -> (Result<Received, DatagramError>, (usize, usize)) {
    let (mut sender, mut receiver) = (node(1, [1; 16]), node(2, BOOT));
    let mut open = |kind, payload: &[u8]| {
        let mut datagram = Vec::new();
        sender.put(kind, Some(receiver.me), SecretChoice::Current, payload, &mut datagram);
        receiver.open(Now::ZERO, &datagram, &mut SeededEntropy::new(1))
    };
    let challenge = open(DatagramKind::Data, b"first");
    assert!(matches!(challenge, Ok(Received::Reply { .. })));
    let outcome = open(kind, payload);
    (outcome, receiver.table_sizes())
}

#[test]
fn fuzz_sealed_datagrams() {
    bolero::check!(name = "sealed_datagrams").for_each(|bytes: &[u8]| {
        let bytes = &bytes[..bytes.len().min(DATAGRAM_PAYLOAD_MAX - BOOT.len())];
        for challenge in [bytes.to_vec(), [bytes, &BOOT].concat()] {
            let expected = match challenge.split_at_checked(16) {
                None => Some(DatagramError::Malformed),
                Some((_, boot)) if boot != BOOT => Some(DatagramError::MisdirectedChallenge),
                Some(_) => None,
            };
            let (outcome, tables) = said_to_node_2(DatagramKind::Challenge, &challenge);
            assert!(expected.is_some() || matches!(outcome, Ok(Received::Reply { .. })));
            assert_eq!((outcome.err(), tables), (expected, (0, 1)));
        }
        let (answered, tables) = said_to_node_2(DatagramKind::Answer, bytes);
        assert_eq!((answered, tables), (Err(DatagramError::UnexpectedAnswer), (0, 1)), "it is not the nonce");
        let (held, tables) = said_to_node_2(DatagramKind::Data, bytes);
        assert_eq!((held, tables), (Ok(Received::Held), (0, 1)));
    });
}
