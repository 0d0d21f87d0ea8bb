//! Does what the replica and the layer ask for, in the order they ask.

use hyperscale_codec::log;
use hyperscale_consensus::replica::{Input, Output, ReplicaMessage, WireOutcome};
use hyperscale_consensus::{Event, Machine};
use hyperscale_swim::Command;
use hyperscale_types::NodeId;
use hyperscale_wire::class::Lane;

use super::{Driver, DriverError, Layer, Want};
use crate::clock;
use crate::disk::BlobWork;

impl<M, L> Driver<M, L>
where
    M: Machine,
    M::Outcome: WireOutcome + Clone,
    L: Layer<M>,
{
    /// Performs everything, and what follows from it, until nothing is left.
    pub(super) fn perform(&mut self) -> Result<(), DriverError> {
        loop {
            let outputs = std::mem::take(&mut self.outputs);
            for output in outputs {
                self.layer.output(clock::now(), &self.replica, &output, &mut self.wants);
                self.output(output)?;
            }
            for want in std::mem::take(&mut self.wants) {
                self.want(want);
            }
            if self.outputs.is_empty() && self.wants.is_empty() {
                return Ok(());
            }
        }
    }

    fn output(&mut self, output: Output<M::Outcome>) -> Result<(), DriverError> {
        match output {
            Output::Persist(batch) => self.log.persist(batch)?,
            Output::MakeSnapshot(job) => self.blobs.order(BlobWork::MakeSnapshot(job))?,
            Output::Send { to, lane, message } => self.send(to, lane, message),
            Output::PutBlob { blob, bytes } => self.blobs.order(BlobWork::Put { blob, bytes })?,
            Output::ReadBlob { blob, to } => self.blobs.order(BlobWork::Read { blob, to })?,
            Output::RemoveBlob(blob) => self.blobs.order(BlobWork::Remove(blob))?,
            Output::Timer(at) => self.timer = Some(at),
            Output::Reply { call, reply } => self.calls.end(call, reply),
            Output::Applied(_) => {}
            Output::Event(event) => {
                if let Event::ConfigurationChanged(_) | Event::SnapshotRestored { .. } = event {
                    self.learn_addresses();
                }
                show(&event);
            }
            Output::Waiting { known_by, reason } => {
                tracing::warn!(%known_by, ?reason, "this node cannot join its group by itself");
            }
            Output::Opened(id) => {
                tracing::info!(raft_id = %id, "takes part in its group");
                self.learn_addresses();
            }
            Output::Failed(error) => return Err(DriverError::Start(error)),
        }
        Ok(())
    }

    fn send(&mut self, to: NodeId, lane: Lane, message: ReplicaMessage) {
        let sent = self.hands.transport.send(to, log::to_outgoing(&self.group, message));
        if sent.is_err() {
            self.input(Input::Undelivered { to, lane });
        }
    }

    /// Members that nobody has spoken to in this life are where the log says that they are. Membership tries them too: all
    /// configured peers may be gone for ever, and be replaced by others that only the log names.
    fn learn_addresses(&mut self) {
        let Some(group) = self.replica.group() else { return };
        let mut contacts = Vec::new();
        for member in group.roster().members() {
            self.hands.transport.suggest(member.node, member.addresses.peer);
            contacts.push(member.addresses.peer);
        }
        self.order(Command::Join { contacts });
    }

    fn want(&mut self, want: Want) {
        match want {
            Want::Replica(input) => self.input(input),
            Want::Send(to, outgoing) => {
                if let Err(error) = self.hands.transport.send(to, *outgoing) {
                    tracing::debug!(node = %to, %error, "a message was not sent");
                }
            }
            Want::Membership(command) => self.order(command),
        }
    }
}

fn show(event: &Event) {
    match event {
        Event::Halted(halt) => tracing::error!(%halt, "the replica has stopped"),
        Event::PeerDiverged { .. } => tracing::error!(?event, "a replica differs"),
        Event::Refused { .. } => tracing::debug!(?event, "a message of the log was refused"),
        _ => tracing::info!(?event, "log group"),
    }
}
