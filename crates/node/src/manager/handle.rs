//! What happens to a node, told to the replica, the failure detector and the layer.

use std::net::SocketAddr;

use hyperscale_codec::log;
use hyperscale_consensus::replica::{Input, WireOutcome};
use hyperscale_consensus::{Machine, record};
use hyperscale_swim::{Command, EmbeddedState};
use hyperscale_types::{NodeId, Now, Role};
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::Incoming;
use hyperscale_wire::hello::Peer;
use hyperscale_wire::messages::{Bulk, Control, bulk, control};

use super::{Call, Driver, DriverError, Happening, Layer};
use crate::disk::DiskEvent;
use crate::transport::Destination;
use crate::{clock, membership, transport};

impl<M, L> Driver<M, L>
where
    M: Machine,
    M::Outcome: WireOutcome + Clone,
    L: Layer<M>,
{
    pub(super) fn handle(&mut self, happening: Happening<M>) -> Result<(), DriverError> {
        match happening {
            Happening::Transport(event) => self.transport_event(event),
            Happening::Membership(event) => self.membership_event(event)?,
            Happening::Disk(event) => self.disk_event(event)?,
            Happening::Call(Call::Request(request, reply)) => {
                let call = self.calls.begin(reply);
                self.input(Input::Call { call, request });
            }
            Happening::Call(Call::Look(look)) => look(&self.replica),
            Happening::Timer => self.tick(),
        }
        self.perform()
    }

    pub(super) fn input(&mut self, input: Input) {
        self.replica.handle(clock::now(), input, &mut self.outputs);
    }

    /// The runtime's timer may be early, and it rings for the contacts too.
    fn tick(&mut self) {
        let now: Now = clock::now();
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            let lhm = self.hands.membership.view().lhm;
            self.input(Input::Health(lhm));
            self.input(Input::Timer);
        }
    }

    fn disk_event(&mut self, event: DiskEvent) -> Result<(), DriverError> {
        match event {
            DiskEvent::Persisted(ticket) => self.input(Input::Persisted(ticket)),
            DiskEvent::BlobStored(blob) => self.input(Input::BlobStored(blob)),
            DiskEvent::BlobRead { blob, to, bytes } => self.input(Input::BlobRead { blob, to, bytes }),
            DiskEvent::SnapshotMade(snapshot) => self.input(Input::SnapshotMade(snapshot)),
            DiskEvent::Full(_) => {}
            DiskEvent::Failed(disk, error) => return Err(DriverError::Disk(disk, error)),
        }
        Ok(())
    }

    fn transport_event(&mut self, event: transport::Event) {
        use transport::Event;
        match event {
            Event::PeerUp { peer, address, is_dialled, .. } => {
                self.peer_up(&peer, is_dialled.then_some(address));
            }
            Event::PeerDown { node, lane: Lane::Control, is_last: true, .. } => {
                self.input(Input::PeerGone(node));
            }
            Event::PeerDown { .. } => {}
            Event::Incoming { from, role, message } => self.incoming(from, role, message),
            Event::Undelivered { to: Destination::Node(to), lane } => {
                self.input(Input::Undelivered { to, lane });
            }
            Event::Undelivered { .. } => {}
            Event::ConnectionFailed { node, boot } => {
                self.order(Command::ConnectionFailed { node, boot });
            }
        }
    }

    /// A hello says which node a configured peer is, what it understands and where it is.
    fn peer_up(&mut self, peer: &Peer, dialled: Option<SocketAddr>) {
        let node = peer.node;
        let addresses = record::addresses_in(&peer.said).ok();
        let said = addresses.map(|addresses| addresses.peer);
        let contacts = &mut self.contacts;
        let is_contact = [dialled, said].into_iter().flatten().filter(|at| contacts.reached(*at)).count() > 0;
        if is_contact {
            self.input(Input::PeerReached(node));
        }
        self.input(Input::PeerVersion { node, version: peer.newest });
        if let Some(addresses) = addresses {
            self.input(Input::PeerAddresses { node, addresses, boot: peer.boot });
        }
    }

    fn incoming(&mut self, from: NodeId, role: Role, message: Incoming) {
        match message {
            Incoming::Control(Control { body: Some(control::Body::Membership(message)), .. }) => {
                // A detector that is behind misses it, as it would miss a datagram.
                let _ = self.hands.membership.stream(from, message);
            }
            message if is_of_log(&message) => self.log_message(from, message),
            message => {
                // An error may answer a question of the replica or one of the layer; each knows its numbers.
                if let Incoming::Control(message) = &message
                    && message.answer
                    && matches!(message.body, Some(control::Body::Error(_)))
                {
                    self.log_message(from, Incoming::Control(message.clone()));
                }
                self.layer.incoming(clock::now(), (from, role), message, &mut self.wants);
            }
        }
    }

    fn log_message(&mut self, from: NodeId, message: Incoming) {
        match log::from_incoming(&self.group, from, message) {
            Ok(messages) => {
                for message in messages {
                    self.input(Input::Message { from, message });
                }
            }
            Err(error) => tracing::warn!(node = %from, %error, "a message of the log cannot be read"),
        }
    }

    fn membership_event(&mut self, event: membership::Event) -> Result<(), DriverError> {
        use hyperscale_swim::Event as Swim;
        let event = match event {
            membership::Event::Swim(event) => event,
            // For the federation core, which comes with the roles that need it.
            membership::Event::Cross(..) => return Ok(()),
            membership::Event::Failed(error) => return Err(DriverError::Membership(error)),
        };
        match &event {
            Swim::Joined { peer, .. } => self.hands.transport.know(peer.node, peer.addr),
            Swim::Died { node, .. } => self.input(Input::PeerGone(*node)),
            Swim::StateChanged { node, state } if !matches!(state.state, EmbeddedState::Worker(_)) => {
                self.input(Input::PeerHealth { node: *node, lhm: state.state.lhm() });
            }
            Swim::LoadChanged { lhm, .. } => self.input(Input::Health(*lhm)),
            _ => {}
        }
        self.layer.membership(clock::now(), &event, &mut self.wants);
        Ok(())
    }

    pub(super) fn order(&mut self, command: Command) {
        if let Err(error) = self.hands.membership.command(command) {
            tracing::warn!(%error, "the failure detector did not take a command");
        }
    }
}

/// Whether only replicas say this to each other.
fn is_of_log(message: &Incoming) -> bool {
    use {bulk::Body as B, control::Body as C};
    match message {
        Incoming::Control(Control { body: Some(body), .. }) => matches!(
            body,
            C::Raft(_)
                | C::Propose(_)
                | C::Proposed(_)
                | C::ReadIndex(_)
                | C::ReadIndexAnswer(_)
                | C::BootstrapQuery(_)
                | C::BootstrapAnswer(_)
        ),
        Incoming::Bulk(Bulk { body: Some(body), .. }) => matches!(body, B::BlobPutAnswer(_) | B::BlobGet(_)),
        Incoming::Transfer(Bulk { body: Some(body), .. }, _) => {
            matches!(body, B::Snapshot(_) | B::BlobPut(_) | B::BlobData(_))
        }
        _ => false,
    }
}
