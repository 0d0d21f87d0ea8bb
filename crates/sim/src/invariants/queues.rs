//! Every table and queue stays within its limit.

use hyperscale_swim::{
    ASTRAY_MAX, CONTACTS_MAX, DATAGRAM_BYTES_MAX, GRAVES_MAX, Limits, RELAYS_MAX, Sizes, TOMBS_MAX, size,
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
                let sizes = seen.swim.sizes();
                if is_within(&sizes, &seen.swim.config().limits) {
                    Ok(())
                } else {
                    Err(format!("beyond its limits: {sizes:?}"))
                }
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

fn is_within(sizes: &Sizes, limits: &Limits) -> bool {
    sizes.members <= limits.members
        && sizes.tombs <= TOMBS_MAX
        && sizes.member_updates <= limits.member_updates
        && sizes.worker_updates <= limits.worker_updates
        && sizes.workers <= limits.workers
        && sizes.graves <= GRAVES_MAX
        && sizes.relays <= RELAYS_MAX
        && sizes.astray <= ASTRAY_MAX
        && sizes.contacts <= CONTACTS_MAX
        && sizes.audit <= limits.audit
}

#[cfg(test)]
mod tests {
    use hyperscale_swim::{Config, Datagram};

    use super::*;
    use crate::invariants::scene::{Scene, greeting};
    use crate::world::id_of;

    /// Everything as full as it may be.
    fn full(limits: &Limits) -> Sizes {
        Sizes {
            members: limits.members,
            tombs: TOMBS_MAX,
            member_updates: limits.member_updates,
            worker_updates: limits.worker_updates,
            workers: limits.workers,
            graves: GRAVES_MAX,
            relays: RELAYS_MAX,
            astray: ASTRAY_MAX,
            contacts: CONTACTS_MAX,
            audit: limits.audit,
        }
    }

    #[test]
    fn full_tables_and_queues_are_fine_and_one_more_in_any_of_them_is_not() {
        let limits = Config::lan().limits;
        assert!(is_within(&full(&limits), &limits));
        let fields: [fn(&mut Sizes) -> &mut usize; 10] = [
            |it| &mut it.members,
            |it| &mut it.tombs,
            |it| &mut it.member_updates,
            |it| &mut it.worker_updates,
            |it| &mut it.workers,
            |it| &mut it.graves,
            |it| &mut it.relays,
            |it| &mut it.astray,
            |it| &mut it.contacts,
            |it| &mut it.audit,
        ];
        for (place, field) in fields.into_iter().enumerate() {
            let mut sizes = full(&limits);
            *field(&mut sizes) += 1;
            assert!(!is_within(&sizes, &limits), "field {place}");
        }
        assert_eq!(Scene::of(&[0, 0]).ask(&mut Queues, 0, 1, What::Handled), Ok(()));
    }

    #[test]
    fn datagram_beyond_its_size_is_objected_to() {
        let scene = Scene::of(&[0, 0]);
        let mut datagram = greeting(0);
        let sent = |datagram: &Datagram| scene.ask(&mut Queues, 0, 1, What::Sent { to: id_of(1), datagram });
        assert_eq!(sent(&datagram), Ok(()));
        datagram.members = vec![datagram.from.alive(); DATAGRAM_BYTES_MAX];
        assert!(sent(&datagram).is_err());
    }
}
