//! `hyperscale new`: a starter plan from a template. Never replaces a file that was not meant to be replaced, and
//! never writes a plan that `hyperscale validate` would refuse.

mod ask;
mod error;
mod templates;

use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use hyperscale_plan::document::Format;
use hyperscale_types::ExitCode;
use serde_json::json;

pub(crate) use error::NewError;
use templates::{DEFAULT, TEMPLATES, Template};

use crate::args::NewArgs;
use crate::errors::CommandError;
use crate::plan_file::STDIN_OR_STDOUT;
use crate::printer::Printer;
use crate::settings::Settings;

/// Where the built-in target listens, and what templates test unless told otherwise.
const URL: &str = templates::URL;

/// What is to be written.
struct Order {
    template: &'static Template,
    url: String,
    /// `None`: printed.
    file: Option<PathBuf>,
    format: Format,
}

/// Writes a starter plan.
#[expect(clippy::unused_async, reason = "all commands look alike to the dispatcher")]
pub(crate) async fn new(
    args: NewArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    if args.list {
        list(settings, printer)?;
        return Ok(ExitCode::Ok);
    }
    let order = order(&args)?;
    let text = order.template.text(&order.url, order.format)?;
    match &order.file {
        None => printer.data(&text).map_err(CommandError::Output)?,
        Some(file) => {
            let written = write(file, &text, order.template, args.force)?;
            tell(&order, file, &written, settings, printer)?;
        }
    }
    Ok(ExitCode::Ok)
}

fn list(settings: Settings, printer: Printer) -> Result<(), CommandError> {
    let text = if settings.output.json {
        let all = TEMPLATES.iter().map(|template| json!({ "name": template.name, "about": template.about }));
        format!("{}\n", json!({ "templates": all.collect::<Vec<_>>() }))
    } else {
        let line = |template: &Template| format!("{:<8} {}", template.name, template.about);
        TEMPLATES.iter().map(line).collect::<Vec<_>>().join("\n") + "\n"
    };
    printer.data(&text).map_err(CommandError::Output)
}

/// What the flags say; what they do not say is asked for on a terminal, and has a default elsewhere.
fn order(args: &NewArgs) -> Result<Order, CommandError> {
    let given =
        ask::Given { template: args.template.clone(), url: args.url.clone(), file: args.file.clone() };
    if let Some(url) = &args.url {
        templates::base(url)?; // before anybody answers questions in vain
    }
    let is_complete = given.template.is_some() && given.url.is_some() && given.file.is_some();
    let given = if !is_complete && io::stdin().is_terminal() && io::stderr().is_terminal() {
        ask::missing(given, &mut io::stdin().lock(), &mut io::stderr().lock())
            .map_err(NewError::Unanswered)?
    } else {
        given
    };
    let template = templates::find(given.template.as_deref().unwrap_or(DEFAULT))?;
    let file = given.file.ok_or(NewError::NoFile)?;
    let file = (file != Path::new(STDIN_OR_STDOUT)).then_some(file);
    let format = format(args.format.map(Into::into), file.as_deref())?;
    Ok(Order { template, url: given.url.unwrap_or_else(|| URL.to_owned()), file, format })
}

/// The format asked for and the file's extension must not contradict each other.
pub(super) fn format(asked: Option<Format>, file: Option<&Path>) -> Result<Format, NewError> {
    let of_file = file.and_then(Format::of_path);
    match (asked, of_file, file) {
        (Some(asked), Some(of_file), Some(file)) if asked != of_file => {
            Err(NewError::Extension { file: file.to_owned() })
        }
        _ => Ok(asked.or(of_file).unwrap_or(Format::Yaml)),
    }
}

/// Writes the plan and the files it needs, all or none.
fn write(file: &Path, plan: &str, template: &Template, force: bool) -> Result<Vec<PathBuf>, CommandError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let beside = template.files.iter().map(|(name, text)| (folder.join(name), *text));
    let files: Vec<(PathBuf, &str)> = std::iter::once((file.to_owned(), plan)).chain(beside).collect();
    if let Some((taken, _)) = files.iter().find(|(path, _)| !force && path.exists()) {
        return Err(NewError::Exists(taken.clone()).into());
    }
    for (path, text) in &files {
        fs::write(path, text).map_err(|source| CommandError::Unwritable { path: path.clone(), source })?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn tell(
    order: &Order,
    file: &Path,
    written: &[PathBuf],
    settings: Settings,
    printer: Printer,
) -> Result<(), CommandError> {
    if settings.output.json {
        let told = json!({ "template": order.template.name, "file": file, "files": written });
        return printer.data(&format!("{told}\n")).map_err(CommandError::Output);
    }
    for path in written {
        printer.note(format_args!("wrote {}", path.display()));
    }
    let file = file.display();
    printer.note("\nNext:");
    if templates::base(&order.url).is_ok_and(|base| base == URL) {
        printer
            .note("  hyperscale target &                  # something to test, at the address of the plan");
    }
    printer.note(format_args!("  hyperscale validate {file} --explain   # what it will do"));
    printer.note(format_args!("  hyperscale run {file}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_decides_unless_a_format_is_asked_for() {
        let of = |asked, file| format(asked, Some(Path::new(file))).ok();
        assert_eq!(of(None, "a.toml"), Some(Format::Toml));
        assert_eq!(of(None, "a.plan"), Some(Format::Yaml));
        assert_eq!(of(Some(Format::Json), "a.plan"), Some(Format::Json));
        assert_eq!(of(Some(Format::Json), "a.yml"), None);
        assert_eq!(format(None, None).ok(), Some(Format::Yaml));
    }
}
