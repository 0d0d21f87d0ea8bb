//! Who ran what in a cluster: the attempts at the segments of a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One attempt at a segment of a job in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptResult {
    /// The segment, as `loss` names it: workflow and number.
    pub segment: String,
    /// What of the workflow it is.
    pub kind: SegmentPart,
    /// From 1; more than one if a worker was lost or refused it.
    pub attempt: u32,
    /// The worker that was given it.
    pub worker: String,
    /// How far it is, or how it ended.
    pub state: AttemptStatus,
    /// Numbers of the workflow's cores that it is.
    pub cores: Vec<u32>,
    /// VUs of it.
    pub vus: u64,
}

/// A part of a workflow that runs as segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SegmentPart {
    /// Once, before the load.
    Setup,
    /// The load.
    Load,
    /// Once, after it.
    Teardown,
}

/// How far an attempt is, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptStatus {
    /// Decided; its worker is being told.
    Assigned,
    /// Its worker prepares it.
    Accepted,
    /// It runs.
    Running,
    /// It ran to its planned end.
    Completed,
    /// It could not run, or not to its end.
    Failed,
    /// It was told to stop.
    Cancelled,
    /// Its worker did not take it.
    Refused,
    /// Its worker is gone.
    Lost,
    /// A newer attempt took its place.
    Superseded,
    /// It gave no result in time.
    TimedOut,
}

impl AttemptStatus {
    /// The word for it, in results and in front of people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assigned => "assigned",
            Self::Accepted => "accepted",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Lost => "lost",
            Self::Superseded => "superseded",
            Self::TimedOut => "timed_out",
        }
    }

    /// Whether its segment had to be reassigned.
    pub const fn is_missed(self) -> bool {
        matches!(self, Self::Refused | Self::Lost | Self::Superseded | Self::TimedOut)
    }
}

/// The attempts of a job in a few numbers, for a line of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptCounts {
    /// Workers that have or had a segment of the load.
    pub workers: usize,
    /// Attempts that run.
    pub running: usize,
    /// Attempts beyond the first of their segment.
    pub retries: usize,
    /// Attempts whose worker was lost.
    pub lost: usize,
}

impl AttemptCounts {
    /// Counts attempts; nothing, if there are none, as in a run without a cluster.
    pub fn of(attempts: &[AttemptResult]) -> Option<Self> {
        if attempts.is_empty() {
            return None;
        }
        let workers: std::collections::BTreeSet<&str> =
            attempts.iter().map(|it| it.worker.as_str()).collect();
        let count = |is: fn(&AttemptResult) -> bool| attempts.iter().filter(|it| is(it)).count();
        Some(Self {
            workers: workers.len(),
            running: count(|it| it.state == AttemptStatus::Running),
            retries: count(|it| it.attempt > 1),
            lost: count(|it| it.state == AttemptStatus::Lost),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(worker: &str, number: u32, state: AttemptStatus) -> AttemptResult {
        AttemptResult {
            segment: "A/0".to_owned(),
            kind: SegmentPart::Load,
            attempt: number,
            worker: worker.to_owned(),
            state,
            cores: vec![0],
            vus: 1,
        }
    }

    #[test]
    fn attempts_are_counted_and_a_run_without_a_cluster_has_none() {
        assert_eq!(AttemptCounts::of(&[]), None);
        let all = [attempt("w1", 1, AttemptStatus::Lost), attempt("w2", 2, AttemptStatus::Running)];
        let counts = AttemptCounts { workers: 2, running: 1, retries: 1, lost: 1 };
        assert_eq!(AttemptCounts::of(&all), Some(counts));
    }

    #[test]
    fn words_are_those_of_the_json() {
        for state in [AttemptStatus::Assigned, AttemptStatus::Lost, AttemptStatus::TimedOut] {
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
    }
}
