//! One run from its start to its result: events go to the faces, signals become commands.
//!
//! ```text
//! SIGINT, SIGTERM, SIGHUP ──┐
//! wishes, cancels ──────────┤              first: Finish, second: Abort ──► engine
//!                           ├─► one loop ──┤
//! events of the run ────────┘              faces: lines, recording, …
//! ```

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperscale_api::response::CancelStatus;
use hyperscale_engine::{Command, Control, Event, Run, RunOptions, available_cores};
use hyperscale_plan::model::Plan;
use hyperscale_report::{Style, TextOptions, summary, to_json};
use hyperscale_stats::result::{RunResult, Status};
use hyperscale_tui::{Mode, Wish};
use hyperscale_types::ExitCode;

use super::interrupts::Interrupts;
use crate::errors::CommandError;
use crate::faces::{self, Closed, Faces, LiveScreen, ProgressLog, Recorder, Source, Wishes, screen};
use crate::identity;
use crate::local::steering::Steering;
use crate::printer::Printer;
use crate::settings::Settings;

/// A plan about to be run.
pub(crate) struct Session {
    /// What is run.
    pub(crate) plan: Plan,
    /// What the result says about how it was started; cores and seed are added.
    pub(crate) options: BTreeMap<String, String>,
    /// Where the run is recorded.
    pub(crate) record: Option<PathBuf>,
    /// Where it is exported to.
    pub(crate) exports: Vec<String>,
    /// Cores and seed.
    pub(crate) settings: Settings,
    /// Where progress goes.
    pub(crate) printer: Printer,
}

/// A run that is over.
pub(crate) struct Played {
    /// What came out.
    pub(crate) result: RunResult,
    /// What a face could not do; the run itself is none the worse.
    pub(crate) trouble: Vec<CommandError>,
}

impl Session {
    /// Runs the plan to its end, however it comes.
    pub(crate) async fn play(self) -> Result<Played, CommandError> {
        let printer = self.printer;
        let mut interrupts = Interrupts::listen()?;
        let mut faces = recording(self.record.as_deref())?;
        let exported = faces::export(&self.exports, Source::Live, &mut faces, printer)?;
        let options = self.run_options();
        let settings = self.settings;
        let job = options.job.clone();
        let mut run = Run::start(Arc::new(self.plan), options)?;
        // Before a screen hides them.
        run.warnings().iter().for_each(|warning| printer.warning(warning));
        let control = run.control();
        let mut steering = settings.control.then(|| Steering::open(&job, control.clone(), printer)).flatten();
        let mut wishes = watch(&mut faces, Mode::Live, settings, printer)?;
        loop {
            tokio::select! {
                event = run.event() => match event {
                    None | Some(Event::Finished(_)) => break,
                    Some(event) => faces.show(event),
                },
                presses = interrupts.next() => interrupt(presses, &control, &mut faces),
                Some(wish) = wanted(&mut wishes) => match wish {
                    Wish::Interrupt | Wish::Leave => interrupt(interrupts.count(), &control, &mut faces),
                    // A run that is over takes no command.
                    Wish::Command(command) => drop(control.send(command)),
                },
                cancel = Steering::cancelled(&mut steering) => {
                    // Like the first Ctrl-C; asking again changes nothing.
                    let status = interrupts.first().map(|presses| interrupt(presses, &control, &mut faces));
                    cancel.answer(status.map_or(CancelStatus::InProgress, |()| CancelStatus::Requested));
                },
            }
        }
        // The conductor has said its last word; it only has to put its result down.
        let mut result = run.join();
        if let Some(steering) = steering {
            steering.close().await;
        }
        faces.show(Event::Finished(Box::new(result.clone())));
        let trouble = farewell(faces, printer);
        exported.add_to(&mut result, printer);
        Ok(Played { result, trouble })
    }

    fn run_options(&self) -> RunOptions {
        let cores = self.settings.cores.map_or_else(available_cores, Into::into);
        let seed = self.settings.seed.unwrap_or_else(identity::random_u64);
        let mut options = self.options.clone();
        options.insert("cores".to_owned(), cores.to_string());
        options.insert("seed".to_owned(), seed.to_string());
        RunOptions {
            cores,
            seed,
            job: identity::job_id(),
            worker: identity::worker_id(),
            started_at: identity::now(),
            environment: identity::environment(),
            options,
        }
    }
}

/// The faces that must be there before any load is made.
pub(super) fn recording(record: Option<&Path>) -> Result<Faces, CommandError> {
    let mut faces = Faces::default();
    if let Some(path) = record {
        faces.add("recording", Recorder::create(path)?)?;
    }
    Ok(faces)
}

/// Adds the face for people: the screen where there is a terminal for it, else lines.
pub(super) fn watch(
    faces: &mut Faces,
    mode: Mode,
    settings: Settings,
    printer: Printer,
) -> Result<Option<Wishes>, CommandError> {
    if screen::is_wanted(settings.output) {
        let (live, wishes) = LiveScreen::start(mode, settings.output)?;
        faces.add("screen", live)?;
        return Ok(Some(wishes));
    }
    faces.add("progress", ProgressLog::new(printer))?;
    Ok(None)
}

/// The next wish of the person at the screen; never, where there is none.
pub(super) async fn wanted(wishes: &mut Option<Wishes>) -> Option<Wish> {
    match wishes {
        Some(wishes) => wishes.recv().await,
        None => std::future::pending().await,
    }
}

fn interrupt(presses: u32, control: &Control, faces: &mut Faces) {
    let (command, what) =
        if presses == 1 { (Command::Finish, FINISHING) } else { (Command::Abort, ABORTING) };
    control.send(command);
    faces.show(Event::Changed { what: what.to_owned(), change: None });
}

/// Waits for the faces; what they have missed is told, what went wrong comes back.
pub(super) fn farewell(faces: Faces, printer: Printer) -> Vec<CommandError> {
    let mut trouble = Vec::new();
    for Closed { name, missed, outcome } in faces.close() {
        if missed > 0 {
            printer.warning(format_args!("the {name} was too slow for {missed} events of the run"));
        }
        trouble.extend(outcome.err());
    }
    trouble
}

const FINISHING: &str =
    "stopping: no new iterations, running ones may finish; press Ctrl-C again to stop at once";
const ABORTING: &str = "stopping at once";

/// Prints the result: JSON, or the summary for people.
pub(crate) fn show(result: &RunResult, settings: Settings, printer: Printer) -> Result<(), CommandError> {
    let text = if settings.output.json {
        // The summary says them itself.
        result.validity.warnings.iter().for_each(|warning| printer.warning(warning));
        format!("{}\n", to_json(result, false))
    } else {
        let style = if printer.color_out() { Style::Ansi } else { Style::Plain };
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        summary(result, TextOptions { style, width: width.unwrap_or(TextOptions::default().width) })
    };
    printer.data(&text).map_err(CommandError::Output)
}

/// What the caller is told about a run that was shown: trouble of a face first, for what was asked for is not there.
pub(crate) fn conclude(played: Played) -> Result<ExitCode, CommandError> {
    match played.trouble.into_iter().next() {
        Some(error) => Err(error),
        None => Ok(exit_code(&played.result)),
    }
}

/// What the caller is told about a run that came to a result. Thresholds win over how it ended, but where nothing
/// answered there was nothing to hold a threshold against.
fn exit_code(result: &RunResult) -> ExitCode {
    match (result.status, result.reason.as_deref()) {
        (_, Some("unreachable")) => ExitCode::Unreachable,
        _ if !result.thresholds_passed => ExitCode::Thresholds,
        (_, Some("threshold")) => ExitCode::Thresholds,
        (Status::Completed, _) => ExitCode::Ok,
        (Status::Cancelled, _) => ExitCode::Cancelled,
        _ => ExitCode::Failed,
    }
}
