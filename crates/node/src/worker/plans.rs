//! Plans on their way to this worker: asked for at the manager that dispatched an attempt, at another one if it is silent, checked
//! by their hash, unpacked, and kept while they are used.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyperscale_cluster::worker::Start;
use hyperscale_codec::log;
use hyperscale_consensus::BlobId;
use hyperscale_consensus::replica::ReplicaMessage;
use hyperscale_engine::data::Files;
use hyperscale_plan::model::Plan;
use hyperscale_types::{NodeId, Now};

use super::unpack::unpack;
use crate::transport::TransportHandle;

/// A manager that has not sent a plan by then is left for the next one; the transfer of a large plan may take longer and is
/// used all the same.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// Plans that are kept after they were used last. They take memory for their data files.
const KEPT_MAX: usize = 8;

/// A plan that attempts can run.
#[derive(Clone, Debug)]
pub(super) struct ReadyPlan {
    pub(super) plan: Arc<Plan>,
    pub(super) data: Files,
}

/// What became of a plan that arrived.
pub(super) struct PlanLoaded {
    pub(super) blob: BlobId,
    /// Or why it cannot be run here.
    pub(super) plan: Result<ReadyPlan, String>,
}

/// Whether a plan is here.
pub(super) enum Found {
    Ready(ReadyPlan),
    /// It was asked for.
    Asked,
}

/// All plans of a worker.
#[derive(Debug)]
pub(super) struct Plans {
    folder: PathBuf,
    managers: VecDeque<NodeId>,
    known: std::collections::BTreeSet<NodeId>,
    wanted: BTreeMap<BlobId, Wanted>,
    /// The one that was used last is the last.
    ready: VecDeque<(BlobId, ReadyPlan)>,
}

#[derive(Debug)]
struct Wanted {
    next: NodeId,
    ask_at: Now,
    is_loading: bool,
}

impl Plans {
    pub(super) fn new(folder: PathBuf) -> Self {
        // What a former life unpacked is of no use; what cannot be removed is found when it is in the way.
        let _ = std::fs::remove_dir_all(&folder);
        Self {
            folder,
            managers: VecDeque::new(),
            known: std::collections::BTreeSet::new(),
            wanted: BTreeMap::new(),
            ready: VecDeque::new(),
        }
    }

    pub(super) fn manager_seen(&mut self, node: NodeId) {
        self.known.insert(node);
        if !self.managers.contains(&node) {
            self.managers.push_back(node);
        }
    }

    pub(super) fn manager_gone(&mut self, node: NodeId) {
        self.managers.retain(|manager| *manager != node);
    }

    pub(super) fn is_manager(&self, node: NodeId) -> bool {
        self.known.contains(&node)
    }

    /// The plan of an attempt, or the promise that it was asked for.
    pub(super) fn find(&mut self, now: Now, start: &Start, transport: &TransportHandle) -> Found {
        if let Some(at) = self.ready.iter().position(|(blob, _)| *blob == start.plan)
            && let Some(used) = self.ready.remove(at)
        {
            let plan = used.1.clone();
            self.ready.push_back(used);
            return Found::Ready(plan);
        }
        self.wanted.entry(start.plan).or_insert(Wanted { next: start.from, ask_at: now, is_loading: false });
        self.ask(now, transport);
        Found::Asked
    }

    /// Asks for what is wanted and was not asked for lately.
    pub(super) fn ask(&mut self, now: Now, transport: &TransportHandle) {
        for (blob, wanted) in &mut self.wanted {
            if wanted.is_loading || now < wanted.ask_at {
                continue;
            }
            wanted.ask_at = now.plus(ASK_AGAIN);
            // A group's name is of no importance for blobs.
            let question = log::to_outgoing("", ReplicaMessage::BlobGet { blob: *blob });
            if let Err(error) = transport.send(wanted.next, question) {
                tracing::debug!(node = %wanted.next, %error, "a plan was not asked for");
            }
            self.managers.rotate_left(usize::from(!self.managers.is_empty()));
            wanted.next = self.managers.front().copied().unwrap_or(wanted.next);
        }
    }

    /// When to ask again.
    pub(super) fn next(&self) -> Now {
        let waits = self.wanted.values().filter(|wanted| !wanted.is_loading);
        waits.map(|wanted| wanted.ask_at).min().unwrap_or(Now::NEVER)
    }

    /// A blob arrived. Returns the work of reading it, if it is a plan that is wanted.
    pub(super) fn arrived(
        &mut self,
        blob: BlobId,
        bytes: Bytes,
    ) -> Option<impl FnOnce() -> PlanLoaded + Send + 'static> {
        let wanted = self.wanted.get_mut(&blob).filter(|wanted| !wanted.is_loading)?;
        if BlobId::of(&bytes) != blob {
            tracing::warn!(?blob, "a plan arrived damaged; asking for it again");
            return None;
        }
        wanted.is_loading = true;
        let folder = self.folder.clone();
        Some(move || PlanLoaded { blob, plan: unpack(&folder, blob, &bytes) })
    }

    /// Keeps a plan that was loaded; those not used for longest make room.
    pub(super) fn keep(&mut self, blob: BlobId, plan: Option<ReadyPlan>) {
        self.wanted.remove(&blob);
        self.ready.extend(plan.map(|plan| (blob, plan)));
        while self.ready.len() > KEPT_MAX {
            self.ready.pop_front();
        }
    }
}
