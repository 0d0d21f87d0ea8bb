//! What happens to a node, told to the core and the failure detector.

use std::net::SocketAddr;

use hyperscale_cluster::encoding::{to_manager_in, to_peer_in};
use hyperscale_cluster::manager::{Input, RequestNumber};
use hyperscale_codec::log;
use hyperscale_consensus::record;
use hyperscale_consensus::replica::{self, ReplicaMessage};
use hyperscale_swim::{Command, EmbeddedState};
use hyperscale_types::{NodeId, Role};
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::Incoming;
use hyperscale_wire::hello::Peer;
use hyperscale_wire::messages::{Bulk, Control, bulk, control};

use super::calls::Seen;
use super::{Call, Happening, ManagerError, ManagerLoop};
use crate::disk::{BlobReader, BlobWork, DiskEvent};
use crate::transport::Destination;
use crate::{clock, membership, transport};

impl ManagerLoop {
    pub(super) fn handle(&mut self, happening: Happening) -> Result<(), ManagerError> {
        match happening {
            Happening::Transport(event) => self.transport_event(event)?,
            Happening::Membership(event) => self.membership_event(event)?,
            Happening::Disk(event) => self.disk_event(event)?,
            Happening::Call(call) => self.call(call)?,
            Happening::Timer => self.tick(),
        }
        self.perform()
    }

    fn input(&mut self, input: Input) {
        self.core.handle(clock::now(), input, &mut self.outputs);
    }

    pub(super) fn replica(&mut self, input: replica::Input) {
        self.input(Input::Replica(input));
    }

    /// The runtime's timer may be early, and it rings for the contacts too.
    fn tick(&mut self) {
        if self.timer.is_some_and(|at| at <= clock::now()) {
            self.timer = None;
            let lhm = self.hands.membership.view().lhm;
            self.replica(replica::Input::Health(lhm));
            self.tell_about();
            self.input(Input::Timer);
            self.events.workers(clock::now(), &self.core);
        }
    }

    fn call(&mut self, call: Call) -> Result<(), ManagerError> {
        match call {
            Call::Replica(request, reply) => {
                let call = self.calls.begin(reply);
                self.replica(replica::Input::Call { call, request });
            }
            Call::Client(what, response) => {
                self.last_request += 1;
                let request = RequestNumber(self.last_request);
                self.requests.insert(request, response);
                self.input(Input::Request { request, what });
            }
            Call::Look(look) => {
                look(Seen {
                    manager: &self.core,
                    names: &self.names,
                    counts: self.counts,
                    events: &self.events,
                    newcomers: &self.newcomers,
                });
            }
            Call::Read(blob, caller) => {
                self.blobs.order(BlobWork::Read { blob, reader: BlobReader::Caller(caller) })?;
            }
        }
        Ok(())
    }

    fn disk_event(&mut self, event: DiskEvent) -> Result<(), ManagerError> {
        match event {
            DiskEvent::Persisted(ticket) => self.replica(replica::Input::Persisted(ticket)),
            DiskEvent::BlobStored(blob) => self.replica(replica::Input::BlobStored(blob)),
            DiskEvent::BlobRead { blob, reader, bytes } => match reader {
                BlobReader::Replica(to) => self.replica(replica::Input::BlobRead { blob, to, bytes }),
                BlobReader::Manager(read) => self.input(Input::BlobRead { read, bytes }),
                BlobReader::Worker(to) => {
                    if let Some(bytes) = bytes {
                        let message = ReplicaMessage::BlobData { blob, bytes };
                        self.say(to, log::to_outgoing(&self.group, message));
                    }
                }
                BlobReader::Caller(caller) => {
                    // Nobody may wait for it any more.
                    let _ = caller.send(bytes);
                }
            },
            DiskEvent::SnapshotMade(snapshot) => self.replica(replica::Input::SnapshotMade(snapshot)),
            DiskEvent::Full(_) => {}
            DiskEvent::Failed(disk, error) => return Err(ManagerError::Disk(disk, error)),
        }
        Ok(())
    }

    fn transport_event(&mut self, event: transport::Event) -> Result<(), ManagerError> {
        use transport::Event;
        match event {
            Event::PeerUp { peer, address, is_dialled, .. } => {
                self.peer_up(&peer, is_dialled.then_some(address));
            }
            Event::PeerDown { node, lane: Lane::Control, is_last: true, .. } => {
                self.replica(replica::Input::PeerGone(node));
            }
            Event::PeerDown { .. } => {}
            Event::Incoming { from, role, message } => self.incoming(from, role, message)?,
            Event::Undelivered { to: Destination::Node(to), lane } => {
                self.replica(replica::Input::Undelivered { to, lane });
            }
            Event::Undelivered { .. } => {}
            Event::ConnectionFailed { node, boot } => {
                self.order(Command::ConnectionFailed { node, boot });
            }
        }
        Ok(())
    }

    /// A hello says which node a configured peer is, what it understands and where it is.
    fn peer_up(&mut self, peer: &Peer, dialled: Option<SocketAddr>) {
        let node = peer.node;
        if !peer.said.name.is_empty() {
            self.names.insert(node, peer.said.name.clone());
        }
        let addresses = record::addresses_in(&peer.said).ok();
        if peer.role == Role::Worker {
            if let Some(addresses) = addresses {
                self.hands.transport.suggest(node, addresses.peer);
            }
            return;
        }
        let said = addresses.map(|addresses| addresses.peer);
        let contacts = &mut self.contacts;
        let is_contact = [dialled, said].into_iter().flatten().filter(|at| contacts.reached(*at)).count() > 0;
        if is_contact {
            self.replica(replica::Input::PeerReached(node));
        }
        self.replica(replica::Input::PeerVersion { node, version: peer.newest });
        if let Some(addresses) = addresses {
            if peer.role == Role::Manager && !self.is_member(node) {
                self.newcomers.met(node, addresses);
            }
            self.replica(replica::Input::PeerAddresses { node, addresses, boot: peer.boot });
        }
    }

    fn is_member(&self, node: NodeId) -> bool {
        let group = self.core.replica().group();
        group.is_some_and(|group| group.roster().members().any(|member| member.node == node))
    }

    fn incoming(&mut self, from: NodeId, role: Role, message: Incoming) -> Result<(), ManagerError> {
        match (role, message) {
            (_, Incoming::Control(Control { body: Some(control::Body::Membership(message)), .. })) => {
                // A detector that is behind misses it, as it would miss a datagram.
                let _ = self.hands.membership.stream(from, message);
            }
            (Role::Worker, Incoming::Bulk(Bulk { body: Some(bulk::Body::BlobGet(get)), .. })) => {
                match log::blob_in(get.blob) {
                    Ok(blob) => {
                        self.blobs.order(BlobWork::Read { blob, reader: BlobReader::Worker(from) })?;
                    }
                    Err(error) => unreadable(from, &error),
                }
            }
            (Role::Worker, message) => match to_manager_in(message) {
                Ok(Some(message)) => self.input(Input::Worker { from, message }),
                Ok(None) => {}
                Err(error) => unreadable(from, &error),
            },
            (_, message) if log::is_of_log(&message) => {
                match log::from_incoming(&self.group, from, message) {
                    Ok(messages) => {
                        for message in messages {
                            if let ReplicaMessage::BootstrapQuery { directory } = &message {
                                self.newcomers.asked(from, *directory);
                            }
                            self.replica(replica::Input::Message { from, message });
                        }
                    }
                    Err(error) => unreadable(from, &error),
                }
            }
            (_, message) => match to_peer_in(message) {
                Ok(Some(message)) => self.input(Input::Peer { from, message }),
                Ok(None) => {}
                Err(error) => unreadable(from, &error),
            },
        }
        Ok(())
    }

    fn membership_event(&mut self, event: membership::Event) -> Result<(), ManagerError> {
        use hyperscale_swim::Event as Swim;
        let event = match event {
            membership::Event::Swim(event) => event,
            // For gates, which watch the datacenter from outside.
            membership::Event::Cross(..) => return Ok(()),
            membership::Event::Failed(error) => return Err(ManagerError::Membership(error)),
        };
        self.events.membership(&event);
        match event {
            Swim::Joined { peer, .. } => {
                self.hands.transport.know(peer.node, peer.addr);
                self.input(Input::Alive(peer.node));
            }
            Swim::Refuted { node } => self.input(Input::Alive(node)),
            Swim::Died { node, .. } | Swim::Left { node } => self.input(Input::Died(node)),
            Swim::StateChanged { node, state } if !matches!(state.state, EmbeddedState::Worker(_)) => {
                self.replica(replica::Input::PeerHealth { node, lhm: state.state.lhm() });
            }
            Swim::LoadChanged { lhm, level } => {
                self.about.level = level;
                self.replica(replica::Input::Health(lhm));
            }
            Swim::Superseded { .. } => return Err(ManagerError::Superseded),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn order(&mut self, command: Command) {
        if let Err(error) = self.hands.membership.command(command) {
            tracing::warn!(%error, "the failure detector did not take a command");
        }
    }
}

fn unreadable(from: NodeId, error: &dyn std::error::Error) {
    tracing::warn!(node = %from, %error, "a message cannot be read");
}
