//! The face behind `--export URL`: every state of the run goes to the exporters, and what became of it into the result.

use std::sync::{Arc, OnceLock};

use hyperscale_engine::Event;
use hyperscale_export::{Exporters, Place};
use hyperscale_stats::result::{ExportResult, RunResult};

use super::{Face, Faces};
use crate::errors::CommandError;
use crate::printer::Printer;

/// Where a run comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// It happens now and waits for nobody.
    Live,
    /// It was recorded, and can wait until every state is delivered.
    Recorded,
}

/// The exporters of one run.
struct ExportFace {
    exporters: Exporters,
    source: Source,
    results: Arc<OnceLock<Vec<ExportResult>>>,
}

/// What the exporters will have done when their face is closed.
#[derive(Default)]
pub(crate) struct Exported(Arc<OnceLock<Vec<ExportResult>>>);

/// Opens all places before any load is made. Says where endpoints listen.
pub(crate) fn export(
    urls: &[String],
    source: Source,
    faces: &mut Faces,
    printer: Printer,
) -> Result<Exported, CommandError> {
    let exported = Exported::default();
    if urls.is_empty() {
        return Ok(exported);
    }
    let places = urls.iter().map(|url| Place::parse(url)).collect::<Result<Vec<_>, _>>()?;
    let exporters = Exporters::open(&places)?;
    exporters.endpoints().for_each(|url| printer.note(format_args!("metrics at {url}")));
    faces.add("exporter", ExportFace { exporters, source, results: Arc::clone(&exported.0) })?;
    Ok(exported)
}

impl Face for ExportFace {
    fn event(&mut self, event: &Event) {
        self.exporters.event(event);
        if self.source == Source::Recorded {
            self.exporters.settle();
        }
    }

    fn close(self: Box<Self>) -> Result<(), CommandError> {
        // Nobody else sets it.
        let _ = self.results.set(self.exporters.close());
        Ok(())
    }
}

impl Exported {
    /// Puts down what was delivered, after the faces were closed, and warns of what was not.
    pub(crate) fn add_to(self, result: &mut RunResult, printer: Printer) {
        result.provenance.exports = self.0.get().cloned().unwrap_or_default();
        for export in result.provenance.exports.iter().filter(|export| export.lost > 0) {
            let ExportResult { kind, target, lost, error, .. } = export;
            let why = error.as_deref().unwrap_or("unknown");
            printer.warning(format_args!("{kind} {target}: {lost} states of the run were lost: {why}"));
        }
    }
}
