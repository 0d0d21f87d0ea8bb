//! How a run can be reached while it runs: a socket named by its job, and somebody behind it who answers.
//!
//! ```text
//! hyperscale control ──► socket ──► server ──► LocalBackend ── commands, looks ──► engine
//!                                                     └── cancels ──► session, where Ctrl-C arrives too
//! ```
//! A run never fails for want of it: without a socket it cannot be steered from outside, and says so.

use std::sync::Arc;

use hyperscale_api::folder::{self, Folder, Socket};
use hyperscale_api::method::Control as ControlRequest;
use hyperscale_api::response::{
    CancelResponse, CancelStatus, Controlled, JobList, JobSummary, WorkflowSummary,
};
use hyperscale_api::server::to_result;
use hyperscale_api::{Backend, Caller, ErrorCode, Limits, Listener, Method, RpcError, Server, Steer};
use hyperscale_engine::{Control, Refusal, View};
use hyperscale_stats::result::ChangedBy;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::folder_path;
use crate::printer::Printer;

/// Cancels waiting for the session, which takes them at once.
const CANCELS_MAX: usize = 16;

/// The way into one run, as long as it is held. Dropping it closes the way at once.
#[derive(Debug)]
pub(crate) struct Steering {
    cancels: mpsc::Receiver<Cancel>,
    stop: watch::Sender<bool>,
    server: JoinSet<()>,
    socket: Socket,
}

/// Somebody wants the run to stop.
#[derive(Debug)]
pub(crate) struct Cancel {
    answer: oneshot::Sender<CancelStatus>,
}

impl Cancel {
    /// Says whether it made a difference.
    pub(crate) fn answer(self, status: CancelStatus) {
        // Whoever asked may have gone.
        let _ = self.answer.send(status);
    }
}

impl Steering {
    /// Opens the way into a run; `None` and a warning if that cannot be.
    pub(crate) fn open(job: &str, control: Control, printer: Printer) -> Option<Self> {
        let opened = Folder::make(&folder_path(), folder::user())
            .map_err(|error| error.to_string())
            .and_then(|folder| folder.listen(job).map_err(|error| error.to_string()));
        let (listener, socket) = match opened {
            Ok(opened) => opened,
            Err(why) => {
                printer.warning(format_args!("the run cannot be controlled from outside: {why}"));
                return None;
            }
        };
        let (cancel, cancels) = mpsc::channel(CANCELS_MAX);
        let (stop, stopped) = watch::channel(false);
        let backend = Arc::new(LocalBackend { job: job.to_owned(), control, cancels: cancel });
        let listener = Listener::unix(listener, folder::user());
        let mut server = JoinSet::new();
        server.spawn(Server { listener, backend, limits: Limits::LOCAL }.run(stopped));
        Some(Self { cancels, stop, server, socket })
    }

    /// The next wish to stop the run; never, where nobody can have one.
    pub(crate) async fn cancelled(steering: &mut Option<Self>) -> Cancel {
        if let Some(steering) = steering
            && let Some(cancel) = steering.cancels.recv().await
        {
            return cancel;
        }
        std::future::pending().await
    }

    /// Closes the way; answers under way still arrive.
    pub(crate) async fn close(mut self) {
        drop(self.socket);
        self.cancels.close();
        self.stop.send_replace(true);
        while self.server.join_next().await.is_some() {}
    }
}

/// Carries out requests about one run.
struct LocalBackend {
    job: String,
    control: Control,
    cancels: mpsc::Sender<Cancel>,
}

impl Backend for LocalBackend {
    fn methods(&self) -> &'static [&'static str] {
        &["jobs.cancel", "jobs.control", "jobs.get", "jobs.list"]
    }

    async fn call(&self, _: &Caller, method: Method) -> Result<Value, RpcError> {
        match method {
            Method::JobsList(_) => {
                let jobs = vec![summary(&self.control.look().await.map_err(|refusal| refused(&refusal))?)];
                to_result(&JobList { jobs, next: None })
            }
            Method::JobsGet { job } => {
                self.known(&job)?;
                to_result(&self.control.look().await.map_err(|refusal| refused(&refusal))?.result)
            }
            Method::JobsControl(ControlRequest { job, steer: Steer::Stop, .. }) => {
                self.known(&job)?;
                self.cancel().await.ok_or_else(|| refused(&Refusal::Over))?;
                to_result(&Controlled { job, changes: Vec::new() })
            }
            Method::JobsControl(ControlRequest { job, steer, .. }) => {
                self.known(&job)?;
                let asked = self.control.ask(steer.into(), ChangedBy::Control).await;
                to_result(&Controlled { job, changes: asked.map_err(|refusal| refused(&refusal))? })
            }
            Method::JobsCancel(cancel) => {
                self.known(&cancel.job)?;
                let status = self.cancel().await.ok_or_else(|| refused(&Refusal::Over))?;
                to_result(&CancelResponse::new(cancel.job, status))
            }
            other => Err(RpcError::unsupported(other.name())),
        }
    }
}

impl LocalBackend {
    fn known(&self, job: &str) -> Result<(), RpcError> {
        if job == self.job {
            return Ok(());
        }
        Err(RpcError::new(ErrorCode::UnknownJob, format!("there is no job `{job}` here, only {}", self.job)))
    }

    async fn cancel(&self) -> Option<CancelStatus> {
        let (answer, status) = oneshot::channel();
        self.cancels.send(Cancel { answer }).await.ok()?;
        status.await.ok()
    }
}

fn summary(view: &View) -> JobSummary {
    let result = &view.result;
    let workflows = result.workflows.iter().zip(&view.targets).map(|(workflow, target)| WorkflowSummary {
        name: workflow.name.clone(),
        status: workflow.status,
        target: *target,
    });
    JobSummary {
        name: result.identity.name.clone(),
        paused: view.paused,
        started_at: result.started_at.clone(),
        elapsed_s: result.elapsed_s,
        workflows: workflows.collect(),
        ..JobSummary::new(&result.identity.job, result.status)
    }
}

fn refused(refusal: &Refusal) -> RpcError {
    RpcError::refused(refusal.to_string(), refusal.reason(), &refusal.fix())
}
