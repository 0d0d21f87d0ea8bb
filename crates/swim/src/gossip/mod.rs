//! Gossip: which updates ride on which datagram, how often, and how the space is shared.

mod members;
mod quota;
mod rounds;

pub use members::MEMBER_UPDATES_MAX;

pub(crate) use members::MemberQueue;
pub(crate) use quota::{Quota, Waiting};
pub(crate) use rounds::{Offer, Rounds};
