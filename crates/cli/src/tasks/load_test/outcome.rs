//! What a task says about a job that has ended.

use hyperscale_stats::event::{Event, Snapshot};
use hyperscale_stats::result::{RunResult, Status};
use hyperscale_tasks::runtime::{Context, Failure};
use serde_json::{Value, json};

/// Bytes of a stored result. Series are left out of longer ones, the most detailed first.
const RESULT_MAX: usize = 256 << 10;

/// Whether another attempt at a failed job makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It would run again.
    Possible,
    /// It would find the same job.
    Useless,
}

/// The result of the task, or why it failed.
pub(super) fn of(result: &RunResult, again: Again) -> Result<Value, Failure> {
    let reason = result.reason.as_deref();
    match result.status {
        Status::Completed => Ok(stored(result)),
        // The load was ended because a threshold failed, which is what it was run to find out.
        Status::Cancelled if reason == Some("threshold") => Ok(stored(result)),
        status => {
            let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            let errors: Vec<&str> =
                result.errors.iter().take(1).map(|error| error.message.as_str()).collect();
            let colon = if errors.is_empty() { "" } else { ": " };
            let (job, status) = (&result.identity.job, status.as_str());
            let why = format!("job {job} is {status}{reason}{colon}{}", errors.concat());
            let why = hyperscale_types::secret::masked(&why);
            Err(if again == Again::Possible { Failure::Retry(why) } else { Failure::ForGood(why) })
        }
    }
}

/// Leaves a part of a result out.
type Cut = fn(&mut Value);

/// The result JSON with the verdict of its thresholds, of bounded size.
fn stored(result: &RunResult) -> Value {
    let mut value = json!(result);
    let passed = result.thresholds_passed && result.reason.as_deref() != Some("threshold");
    value["verdict"] = json!(if passed { "passed" } else { "failed" });
    let mut left_out = Vec::new();
    let cuts: [(&str, Cut); 4] = [
        ("workflows.steps.series", without_series_of_steps),
        ("workflows.series", without_series_of_workflows),
        ("series", |value| drop(value.as_object_mut().map(|fields| fields.remove("series")))),
        ("errors", |value| drop(value.as_object_mut().map(|fields| fields.remove("errors")))),
    ];
    for (name, cut) in cuts {
        if value.to_string().len() <= RESULT_MAX {
            break;
        }
        cut(&mut value);
        left_out.push(name);
    }
    if !left_out.is_empty() {
        value["left_out"] = json!(left_out);
    }
    value
}

fn without_series_of_steps(value: &mut Value) {
    for workflow in each(&mut value["workflows"]) {
        for steps in ["steps", "setup_steps"] {
            if workflow.get(steps).is_some() {
                each(&mut workflow[steps]).for_each(remove_series);
            }
        }
    }
}

fn without_series_of_workflows(value: &mut Value) {
    each(&mut value["workflows"]).for_each(remove_series);
}

fn each(list: &mut Value) -> impl Iterator<Item = &mut Value> {
    list.as_array_mut().into_iter().flatten()
}

fn remove_series(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("series");
    }
}

/// Says how far a job is: by its clock where its length is known, else by its workflows.
#[derive(Debug, Default)]
pub(super) struct Progress {
    planned_s: Option<f64>,
}

impl Progress {
    pub(super) fn take(&mut self, event: &Event, context: &Context) {
        match event {
            Event::Started(started) => self.planned_s = started.planned_s,
            Event::Snapshot(snapshot) => context.progress(self.of(snapshot) as f32),
            _ => {}
        }
    }

    fn of(&self, snapshot: &Snapshot) -> f64 {
        match self.planned_s {
            Some(planned) if planned > 0.0 => snapshot.result.elapsed_s / planned,
            _ => {
                let known = snapshot.workflows.iter().map(|workflow| workflow.progress.unwrap_or(0.0));
                known.sum::<f64>() / snapshot.workflows.len().max(1) as f64
            }
        }
    }
}
