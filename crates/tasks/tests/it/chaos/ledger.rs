//! What executors did, written outside of the store: one file per process, one line per event, in the order of the machine's
//! monotonic clock, which no fault moves.
//!
//! A line is on the disk before the executor goes on: what waits is synced together, by a thread that does nothing else.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use hyperscale_tasks::domain::TaskId;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::oneshot;

/// Lines that wait for the disk: more than executors run at a time.
const WAITING_MAX: usize = 4_096;

/// Nanoseconds of the machine's monotonic clock, the same in all processes.
pub(super) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// A line, and who waits for it.
type Line = (String, oneshot::Sender<()>);

/// The file of one process.
pub(super) struct Ledger(SyncSender<Line>);

impl Ledger {
    pub(super) fn open(folder: &Path) -> Self {
        let path = folder.join(format!("{}.ledger", std::process::id()));
        let file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        let (lines, waiting) = sync_channel(WAITING_MAX);
        std::thread::spawn(move || write_groups(&file, &waiting));
        Self(lines)
    }

    /// Writes a line and waits until it is synced.
    pub(super) async fn write(&self, words: &str) {
        let (written, wait) = oneshot::channel();
        self.0.send((format!("{} {words}\n", now()), written)).unwrap();
        wait.await.unwrap();
    }
}

/// One call of the system for all lines that wait, so that a process that is killed leaves whole lines, and one sync.
fn write_groups(mut file: &File, waiting: &Receiver<Line>) {
    while let Ok(first) = waiting.recv() {
        let group: Vec<Line> = std::iter::once(first).chain(waiting.try_iter()).collect();
        let text: String = group.iter().map(|(line, _)| line.as_str()).collect();
        file.write_all(text.as_bytes()).unwrap();
        file.sync_data().unwrap();
        for (_, written) in group {
            // An executor that was stopped does not wait any more.
            let _ = written.send(());
        }
    }
}

/// One run of an executor.
#[derive(Clone, Debug)]
pub(super) struct Execution {
    pub(super) attempt: u32,
    /// Unique for each run, and its result.
    pub(super) nonce: String,
    pub(super) begin: u64,
    /// `None` if it did not come to its end.
    pub(super) end: Option<u64>,
}

/// An effect: begun by an attempt, and known to be kept.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub(super) done: Vec<u64>,
    pub(super) kept: Vec<u64>,
}

/// All files together.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) executions: BTreeMap<TaskId, Vec<Execution>>,
    pub(super) effects: BTreeMap<TaskId, Effects>,
    /// Who led in which epoch: boot and node name.
    pub(super) leaders: BTreeMap<i64, Vec<(String, String)>>,
    /// The process of a boot.
    pub(super) boots: BTreeMap<String, u32>,
}

impl Book {
    pub(super) fn read(folder: &Path) -> Self {
        let mut book = Self::default();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let pid: u32 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            // A process that was killed while it wrote may have left half a line.
            for line in text.lines() {
                let _ = book.take(line, pid);
            }
        }
        book
    }

    fn take(&mut self, line: &str, pid: u32) -> Option<()> {
        let mut words = line.split(' ');
        let time: u64 = words.next()?.parse().ok()?;
        match (words.next()?, words.next()?, words.next()) {
            ("boot", boot, _) => drop(self.boots.insert(boot.to_owned(), pid)),
            ("leads", epoch, Some(boot)) => {
                let leader = (boot.to_owned(), words.next()?.to_owned());
                self.leaders.entry(epoch.parse().ok()?).or_default().push(leader);
            }
            ("begin", task, Some(attempt)) => {
                let (attempt, nonce) = (attempt.parse().ok()?, words.next()?.to_owned());
                let execution = Execution { attempt, nonce, begin: time, end: None };
                self.executions.entry(TaskId(task.parse().ok()?)).or_default().push(execution);
            }
            ("end", task, Some(nonce)) => {
                let runs = self.executions.get_mut(&TaskId(task.parse().ok()?))?;
                runs.iter_mut().find(|run| run.nonce == nonce)?.end = Some(time);
            }
            ("effect", task, _) => {
                self.effects.entry(TaskId(task.parse().ok()?)).or_default().done.push(time);
            }
            ("kept", task, _) => self.effects.entry(TaskId(task.parse().ok()?)).or_default().kept.push(time),
            _ => {}
        }
        Some(())
    }
}
