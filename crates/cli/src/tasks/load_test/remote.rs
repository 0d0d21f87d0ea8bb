//! A load test on a cluster: submitted once, whatever becomes of this process, and followed.

use hyperscale_api::method::{CancelJob, RequestId};
use hyperscale_api::{CallError, Client};
use hyperscale_stats::event::Event;
use hyperscale_tasks::runtime::{Context, Failure};
use serde_json::Value;

use super::inputs::Inputs;
use super::outcome::{self, Again, Progress};

/// The step whose key the job has.
const STEP: &str = "job";

/// Submits the job, or finds the one that an earlier attempt submitted, and follows it. Cancelled, the job is cancelled.
pub(super) async fn run(client: &Client, inputs: Inputs, context: &Context) -> Result<Value, Failure> {
    let mut submit = inputs.submit;
    let key: RequestId = context
        .effect_key(STEP)
        .parse()
        .map_err(|error| Failure::ForGood(format!("the effect key cannot be an idempotency key: {error}")))?;
    submit.idempotency_key = Some(key);
    let submitted = tokio::select! {
        submitted = client.submit(submit) => submitted.map_err(|error| failed(&error))?,
        () = context.cancelled().cancelled() => return Err(Failure::Cancelled),
    };
    let (job, mut progress, mut is_cancelled) = (submitted.job, Progress::default(), false);
    let mut events = client.events(job.as_str(), None);
    let result = loop {
        tokio::select! {
            event = events.next() => match event.map_err(|error| failed(&error))? {
                None => break client.result(&job).await.map_err(|error| failed(&error))?,
                Some(event) => match event.detail.map(|detail| *detail) {
                    Some(Event::Finished(result)) => break *result,
                    Some(detail) => progress.take(&detail, context),
                    None => {}
                },
            },
            () = context.cancelled().cancelled(), if !is_cancelled => {
                is_cancelled = true;
                let cancelled = client.cancel_job(CancelJob { job: job.clone(), reason: "the task was cancelled".to_owned(), ..CancelJob::default() }).await;
                // A job that has ended meanwhile cannot be cancelled; its last event follows.
                if let Err(error) = cancelled {
                    tracing::warn!(%error, job, "the job of a cancelled task was not cancelled");
                }
            }
        }
    };
    if is_cancelled { Err(Failure::Cancelled) } else { outcome::of(&result, Again::Useless) }
}

/// What the cluster refuses for its contents is refused every time.
fn failed(error: &CallError) -> Failure {
    let why = format!("{}: {}", error.what(), error.why());
    match error {
        CallError::TooLarge { .. } => Failure::ForGood(why),
        CallError::Refused(refusal) if is_for_good(refusal) => Failure::ForGood(why),
        _ => Failure::Retry(why),
    }
}

fn is_for_good(refusal: &hyperscale_api::RpcError) -> bool {
    use hyperscale_types::ExitCode;
    refusal.kind().is_some_and(|code| matches!(code.exit_code(), ExitCode::Usage | ExitCode::PlanInvalid))
}
