//! News about members and workers.

use std::sync::Arc;

use hyperscale_swim::{
    Claim, Incarnation, MemberUpdate, Peer, Sender, Status, WorkerMembership, WorkerUpdate, WorkerVersion,
};
use hyperscale_types::{BootEpoch, NodeId, Token};
use hyperscale_wire::messages::{self, MemberState};

use crate::Unreadable;
use crate::field::{address, address_out, list, name, node, role, small};

pub(crate) fn sender_out(sender: &Sender) -> messages::Sender {
    messages::Sender {
        node_id: sender.peer.node.get(),
        address: address_out(sender.peer.addr),
        role: messages::Role::from(sender.peer.role).into(),
        boot_epoch: sender.boot.0,
        incarnation: sender.incarnation.0,
    }
}

/// Reads a sender, which must be the node that sealed the message.
pub(crate) fn sender(message: Option<messages::Sender>, sealed_by: NodeId) -> Result<Sender, Unreadable> {
    let message = message.ok_or(Unreadable::Missing("from"))?;
    if message.node_id != sealed_by.get() {
        return Err(Unreadable::Impersonated);
    }
    let addr = address("from.address", &message.address)?;
    Ok(Sender {
        peer: Peer { node: sealed_by, addr, role: role(message.role())? },
        boot: BootEpoch(message.boot_epoch),
        incarnation: Incarnation(message.incarnation),
    })
}

pub(crate) fn members_out(updates: &[MemberUpdate]) -> Vec<messages::MemberUpdate> {
    updates.iter().map(member_out).collect()
}

pub(crate) fn members(updates: Vec<messages::MemberUpdate>) -> Result<Vec<MemberUpdate>, Unreadable> {
    list(updates, |update| member(&update))
}

fn member_out(update: &MemberUpdate) -> messages::MemberUpdate {
    let state = match update.claim.status {
        Status::Alive => MemberState::Alive,
        Status::Suspect => MemberState::Suspect,
        Status::Dead => MemberState::Dead,
        Status::Left => MemberState::Left,
    };
    messages::MemberUpdate {
        node_id: update.peer.node.get(),
        address: address_out(update.peer.addr),
        role: messages::Role::from(update.peer.role).into(),
        boot_epoch: update.claim.boot.0,
        incarnation: update.claim.incarnation.0,
        state: state.into(),
        accuser: update.accuser.get(),
    }
}

fn member(update: &messages::MemberUpdate) -> Result<MemberUpdate, Unreadable> {
    let status = match update.state() {
        MemberState::Unspecified => return Err(Unreadable::Unknown("members.state")),
        MemberState::Alive => Status::Alive,
        MemberState::Suspect => Status::Suspect,
        MemberState::Dead => Status::Dead,
        MemberState::Left => Status::Left,
    };
    Ok(MemberUpdate {
        peer: Peer {
            node: node("members.node_id", update.node_id)?,
            addr: address("members.address", &update.address)?,
            role: role(update.role())?,
        },
        claim: Claim {
            boot: BootEpoch(update.boot_epoch),
            incarnation: Incarnation(update.incarnation),
            status,
        },
        accuser: node("members.accuser", update.accuser)?,
    })
}

pub(crate) fn workers_out(updates: &[Arc<WorkerUpdate>]) -> Vec<messages::WorkerUpdate> {
    updates.iter().map(|update| worker_out(update)).collect()
}

pub(crate) fn workers(updates: Vec<messages::WorkerUpdate>) -> Result<Vec<Arc<WorkerUpdate>>, Unreadable> {
    list(updates, worker)
}

pub(crate) fn worker_out(update: &WorkerUpdate) -> messages::WorkerUpdate {
    let membership = match update.membership {
        WorkerMembership::Registered => messages::WorkerMembership::Registered,
        WorkerMembership::Dead => messages::WorkerMembership::Dead,
        WorkerMembership::Evicted => messages::WorkerMembership::Evicted,
        WorkerMembership::Left => messages::WorkerMembership::Left,
    };
    messages::WorkerUpdate {
        worker: update.worker.get(),
        owner: update.owner.get(),
        worker_boot: update.version.boot.0,
        owner_token: update.version.owner_token.0,
        counter: update.version.counter,
        address: address_out(update.addr),
        api_address: update.api_addr.map(address_out).unwrap_or_default(),
        membership: membership.into(),
        cores_total: update.cores_total.into(),
        cores_available: update.cores_available.into(),
        datacenter: update.datacenter.as_ref().to_owned(),
    }
}

pub(crate) fn worker(update: messages::WorkerUpdate) -> Result<Arc<WorkerUpdate>, Unreadable> {
    let membership = match update.membership() {
        messages::WorkerMembership::Unspecified => return Err(Unreadable::Unknown("workers.membership")),
        messages::WorkerMembership::Registered => WorkerMembership::Registered,
        messages::WorkerMembership::Dead => WorkerMembership::Dead,
        messages::WorkerMembership::Evicted => WorkerMembership::Evicted,
        messages::WorkerMembership::Left => WorkerMembership::Left,
    };
    let api = Some(&update.api_address).filter(|text| !text.is_empty());
    Ok(Arc::new(WorkerUpdate {
        worker: node("workers.worker", update.worker)?,
        owner: node("workers.owner", update.owner)?,
        version: WorkerVersion {
            boot: BootEpoch(update.worker_boot),
            owner_token: Token(update.owner_token),
            counter: update.counter,
        },
        addr: address("workers.address", &update.address)?,
        api_addr: api.map(|text| address("workers.api_address", text)).transpose()?,
        membership,
        cores_total: small("workers.cores_total", update.cores_total)?,
        cores_available: small("workers.cores_available", update.cores_available)?,
        datacenter: name("workers.datacenter", update.datacenter)?,
    }))
}
