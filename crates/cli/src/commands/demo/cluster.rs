//! The demo on a cluster: three managers and two workers in this process. In the middle of the job a worker is stopped, as if its
//! machine were gone; its work is resumed on the other one, and what nobody has reported is named.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use hyperscale_api::method::Submit;
use hyperscale_api::{Access, Client, ClientOptions, Listener, Servers};
use hyperscale_node::launch::{Settings as NodeSettings, Sockets, Timers, Worker, WorkerOffer};
use hyperscale_stats::result::{RunResult, Status};
use hyperscale_types::ExitCode;
use hyperscale_wire::domain::Domain;
use hyperscale_wire::secret::{Secret, Secrets};
use tempfile::TempDir;

use crate::args::DemoArgs;
use crate::cluster::node::NodeError;
use crate::cluster::remote::RemoteError;
use crate::cluster::served::ServedManager;
use crate::commands::{nodes, session, watch};
use crate::errors::CommandError;
use crate::faces::{self, Faces, Source};
use crate::printer::Printer;
use crate::report_file::Reports;
use crate::settings::Settings;

/// The sample plan, the same file that is shown in the documentation.
const PLAN: &str = include_str!("../../../../../examples/cluster.yaml");
const PLAN_NAME: &str = "examples/cluster.yaml";

const MANAGERS: usize = 3;
const WORKERS: usize = 2;
/// Of each worker. One of them has room for everything.
const CORES: u32 = 2;
/// The job runs for this long before a worker is stopped.
const STOP_AFTER_S: f64 = 3.0;
/// How often something is looked at that is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Looks until the cluster must be ready: half a minute.
const LOOKS_MAX: u32 = 600;

const NEXT: &str = "
Next:
  hyperscale demo --local                              the engine alone, without a cluster
  hyperscale manager --help, hyperscale worker --help  nodes of your own
  hyperscale new plan.yaml                             a plan to begin with
  hyperscale run plan.yaml --report out.html           the plan on this machine, and a page about its run
";

/// Runs the demo.
pub(super) async fn demo(
    args: DemoArgs,
    settings: Settings,
    printer: Printer,
) -> Result<ExitCode, CommandError> {
    only_local(&args)?;
    let reports = Reports::open(&args.reports)?;
    let mut faces = session::recording(args.record.as_deref())?;
    let exported = faces::export(&args.export.urls, Source::Live, &mut faces, printer)?;
    let target = super::target()?;
    let base = format!("http://{}", target.handle().listen());
    let mut cluster = DemoCluster::start().await?;
    let client = cluster.client()?;
    wait_until_ready(&client).await?;
    printer.note(format_args!(
        "{MANAGERS} managers and {WORKERS} workers in this process, target on {base}; running {PLAN_NAME}"
    ));
    let mut submit = Submit::new(PLAN_NAME, PLAN);
    submit.variables = [("base".to_owned(), base)].into();
    let job = client.submit(submit).await.map_err(RemoteError::from)?.job;
    let (played, stopped) = play(&client, &job, &mut cluster.workers, (faces, settings), printer).await?;
    let seen = target.handle().settled_stats().await.requests;
    target.stop();
    let Some(mut played) = played else {
        printer.note("the demo ends before its job");
        return Ok(ExitCode::Cancelled);
    };
    exported.add_to(&mut played.result, printer);
    let shown = session::show(&played.result, settings, printer);
    let written = reports.write(&played.result, printer);
    shown?;
    printer.note(conclusion(&played.result, stopped.as_deref(), seen));
    printer.note(NEXT.trim_end());
    if written { session::conclude(played) } else { Ok(ExitCode::Error) }
}

/// Flags that mean nothing where nodes run the plan.
fn only_local(args: &DemoArgs) -> Result<(), CommandError> {
    let engine = args.engine;
    let given = [
        ("--cores", engine.cores.is_some()),
        ("--seed", engine.seed.is_some()),
        ("--no-control", engine.no_control),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(CommandError::Misplaced { flag, belongs: "belongs to `demo --local`" }),
        None => Ok(()),
    }
}

/// Shows the job to its end, or until the person leaves; a worker is stopped meanwhile.
async fn play(
    client: &Client,
    job: &str,
    workers: &mut [Worker],
    (faces, settings): (Faces, Settings),
    printer: Printer,
) -> Result<(Option<session::Played>, Option<String>), CommandError> {
    let mut played = pin!(watch::play(client, job, faces, settings, printer));
    let mut stopping = pin!(stop_a_worker(client, job, workers));
    let mut stopped = None;
    loop {
        tokio::select! {
            played = &mut played => return Ok((played?, stopped)),
            name = &mut stopping, if stopped.is_none() => stopped = Some(name?),
        }
    }
}

/// Stops a worker that sends load once the job has run for a while; its name.
async fn stop_a_worker(client: &Client, job: &str, workers: &mut [Worker]) -> Result<String, CommandError> {
    loop {
        let result = client.job(job).await.map_err(RemoteError::from)?.result;
        if result.status == Status::Running && result.elapsed_s >= STOP_AFTER_S {
            let status = client.cluster_status().await.map_err(RemoteError::from)?;
            let busy = status.workers.iter().find(|worker| worker.free < worker.cores);
            let index = busy.and_then(|worker| worker.id.strip_prefix('w')?.parse::<usize>().ok());
            if let Some((worker, number)) =
                index.and_then(|number| Some((workers.get_mut(number - 1)?, number)))
            {
                worker.stop();
                // However it ended: it is gone.
                let _ = worker.ended().await;
                return Ok(format!("w{number}"));
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// What became of the numbers.
fn conclusion(result: &RunResult, stopped: Option<&str>, seen: u64) -> String {
    let steps =
        result.workflows.iter().flat_map(|workflow| workflow.steps.iter().chain(&workflow.setup_steps));
    let reported: u64 = steps.map(|step| step.requests).sum();
    let stopped = match stopped {
        Some(name) => format!(
            "worker {name} was stopped after {STOP_AFTER_S} s and its work resumed on the other one\n"
        ),
        None => String::new(),
    };
    let unreported = result.validity.loss.unreported.len();
    format!(
        "{stopped}the target counted {seen} requests, the result has {reported}: \
         {} were sent in the {unreported} intervals that nobody reported, named in the result",
        seen.saturating_sub(reported)
    )
}

/// Nodes in this process.
struct DemoCluster {
    /// They run until they are dropped.
    _managers: Vec<ServedManager>,
    workers: Vec<Worker>,
    servers: String,
    /// Removed with this value.
    _data: TempDir,
}

impl DemoCluster {
    async fn start() -> Result<Self, CommandError> {
        let data = tempfile::tempdir().map_err(CommandError::System)?;
        let (mut sockets, mut managers, mut urls) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..MANAGERS {
            sockets.push(Sockets::bind(loopback()).map_err(CommandError::System)?);
        }
        let founders: Vec<SocketAddr> = sockets.iter().map(Sockets::address).collect();
        for (number, sockets) in (1..).zip(sockets) {
            let listener = Listener::tcp(loopback(), Access::Open, None).await.map_err(NodeError::from)?;
            let http = nodes::bound(&listener)?;
            let name = format!("m{number}");
            let mut settings = node(&name, sockets)?;
            (settings.data, settings.api) = (Some(data.path().join(name)), Some(http));
            managers.push(ServedManager::start(settings, founders.clone(), (listener, http))?);
            urls.push(format!("http://{http}"));
        }
        let mut workers = Vec::new();
        for number in 1..=WORKERS {
            let sockets = Sockets::bind(loopback()).map_err(CommandError::System)?;
            let offer = WorkerOffer { cores: CORES, capabilities: BTreeSet::new(), cpus: Vec::new() };
            let worker = Worker::start(node(&format!("w{number}"), sockets)?, founders.clone(), offer);
            workers.push(worker.map_err(NodeError::from)?);
        }
        Ok(Self { _managers: managers, workers, servers: urls.join(","), _data: data })
    }

    fn client(&self) -> Result<Client, CommandError> {
        let servers: Servers = self.servers.parse().expect("they are URLs of this machine");
        let made = Client::new(ClientOptions::new(servers));
        made.map_err(|error| CommandError::System(std::io::Error::other(error)))
    }
}

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A node of the demo; its times are short, so that a worker that is gone is noticed within the demo.
fn node(name: &str, sockets: Sockets) -> Result<NodeSettings, CommandError> {
    let domain = Domain::new("demo", "").map_err(|error| NodeError::Name {
        what: "the cluster",
        text: "demo".to_owned(),
        why: error.to_string(),
    })?;
    Ok(NodeSettings {
        name: name.to_owned(),
        domain,
        datacenter: "demo".to_owned(),
        secrets: Secrets { current: Secret::development(), previous: None },
        certificates: None,
        timers: Timers::test(),
        data: None,
        sockets,
        advertised: None,
        api: None,
    })
}

/// Waits until the cluster has a leader and all workers are registered.
async fn wait_until_ready(client: &Client) -> Result<(), CommandError> {
    for _ in 0..LOOKS_MAX {
        if let Ok(status) = client.cluster_status().await {
            let owned = status.workers.iter().filter(|worker| worker.owner.is_some()).count();
            if status.leader.is_some() && owned == WORKERS {
                return Ok(());
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Err(NodeError::Ended("the nodes of the demo did not find each other within half a minute".to_owned())
        .into())
}
