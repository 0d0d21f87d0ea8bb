//! A load test in this process, by the same engine as `hyperscale run`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use hyperscale_engine::{Command, Event, Run, RunOptions};
use hyperscale_node::worker::load_bundle;
use hyperscale_plan::Loaded;
use hyperscale_tasks::runtime::{Context, Failure};
use serde_json::Value;

use super::LoadTestOptions;
use super::inputs::{Inputs, describe};
use super::outcome::{self, Again, Progress};
use crate::identity;

/// Runs the plan to its end. Cancelled, no iteration starts any more and those that run may finish; dropped, the load is cut off.
pub(super) async fn run(
    options: &LoadTestOptions,
    inputs: Inputs,
    context: &Context,
) -> Result<Value, Failure> {
    let unwritable =
        |error: std::io::Error| Failure::Retry(format!("the files of the plan cannot be written: {error}"));
    std::fs::create_dir_all(&options.folder).map_err(unwritable)?;
    // Removed with everything in it when the attempt ends, however it does.
    let folder = tempfile::tempdir_in(&options.folder).map_err(unwritable)?;
    let loaded = load(folder.path(), &inputs)?;
    let run = Run::start(Arc::new(loaded.plan), run_options(options, context));
    let mut run = run.map_err(|error| Failure::Retry(error.to_string()))?;
    let (control, mut progress, mut is_cancelled) = (run.control(), Progress::default(), false);
    loop {
        tokio::select! {
            event = run.event() => match event {
                None | Some(Event::Finished(_)) => break,
                Some(event) => progress.take(&event, context),
            },
            () = context.cancelled().cancelled(), if !is_cancelled => {
                is_cancelled = true;
                control.send(Command::Finish);
            }
        }
    }
    // The host has sent its last event; it only has to put its result down.
    let result = run.join();
    if is_cancelled { Err(Failure::Cancelled) } else { outcome::of(&result, Again::Possible) }
}

fn load(folder: &Path, inputs: &Inputs) -> Result<Loaded, Failure> {
    let loaded = load_bundle(folder, &inputs.bundle());
    let loaded = loaded
        .map_err(|error| Failure::Retry(format!("the files of the plan cannot be written: {error}")))?;
    loaded.map_err(|problems| Failure::ForGood(describe(&problems)))
}

fn run_options(options: &LoadTestOptions, context: &Context) -> RunOptions {
    let seed = identity::random_u64();
    let said = BTreeMap::from([
        ("cores".to_owned(), options.cores.to_string()),
        ("seed".to_owned(), seed.to_string()),
        ("task".to_owned(), context.task().to_string()),
    ]);
    RunOptions {
        cores: options.cores,
        seed,
        job: identity::job_id(),
        worker: identity::worker_id(),
        started_at: identity::now(),
        environment: identity::environment(),
        options: said,
    }
}
