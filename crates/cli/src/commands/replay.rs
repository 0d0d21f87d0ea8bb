//! `hyperscale replay`: a recorded run once more, in any face.
//!
//! Nothing is sent anywhere. Events come at the pace they were recorded with, or faster. A recording that was cut off ends
//! with what was known last: a result that is not final.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hyperscale_engine::Event;
use hyperscale_stats::result::RunResult;
use hyperscale_tui::Mode;
use hyperscale_types::ExitCode;
use tokio::time::{Instant, sleep, sleep_until};

use super::interrupts::Interrupts;
use super::session::{self, farewell};
use crate::args::{ReplayArgs, Speed};
use crate::errors::CommandError;
use crate::faces::{self, Faces, Source};
use crate::printer::Printer;
use crate::recording::{Reader, RecordingError, Timed};
use crate::report_file::Reports;
use crate::settings::Settings;

/// How often a replay without a speed looks whether the faces have caught up.
const ROOM_EVERY: Duration = Duration::from_millis(1);

/// Shows a recording and its result.
pub(crate) async fn replay(
    args: ReplayArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let reports = Reports::open(&args.reports)?;
    let mut recording = Recording::open(args.file)?;
    let mut faces = Faces::default();
    let exported = faces::export(&args.export.urls, Source::Recorded, &mut faces, printer)?;
    let mut wishes = session::watch(&mut faces, Mode::Replay, settings, printer)?;
    let mut interrupts = Interrupts::listen()?;
    let played = tokio::select! {
        played = recording.play(args.speed, &mut faces) => Some(played),
        _ = interrupts.next() => None,
        // A replay has nothing to wish for but its end.
        Some(_) = session::wanted(&mut wishes) => None,
    };
    let trouble = farewell(faces, printer);
    let Some(Ending { mut result, cut }) = played.transpose()? else { return Ok(ExitCode::Cancelled) };
    if let Some(cut) = &cut {
        printer.warning(format_args!("{cut}; shown is the last second that was recorded"));
    }
    exported.add_to(&mut result, printer);
    let shown = session::show(&result, settings, printer);
    let written = reports.write(&result, printer);
    shown?;
    match trouble.into_iter().next() {
        Some(error) => Err(error),
        None if !written => Ok(ExitCode::Error),
        None => Ok(if cut.is_some() { ExitCode::Failed } else { ExitCode::Ok }),
    }
}

/// What a recording ends with.
struct Ending {
    /// The result, or what was known of it.
    result: RunResult,
    /// Why it is not the result of the whole run.
    cut: Option<RecordingError>,
}

/// An open recording.
struct Recording {
    path: PathBuf,
    reader: Reader<BufReader<File>>,
}

impl Recording {
    fn open(path: PathBuf) -> Result<Self, CommandError> {
        let file = File::open(&path).map_err(|source| CommandError::Unreadable {
            what: "the recording",
            path: path.clone(),
            source,
        })?;
        let (_, reader) = Reader::open(BufReader::new(file)).map_err(|source| wrong(&path, source))?;
        Ok(Self { path, reader })
    }

    /// Shows every event at its time; returns what it ends with.
    async fn play(&mut self, speed: Speed, faces: &mut Faces) -> Result<Ending, CommandError> {
        let began = Instant::now();
        let mut known = None;
        loop {
            let Timed { t_s, event } = match (self.reader.next(), known.take()) {
                (Ok(timed), before) => {
                    known = before;
                    timed
                }
                (Err(cut @ RecordingError::Truncated { .. }), Some(result)) => {
                    return Ok(Ending { result, cut: Some(cut) });
                }
                (Err(source), _) => return Err(wrong(&self.path, source)),
            };
            if let Some(after) = speed.scaled(t_s) {
                sleep_until(began + after).await;
            }
            // Nobody misses anything of what is only shown again.
            while !faces.have_room() {
                sleep(ROOM_EVERY).await;
            }
            match &event {
                Event::Finished(result) => {
                    let result = (**result).clone();
                    faces.show(event);
                    return Ok(Ending { result, cut: None });
                }
                Event::Snapshot(snapshot) => known = Some(snapshot.result.clone()),
                _ => {}
            }
            faces.show(event);
            // A recording played as fast as possible must still be interruptible.
            tokio::task::yield_now().await;
        }
    }
}

fn wrong(path: &Path, source: RecordingError) -> CommandError {
    CommandError::Recording { path: path.to_owned(), source }
}

impl Speed {
    /// When something recorded at `t_s` is shown; at once if there is no limit.
    fn scaled(self, t_s: f64) -> Option<Duration> {
        match self {
            Speed::Unlimited => None,
            Speed::Times(factor) => Duration::try_from_secs_f64(t_s / factor).ok(),
        }
    }
}
