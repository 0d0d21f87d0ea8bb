//! `hyperscale validate`: everything that is wrong with a plan, or what it would do.

use std::fmt::Write;

use hyperscale_engine::{available_cores, data};
use hyperscale_plan::explain::{Explanation, explain};
use hyperscale_plan::{Loaded, Problem, render};
use hyperscale_types::ExitCode;
use serde_json::{Value, json};

use crate::args::ValidateArgs;
use crate::errors::CommandError;
use crate::plan_file;
use crate::printer::Printer;
use crate::settings::Settings;

/// Checks a plan.
#[expect(clippy::unused_async, reason = "all commands look alike to the dispatcher")]
pub(crate) async fn validate(
    args: ValidateArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let loaded = match read(&args) {
        Ok(loaded) => loaded,
        Err(CommandError::Plan(problems)) if settings.output.json => {
            print(&format!("{}\n", invalid(&problems)), printer)?;
            return Ok(ExitCode::PlanInvalid);
        }
        Err(error) => return Err(error),
    };
    let cores = args.cores.or(settings.cores).map_or_else(available_cores, Into::into);
    let explanation = explain(&loaded.plan, cores);
    let text = if settings.output.json {
        format!("{}\n", valid(&explanation, &loaded.warnings))
    } else {
        printer.verbatim(&render(&loaded.warnings));
        let details = if args.explain { format!("\n{explanation}") } else { String::new() };
        format!("{}{details}", overview(&args.plan, &explanation, !args.explain))
    };
    print(&text, printer)?;
    Ok(ExitCode::Ok)
}

/// The plan, and its data files as a run would read them.
fn read(args: &ValidateArgs) -> Result<Loaded, CommandError> {
    let mut loaded = plan_file::read(&args.plan, args.vars.clone())?;
    let warnings = data::check(&loaded.plan).map_err(|error| {
        let problem = Problem::general(&error.file.to_string_lossy(), error.problem.to_string());
        CommandError::Plan(vec![problem.at_line(error.line.unwrap_or(0))])
    })?;
    loaded.warnings.extend(warnings.into_iter().map(|text| Problem::general(&args.plan, text).as_warning()));
    Ok(loaded)
}

fn print(text: &str, printer: Printer) -> Result<(), CommandError> {
    printer.data(text).map_err(CommandError::Output)
}

fn invalid(problems: &[Problem]) -> Value {
    json!({ "valid": false, "problems": problems })
}

fn valid(explanation: &Explanation, warnings: &[Problem]) -> Value {
    json!({ "valid": true, "problems": warnings, "explain": explanation })
}

/// A line for each workflow and threshold.
fn overview(path: &str, explanation: &Explanation, with_batches: bool) -> String {
    let mut text = format!("{path}: ok\n");
    for workflow in &explanation.workflows {
        let steps = workflow.parts.iter().filter(|part| part.part == "steps").flat_map(|part| &part.steps);
        let names: Vec<&str> = steps.map(|step| step.name.as_str()).collect();
        let _ = writeln!(text, "  {}: {}; steps {}", workflow.name, workflow.load, names.join(", "));
    }
    if with_batches && explanation.workflows.len() > 1 {
        for (number, batch) in (1..).zip(&explanation.batches) {
            let _ = writeln!(text, "  batch {number} of {} cores: {batch}", explanation.cores_total);
        }
    }
    for rule in &explanation.thresholds {
        let _ = writeln!(text, "  threshold {rule}");
    }
    text
}
