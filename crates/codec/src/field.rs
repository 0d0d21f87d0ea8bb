//! Fields that many messages have: ids, addresses, names, numbers, lists.

use std::net::{SocketAddr, SocketAddrV6};

use hyperscale_types::{NodeId, Role};
use hyperscale_wire::limits::WORD_MAX;
use hyperscale_wire::messages;

use crate::Unreadable;

pub(crate) fn node(field: &'static str, number: u64) -> Result<NodeId, Unreadable> {
    NodeId::new(number).ok_or(Unreadable::Missing(field))
}

pub(crate) fn address_out(address: SocketAddr) -> String {
    without_scope(address).to_string()
}

pub(crate) fn address(field: &'static str, text: &str) -> Result<SocketAddr, Unreadable> {
    text.parse().map(without_scope).map_err(|_| Unreadable::BadAddress(field))
}

/// The scope of a link-local address means something on its own host only.
fn without_scope(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(_) => address,
        SocketAddr::V6(address) => SocketAddrV6::new(*address.ip(), address.port(), 0, 0).into(),
    }
}

pub(crate) fn role(role: messages::Role) -> Result<Role, Unreadable> {
    match role {
        messages::Role::Unspecified => Err(Unreadable::Unknown("role")),
        messages::Role::Worker => Ok(Role::Worker),
        messages::Role::Manager => Ok(Role::Manager),
        messages::Role::Gate => Ok(Role::Gate),
    }
}

/// A name of bounded length: cores keep it.
pub(crate) fn name<T: From<String>>(field: &'static str, text: String) -> Result<T, Unreadable> {
    if text.len() > WORD_MAX { Err(Unreadable::OutOfRange(field)) } else { Ok(text.into()) }
}

pub(crate) fn small<T: TryFrom<u32>>(field: &'static str, number: u32) -> Result<T, Unreadable> {
    T::try_from(number).map_err(|_| Unreadable::OutOfRange(field))
}

/// Reads a list and leaves out what names a word of a newer version.
pub(crate) fn list<M, T>(
    messages: Vec<M>,
    read: impl Fn(M) -> Result<T, Unreadable>,
) -> Result<Vec<T>, Unreadable> {
    let known = |message| match read(message) {
        Err(Unreadable::Unknown(_)) => None,
        other => Some(other),
    };
    messages.into_iter().filter_map(known).collect()
}
