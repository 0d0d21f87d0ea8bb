//! One file per command, one `async fn` each. Commands return what the caller is told; they never exit or print past
//! the printer.

mod cancel;
mod cluster;
mod compare;
mod completions;
mod config;
mod control;
mod convert;
mod demo;
mod doctor;
mod follow_events;
mod interrupts;
mod jobs;
mod man;
mod manager;
pub(crate) mod new;
mod nodes;
mod ping;
mod replay;
mod result;
mod run;
mod said;
mod schedules;
mod schema;
mod secret;
mod serve;
mod session;
mod status;
mod submit;
mod target;
mod task_nodes;
mod tasks;
mod validate;
mod watch;
mod worker;

use hyperscale_types::ExitCode;

use crate::args::{Cli, Command, EngineArgs};
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// Runs the command and tells the person about errors.
pub(crate) fn execute(mut cli: Cli) -> ExitCode {
    let engine = match &cli.command {
        Command::Run(args) => args.engine,
        Command::Demo(args) => args.engine,
        Command::Replay(args) => EngineArgs { no_ui: args.no_ui, ..EngineArgs::default() },
        Command::Submit(args) => EngineArgs { no_ui: args.no_ui, ..EngineArgs::default() },
        Command::Watch(args) => EngineArgs { no_ui: args.no_ui, ..EngineArgs::default() },
        _ => EngineArgs::default(),
    };
    let (settings, exports) = match Settings::resolve(&cli.global, engine) {
        Ok(resolved) => resolved,
        Err(error) => return tell(&error.into(), Printer::plain()),
    };
    if let Some(args) = cli.command.export().filter(|args| args.urls.is_empty()) {
        args.urls = exports;
    }
    let printer = Printer::new(settings.output);
    // One thread is enough to listen to signals and events: load and targets have threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime
        .map_err(CommandError::System)
        .and_then(|runtime| runtime.block_on(dispatch(cli.command, settings, printer)));
    done.unwrap_or_else(|error| tell(&error, printer))
}

async fn dispatch(command: Command, settings: Settings, printer: Printer) -> Result<ExitCode, CommandError> {
    match command {
        Command::Demo(args) => demo::demo(args, settings, printer).await,
        Command::Run(args) => run::run(*args, settings, printer).await,
        Command::Manager(args) => manager::manager(*args, printer).await,
        Command::Worker(args) => worker::worker(*args, printer).await,
        Command::Submit(args) => submit::submit(*args, settings, printer).await,
        Command::Jobs(args) => jobs::jobs(args, settings, printer).await,
        Command::Status(args) => status::status(args, settings, printer).await,
        Command::Watch(args) => watch::watch(args, settings, printer).await,
        Command::Result(args) => result::result(args, settings, printer).await,
        Command::Cancel(args) => cancel::cancel(args, settings, printer).await,
        Command::Cluster(args) => cluster::cluster(args, settings, printer).await,
        Command::Serve(args) => serve::serve(*args, printer).await,
        Command::Tasks(args) => tasks::tasks(args, settings, printer).await,
        Command::Schedules(args) => schedules::schedules(args, settings, printer).await,
        Command::Nodes(args) => task_nodes::nodes(args, settings, printer).await,
        Command::Secret => secret::secret(printer),
        Command::Config(args) => config::config(args, settings, printer).await,
        Command::Control(args) => control::control(args, settings, printer).await,
        Command::Replay(args) => replay::replay(args, settings, printer).await,
        Command::Validate(args) => validate::validate(args, settings, printer).await,
        Command::New(args) => new::new(args, settings, printer).await,
        Command::Convert(args) => convert::convert(args, settings, printer).await,
        Command::Schema(args) => schema::schema(&args, printer),
        Command::Compare(args) => compare::compare(&args, settings, printer),
        Command::Ping(args) => ping::ping(args, settings, printer).await,
        Command::Doctor(args) => doctor::doctor(args, settings, printer).await,
        Command::Target(args) => target::target(args, printer).await,
        Command::Completions(args) => completions::completions(args, printer).await,
        Command::Man(args) => man::man(args, settings, printer).await,
    }
}

fn tell(error: &CommandError, printer: Printer) -> ExitCode {
    error.report(printer);
    error.exit_code()
}
