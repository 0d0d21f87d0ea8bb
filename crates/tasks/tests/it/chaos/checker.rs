//! Joins the ledger with what the store says. Every rule that is broken is a line.

use std::collections::BTreeMap;

use hyperscale_tasks::domain::{Event, EventKind, Fence, Position, TaskId, Timestamp};
use hyperscale_tasks::store::Store;
use serde_json::Value;
use tokio_postgres::Client;

use super::ledger::{Book, Execution};
use super::work::Work;

/// Lines that are told; a broken rule is often broken a thousand times.
const TOLD_MAX: usize = 10;

/// Broken rules, and what was counted.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) broken: Vec<String>,
    pub(super) executions: usize,
    pub(super) lost_leases: usize,
    pub(super) overlaps: usize,
    pub(super) superseded: usize,
}

impl Verdict {
    pub(super) fn must(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(what());
        }
    }

    pub(super) fn report(&self) -> String {
        let told = self.broken.iter().take(TOLD_MAX).map(String::as_str).collect::<Vec<_>>().join("\n");
        format!("{} rules broken:\n{told}", self.broken.len())
    }
}

/// A task as the store has it.
struct Stored {
    status: i16,
    result: Option<Value>,
}

/// Checks all tasks.
pub(super) async fn check(store: &dyn Store, client: &Client, work: &Work, book: &Book) -> Verdict {
    let mut verdict = Verdict::default();
    let stored = stored(client).await;
    let events = events(store).await;
    for task in &work.tasks {
        let runs = book.executions.get(task).map(Vec::as_slice).unwrap_or_default();
        let events = events.get(task).map(Vec::as_slice).unwrap_or_default();
        check_task(&mut verdict, *task, stored.get(task), runs, events);
    }
    check_order(&mut verdict, work, book, &events);
    for (task, effects) in &book.effects {
        let last = effects.done.iter().max();
        let again = effects.kept.iter().min().is_some_and(|kept| last.is_some_and(|last| last > kept));
        verdict.must(!again, || format!("{task}: its effect happened again after it was kept"));
    }
    for (epoch, leaders) in &book.leaders {
        let mut boots: Vec<&String> = leaders.iter().map(|(boot, _)| boot).collect();
        boots.sort_unstable();
        boots.dedup();
        verdict.must(boots.len() == 1, || format!("epoch {epoch} was led by {} processes", boots.len()));
    }
    verdict
}

fn check_task(
    verdict: &mut Verdict,
    task: TaskId,
    stored: Option<&Stored>,
    runs: &[Execution],
    events: &[Event],
) {
    let Some(stored) = stored else {
        verdict.broken.push(format!("{task} was acknowledged and is lost"));
        return;
    };
    verdict.must(stored.status == 2, || format!("{task} did not complete: state {}", stored.status));
    let of = |kind: EventKind| events.iter().filter(move |event| event.kind == kind);
    let completed: Vec<&Event> = of(EventKind::Completed).collect();
    verdict.must(completed.len() == 1, || format!("{task} was completed {} times", completed.len()));
    let newest = of(EventKind::Assigned).filter_map(|event| event.fence).max();
    for event in &completed {
        verdict.must(event.fence == newest, || {
            format!("{task} was completed under {:?}, not {newest:?}", event.fence)
        });
        // The accepted result is that of the attempt that held the newest lease, and came to its end.
        let result = stored.result.as_ref();
        let nonce = result.and_then(|result| result["nonce"].as_str());
        let winner = runs.iter().find(|run| Some(run.nonce.as_str()) == nonce);
        let is_own = winner.is_some_and(|run| Some(run.attempt) == event.attempt && run.end.is_some());
        verdict.must(is_own, || {
            format!("{task} has the result {result:?} of another than attempt {:?}", event.attempt)
        });
    }
    let fences: Vec<Fence> = of(EventKind::Assigned).filter_map(|event| event.fence).collect();
    verdict.must(fences.windows(2).all(|pair| pair[0] < pair[1]), || {
        format!("{task}: fences {fences:?} do not rise")
    });
    check_runs(verdict, task, runs, events);
}

/// An attempt runs once; the next begins only after the one before ended, failed, or lost its lease.
fn check_runs(verdict: &mut Verdict, task: TaskId, runs: &[Execution], events: &[Event]) {
    let mut runs: Vec<&Execution> = runs.iter().collect();
    runs.sort_unstable_by_key(|run| (run.attempt, run.begin));
    verdict.executions += runs.len();
    let ended = |attempt: u32, kind: EventKind| {
        events.iter().any(|event| event.kind == kind && event.attempt == Some(attempt))
    };
    verdict.lost_leases += events.iter().filter(|event| event.kind == EventKind::Reassigned).count();
    for pair in runs.windows(2) {
        let (one, next) = (pair[0], pair[1]);
        verdict.must(one.attempt != next.attempt, || format!("{task}: attempt {} ran twice", one.attempt));
        let lost = ended(one.attempt, EventKind::Reassigned);
        let retried = ended(one.attempt, EventKind::Retried);
        verdict.must(lost || retried, || {
            format!("{task}: attempt {} began though {} had its lease", next.attempt, one.attempt)
        });
        let overlaps = one.end.is_some_and(|end| end > next.begin);
        verdict.overlaps += usize::from(overlaps);
        verdict.superseded += usize::from(lost && one.end.is_some());
        verdict.must(!overlaps || lost, || {
            format!("{task}: attempts {} and {} overlap without a lost lease", one.attempt, next.attempt)
        });
    }
}

/// No execution begins before one of each dependency, the accepted one, has ended.
fn check_order(verdict: &mut Verdict, work: &Work, book: &Book, events: &BTreeMap<TaskId, Vec<Event>>) {
    let accepted = |task: &TaskId| {
        let completed = events.get(task)?.iter().find(|event| event.kind == EventKind::Completed)?;
        book.executions.get(task)?.iter().find(|run| Some(run.attempt) == completed.attempt)?.end
    };
    for (task, on) in &work.edges {
        let begin = book.executions.get(task).into_iter().flatten().map(|run| run.begin).min();
        if let (Some(begin), Some(end)) = (begin, accepted(on)) {
            verdict.must(end <= begin, || format!("{task} began before {on} had ended"));
        }
    }
}

async fn stored(client: &Client) -> BTreeMap<TaskId, Stored> {
    let rows = client.query("SELECT id, status, result FROM tasks", &[]).await.unwrap();
    rows.iter().map(|row| (TaskId(row.get(0)), Stored { status: row.get(1), result: row.get(2) })).collect()
}

async fn events(store: &dyn Store) -> BTreeMap<TaskId, Vec<Event>> {
    let (mut all, mut after) = (BTreeMap::<TaskId, Vec<Event>>::new(), Position::default());
    loop {
        let page = store.events(None, after, 10_000).await.unwrap();
        let Some(last) = page.last() else { return all };
        after = last.position;
        for event in page {
            all.entry(event.task).or_default().push(event);
        }
    }
}

/// A schedule with an interval fired every time from its first to the last, each once.
pub(super) fn check_fires(
    verdict: &mut Verdict,
    name: &str,
    first: Timestamp,
    every_ms: i64,
    fires: &[Timestamp],
    until: Timestamp,
) {
    let mut fires: Vec<i64> = fires.iter().map(|time| time.0).collect();
    fires.sort_unstable();
    let expected: Vec<i64> = (0..).map(|at| first.0 + at * every_ms).take(fires.len()).collect();
    verdict.must(fires == expected, || format!("schedule {name} fired at {fires:?} instead of {expected:?}"));
    let last = fires.last().copied().unwrap_or(first.0 - every_ms);
    verdict.must(last + every_ms > until.0, || {
        format!("schedule {name} stopped firing at {last}, before {}", until.0)
    });
}
