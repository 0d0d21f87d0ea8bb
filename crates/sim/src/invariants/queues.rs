//! Every table and queue stays within its limit.

use hyperscale_swim::{
    ASTRAY_MAX, CONTACTS_MAX, DATAGRAM_BYTES_MAX, GRAVES_MAX, MEMBER_UPDATES_MAX, RELAYS_MAX, TOMBS_MAX,
    WORKER_UPDATES_MAX, size,
};

use super::{Invariant, Seen, Verdict, What};

#[derive(Debug)]
pub(super) struct Queues;

impl Invariant for Queues {
    fn name(&self) -> &'static str {
        "queues"
    }

    fn see(&mut self, seen: &Seen<'_>) -> Verdict {
        match &seen.what {
            What::Handled => {
                let (sizes, limits) = (seen.swim.sizes(), &seen.swim.config().limits);
                let within = sizes.members <= limits.members
                    && sizes.tombs <= TOMBS_MAX
                    && sizes.member_updates <= MEMBER_UPDATES_MAX
                    && sizes.worker_updates <= WORKER_UPDATES_MAX
                    && sizes.workers <= limits.workers
                    && sizes.graves <= GRAVES_MAX
                    && sizes.relays <= RELAYS_MAX
                    && sizes.astray <= ASTRAY_MAX
                    && sizes.contacts <= CONTACTS_MAX
                    && sizes.audit <= limits.audit;
                if within { Ok(()) } else { Err(format!("beyond its limits: {sizes:?}")) }
            }
            What::Sent { datagram, .. } => {
                let bytes = size::datagram_len(datagram) + seen.swim.config().gossip.seal_bytes;
                if bytes <= DATAGRAM_BYTES_MAX {
                    Ok(())
                } else {
                    Err(format!("sends a datagram of {bytes} bytes"))
                }
            }
            _ => Ok(()),
        }
    }
}
