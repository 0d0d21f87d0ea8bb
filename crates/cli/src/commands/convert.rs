//! `hyperscale convert`: what other tools wrote, as a plan.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use hyperscale_convert::{ConvertError, Converted, INPUT_BYTES_MAX, Note, Options, Origin};
use hyperscale_types::ExitCode;
use serde_json::{Value, json};

use super::new::{self, NewError};
use crate::args::{ConvertArgs, Cookies, ImportOrigin};
use crate::errors::CommandError;
use crate::plan_file::STDIN_OR_STDOUT;
use crate::printer::Printer;
use crate::settings::Settings;

/// Reads, translates, writes, and says what is different.
#[expect(clippy::unused_async, reason = "all commands look alike to the dispatcher")]
pub(crate) async fn convert(
    args: ConvertArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let format = new::format(args.format.map(Into::into), args.output.as_deref())?;
    if let Some(taken) = args.output.as_ref().filter(|path| !args.force && path.exists()) {
        return Err(NewError::Exists(taken.clone()).into());
    }
    let bytes = read(&args.file)?;
    let wrong = |source: ConvertError| CommandError::Convert { file: args.file.clone(), source };
    let converted = hyperscale_convert::convert(&args.file, &bytes, args.from.map(origin), options(&args))
        .map_err(wrong)?;
    let text = converted.text(format);
    if let Some(path) = &args.output {
        fs::write(path, &text).map_err(|source| CommandError::Unwritable { path: path.clone(), source })?;
    }
    let shown = match (&args.output, settings.output.json) {
        (output, true) => format!("{}\n", document(&converted, output.as_ref())),
        (None, false) => text,
        (Some(_), false) => String::new(),
    };
    printer.data(&shown).map_err(CommandError::Output)?;
    if !settings.output.json {
        tell(&converted, args.output.as_ref(), printer);
    }
    Ok(ExitCode::Ok)
}

fn options(args: &ConvertArgs) -> Options {
    Options {
        no_static: args.no_static,
        only: args.only.clone(),
        think: args.think,
        recorded_cookies: args.cookies == Cookies::Recorded,
        keep_secrets: args.keep_secrets,
    }
}

fn origin(origin: ImportOrigin) -> Origin {
    match origin {
        ImportOrigin::Curl => Origin::Curl,
        ImportOrigin::Har => Origin::Har,
        ImportOrigin::Openapi => Origin::OpenApi,
        ImportOrigin::Postman => Origin::Postman,
    }
}

/// All bytes of a file or of stdin; one more than the limit is enough to refuse it.
fn read(file: &str) -> Result<Vec<u8>, CommandError> {
    let unreadable = |source| CommandError::Unreadable { what: "the input", path: file.into(), source };
    let mut bytes = Vec::new();
    let read = if file == STDIN_OR_STDOUT {
        io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes))
    };
    read.map_err(unreadable)?;
    Ok(bytes)
}

fn document(converted: &Converted, output: Option<&PathBuf>) -> Value {
    let note = |note: &Note| json!({ "place": note.place, "message": note.message });
    json!({
        "from": converted.origin.to_string(),
        "file": output,
        "requests": converted.requests,
        "notes": converted.notes.iter().map(note).collect::<Vec<_>>(),
        "more_notes": converted.more_notes,
        "plan": converted.plan,
    })
}

fn tell(converted: &Converted, output: Option<&PathBuf>, printer: Printer) {
    for Note { place, message } in &converted.notes {
        printer.note(format_args!("note: {place}: {message}"));
    }
    if converted.more_notes > 0 {
        printer.note(format_args!("note: and {} more", converted.more_notes));
    }
    if let Some(path) = output {
        let (count, path) = (converted.requests, path.display());
        let requests = if count == 1 { "request" } else { "requests" };
        printer.note(format_args!("wrote {path}: {count} {requests}. Next: hyperscale validate {path}"));
    }
}
