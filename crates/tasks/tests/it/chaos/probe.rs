//! Reports and duties under rights that are gone, sent on purpose: all must be rejected.

use std::collections::BTreeMap;

use hyperscale_tasks::domain::{BootId, Epoch, EventKind, Fence, Outcome, Position, Report, TaskId};
use hyperscale_tasks::store::{Leadership, Store, StoreError, Sweep};
use serde_json::json;

use super::checker::Verdict;
use super::ledger::Book;

/// Events of one look.
const PAGE: usize = 5_000;

/// Leases that were seen, and how what was sent under old ones was received.
#[derive(Debug, Default)]
pub(super) struct Probe {
    after: Position,
    newest: BTreeMap<TaskId, Fence>,
    /// Old leases of tasks that have had another one since.
    stale: Vec<(TaskId, Fence)>,
    pub(super) rejected: usize,
    pub(super) leaders_rejected: usize,
    accepted: Vec<TaskId>,
}

impl Probe {
    /// Follows the events; a task that is leased again is reported as completed under its old lease at once.
    pub(super) async fn look(&mut self, store: &dyn Store) {
        let Ok(events) = store.events(None, self.after, PAGE).await else { return };
        let mut forged = Vec::new();
        for event in events {
            self.after = event.position;
            let (EventKind::Assigned, Some(fence)) = (event.kind, event.fence) else { continue };
            if let Some(old) = self.newest.insert(event.task, fence) {
                self.stale.push((event.task, old));
                forged.push((event.task, old));
            }
        }
        self.send(store, &forged).await;
    }

    async fn send(&mut self, store: &dyn Store, forged: &[(TaskId, Fence)]) {
        if forged.is_empty() {
            return;
        }
        let outcome = || Outcome::Completed(json!({"nonce": "forged"}));
        let reports =
            forged.iter().map(|(task, fence)| Report { task: *task, fence: *fence, outcome: outcome() });
        if let Ok(accepted) = store.finish(reports.collect()).await {
            self.rejected += forged.len() - accepted.len();
            self.accepted.extend(accepted);
        }
    }

    /// Everything that is stale once more, and duties of every leader but the last.
    pub(super) async fn finish(&mut self, store: &dyn Store, book: &Book, verdict: &mut Verdict) {
        let stale = std::mem::take(&mut self.stale);
        for page in stale.chunks(PAGE) {
            self.send(store, page).await;
        }
        verdict.must(self.accepted.is_empty(), || {
            format!("{} stale reports were accepted", self.accepted.len())
        });
        let old = book.leaders.len().saturating_sub(1);
        for (epoch, leaders) in book.leaders.iter().take(old) {
            let (process, node) = &leaders[0];
            let leadership = Leadership {
                node: node.clone(),
                boot: BootId(process.parse().unwrap()),
                epoch: Epoch(*epoch),
            };
            let sweep = Sweep { max_crashes: 3, dead: Vec::new(), after: None, limit: 10 };
            let swept = store.sweep(&leadership, &sweep).await;
            let is_rejected = matches!(swept, Err(StoreError::StaleEpoch(_)));
            self.leaders_rejected += usize::from(is_rejected);
            verdict.must(is_rejected, || format!("a sweep of epoch {epoch} was accepted"));
        }
    }
}
