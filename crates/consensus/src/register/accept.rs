//! Accepting jobs: once per idempotency key, and, where gates are, once per part.
//!
//! | key   | part of the gates' job | gate token     | then                                                          |
//! | ----- | ---------------------- | -------------- | ------------------------------------------------------------- |
//! | new   | any or none            | any or none    | accepted                                                      |
//! | known | none, as before        | none           | the same job                                                  |
//! | known | the same               | not lower      | the same job; a higher gate token is in force from now on     |
//! | known | any                    | lower          | refused: stale gate token, with the one in force              |
//! | known | an older one           | not lower      | refused: stale part, with the one in force                    |
//! | known | a newer one            | not lower      | accepted in place of the older one, if that has ended         |
//!
//! The same key with another plan, for another datacenter, or once with gates and once without, is a conflict.

use hyperscale_types::Token;

use super::change::Change;
use super::command::{Accept, Group, JobId, Origin};
use super::job::Job;
use super::limits::{
    CHUNKS_MAX, ENDED_BYTES_MAX, JOBS_OPEN_MAX, KEY_BYTES_MAX, Limit, NAME_BYTES_MAX, OPTIONS_BYTES_MAX,
    Share,
};
use super::pack::packed;
use super::{CommandRefusal, Outcome, Register};

/// What a known key means.
enum Known {
    /// It was accepted before.
    Repeat,
    /// The same, from a gate with a newer token.
    Raised(Token),
    /// Another try of the datacenter.
    NextPart,
}

impl Register {
    pub(super) fn accept(&mut self, index: u64, accept: Accept) -> Result<Outcome, CommandRefusal> {
        if self.group == Group::Gates && accept.origin.is_some() {
            return Err(CommandRefusal::WrongGroup);
        }
        if bug!(self.bugs, IgnoreIdempotencyKey)
            && let Some(known) = self.ended.job_of_key(&accept.key)
        {
            self.ended.unbind(&accept.key, known);
        }
        let Some(known) = self.ended.job_of_key(&accept.key) else {
            return self.accept_new(index, accept, None);
        };
        match self.compare(known, &accept)? {
            Known::Repeat => {}
            Known::Raised(token) => {
                if let Some(job) = self.jobs.get_mut(&known) {
                    job.raise_gate_token(token);
                    self.changes.push(Change::Job(known));
                }
            }
            Known::NextPart => return self.accept_new(index, accept, Some(known)),
        }
        Ok(Outcome::Accepted { job: known, is_repeat: true })
    }

    fn accept_new(
        &mut self,
        index: u64,
        accept: Accept,
        replaces: Option<JobId>,
    ) -> Result<Outcome, CommandRefusal> {
        let id = accept.job;
        if (self.jobs.contains_key(&id) || self.ended.knows(id)) && replaces != Some(id) {
            return Err(CommandRefusal::JobKnown);
        }
        let key = accept.key.clone();
        let job = self.admit(index, accept)?;
        if let Some(old) = replaces {
            self.remove(old);
            self.changes.push(Change::Job(old));
            self.changes.extend(self.ended.replace(old).map(Change::Chunk));
        }
        self.ended.bind(&key, id);
        self.jobs.insert(id, job);
        self.changes.push(Change::Job(id));
        Ok(Outcome::Accepted { job: id, is_repeat: false })
    }

    /// The new job, if there is room for it.
    fn admit(&self, index: u64, accept: Accept) -> Result<Job, CommandRefusal> {
        Limit::JobsOpen.hold(self.account.open + 1, JOBS_OPEN_MAX)?;
        Limit::KeyBytes.hold(accept.key.len(), KEY_BYTES_MAX)?;
        Limit::NameBytes.hold(accept.caller.len(), NAME_BYTES_MAX)?;
        Limit::NameBytes.hold(accept.name.len(), NAME_BYTES_MAX)?;
        accept.origin.iter().try_for_each(|origin| Limit::name(&origin.datacenter))?;
        Limit::OptionsBytes.hold(packed(&accept.options), OPTIONS_BYTES_MAX)?;
        let job = Job::new(index, accept);
        self.account.room().check(&job, 0, Share::New)?;
        Limit::EndedBytes.hold(self.account.ended_bytes, ENDED_BYTES_MAX)?;
        Limit::EndedBytes.hold(self.ended.chunks().len() + 1, CHUNKS_MAX)?;
        if self.account.logical + job.logical_bytes() > self.sizes.logical_bytes_max {
            return Err(CommandRefusal::Limit(Limit::LogicalBytes));
        }
        Ok(job)
    }

    /// The job with this id, under whose key another one comes.
    fn compare(&self, id: JobId, accept: &Accept) -> Result<Known, CommandRefusal> {
        if let Some(job) = self.jobs.get(&id) {
            let known = (job.plan == accept.plan, job.origin.as_ref(), job.end.is_some());
            return compare(id, known, accept);
        }
        let sealed = self.ended.sealed(id).ok_or(CommandRefusal::UnknownJob)?;
        match compare(id, (sealed.has_plan_of(accept), sealed.origin(), true), accept)? {
            // What is sealed has ended: whichever gate leads it by now, nothing is decided about it any more.
            Known::Raised(_) => Ok(Known::Repeat),
            known => Ok(known),
        }
    }
}

impl Job {
    /// The gate's job-leader token in force, if gates sent the job.
    pub fn gate_token(&self) -> Option<Token> {
        self.origin.as_ref().map(|origin| origin.gate_token)
    }

    fn raise_gate_token(&mut self, token: Token) {
        if let Some(origin) = &mut self.origin {
            origin.gate_token = token;
        }
    }
}

/// The job `id`: whether it has the plan of the other one, where it came from, whether it has ended.
fn compare(
    id: JobId,
    (is_same_plan, origin, has_ended): (bool, Option<&Origin>, bool),
    accept: &Accept,
) -> Result<Known, CommandRefusal> {
    let (mine, theirs) = match (origin, &accept.origin) {
        _ if !is_same_plan => return Err(CommandRefusal::KeyConflict),
        (None, None) => return Ok(Known::Repeat),
        (Some(mine), Some(theirs)) if mine.datacenter == theirs.datacenter => (mine, theirs),
        _ => return Err(CommandRefusal::KeyConflict),
    };
    if theirs.gate_token < mine.gate_token {
        return Err(CommandRefusal::StaleGateToken { current: mine.gate_token });
    }
    if theirs.part < mine.part {
        return Err(CommandRefusal::StalePart { current: mine.part });
    }
    if theirs.part > mine.part {
        return if has_ended { Ok(Known::NextPart) } else { Err(CommandRefusal::NotEnded) };
    }
    if id != accept.job {
        return Err(CommandRefusal::KeyConflict);
    }
    let is_newer = theirs.gate_token > mine.gate_token;
    Ok(if is_newer { Known::Raised(theirs.gate_token) } else { Known::Repeat })
}
