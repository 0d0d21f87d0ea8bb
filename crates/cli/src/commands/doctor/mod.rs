//! `hyperscale doctor`: is this machine fit to make load, and what has to be done if not?
//!
//! Every check reads through a [`Probe`], says what it found, why that matters and which command changes it. It never
//! changes anything itself.

mod cpu;
mod network;
mod probe;
mod room;
mod show;
mod target;
mod time;

use hyperscale_types::ExitCode;
use probe::Probe;

use crate::args::DoctorArgs;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// How good something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// Nothing to do.
    Ok,
    /// Load can be made, but numbers may suffer.
    Warn,
    /// What was asked for cannot work.
    Fail,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What was found out about one thing.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    name: &'static str,
    verdict: Verdict,
    /// What is the case.
    found: String,
    /// Why it matters.
    why: &'static str,
    /// What to do, if there is something to do.
    fix: Option<String>,
}

impl Finding {
    /// Nothing to do about it.
    fn ok(name: &'static str, found: impl Into<String>, why: &'static str) -> Self {
        Self { name, verdict: Verdict::Ok, found: found.into(), why, fix: None }
    }

    /// The same finding, worse, with what to do about it.
    fn but(self, verdict: Verdict, fix: impl Into<String>) -> Self {
        Self { verdict, fix: Some(fix.into()), ..self }
    }

    /// Something that this system does not tell. That is no reason to complain.
    fn unknown(name: &'static str, why: &'static str) -> Self {
        Self::ok(name, "not visible on this system", why)
    }
}

/// Looks at everything and says it.
pub(crate) async fn doctor(
    args: DoctorArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    let probe = Probe::new(&args.root);
    let vus = u64::from(args.vus.get());
    let mut findings = vec![
        room::open_files(&probe, vus),
        network::local_ports(&probe, vus),
        network::time_wait(&probe, args.target.as_deref()),
        network::backlog(&probe),
        time::clock_source(&probe),
        time::resolution(probe.clock_resolution()),
        time::timer_slack(&probe),
        cpu::count(&probe),
        cpu::load(&probe),
        cpu::quota(&probe),
        cpu::governor(&probe),
        room::memory(&probe, vus),
        room::folder("run folder", std::env::current_dir()),
        room::folder("temporary folder", Ok(std::env::temp_dir())),
    ];
    if let Some(url) = args.target {
        findings.push(target::reach(url, args.insecure).await?);
    }
    let text = show::all(&findings, settings.output.json);
    printer.data(&text).map_err(CommandError::Output)?;
    let worst = findings.iter().map(|finding| finding.verdict).max();
    Ok(if worst == Some(Verdict::Fail) { ExitCode::Error } else { ExitCode::Ok })
}
