//! Clocks of jobs across restarts of a manager: what they show is written to a file every second, and a process that is started
//! again on the same machine counts on from there, its absence included.
//!
//! Nothing depends on the file: without it, or after a restart of the machine, clocks begin with what the log says, or with
//! what they showed when they were last written.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyperscale_consensus::register::{Clocks, Elapsed, KeptClocks};
use hyperscale_types::Now;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

/// How often it is written.
const EVERY: Duration = Duration::from_secs(1);
/// Larger files are none of ours: it has some hundred bytes per open job.
const BYTES_MAX: u64 = 64 << 20;
/// The boot of the machine. Its clock starts again from zero with each boot.
const MACHINE_BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The file, as it is written.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    machine_boot: String,
    /// The moment of the node's clock, nanoseconds.
    at: u64,
    jobs: BTreeMap<String, JobContent>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct JobContent {
    job_ms: u64,
    /// Milliseconds, and whether the clock stood still.
    workflows: BTreeMap<String, (u64, bool)>,
}

/// Writes the file; at most one write is under way.
#[derive(Debug)]
pub(super) struct ClockFile {
    path: PathBuf,
    machine_boot: String,
    written: Now,
    /// What was written last names no job.
    is_empty: bool,
    writes: JoinSet<()>,
}

impl ClockFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            machine_boot: machine_boot(),
            written: Now::ZERO,
            is_empty: false,
            writes: JoinSet::new(),
        }
    }

    /// What the clocks of a former life show; nothing if that is not known.
    pub(super) fn read(&self, now: Now) -> Clocks {
        let Some(content) = read(&self.path) else { return Clocks::default() };
        // Of another start of the machine its moment means nothing: the absence is not counted then.
        let is_same = content.machine_boot == self.machine_boot && content.at <= now.0;
        let moment = if is_same { Now(content.at) } else { now };
        let jobs = content.jobs.into_iter().filter_map(|(id, job)| Some((id.parse().ok()?, kept(job))));
        Clocks::kept_at(moment, jobs.collect())
    }

    /// Writes them if it is time to, beside the loop: a disk that stalls holds up nothing.
    pub(super) fn keep(&mut self, now: Now, clocks: &Clocks) {
        while self.writes.try_join_next().is_some() {}
        if now.since(self.written) < EVERY || !self.writes.is_empty() {
            return;
        }
        self.written = now;
        let (path, content) = (self.path.clone(), self.content(now, clocks));
        // Without jobs there is nothing to count on from.
        let was_empty = std::mem::replace(&mut self.is_empty, content.jobs.is_empty());
        if was_empty && self.is_empty {
            return;
        }
        self.writes.spawn_blocking(move || {
            if let Err(error) = write(&path, &content) {
                tracing::debug!(%error, "the clocks of jobs cannot be kept");
            }
        });
    }

    fn content(&self, now: Now, clocks: &Clocks) -> Content {
        let jobs = clocks.keep(now).into_iter().map(|(id, kept)| (id.to_string(), job_content(kept)));
        Content { machine_boot: self.machine_boot.clone(), at: now.0, jobs: jobs.collect() }
    }
}

fn job_content(kept: KeptClocks) -> JobContent {
    let KeptClocks { elapsed, paused } = kept;
    let workflows = elapsed.workflows_ms.into_iter().map(|(name, ms)| {
        let is_paused = paused.contains(&name);
        (name, (ms, is_paused))
    });
    JobContent { job_ms: elapsed.job_ms, workflows: workflows.collect() }
}

fn kept(job: JobContent) -> KeptClocks {
    let paused = job.workflows.iter().filter(|(_, (_, is_paused))| *is_paused);
    KeptClocks {
        paused: paused.map(|(name, _)| name.clone()).collect(),
        elapsed: Elapsed {
            job_ms: job.job_ms,
            workflows_ms: job.workflows.into_iter().map(|(name, (ms, _))| (name, ms)).collect(),
        },
    }
}

fn read(path: &Path) -> Option<Content> {
    if fs::metadata(path).ok()?.len() > BYTES_MAX {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// The file appears whole or not at all. It is not synced: what a power loss takes is a second of a clock.
fn write(path: &Path, content: &Content) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    fs::write(&unfinished, serde_json::to_vec(content)?)?;
    fs::rename(unfinished, path)
}

fn machine_boot() -> String {
    fs::read_to_string(MACHINE_BOOT).map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use hyperscale_consensus::register::JobId;

    use super::*;

    fn job_ms(file: &ClockFile, now: Now) -> Option<u64> {
        let kept = file.read(now);
        // What was kept is seen once the log names the job; `Debug` shows it before.
        let text = format!("{kept:?}");
        text.split("job_ms: ").nth(1)?.split([',', ' ']).next()?.parse().ok()
    }

    #[test]
    fn what_was_written_is_read_by_the_next_life_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = ClockFile::new(folder.path().join("clocks"));
        let now = Now::after_start(Duration::from_secs(100));
        assert_eq!(job_ms(&file, now), None, "there is none");
        let workflows = BTreeMap::from([("A".to_owned(), (20_000, true))]);
        let jobs = BTreeMap::from([(JobId([7; 16]).to_string(), JobContent { job_ms: 30_000, workflows })]);
        let content = Content { machine_boot: file.machine_boot.clone(), at: now.0, jobs };
        write(&file.path, &content).unwrap();
        assert_eq!(job_ms(&file, now), Some(30_000));
        fs::write(&file.path, b"{").unwrap();
        assert_eq!(job_ms(&file, now), None, "a damaged one is none");
    }
}
