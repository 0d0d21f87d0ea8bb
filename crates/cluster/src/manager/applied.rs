//! What the log decided reaches the jobs led here: an entry that is applied, or a whole state from disk or a snapshot.

use hyperscale_consensus::register::{Body, Command, Job, JobId, Outcome};
use hyperscale_types::{Now, Token};

use super::io::Output;
use super::led::Led;
use super::{JobMachine, Manager};

impl<M: JobMachine> Manager<M> {
    /// The state came from disk or from a snapshot: what is led here is read from it.
    pub(super) fn reload(&mut self, now: Now, out: &mut Vec<Output>) {
        self.reload_leases(now);
        let Some(register) = self.replica.group().map(|group| group.machine().register()) else { return };
        let me = self.options.node;
        let led = |(id, job): (&JobId, &Job)| {
            let (_, token) = job.leader.filter(|(leader, _)| *leader == me && job.end.is_none())?;
            Some((*id, token))
        };
        let ids: Vec<JobId> = register.jobs().map(|(id, _)| *id).collect();
        let led: Vec<(JobId, Token)> = register.jobs().filter_map(led).collect();
        for id in ids {
            let job = self.replica.group().and_then(|group| group.machine().register().job(id));
            self.clocks.observe(now, id, job);
        }
        self.pool.change();
        let others: Vec<JobId> = self
            .led
            .iter()
            .filter(|(id, own)| !led.contains(&(**id, own.token())))
            .map(|(id, _)| *id)
            .collect();
        for job in others {
            self.release(job, out);
        }
        for (job, token) in led {
            if !self.earlier.is_own(job, token) {
                continue;
            }
            self.led.entry(job).or_insert_with(|| Led::new(token));
            self.news.insert(job);
        }
    }

    /// An entry was applied.
    pub(super) fn applied(
        &mut self,
        now: Now,
        index: u64,
        command: &Command,
        outcome: &Outcome,
        out: &mut Vec<Output>,
    ) {
        self.leases.applied(now, index, command, outcome);
        match &command.body {
            // Attempts were lost.
            Body::WorkerGone { .. } => {
                self.pool.change();
                self.news.extend(self.led.keys());
            }
            Body::WorkerGrant { .. } | Body::WorkerOwner { .. } | Body::WorkerDrain { .. } => {
                self.pool.change();
            }
            _ => {}
        }
        let Some(id) = job_of(&command.body) else { return };
        let register = self.replica.group().map(|group| group.machine().register());
        self.clocks.observe(now, id, register.and_then(|register| register.job(id)));
        if let (Body::JobLeader { leader, .. }, Outcome::Granted(token)) = (&command.body, outcome) {
            self.release(id, out);
            self.transfers.remove(&id);
            if *leader == self.options.node && self.earlier.is_own(id, *token) {
                self.led.insert(id, Led::new(*token));
                // Token zero: nobody led it before, and this manager accepted it.
                if command.token > Token(0) {
                    self.counters.transfers_received += 1;
                    self.transfers.insert(id, now);
                }
            }
        }
        // Cores may have been taken, or are free.
        self.pool.change();
        if self.led.contains_key(&id) {
            self.news.insert(id);
        }
    }
}

/// The job that a command is about.
fn job_of(body: &Body) -> Option<JobId> {
    match body {
        Body::JobAccept(accept) => Some(accept.job),
        Body::Decide(decide) => Some(decide.job),
        Body::Assign(assign) => Some(assign.job),
        Body::AttemptEnd { segment, .. } | Body::AttemptWindows { segment, .. } => Some(segment.job),
        Body::JobLeader { job, .. }
        | Body::Ready { job, .. }
        | Body::Context { job, .. }
        | Body::WorkflowEnd { job, .. }
        | Body::Cancel { job, .. }
        | Body::Control { job, .. }
        | Body::JobEnd { job, .. } => Some(*job),
        _ => None,
    }
}
