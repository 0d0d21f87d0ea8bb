//! `hyperscale compare`: two results side by side.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use hyperscale_report::{CompareFormat, Compared, Style, TextOptions, read_result};
use hyperscale_stats::compare::compare as compared;
use hyperscale_stats::result::RunResult;
use hyperscale_types::ExitCode;

use crate::args::CompareArgs;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::report_file::ReportFile;
use crate::settings::Settings;

/// The largest result that is read: a hundred times that of a large plan.
const RESULT_BYTES_MAX: u64 = 1 << 30;

/// Compares two results, shows what differs and judges the rules.
pub(crate) fn compare(
    args: &CompareArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let files = args.reports.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let mut comparison = compared(&a, &b);
    comparison.judge(&args.rules)?;
    let compared = Compared { a: &a, b: &b, comparison: &comparison };
    let mut all_written = true;
    for (format, file) in files {
        if let Err(error) = file.write(&compared.render(format)) {
            error.report(printer);
            all_written = false;
        }
    }
    let text = if settings.output.json {
        compared.json(false) + "\n"
    } else {
        let style = if printer.color_out() { Style::Ansi } else { Style::Plain };
        let width = terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
        compared.text(TextOptions { style, width: width.unwrap_or(TextOptions::default().width) })
    };
    printer.data(&text).map_err(CommandError::Output)?;
    if let Some(why) = comparison.not_comparable.as_ref().filter(|_| !comparison.is_judged()) {
        printer.error("no rule was judged", why, "run it again with more cores or less load");
    }
    Ok(match (all_written && comparison.is_judged(), comparison.is_broken()) {
        (false, _) => ExitCode::Error,
        (true, true) => ExitCode::Thresholds,
        (true, false) => ExitCode::Ok,
    })
}

fn open(path: &Path) -> Result<(CompareFormat, ReportFile), CommandError> {
    let format = CompareFormat::of_path(path).ok_or_else(|| CommandError::CompareFormat(path.to_owned()))?;
    Ok((format, ReportFile::open(path)?))
}

fn read(path: &Path) -> Result<RunResult, CommandError> {
    let unreadable = |source| CommandError::Unreadable { what: "the result", path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(RESULT_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    read_result(&bytes).map_err(|source| CommandError::NotAResult { path: path.to_owned(), source })
}
