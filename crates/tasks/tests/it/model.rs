//! Random operations against both stores and against a small model of them. After every step all tasks must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fastrand::Rng;
use hyperscale_tasks::domain::{EventKind, Filter, Outcome, Position, Status, TaskId, TaskSpec};
use hyperscale_tasks::store::{Held, Leadership};

use crate::server::Server;
use crate::support::{LEASE, World, after, boot, candidate, done, failed, sweep, task};

const MAX_CRASHES: u32 = 3;

/// Steps of time, in seconds, whose sums stay away from the length of a lease.
const STEPS: [u64; 2] = [23, 41];

#[derive(Default)]
struct Model {
    now: u64,
    tasks: BTreeMap<TaskId, Known>,
    leader: Option<(Leadership, u64)>,
}

/// What the model knows of a task.
struct Known {
    status: Status,
    failures: u32,
    crashes: u32,
    max_attempts: u32,
    lease: Option<Lease>,
    /// Dependency, whether it is required, whether it is met.
    edges: Vec<(TaskId, bool, bool)>,
}

struct Lease {
    held: Held,
    expires: u64,
    cancel: bool,
}

impl Known {
    fn unmet(&self) -> usize {
        self.edges.iter().filter(|(_, _, met)| !met).count()
    }

    fn is_spent(&self) -> bool {
        self.failures + self.crashes >= self.max_attempts
    }
}

impl Model {
    fn add(&mut self, ids: &[TaskId], specs: &[TaskSpec]) {
        let id_of = |name: &str| ids[specs.iter().position(|spec| spec.name == name).unwrap()];
        for (id, spec) in ids.iter().zip(specs) {
            let edges =
                spec.depends_on.iter().map(|edge| (id_of(&edge.task), edge.required, false)).collect();
            let (status, max_attempts) = (Status::Pending, spec.max_attempts);
            let known = Known { status, failures: 0, crashes: 0, max_attempts, lease: None, edges };
            self.tasks.insert(*id, known);
        }
    }

    fn claimable(&self) -> Vec<TaskId> {
        let open = |known: &Known| known.status == Status::Pending && known.unmet() == 0;
        self.tasks.iter().filter(|(_, known)| open(known)).map(|(id, _)| *id).collect()
    }

    fn claimed(&mut self, held: Held) {
        let expires = self.now + LEASE.as_secs();
        let known = self.tasks.get_mut(&held.task).unwrap();
        known.status = Status::InProgress;
        known.lease = Some(Lease { held, expires, cancel: false });
    }

    fn holds(&self, held: Held) -> bool {
        self.tasks[&held.task].lease.as_ref().is_some_and(|lease| lease.held == held)
    }

    /// Ends an attempt if its lease is held.
    fn finish(&mut self, held: Held, is_done: bool) -> bool {
        if !self.holds(held) {
            return false;
        }
        let known = self.tasks.get_mut(&held.task).unwrap();
        let cancel = known.lease.take().unwrap().cancel;
        known.status = if is_done {
            Status::Completed
        } else if cancel {
            Status::Cancelled
        } else {
            known.failures += 1;
            if known.is_spent() { Status::Failed } else { Status::Pending }
        };
        self.settle(held.task);
        true
    }

    fn release(&mut self, held: Held) -> bool {
        if !self.holds(held) {
            return false;
        }
        let known = self.tasks.get_mut(&held.task).unwrap();
        known.status = if known.lease.take().unwrap().cancel { Status::Cancelled } else { Status::Pending };
        self.settle(held.task);
        true
    }

    fn sweep(&mut self) -> usize {
        let over = |known: &Known| known.lease.as_ref().is_some_and(|lease| lease.expires <= self.now);
        let swept: Vec<TaskId> =
            self.tasks.iter().filter(|(_, known)| over(known)).map(|(id, _)| *id).collect();
        for id in &swept {
            let known = self.tasks.get_mut(id).unwrap();
            known.crashes += 1;
            let cancel = known.lease.take().unwrap().cancel;
            known.status = match cancel {
                true => Status::Cancelled,
                false if known.crashes >= MAX_CRASHES || known.is_spent() => Status::Failed,
                false => Status::Pending,
            };
            self.settle(*id);
        }
        swept.len()
    }

    fn cancel(&mut self, id: TaskId) -> Option<bool> {
        let known = self.tasks.get_mut(&id).unwrap();
        match known.status {
            Status::Pending => {
                known.status = Status::Cancelled;
                self.settle(id);
                Some(true)
            }
            Status::InProgress => Some(!std::mem::replace(&mut known.lease.as_mut().unwrap().cancel, true)),
            Status::Cancelled => Some(false),
            Status::Completed | Status::Failed => None,
        }
    }

    fn retry(&mut self, id: TaskId) -> bool {
        if self.tasks[&id].status != Status::Failed || self.is_blocked(id) {
            return false;
        }
        let known = self.tasks.get_mut(&id).unwrap();
        (known.status, known.failures, known.crashes) = (Status::Pending, 0, 0);
        let waiting = |known: &Known| {
            known.status == Status::Failed
                && known.unmet() > 0
                && known.edges.iter().any(|(on, required, _)| *on == id && *required)
        };
        let dependants: Vec<TaskId> =
            self.tasks.iter().filter(|(_, known)| waiting(known)).map(|(id, _)| *id).collect();
        for dependant in dependants {
            self.retry(dependant);
        }
        true
    }

    fn is_blocked(&self, id: TaskId) -> bool {
        let failed = |on: &TaskId| matches!(self.tasks[on].status, Status::Failed | Status::Cancelled);
        self.tasks[&id].edges.iter().any(|(on, required, _)| *required && failed(on))
    }

    fn settle(&mut self, ended: TaskId) {
        let status = self.tasks[&ended].status;
        if !status.is_terminal() {
            return;
        }
        let mut failed = Vec::new();
        for (id, known) in &mut self.tasks {
            for (on, required, met) in &mut known.edges {
                if *on != ended {
                    continue;
                }
                if status == Status::Completed || !*required {
                    *met = true;
                } else if known.status == Status::Pending {
                    known.status = Status::Failed;
                    failed.push(*id);
                }
            }
        }
        for id in failed {
            self.settle(id);
        }
    }
}

/// A store, its model, and everything that was ever held.
struct Driver {
    world: World,
    model: Model,
    rng: Rng,
    held: Vec<Held>,
}

impl Driver {
    async fn step(&mut self) {
        match self.rng.u8(..100) {
            0..15 => self.submit().await,
            15..40 => self.claim().await,
            40..60 => self.finish().await,
            60..65 => self.release().await,
            65..75 => self.renew().await,
            75..82 => self.advance().await,
            82..90 => self.sweep().await,
            90..95 => self.cancel().await,
            _ => self.retry().await,
        }
    }

    async fn submit(&mut self) {
        let mut specs = match self.rng.u8(..3) {
            0 => vec![task("a")],
            1 => vec![task("a"), after("b", &["a"]), after("c", &["b?", "a"])],
            _ => vec![task("a"), task("b"), after("c", &["a", "b?"]), after("d", &["c"])],
        };
        for spec in &mut specs {
            spec.max_attempts = self.rng.u32(1..5);
        }
        let ids = self.world.submit(specs.clone()).await;
        self.model.add(&ids, &specs);
    }

    async fn claim(&mut self) {
        let limit = self.rng.usize(1..4);
        let claimable = self.model.claimable();
        let claimed = self.world.claim(limit).await;
        assert_eq!(claimed.len(), limit.min(claimable.len()));
        let newest = self.held.iter().map(|held| held.fence).max();
        for claimed in claimed {
            assert!(claimable.contains(&claimed.held.task));
            assert!(Some(claimed.held.fence) > newest, "a fence did not rise");
            self.model.claimed(claimed.held);
            self.held.push(claimed.held);
        }
    }

    /// One of the latest leases, held or lost.
    fn some_held(&mut self) -> Option<Held> {
        let recent = self.held.len().min(8);
        (recent > 0).then(|| self.held[self.held.len() - 1 - self.rng.usize(..recent)])
    }

    fn some_task(&mut self) -> Option<TaskId> {
        let ids: Vec<TaskId> = self.model.tasks.keys().copied().collect();
        (!ids.is_empty()).then(|| ids[self.rng.usize(..ids.len())])
    }

    async fn finish(&mut self) {
        let Some(held) = self.some_held() else { return };
        let is_done = self.rng.bool();
        let outcome: Outcome = if is_done { done() } else { failed() };
        assert_eq!(self.world.finish(held, outcome).await, self.model.finish(held, is_done));
    }

    async fn release(&mut self) {
        let Some(held) = self.some_held() else { return };
        let released = self.world.store.release(&[held]).await.unwrap();
        assert_eq!(released.len() == 1, self.model.release(held));
    }

    async fn renew(&mut self) {
        let Some(held) = self.some_held() else { return };
        let renewed = self.world.store.renew(&[held], LEASE).await.unwrap();
        assert_eq!(renewed.len() == 1, self.model.holds(held));
        if let Some(renewed) = renewed.first() {
            let expires = self.model.now + LEASE.as_secs();
            let lease = self.model.tasks.get_mut(&held.task).unwrap().lease.as_mut().unwrap();
            assert_eq!(renewed.cancel, lease.cancel);
            lease.expires = expires;
        }
    }

    async fn advance(&mut self) {
        let step = STEPS[self.rng.usize(..STEPS.len())];
        self.world.advance(Duration::from_secs(step)).await;
        self.model.now += step;
    }

    /// Sweeps as the current leader. Without one, a process acquires leadership first.
    async fn sweep(&mut self) {
        let now = self.model.now;
        let leads = self.model.leader.as_ref().is_some_and(|(_, expires)| *expires > now);
        let number = self.rng.u8(1..3);
        let acquired = self.world.store.acquire_leadership(&candidate("node", boot(number))).await.unwrap();
        assert_eq!(acquired.is_some(), !leads);
        if let Some(leadership) = acquired {
            if let Some((old, _)) = self.model.leader.take() {
                assert_eq!(leadership.epoch.0, old.epoch.0 + 1);
                assert!(self.world.store.sweep(&old, &sweep()).await.is_err(), "a deposed leader swept");
            }
            self.model.leader = Some((leadership, now + LEASE.as_secs()));
        }
        let (leadership, _) = self.model.leader.clone().unwrap();
        let swept = self.world.sweep(&leadership).await;
        assert_eq!(swept.tasks.len(), self.model.sweep());
    }

    async fn cancel(&mut self) {
        let Some(task) = self.some_task() else { return };
        assert_eq!(self.world.store.cancel(task).await.ok(), self.model.cancel(task));
    }

    async fn retry(&mut self) {
        let Some(task) = self.some_task() else { return };
        assert_eq!(self.world.store.retry(task).await.is_ok(), self.model.retry(task));
    }

    async fn compare(&self) {
        let stored = self.world.store.tasks(&Filter::default(), 10_000).await.unwrap();
        assert_eq!(stored.len(), self.model.tasks.len());
        for task in stored {
            let known = &self.model.tasks[&task.id];
            let unmet = u32::try_from(known.unmet()).unwrap();
            assert_eq!(
                (task.status, task.failures, task.crashes, task.unmet_deps),
                (known.status, known.failures, known.crashes, unmet),
                "{}",
                task.name
            );
        }
        let counts = self.world.store.counts().await.unwrap();
        assert_eq!(counts.leases, counts.in_progress);
        for (status, count) in [
            (Status::Pending, counts.pending),
            (Status::InProgress, counts.in_progress),
            (Status::Completed, counts.completed),
            (Status::Failed, counts.failed),
            (Status::Cancelled, counts.cancelled),
        ] {
            let known = self.model.tasks.iter().filter(|(_, task)| task.status == status);
            let known: BTreeSet<TaskId> = known.map(|(task, _)| *task).collect();
            assert_eq!(count, known.len() as u64, "{}", status.as_str());
            let filter = Filter { status: Some(status), ..Filter::default() };
            let listed = self.world.store.tasks(&filter, 10_000).await.unwrap();
            assert_eq!(listed.iter().map(|task| task.id).collect::<BTreeSet<_>>(), known);
        }
    }

    /// A completed task was completed once, under the newest of its leases.
    async fn check_events(&self) {
        for (task, known) in &self.model.tasks {
            let events = self.world.store.events(Some(*task), Position::default(), 10_000).await.unwrap();
            let completed: Vec<_> =
                events.iter().filter(|event| event.kind == EventKind::Completed).collect();
            assert_eq!(completed.len(), usize::from(known.status == Status::Completed));
            let newest = events
                .iter()
                .filter(|event| event.kind == EventKind::Assigned)
                .map(|event| event.fence)
                .max();
            assert!(completed.iter().all(|event| Some(event.fence) == newest));
        }
    }
}

async fn drive(world: World, seed: u64, steps: usize) {
    println!("seed {seed}");
    let (model, rng) = (Model::default(), Rng::with_seed(seed));
    let mut driver = Driver { world, model, rng, held: Vec::new() };
    for _ in 0..steps {
        driver.step().await;
        driver.compare().await;
    }
    driver.check_events().await;
}

#[tokio::test]
async fn sqlite_agrees_with_the_model() {
    for seed in 0..12 {
        drive(World::sqlite().await, seed, 150).await;
    }
}

#[tokio::test]
async fn postgres_agrees_with_the_model() {
    let server = Server::start().await;
    for seed in 100..108 {
        drive(World::postgres(&server).await, seed, 100).await;
    }
}
