//! The shared store as the trait asks for it: which statements are one transaction, and who is told afterwards.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;

use super::super::placing::{Classes, open_to};
use super::super::{
    Candidate, Claim, Claimed, Effect, Fire, Held, Holder, Leader, Leadership, Liveness, Renewed, Result,
    Retained, Retention, Run, Store, StoreError, Submitted, Sweep, Swept,
};
#[cfg(feature = "bugs")]
use super::broken;
use super::lease::Found;
use super::transaction::transact;
use super::{
    PostgresStore, effect, leader, lease, message, node, read, retention, schedule, session, submit, sweep,
};
#[cfg(feature = "bugs")]
use crate::bugs::Bug;
use crate::domain::{
    BootId, Counts, Event, Filter, NewTree, NodeAges, NodeProfile, NodeRecord, Position, Report, Schedule,
    ScheduleId, ScheduleSpec, Task, TaskId, Timestamp, TreeMessage, TreeOverview, TreeTask,
};

impl PostgresStore {
    /// Claims from the classes that are known, and once more if there were new ones that may have what was asked for.
    async fn claim_tasks(&self, claim: &Claim, only: Option<TaskId>) -> Result<Vec<Claimed>> {
        let known = self.known_classes();
        let found = self.claim_from(&known, claim, only).await?;
        if found.classes == known.len() {
            return Ok(found.claimed);
        }
        let known = self.read_classes(&self.client().await?).await?;
        if found.claimed.is_empty() {
            return Ok(self.claim_from(&known, claim, only).await?.claimed);
        }
        Ok(found.claimed)
    }

    async fn claim_from(&self, known: &Classes, claim: &Claim, only: Option<TaskId>) -> Result<Found> {
        let open = open_to(known, &claim.node);
        if open.iter().any(|open| open.limit.is_some()) {
            return transact!(self, |tx| lease::claim(&tx, &open, claim, only));
        }
        lease::claim(&self.client().await?, &open, claim, only).await
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn now(&self) -> Result<Timestamp> {
        let row = self.client().await?.query_one("SELECT to_ms(clock_timestamp())", &[]).await?;
        Ok(Timestamp(row.get(0)))
    }

    async fn submit(&self, tree: NewTree) -> Result<Submitted> {
        let submitted = transact!(self, |tx| submit::submit(&tx, &tree))?;
        self.wake();
        Ok(submitted)
    }

    async fn claim(&self, claim: &Claim) -> Result<Vec<Claimed>> {
        self.claim_tasks(claim, None).await
    }

    async fn acquire(&self, claim: &Claim, task: TaskId) -> Result<Option<Claimed>> {
        Ok(self.claim_tasks(claim, Some(task)).await?.into_iter().next())
    }

    async fn executable(&self, node: &NodeProfile, limit: usize) -> Result<Vec<Task>> {
        read::executable(&self.client().await?, &*self.classes().await?, node, limit).await
    }

    async fn next_due(&self, node: &NodeProfile) -> Result<Option<Duration>> {
        let (client, known) = (self.client().await?, self.known_classes());
        let (wait, classes) = lease::next_due(&client, &open_to(&known, node)).await?;
        if classes == known.len() {
            return Ok(wait);
        }
        let known = self.read_classes(&client).await?;
        Ok(lease::next_due(&client, &open_to(&known, node)).await?.0)
    }

    async fn renew(&self, held: &[Held], lease: Duration) -> Result<Vec<Renewed>> {
        transact!(self, |tx| lease::renew(&tx, held, lease))
    }

    async fn finish(&self, reports: Vec<Report>) -> Result<Vec<TaskId>> {
        #[cfg(feature = "bugs")]
        let reports = if self.bugs.has(Bug::FinishWithoutFence) {
            transact!(self, |tx| broken::with_current_fences(&tx, &reports))?
        } else {
            reports
        };
        let finished = transact!(self, |tx| lease::finish(&tx, &reports))?;
        self.wake();
        Ok(finished)
    }

    async fn release(&self, held: &[Held]) -> Result<Vec<TaskId>> {
        let released = transact!(self, |tx| lease::release(&tx, held))?;
        self.wake();
        Ok(released)
    }

    async fn progress(&self, held: Held, part: f32) -> Result<bool> {
        lease::progress(&self.client().await?, held, part).await
    }

    async fn sweep(&self, leadership: &Leadership, sweep: &Sweep) -> Result<Swept> {
        #[cfg(feature = "bugs")]
        if self.bugs.has(Bug::SweepUnlocked) {
            transact!(self, |tx| broken::expire_what_looked_expired(&tx, sweep))?;
        }
        let leadership = &self.right(leadership).await?;
        if !sweep::is_needed(&self.client().await?, leadership, sweep).await? {
            return Ok(Swept::default());
        }
        let swept: Swept = transact!(self, |tx| sweep::sweep(&tx, leadership, sweep))?;
        if !swept.tasks.is_empty() {
            self.wake();
        }
        Ok(swept)
    }

    async fn cancel(&self, task: TaskId) -> Result<bool> {
        let asked = transact!(self, |tx| submit::cancel(&tx, task))?;
        self.wake();
        Ok(asked)
    }

    async fn cancel_tree(&self, task: TaskId) -> Result<u64> {
        let cancelled = transact!(self, |tx| submit::cancel_tree(&tx, task))?;
        self.wake();
        Ok(cancelled)
    }

    async fn retry(&self, task: TaskId) -> Result<()> {
        transact!(self, |tx| submit::retry(&tx, task))?;
        self.wake();
        Ok(())
    }

    async fn task(&self, task: TaskId) -> Result<Task> {
        read::task(&self.client().await?, &*self.classes().await?, task).await
    }

    async fn tasks(&self, filter: &Filter, limit: usize) -> Result<Vec<Task>> {
        read::tasks(&self.client().await?, &*self.classes().await?, filter, limit).await
    }

    async fn tree(&self, task: TaskId) -> Result<Vec<TreeTask>> {
        read::whole_tree(&self.client().await?, &*self.classes().await?, task).await
    }

    async fn message(&self, tree: TaskId) -> Result<Option<TreeMessage>> {
        message::of_tree(&self.client().await?, tree).await
    }

    async fn overviews(&self, context: Option<&str>, limit: usize) -> Result<Vec<TreeOverview>> {
        message::overviews(&self.client().await?, context, limit).await
    }

    async fn events(&self, task: Option<TaskId>, after: Position, limit: usize) -> Result<Vec<Event>> {
        read::events(&self.client().await?, task, after, limit).await
    }

    async fn tree_events(&self, tree: TaskId, after: Position, limit: usize) -> Result<Vec<Event>> {
        read::tree_events(&self.client().await?, tree, after, limit).await
    }

    async fn tree_end(&self, tree: TaskId) -> Result<Option<Position>> {
        read::tree_end(&self.client().await?, tree).await
    }

    async fn events_end(&self) -> Result<Position> {
        read::events_end(&self.client().await?).await
    }

    async fn counts(&self) -> Result<Counts> {
        read::counts(&self.client().await?).await
    }

    async fn acquire_leadership(&self, candidate: &Candidate) -> Result<Option<Leadership>> {
        #[cfg(feature = "bugs")]
        if self.bugs.has(Bug::RenewLeaderByName)
            && let Some(leadership) = broken::acquire_by_name(&self.client().await?, candidate).await?
        {
            return Ok(Some(leadership));
        }
        leader::acquire(&self.client().await?, candidate).await
    }

    async fn renew_leadership(&self, leadership: &Leadership, lease: Duration) -> Result<bool> {
        let leadership = self.right(leadership).await?;
        leader::renew(&self.client().await?, &leadership, lease).await
    }

    async fn release_leadership(&self, leadership: &Leadership) -> Result<()> {
        leader::release(&self.client().await?, leadership).await?;
        self.wake();
        Ok(())
    }

    async fn leader(&self) -> Result<Option<Leader>> {
        leader::current(&self.client().await?).await
    }

    async fn register_node(&self, node: &NodeRecord) -> Result<()> {
        let holds_lock = matches!(self.session.liveness(), Liveness::Held(_));
        node::register(&self.client().await?, node, holds_lock).await
    }

    async fn heartbeat(&self, node: &str, boot: BootId) -> Result<bool> {
        node::heartbeat(&self.client().await?, node, boot).await
    }

    async fn deregister_node(&self, node: &str, boot: BootId) -> Result<()> {
        node::deregister(&self.client().await?, node, boot).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRecord>> {
        node::all(&self.client().await?).await
    }

    async fn mark_nodes(&self, leadership: &Leadership, ages: NodeAges) -> Result<u64> {
        node::mark(&self.client().await?, leadership, ages).await
    }

    async fn put_schedule(&self, id: ScheduleId, spec: &ScheduleSpec) -> Result<Schedule> {
        let now = self.now().await?;
        let schedule = schedule::put(&self.client().await?, id, spec, now).await?;
        self.wake();
        Ok(schedule)
    }

    async fn remove_schedule(&self, schedule: ScheduleId) -> Result<bool> {
        schedule::remove(&self.client().await?, schedule).await
    }

    async fn pause_schedule(&self, schedule: ScheduleId, paused: bool) -> Result<Schedule> {
        let schedule = transact!(self, |tx| schedule::pause(&tx, schedule, paused))?;
        self.wake();
        Ok(schedule)
    }

    async fn trigger_schedule(&self, schedule: ScheduleId, tree: NewTree) -> Result<Submitted> {
        let submitted = transact!(self, |tx| schedule::trigger(&tx, schedule, &tree))?;
        self.wake();
        Ok(submitted)
    }

    async fn schedules(&self) -> Result<Vec<Schedule>> {
        schedule::all(&self.client().await?).await
    }

    async fn fire(&self, leadership: &Leadership, fire: Fire) -> Result<bool> {
        let fired = transact!(self, |tx| schedule::fire(&tx, leadership, &fire))?;
        self.wake();
        Ok(fired)
    }

    async fn runs(&self, schedule: ScheduleId, limit: usize) -> Result<Vec<Run>> {
        schedule::runs(&self.client().await?, schedule, limit).await
    }

    async fn begin_effect(&self, key: &str, held: Held) -> Result<Effect> {
        #[cfg(feature = "bugs")]
        if self.bugs.has(Bug::EffectPerLease) {
            transact!(self, |tx| broken::forget_other_leases(&tx, key, held))?;
        }
        transact!(self, |tx| effect::begin(&tx, key, held))
    }

    async fn finish_effect(&self, key: &str, held: Held, result: Value) -> Result<()> {
        transact!(self, |tx| effect::finish(&tx, key, held, &result))
    }

    async fn retain(&self, leadership: &Leadership, retention: Retention) -> Result<Retained> {
        transact!(self, |tx| retention::retain(&tx, leadership, retention))
    }

    async fn maintain(&self, leadership: &Leadership) -> Result<()> {
        transact!(self, |tx| retention::maintain(&tx, leadership))
    }

    async fn token_secret(&self, fresh: [u8; 32]) -> Result<Vec<u8>> {
        let client = self.client().await?;
        let sql = "INSERT INTO cluster_secrets (token_key) VALUES ($1) ON CONFLICT DO NOTHING";
        client.execute(sql, &[&fresh.as_slice()]).await?;
        Ok(client.query_one("SELECT token_key FROM cluster_secrets", &[]).await?.get(0))
    }

    async fn other_holders(&self, boot: BootId) -> Result<Vec<Holder>> {
        leader::other_holders(&self.client().await?, boot).await
    }

    async fn dead_boots(&self, boots: &[BootId]) -> Result<Vec<BootId>> {
        session::dead_boots(&self.client().await?, boots).await
    }

    async fn until_gone(&self, boot: BootId) -> Result<()> {
        session::until_gone(&self.database, boot).await
    }

    async fn hold_liveness(&self, boot: BootId) -> Result<()> {
        self.session.hold(boot).await
    }

    fn liveness(&self) -> Liveness {
        self.session.liveness()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
