//! `hyperscale jobs`: what runs on this machine, or in a cluster.

use hyperscale_api::Method;
use hyperscale_api::method::Page;
use hyperscale_api::response::{JobList, JobSummary, WorkflowSummary};
use hyperscale_report::human;
use hyperscale_stats::event::Target;
use hyperscale_types::ExitCode;

use crate::args::JobsArgs;
use crate::cluster::remote::{self, RemoteError};
use crate::errors::CommandError;
use crate::local::runs;
use crate::printer::Printer;
use crate::settings::Settings;

/// Jobs shown at once.
const PAGE: u32 = 200;
const TITLES: [&str; 6] = ["job", "name", "status", "started", "elapsed", "workflows"];

/// Lists the runs of this user, or the jobs of the cluster that is named.
pub(crate) async fn jobs(
    args: JobsArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let (all, none) = match remote::client_if_named(&args.server)? {
        Some(client) => {
            let page = Page { limit: PAGE, after: None };
            (client.jobs(page).await.map_err(RemoteError::from)?, "the cluster keeps no jobs")
        }
        None => (local(printer).await?, "nothing runs here"),
    };
    if settings.output.json {
        printer.json(&all).map_err(CommandError::Output)?;
    } else if all.jobs.is_empty() {
        printer.note(none);
    } else {
        printer.data(&table(&all.jobs)).map_err(CommandError::Output)?;
        if all.next.is_some() {
            printer.note(format_args!("only the newest jobs are shown, at most {PAGE}"));
        }
    }
    Ok(ExitCode::Ok)
}

/// The runs of this user on this machine.
async fn local(printer: Printer) -> Result<JobList, CommandError> {
    let mut all = JobList::default();
    for run in runs::all().await? {
        match run.call::<JobList>(&Method::JobsList(Page::default())).await {
            Ok(list) => all.jobs.extend(list.jobs),
            // One that ends while it is asked is no run any more.
            Err(error) if error.is_over() => {}
            Err(error) => printer.warning(format_args!("{} is left out: {}", run.job, error.why())),
        }
    }
    Ok(all)
}

fn table(jobs: &[JobSummary]) -> String {
    let titles = TITLES.map(str::to_owned);
    let mut rows: Vec<[String; 6]> = std::iter::once(titles).chain(jobs.iter().map(row)).collect();
    // Lists of clusters have no workflows: `status` shows those of a job.
    if jobs.iter().all(|job| job.workflows.is_empty()) {
        rows[0][5].clear();
    }
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn row(job: &JobSummary) -> [String; 6] {
    let status = if job.paused { "paused" } else { job.status.as_str() };
    let workflows: Vec<String> = job.workflows.iter().map(workflow).collect();
    [
        job.job.clone(),
        job.name.clone(),
        status.to_owned(),
        to_the_second(&job.started_at),
        human::seconds(job.elapsed_s.floor()),
        workflows.join(", "),
    ]
}

/// A time without its fraction of a second, which nobody looks for in a list.
fn to_the_second(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    }
}

fn workflow(workflow: &WorkflowSummary) -> String {
    let target = match workflow.target {
        Some(Target::Vus(vus)) => format!(" {} VUs", human::count(u64::from(vus))),
        Some(Target::Rate(rate)) => format!(" {}", human::rate(rate)),
        None => String::new(),
    };
    format!("{} {}{target}", workflow.name, workflow.status.as_str())
}
