//! A probe to an accused node carries the accusation, so that it can contradict at once (Lifeguard, buddy system).

use hyperscale_swim::{Lifeguard, Message, Status};

use super::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(super) struct Buddy;

impl Invariant for Buddy {
    fn name(&self) -> &'static str {
        "buddy"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        let What::Sent { to, datagram } = &seen.what else { return Ok(()) };
        let is_probe = matches!(datagram.message, Message::Probe { .. });
        let accused = matches!(seen.swim.status(*to), Some(Status::Suspect | Status::Dead));
        if !is_probe || !accused || seen.swim.config().lifeguard == Lifeguard::Off {
            return Ok(());
        }
        let told = datagram.members.iter().any(|update| update.peer.node == *to && update.is_accusation());
        if told { Ok(()) } else { Err(format!("probes the accused {to} without telling it")) }
    }
}
