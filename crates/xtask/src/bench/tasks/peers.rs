//! Other task queues in Rust on the same server, each as its own benchmark sets it. Packages that are built below the target folder, so
//! that the workspace does not depend on them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::throughput::Bench;
use crate::bench::goal::Bound::AtLeast;
use crate::bench::goal::{Bound, Goal, Outcome};
use crate::bench::lab::{Lab, target_folder};
use crate::bench::node::wait_within;
use crate::bench::numbers::{Spread, number};
use crate::steps::{cargo, run};

/// How long a run may take.
const RUN_WITHIN: Duration = Duration::from_mins(5);
/// Jobs that are stored for each second of a peer that takes them one by one; it need not run for longer than the others.
const PLAIN_SHARE: usize = 10;

/// A peer in one of its modes.
struct Peer {
    name: &'static str,
    package: &'static str,
    manifest: &'static str,
    source: &'static str,
    mode: &'static str,
    /// Counts what has not ended.
    left: &'static str,
    must: Bound,
}

const GRAPHILE: (&str, &str) = (include_str!("peers/graphile.toml.in"), include_str!("peers/graphile.rs.in"));
const APALIS: (&str, &str) = (include_str!("peers/apalis.toml.in"), include_str!("peers/apalis.rs.in"));

const PEERS: [Peer; 3] = [
    Peer {
        name: "graphile_worker 0.14.1 with a local queue of 5 000 jobs, which deletes what ended",
        package: "graphile",
        manifest: GRAPHILE.0,
        source: GRAPHILE.1,
        mode: "batched",
        left: "SELECT count(*) FROM graphile_worker._private_jobs",
        must: AtLeast(0.8),
    },
    Peer {
        name: "graphile_worker 0.14.1 job by job, 500 at a time",
        package: "graphile",
        manifest: GRAPHILE.0,
        source: GRAPHILE.1,
        mode: "plain",
        left: "SELECT count(*) FROM graphile_worker._private_jobs",
        must: AtLeast(1.2),
    },
    Peer {
        name: "apalis-postgres 1.0.0 with a buffer of 1 000 tasks",
        package: "apalis",
        manifest: APALIS.0,
        source: APALIS.1,
        mode: "batched",
        left: "SELECT count(*) FROM apalis.jobs WHERE status <> 'Done'",
        must: AtLeast(3.0),
    },
];

pub(super) fn measure(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    let mut bench = Bench::start(lab)?;
    let built: Vec<Result<PathBuf>> = PEERS.iter().map(|peer| peer.build(lab)).collect();
    let mut ours = Vec::new();
    let mut theirs: Vec<Vec<f64>> = PEERS.iter().map(|_| Vec::new()).collect();
    for _ in 0..lab.runs {
        let (_, burn) = bench.apart(bench.tasks)?;
        eprintln!("    ours: {}/s", number(burn.per_second));
        ours.push(burn.per_second);
        for ((peer, program), rates) in PEERS.iter().zip(&built).zip(&mut theirs) {
            let Ok(program) = program else { continue };
            let rate = peer.run(&bench, program)?;
            eprintln!("    {}: {}/s", peer.name, number(rate));
            rates.push(rate);
        }
    }
    for ((peer, program), rates) in PEERS.iter().zip(built).zip(theirs) {
        let outcome = if let Err(error) = program {
            Outcome::NotMeasured(format!("it could not be built here: {error:#}"))
        } else {
            let ratio = Spread::of_ratios(&ours, &rates).context("nothing was measured")?;
            let median = |values: &[f64]| Spread::of(values.iter().copied()).map_or(0.0, |it| it.median);
            let (ours, theirs) = (number(median(&ours)), number(median(&rates)));
            let note = format!("[{:.2}–{:.2}]; {ours}/s against {theirs}/s", ratio.min, ratio.max);
            Outcome::Measured { value: ratio.median, note }
        };
        let name = format!("tasks claimed and completed per second, against {}", peer.name);
        goals.push(Goal { name, unit: "×".into(), must: peer.must, stretch: None, outcome });
    }
    Ok(())
}

impl Peer {
    /// Builds it; what cargo says is shown.
    fn build(&self, lab: &Lab) -> Result<PathBuf> {
        let folder = target_folder(&lab.root)?.join("peers").join(self.package);
        fs::create_dir_all(folder.join("src"))?;
        write_if_new(&folder.join("Cargo.toml"), self.manifest)?;
        write_if_new(&folder.join("src/main.rs"), self.source)?;
        run(&folder, &cargo(), &["build", "--release", "--quiet"])?;
        Ok(folder.join("target/release").join(format!("peer-{}", self.package)))
    }

    /// Jobs per second from the moment it is told to run what it has stored.
    fn run(&self, bench: &Bench<'_>, program: &Path) -> Result<f64> {
        let count = if self.mode == "plain" { bench.tasks / PLAIN_SHARE } else { bench.tasks };
        let database = format!("{}_{}", self.package, self.mode);
        bench.server.session("postgres")?.run(&format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)"))?;
        bench.server.create(&database)?;
        let mut child = Killed(
            Command::new(program)
                .args([&bench.server.url(&database), &count.to_string(), self.mode])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?,
        );
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().context("its stdout is a pipe")?).read_line(&mut line)?;
        ensure!(line.trim() == "stored", "{} said `{}`", self.name, line.trim());
        bench.server.checkpoint()?;
        let mut session = bench.server.session(&database)?;
        let begin = Instant::now();
        child.0.stdin.take().context("its stdin is a pipe")?.write_all(b"go\n")?;
        wait_within(RUN_WITHIN, "the end of a peer's jobs", || {
            std::thread::sleep(Duration::from_millis(50));
            session.number(self.left).ok().filter(|left| *left < 0.5)
        })?;
        Ok(count as f64 / begin.elapsed().as_secs_f64())
    }
}

/// A process that ends with this.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes a file unless it says the same already: cargo would build again.
fn write_if_new(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text)?;
    }
    Ok(())
}
