//! `hyperscale demo`: everything in one process, to see it work at once: a target, a cluster, a sample plan. With `--local` the
//! plan is run without a cluster.

mod cluster;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use hyperscale_target::{Latency, Options, Running, Target};
use hyperscale_types::ExitCode;

use super::session::{self, Session};
use crate::args::DemoArgs;
use crate::errors::CommandError;
use crate::plan_file;
use crate::printer::Printer;
use crate::report_file::Reports;
use crate::settings::Settings;

/// The sample plan, the same file that is shown in the documentation.
pub(super) const PLAN: &str = include_str!("../../../../../examples/shop.yaml");
const PLAN_NAME: &str = "examples/shop.yaml";

/// The target answers like a server that has something to do: half of the answers take longer than this.
const LATENCY_MEDIAN: Duration = Duration::from_millis(4);
const LATENCY_SIGMA: f64 = 0.4;

const NEXT: &str = "
Next:
  hyperscale target --listen 127.0.0.1:8080            a target of your own
  hyperscale run http://127.0.0.1:8080/ -c 50 -d 10s   load on a URL
  hyperscale new plan.yaml                             a plan to begin with
  hyperscale run plan.yaml --report out.html           the plan, and a page about its run
";

/// Runs the demo.
pub(crate) async fn demo(
    args: DemoArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    if args.local {
        local(args, settings, printer).await
    } else {
        cluster::demo(args, settings, printer).await
    }
}

/// A target that answers like a server.
pub(super) fn target() -> Result<Running, CommandError> {
    let mut options = Options::new((Ipv4Addr::LOCALHOST, 0).into());
    options.latency = Latency::LogNormal { median: LATENCY_MEDIAN, sigma: LATENCY_SIGMA };
    Target::bind(options)?.spawn().map_err(CommandError::System)
}

/// Runs the sample plan in this process, without a cluster.
async fn local(args: DemoArgs, settings: Settings, printer: Printer) -> Result<ExitCode, CommandError> {
    let reports = Reports::open(&args.reports)?;
    let target = target()?;
    let base = format!("http://{}", target.handle().listen());
    printer.note(format_args!("target on {base}; running {PLAN_NAME} against it"));
    let plan = plan_file::built_in(PLAN_NAME, PLAN, vec![("base".to_owned(), base)])?.plan;
    let options = BTreeMap::from([("plan".to_owned(), PLAN_NAME.to_owned())]);
    let session =
        Session { plan, options, record: args.record, exports: args.export.urls, settings, printer };
    let played = session.play().await?;
    let seen = target.handle().settled_stats().await.requests;
    target.stop();
    let shown = session::show(&played.result, settings, printer);
    let written = reports.write(&played.result, printer);
    shown?;
    printer.note(format_args!("the target counted {seen} requests, set-up included"));
    printer.note(NEXT.trim_end());
    if written { session::conclude(played) } else { Ok(ExitCode::Error) }
}
