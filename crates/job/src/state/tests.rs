//! The tables, written out: every pair of states that is not listed must be refused.

use super::*;

const JOB_ENDS: [JobEnd; 5] =
    [JobEnd::Completed, JobEnd::Partial, JobEnd::Failed, JobEnd::Cancelled, JobEnd::TimedOut];
const WORKFLOW_ENDS: [WorkflowEnd; 5] = [
    WorkflowEnd::Completed,
    WorkflowEnd::Failed,
    WorkflowEnd::Cancelled,
    WorkflowEnd::Skipped,
    WorkflowEnd::TimedOut,
];
const ATTEMPT_ENDS: [AttemptEnd; 7] = [
    AttemptEnd::Completed,
    AttemptEnd::Failed,
    AttemptEnd::Cancelled,
    AttemptEnd::Refused,
    AttemptEnd::Lost,
    AttemptEnd::Superseded,
    AttemptEnd::TimedOut,
];

/// A state as the tables below write it.
fn word(state: impl std::fmt::Debug) -> String {
    let text = format!("{state:?}").to_lowercase();
    text.replace("ended(", "").replace(')', "")
}

/// Compares a table with what `allows` says of all pairs.
fn check<T: Copy + std::fmt::Debug>(states: &[T], allows: impl Fn(T, T) -> bool, table: &str) {
    let mut wanted: Vec<(String, String)> = Vec::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (from, to) = line.split_once("->").expect("a line is `from -> to to …`");
        wanted.extend(to.split_whitespace().map(|to| (from.trim().to_owned(), to.to_owned())));
    }
    for from in states {
        for to in states {
            let pair = (word(from), word(to));
            assert_eq!(allows(*from, *to), wanted.contains(&pair), "{pair:?}");
        }
    }
    let known: Vec<String> = states.iter().map(word).collect();
    assert!(wanted.iter().all(|(from, to)| known.contains(from) && known.contains(to)), "{wanted:?}");
}

#[test]
fn a_job_goes_only_where_its_table_says() {
    use JobState::{Cancelling, Completing, Dispatching, Queued, Running, Submitted};
    let mut states = vec![Submitted, Queued, Dispatching, Running, Completing, Cancelling];
    states.extend(JOB_ENDS.map(JobState::Ended));
    check(
        &states,
        JobState::allows,
        "submitted   -> queued dispatching completing cancelling timedout
         queued      -> dispatching running completing cancelling timedout
         dispatching -> running completing cancelling timedout
         running     -> completing cancelling timedout
         completing  -> cancelling completed partial failed timedout
         cancelling  -> cancelled failed partial timedout",
    );
}

#[test]
fn a_workflow_goes_only_where_its_table_says() {
    use WorkflowState::{Assigned, Pending, Ready, Running, Setup, Teardown};
    let mut states = vec![Pending, Ready, Setup, Assigned, Running, Teardown];
    states.extend(WORKFLOW_ENDS.map(WorkflowState::Ended));
    check(
        &states,
        WorkflowState::allows,
        "pending  -> ready failed cancelled skipped timedout
         ready    -> setup assigned failed cancelled timedout
         setup    -> assigned teardown failed cancelled timedout
         assigned -> running teardown failed cancelled timedout
         running  -> teardown completed failed cancelled timedout
         teardown -> completed failed cancelled timedout",
    );
}

#[test]
fn an_attempt_goes_only_where_its_table_says() {
    use AttemptState::{Accepted, Assigned, Running};
    let mut states = vec![Assigned, Accepted, Running];
    states.extend(ATTEMPT_ENDS.map(AttemptState::Ended));
    check(
        &states,
        AttemptState::allows,
        "assigned -> accepted running completed failed cancelled refused lost superseded timedout
         accepted -> running completed failed cancelled refused lost superseded timedout
         running  -> completed failed cancelled lost superseded timedout",
    );
}
