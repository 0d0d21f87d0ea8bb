//! Does what the core asks for, in the order it asks.

use hyperscale_cluster::encoding::{to_peer_out, to_worker_out};
use hyperscale_cluster::manager::Output;
use hyperscale_codec::log;
use hyperscale_consensus::register::Outcome;
use hyperscale_consensus::replica::{self, ReplicaMessage};
use hyperscale_consensus::{Event as GroupEvent, replica::Output as ReplicaOutput};
use hyperscale_stats::event::Event;
use hyperscale_swim::Command;
use hyperscale_types::NodeId;
use hyperscale_wire::class::Lane;
use hyperscale_wire::connection::Outgoing;

use super::{JobNews, ManagerError, ManagerLoop, name_workers};
use crate::disk::{BlobReader, BlobWork};

impl ManagerLoop {
    /// Performs everything, and what follows from it, until nothing is left.
    pub(super) fn perform(&mut self) -> Result<(), ManagerError> {
        while !self.outputs.is_empty() {
            for output in std::mem::take(&mut self.outputs) {
                self.output(output)?;
            }
        }
        Ok(())
    }

    fn output(&mut self, output: Output) -> Result<(), ManagerError> {
        match output {
            Output::Replica(output) => self.replica_output(output)?,
            Output::SendPeer { to, message } => self.say(to, to_peer_out(message)),
            Output::SendWorker { to, message } => self.say(to, to_worker_out(message)),
            Output::ReadBlob { read, blob } => {
                self.blobs.order(BlobWork::Read { blob, reader: BlobReader::Manager(read) })?;
            }
            Output::Respond { request, response } => {
                if let Some(client) = self.requests.remove(&request) {
                    // Nobody may wait for it any more.
                    let _ = client.send(response);
                }
            }
            Output::Emit { job, token, mut event } => {
                match &mut *event {
                    Event::Snapshot(snapshot) => name_workers(&mut snapshot.result, &self.names),
                    Event::Finished(result) => name_workers(result, &self.names),
                    _ => {}
                }
                self.outlet.tell(JobNews { job, token, event });
            }
            Output::Timer(at) => self.timer = Some(at),
            Output::Left => {
                tracing::info!("this manager is no member of its group any more");
                self.order(Command::Leave);
                self.has_left = true;
            }
        }
        Ok(())
    }

    /// Says something that may be lost: whoever needs a response asks again.
    pub(super) fn say(&mut self, to: NodeId, outgoing: Outgoing) {
        if let Err(error) = self.hands.transport.send(to, outgoing) {
            tracing::debug!(node = %to, %error, "a message was not sent");
        }
    }

    fn replica_output(&mut self, output: ReplicaOutput<Outcome>) -> Result<(), ManagerError> {
        match output {
            ReplicaOutput::Persist(batch) => self.log.persist(batch)?,
            ReplicaOutput::MakeSnapshot(job) => self.blobs.order(BlobWork::MakeSnapshot(job))?,
            ReplicaOutput::Send { to, lane, message } => self.send(to, lane, message),
            ReplicaOutput::PutBlob { blob, bytes } => self.blobs.order(BlobWork::Put { blob, bytes })?,
            ReplicaOutput::ReadBlob { blob, to } => {
                self.blobs.order(BlobWork::Read { blob, reader: BlobReader::Replica(to) })?;
            }
            ReplicaOutput::RemoveBlob(blob) => self.blobs.order(BlobWork::Remove(blob))?,
            ReplicaOutput::Reply { call, reply } => self.calls.end(call, reply),
            // The core has its own timer, and has dealt with what was applied.
            ReplicaOutput::Timer(_) | ReplicaOutput::Applied(_) => {}
            ReplicaOutput::Event(event) => {
                if let GroupEvent::ConfigurationChanged(_) | GroupEvent::SnapshotRestored { .. } = event {
                    self.learn_addresses();
                }
                self.counts.leader_changes += u64::from(matches!(event, GroupEvent::LeaderChanged { .. }));
                self.counts.snapshots_restored +=
                    u64::from(matches!(event, GroupEvent::SnapshotRestored { .. }));
                self.events.group(&event, self.core.replica().group());
                show(&event);
            }
            ReplicaOutput::Waiting { known_by, reason } => {
                tracing::warn!(%known_by, ?reason, "this node cannot join its group by itself");
            }
            ReplicaOutput::Opened(id) => {
                tracing::info!(raft_id = %id, "takes part in its group");
                self.learn_addresses();
            }
            ReplicaOutput::Failed(error) => return Err(ManagerError::Start(error)),
        }
        Ok(())
    }

    fn send(&mut self, to: NodeId, lane: Lane, message: ReplicaMessage) {
        let sent = self.hands.transport.send(to, log::to_outgoing(&self.group, message));
        if sent.is_err() {
            self.replica(replica::Input::Undelivered { to, lane });
        }
    }

    /// Members that nobody has spoken to in this life are where the log says that they are. Membership tries them too: all
    /// configured peers may be gone for ever, and be replaced by others that only the log names.
    fn learn_addresses(&mut self) {
        let Some(group) = self.core.replica().group() else { return };
        let mut contacts = Vec::new();
        for member in group.roster().members() {
            self.hands.transport.suggest(member.node, member.addresses.peer);
            contacts.push(member.addresses.peer);
            self.newcomers.joined(member.node);
        }
        self.order(Command::Join { contacts });
    }
}

fn show(event: &GroupEvent) {
    match event {
        GroupEvent::Halted(halt) => tracing::error!(%halt, "the replica has stopped"),
        GroupEvent::PeerDiverged { .. } => tracing::error!(?event, "a replica differs"),
        GroupEvent::Refused { .. } => tracing::debug!(?event, "a message of the log was refused"),
        _ => tracing::info!(?event, "log group"),
    }
}
