//! `hyperscale man`: the manual, one page per command, made from the same definition as `--help`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use hyperscale_types::ExitCode;
use serde_json::json;

use crate::args::{Cli, ManArgs};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// Prints the first page, or writes all of them into a folder.
#[expect(clippy::unused_async, reason = "all commands look alike to the dispatcher")]
pub(crate) async fn man(
    args: ManArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let mut command = Cli::command();
    command.build();
    let Some(dir) = &args.dir else {
        let page = page(command).map_err(CommandError::Output)?;
        printer.data(&page).map_err(CommandError::Output)?;
        return Ok(ExitCode::Ok);
    };
    let written = write_all(&command, "hyperscale", dir)?;
    if settings.output.json {
        printer.data(&format!("{}\n", json!({ "files": written }))).map_err(CommandError::Output)?;
    } else {
        printer.note(format_args!("{} pages written to {}", written.len(), dir.display()));
    }
    Ok(ExitCode::Ok)
}

/// Writes the page of a command and of everything below it.
fn write_all(command: &Command, name: &str, dir: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let path = dir.join(format!("{name}.1"));
    let unwritable = |source| CommandError::Unwritable { path: path.clone(), source };
    fs::create_dir_all(dir).map_err(unwritable)?;
    let page = page(command.clone().display_name(name.to_owned())).map_err(unwritable)?;
    fs::write(&path, page).map_err(unwritable)?;
    let mut written = vec![path];
    for below in command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set())
    {
        written.extend(write_all(below, &format!("{name}-{}", below.get_name()), dir)?);
    }
    Ok(written)
}

fn page(command: Command) -> io::Result<String> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
