//! Changes of load while a job runs, in the order they were decided: they are part of the job's record, and what is in
//! force for a workflow follows from them.
//!
//! | workflow          | change        | then                                                        |
//! | ----------------- | ------------- | ----------------------------------------------------------- |
//! | not paused        | pause         | paused                                                      |
//! | not paused        | resume        | refused: not paused                                         |
//! | paused            | resume        | not paused                                                  |
//! | paused            | pause         | refused: paused                                             |
//! | either            | users, rate   | in force, at once or when it goes on                        |
//! | cancelled         | anything      | refused: cancelled                                          |
//! | ended             | anything      | refused: already ended                                      |
//! | any               | known request | nothing; the index of the first time is answered            |

use hyperscale_types::Token;

use super::change::Change;
use super::command::{JobId, LoadChange, RequestId};
use super::job::Job;
use super::limits::{Limit, Share};
use super::pack::packed;
use super::{CommandRefusal, Outcome, Register};

/// Most changes of one job's load. All of them are kept with the job, so that none is made twice.
pub const CONTROLS_MAX: usize = 1024;

/// A change that was decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Control {
    /// Of which workflow.
    pub workflow: String,
    /// The new load, or pause or resume.
    pub change: LoadChange,
    /// Who asked for it.
    pub request: RequestId,
    /// The entry that decided it. A receiver that has seen a higher one of the workflow ignores this one.
    pub index: u64,
}

/// What is in force for a workflow beside its plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// Virtual users, if they were changed.
    pub vus: Option<u32>,
    /// Starts per 1000 seconds, if they were changed.
    pub rate_milli: Option<u64>,
    /// Whether nothing starts.
    pub is_paused: bool,
    /// The entry of the last change; zero if there was none.
    pub index: u64,
}

impl Steering {
    fn after(self, control: &Control) -> Self {
        let next = Self { index: control.index, ..self };
        match control.change {
            LoadChange::Vus(vus) => Self { vus: Some(vus), ..next },
            LoadChange::RateMilli(rate) => Self { rate_milli: Some(rate), ..next },
            LoadChange::Pause => Self { is_paused: true, ..next },
            LoadChange::Resume => Self { is_paused: false, ..next },
        }
    }

    fn allows(self, change: LoadChange) -> Result<(), CommandRefusal> {
        match change {
            LoadChange::Pause if self.is_paused => Err(CommandRefusal::Paused),
            LoadChange::Resume if !self.is_paused => Err(CommandRefusal::NotPaused),
            LoadChange::Vus(_) | LoadChange::RateMilli(_) | LoadChange::Pause | LoadChange::Resume => Ok(()),
        }
    }
}

impl Job {
    /// Every change of load, in the order of the log.
    pub fn controls(&self) -> &[Control] {
        &self.controls
    }

    /// What is in force for a workflow.
    pub fn steering(&self, workflow: &str) -> Steering {
        let own = self.controls.iter().filter(|control| control.workflow == workflow);
        own.fold(Steering::default(), Steering::after)
    }

    /// Whether a change of this workflow's load is possible at all.
    fn may_change(&self, workflow: &str, change: LoadChange) -> Result<(), CommandRefusal> {
        if self.is_cancelled(workflow) {
            return Err(CommandRefusal::Cancelled);
        }
        if self.workflow_end(workflow).is_some() {
            return Err(CommandRefusal::AlreadyEnded);
        }
        Limit::name(workflow)?;
        Limit::Controls.hold(self.controls.len() + 1, CONTROLS_MAX)?;
        self.steering(workflow).allows(change)
    }
}

impl Register {
    pub(super) fn control(
        &mut self,
        index: u64,
        token: Token,
        id: JobId,
        workflow: String,
        change: LoadChange,
        request: RequestId,
    ) -> Result<Outcome, CommandRefusal> {
        let room = self.account.room();
        let job = self.job_mut(id)?;
        let is_same = |control: &&Control| control.request == request && control.workflow == workflow;
        if let Some(known) = job.controls.iter().find(is_same) {
            return if known.change == change {
                Ok(Outcome::Controlled { index: known.index, is_repeat: true })
            } else {
                Err(CommandRefusal::RequestConflict)
            };
        }
        job.fence(token)?;
        job.may_change(&workflow, change)?;
        let control = Control { workflow, change, request, index };
        room.check(job, packed(&control), Share::Open)?;
        job.tally.weight += packed(&control);
        job.controls.push(control);
        self.changes.push(Change::Control(id));
        Ok(Outcome::Controlled { index, is_repeat: false })
    }
}
