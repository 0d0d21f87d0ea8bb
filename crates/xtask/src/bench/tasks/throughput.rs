//! Empty tasks per second beside `pgbench -N` on the same server, and what a task costs it.

use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use super::nodes::{self, BATCH, Start, TaskNode};
use super::postgres::{Postgres, Session};
use crate::bench::goal::Bound::{AtLeast, AtMost};
use crate::bench::goal::Goal;
use crate::bench::lab::Lab;
use crate::bench::node::wait_within;
use crate::bench::numbers::{Spread, number};

/// Tasks of one run.
const TASKS: usize = 60_000;
const TASKS_QUICK: usize = 10_000;
/// Nodes that run tasks, and tasks at a time on each: what they claim, start and report is done in batches of up to so many.
const BURNERS: usize = 2;
const PARALLEL: usize = 1_000;
/// Their name; both have the same one, which only they have.
const BURNER: &str = "burner";
/// Connections that submit at the same time.
const SUBMITTERS: usize = 2;
/// How long a run may take.
const RUN_WITHIN: Duration = Duration::from_mins(5);
/// What has to end before a run is over.
const IS_OVER: &str = "SELECT NOT EXISTS (SELECT 1 FROM tasks WHERE status = 0 AND unmet_deps = 0)
    AND NOT EXISTS (SELECT 1 FROM task_leases)";

/// A server with a database for tasks, one for pgbench, and a node that takes submissions and runs none of them.
pub(super) struct Bench<'a> {
    lab: &'a Lab,
    /// Before the server, so that it ends before it.
    pub(super) feeder: TaskNode,
    pub(super) session: Session,
    pub(super) server: Postgres,
    /// Tasks of one run.
    pub(super) tasks: usize,
}

/// What the server did for one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) per_second: f64,
    /// Bytes of log and commits per task.
    pub(super) wal: f64,
    pub(super) commits: f64,
}

impl<'a> Bench<'a> {
    pub(super) fn start(lab: &'a Lab) -> Result<Self> {
        let server = Postgres::start()?;
        server.prepare_pgbench()?;
        server.create("tasks")?;
        let session = server.session("tasks")?;
        let feeder = node(lab, &server, "feeder", 1)?;
        let tasks = if lab.is_quick { TASKS_QUICK } else { TASKS };
        Ok(Self { lab, feeder, session, server, tasks })
    }

    /// Nodes that run what is submitted.
    pub(super) fn burners(&self) -> Result<Vec<TaskNode>> {
        (0..BURNERS).map(|_| node(self.lab, &self.server, BURNER, PARALLEL)).collect()
    }

    pub(super) fn pgbench(&self) -> Result<f64> {
        self.server.pgbench(self.lab.seconds.max(4))
    }

    /// Submits empty tasks while nodes run them: from the first submission to the last completion.
    pub(super) fn whole(&mut self, count: usize) -> Result<Run> {
        let _burners = self.burners()?;
        self.server.checkpoint()?;
        self.measure(count, "created_at", |bench| bench.submit(count))
    }

    /// Submits empty tasks, then starts nodes: submissions alone, and from the first claim to the last completion.
    pub(super) fn apart(&mut self, count: usize) -> Result<(f64, Run)> {
        self.server.checkpoint()?;
        let before = self.now()?;
        self.submit(count)?;
        let sql = format!("SELECT extract(epoch FROM clock_timestamp()) - {before}");
        let submitted = count as f64 / self.session.number(&sql)?;
        self.server.checkpoint()?;
        let mut burners = Vec::new();
        let run = self.measure(count, "started_at", |bench| {
            burners = bench.burners()?;
            Ok(())
        })?;
        Ok((submitted, run))
    }

    /// Runs `work` and waits until all tasks have ended.
    fn measure(&mut self, count: usize, from: &str, work: impl FnOnce(&Self) -> Result<()>) -> Result<Run> {
        let began = self.now()?;
        let (wal, commits) = (self.wal()?, self.commits()?);
        work(self)?;
        let session = &mut self.session;
        wait_within(RUN_WITHIN, "the end of all tasks", || {
            thread::sleep(Duration::from_millis(50));
            session.value(IS_OVER).ok().filter(|over| over == "t")
        })?;
        let (wal, commits) = (self.wal()? - wal, self.commits()? - commits);
        self.explain(count)?;
        let sql = format!(
            "SELECT count(*) || ' ' || extract(epoch FROM max(completed_at) - min({from})) FROM tasks
             WHERE completed_at >= to_timestamp({began}) AND status = 2"
        );
        let told = self.session.value(&sql)?;
        let (completed, seconds) = told.split_once(' ').context("a count and a time")?;
        let (completed, seconds): (f64, f64) = (completed.parse()?, seconds.parse()?);
        anyhow::ensure!(completed as usize == count, "{completed} of {count} tasks completed");
        Ok(Run { per_second: completed / seconds, wal: wal / completed, commits: commits / completed })
    }

    /// Submits from several connections at once.
    pub(super) fn submit(&self, count: usize) -> Result<()> {
        let (batches, to) = (count.div_ceil(BATCH), self.feeder.http());
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for at in 0..SUBMITTERS {
                // The last batch is the one that may be smaller.
                let share = (at..batches).step_by(SUBMITTERS).map(|batch| BATCH.min(count - batch * BATCH));
                let share: usize = share.sum();
                threads.push(scope.spawn(move || nodes::submit(to, share, Some(BURNER))));
            }
            threads.into_iter().try_for_each(|thread| thread.join().ok().context("a submitter panicked")?)
        })
    }

    /// Says which statements took the server's time, in microseconds per task.
    fn explain(&mut self, count: usize) -> Result<()> {
        let sql = format!(
            "SELECT round((s.total_exec_time * 1000 / {count})::numeric, 1) || ' ' || s.calls || ' '
                 || left(regexp_replace(s.query, '\\s+', ' ', 'g'), 90)
             FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
             WHERE d.datname = current_database() ORDER BY s.total_exec_time DESC LIMIT 10"
        );
        for line in self.session.lines(&sql)? {
            eprintln!("      {line}");
        }
        self.session.run("SELECT pg_stat_statements_reset()")
    }

    fn now(&mut self) -> Result<f64> {
        self.session.number("SELECT extract(epoch FROM clock_timestamp())")
    }

    fn wal(&mut self) -> Result<f64> {
        self.session.number("SELECT pg_current_wal_insert_lsn() - '0/0'")
    }

    fn commits(&mut self) -> Result<f64> {
        let sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
        self.session.number(sql)
    }
}

/// A node of the database for tasks.
pub(super) fn node(lab: &Lab, server: &Postgres, name: &str, parallel: usize) -> Result<TaskNode> {
    let url = server.url("tasks");
    TaskNode::start(lab, Start { name, database: Some(&url), data: &lab.folder, parallel })
}

pub(super) fn measure(lab: &Lab, goals: &mut Vec<Goal>) -> Result<()> {
    let mut bench = Bench::start(lab)?;
    let (mut wholes, mut burns, mut submissions, mut references) = (vec![], vec![], vec![], vec![]);
    let (mut wal, mut commits) = (vec![], vec![]);
    for repetition in 0..lab.runs {
        let reference = |bench: &Bench<'_>| bench.pgbench();
        // Who comes first changes, so that nothing always pays for the other.
        let early = (repetition % 2 == 0).then(|| reference(&bench)).transpose()?;
        let whole = bench.whole(bench.tasks)?;
        let (submitted, burn) = bench.apart(bench.tasks)?;
        let reference = match early {
            Some(reference) => reference,
            None => reference(&bench)?,
        };
        eprintln!(
            "    pgbench {:>7}/s  whole {:>7}/s  submitted {:>7}/s  burnt down {:>7}/s  {:>5} B of log, {:.3} commits",
            number(reference),
            number(whole.per_second),
            number(submitted),
            number(burn.per_second),
            number(whole.wal),
            whole.commits
        );
        references.push(reference);
        wholes.push(whole.per_second);
        burns.push(burn.per_second);
        submissions.push(submitted);
        wal.push(whole.wal / 1e3);
        commits.push(whole.commits);
    }
    let spread = |values: &[f64]| Spread::of(values.iter().copied()).context("nothing was measured");
    let reference = spread(&references)?;
    let against = |goals: &mut Vec<Goal>, name: &str, bounds, values: &[f64]| -> Result<()> {
        let ratio = Spread::of_ratios(values, &references).context("nothing was measured")?;
        let note = format!(
            "[{:.2}–{:.2}]; {}/s against {}/s",
            ratio.min,
            ratio.max,
            number(spread(values)?.median),
            number(reference.median)
        );
        goals.push(Goal::measured(name, "× `pgbench -N`", bounds, ratio.median, note));
        Ok(())
    };
    let bounds = (AtLeast(3.0), Some(AtLeast(6.0)));
    against(
        goals,
        "empty tasks submitted, claimed and completed, in batches, history kept",
        bounds,
        &wholes,
    )?;
    against(goals, "empty tasks claimed and completed, in batches, history kept", bounds, &burns)?;
    let plain = |goals: &mut Vec<Goal>, name, unit, bounds, values: &[f64]| -> Result<()> {
        let spread = spread(values)?;
        let note = format!("[{}–{}]", number(spread.min), number(spread.max));
        goals.push(Goal::measured(name, unit, bounds, spread.median, note));
        Ok(())
    };
    let bounds = (AtLeast(8_000.0), Some(AtLeast(15_000.0)));
    plain(goals, "the same per second", "", bounds, &burns)?;
    let name = "submissions in batches of 700, tasks per second";
    plain(goals, name, "", (AtLeast(20_000.0), None), &submissions)?;
    let name = "log that a task writes, submitted, claimed and completed, inputs of 1 KB";
    plain(goals, name, "KB", (AtMost(2.5), None), &wal)?;
    plain(goals, "commits per task", "", (AtMost(0.1), None), &commits)
}
