//! What clients want: submissions, cancels, changes, questions.
//!
//! ```text
//! Submit ── plan valid ──► plan on a quorum ──► JobAccept ──► JobLeader(this manager) ──► Accepted
//!                                                   └── key known ──► Accepted (repeat)
//! ```
//! Any manager takes a submission, and leads what it accepted. A cancel of a whole job may be committed through any manager; who
//! does not lead a job says who does to everything else.

use hyperscale_consensus::register::{
    Accept, Body, CommandRefusal, Elapsed, Job, JobId, NAME_BYTES_MAX, Outcome, RequestId,
};
use hyperscale_consensus::replica::Reply;
use hyperscale_consensus::{BLOB_BYTES_MAX, ProposeError, QuorumError};
use hyperscale_plan::model::{Plan, Workflow};
use hyperscale_types::{Command, Now, Token, limits};

use super::calls::Purpose;
use super::io::{Output, Rejection, Request, RequestNumber, Response};
use super::led::{Named, NotNamed};
use super::queue::limited;
use super::{JobMachine, Manager};
use crate::bundle::Bundle;

impl<M: JobMachine> Manager<M> {
    pub(super) fn request(&mut self, now: Now, request: RequestNumber, what: Request, out: &mut Vec<Output>) {
        let answer = match what {
            Request::Submit { ref key, .. } if self.admits(key).is_some() => {
                self.admits(key).map(Response::Rejected)
            }
            Request::Submit { key, bundle, options, caller, submitted_at_ms } => {
                let job = JobId(std::array::from_fn(|_| self.rng.u8(..)));
                let (options, origin) = (*options, None);
                let accept =
                    |plan, name| Accept { job, key, plan, options, origin, caller, name, submitted_at_ms };
                self.submit(now, request, &bundle, accept)
            }
            Request::Cancel { job, workflows, dependents, request: id, reason, caller } => {
                let named = if workflows.is_empty() || dependents {
                    Named::WithDependents(workflows)
                } else {
                    Named::Alone(workflows)
                };
                self.cancel(now, request, (job, named, id), (reason, caller))
            }
            Request::CancelStatus { job, request } => Some(self.cancel_status(now, job, request, out)),
            Request::Control { job, command } => self.control(now, request, job, command, out),
            Request::Get { job } => self.look(now, request, job, out),
            Request::List { after, limit } => self.list(now, request, (after, limit), out),
            Request::Drain { worker } => self.drain(now, request, worker),
            Request::Leave => Some(self.leave()),
        };
        self.counters.requests_rerouted += u64::from(matches!(answer, Some(Response::Moved { .. })));
        out.extend(answer.map(|response| Output::Respond { request, response }));
    }

    fn submit(
        &mut self,
        now: Now,
        request: RequestNumber,
        bundle: &Bundle,
        accept: impl FnOnce(hyperscale_consensus::BlobId, String) -> Accept,
    ) -> Option<Response> {
        let refused = |message: String| Some(Response::Rejected(Rejection::Refused(message)));
        let plan = bundle.text.len() as u64;
        if plan > limits::PLAN_BYTES_MAX {
            return refused(format!(
                "the plan has {plan} bytes; at most {} are allowed",
                limits::PLAN_BYTES_MAX
            ));
        }
        let mut name = match bundle.load() {
            Ok(loaded) => {
                if let Some(message) = self.nobody_can(&loaded.plan) {
                    return refused(message);
                }
                loaded.plan.name
            }
            Err(problems) => return Some(Response::Rejected(Rejection::Plan(problems))),
        };
        name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
        let bytes = bundle.encode();
        if bytes.len() as u64 > BLOB_BYTES_MAX {
            let all = bytes.len();
            return refused(format!(
                "the plan and the files it names have {all} bytes; at most {BLOB_BYTES_MAX} are allowed"
            ));
        }
        let accept = Box::new(accept(hyperscale_consensus::BlobId::of(&bytes), name));
        self.store(now, Purpose::StorePlan { request, accept }, bytes);
        None
    }

    /// Why no worker can ever run a plan: none of those that are registered has what a workflow requires. Without any worker
    /// it waits for one, as any other plan does.
    fn nobody_can(&self, plan: &Plan) -> Option<String> {
        let register = self.register()?;
        let workers = || register.workers().map(|(_, worker)| &worker.capabilities);
        workers().next()?;
        let is_unmet = |workflow: &&Workflow| !workers().any(|has| workflow.requires.is_subset(has));
        let workflow = plan.workflows.iter().find(is_unmet)?;
        let missing = |it: &&String| !workers().any(|has| has.contains(*it));
        let named: Vec<&str> = workflow.requires.iter().filter(missing).map(String::as_str).collect();
        let name = &workflow.name;
        Some(if named.is_empty() {
            let all: Vec<&str> = workflow.requires.iter().map(String::as_str).collect();
            format!("no worker has everything that workflow `{name}` requires: {}", all.join(", "))
        } else {
            format!("no worker has what workflow `{name}` requires: {}", named.join(", "))
        })
    }

    fn cancel(
        &mut self,
        now: Now,
        request: RequestNumber,
        (job, named, id): (JobId, Named, RequestId),
        (reason, caller): (String, String),
    ) -> Option<Response> {
        let known = self.register().and_then(|register| register.job(job));
        match known {
            Some(known) if known.end.is_some() => {
                return Some(Response::Rejected(Rejection::AlreadyEnded));
            }
            Some(known) if !named.is_whole_job() && !self.led.contains_key(&job) => {
                return Some(moved(known));
            }
            Some(_) => {}
            None => return Some(self.gone_or_unknown(job)),
        }
        let asked = named.names().to_vec();
        let workflows = match self.led.get(&job) {
            Some(led) if !named.is_whole_job() => match led.named(&named) {
                Ok(workflows) => workflows,
                Err(NotNamed::Opening) => return Some(Response::Starting),
                Err(NotNamed::Unknown(name)) => {
                    let message = format!("the job has no workflow `{name}`");
                    return Some(Response::Rejected(Rejection::Refused(message)));
                }
            },
            _ => Vec::new(),
        };
        let body = Body::Cancel { job, workflows, named: asked, request: id, reason, caller };
        self.propose(now, Purpose::Cancel { request }, Token(0), body);
        None
    }

    fn cancel_status(&mut self, now: Now, job: JobId, request: RequestId, out: &mut Vec<Output>) -> Response {
        let Some(known) = self.register().and_then(|register| register.job(job)) else {
            return self.gone_or_unknown(job);
        };
        if let Some(end) = &known.end {
            return Response::Ended(Box::new(end.clone()));
        }
        if !self.led.contains_key(&job) {
            return moved(known);
        }
        // One that is not remembered, as there was no room for it, is answered with all that was cancelled.
        let asked = known.cancel_of(request).map(|it| (it.named.clone(), it.workflows.clone()));
        let marks = || known.cancelled_workflows().map(str::to_owned).collect::<Vec<_>>();
        let (named, all) = asked.unwrap_or_else(|| (marks(), marks()));
        self.cancellation(now, job, (&named, &all), out).unwrap_or(Response::Starting)
    }

    fn control(
        &mut self,
        now: Now,
        request: RequestNumber,
        job: JobId,
        command: Command,
        out: &mut Vec<Output>,
    ) -> Option<Response> {
        let Some(known) = self.register().and_then(|register| register.job(job)) else {
            return Some(self.gone_or_unknown(job));
        };
        if known.end.is_some() {
            return Some(Response::Rejected(Rejection::AlreadyEnded));
        }
        if !self.led.contains_key(&job) {
            return Some(moved(known));
        }
        if self.steer(now, job, request, command, out) { None } else { Some(Response::Starting) }
    }

    fn look(
        &mut self,
        now: Now,
        request: RequestNumber,
        job: JobId,
        out: &mut Vec<Output>,
    ) -> Option<Response> {
        let Some(known) = self.register().and_then(|register| register.job(job)) else {
            return self.look_up_sealed(request, job, out);
        };
        if let Some(end) = &known.end {
            return Some(Response::Ended(Box::new(end.clone())));
        }
        if !self.led.contains_key(&job) {
            return Some(moved(known));
        }
        Some(self.view(now, job, out).unwrap_or(Response::Starting))
    }

    /// A job that is not open: sealed with its end, being sealed, or never known.
    pub(super) fn gone_or_unknown(&self, job: JobId) -> Response {
        let being_sealed = self.register().and_then(|register| register.being_sealed(job));
        match being_sealed.and_then(|job| job.end) {
            Some(end) => Response::Ended(Box::new(end)),
            None => Response::Rejected(Rejection::UnknownJob),
        }
    }

    /// What became of a step of a client's request.
    pub(super) fn client_replied(
        &mut self,
        now: Now,
        purpose: Purpose,
        reply: Reply<Outcome>,
        out: &mut Vec<Output>,
    ) {
        let mut respond = |request, response| out.push(Output::Respond { request, response });
        match (purpose, reply) {
            (Purpose::StorePlan { request, accept }, Reply::Stored(_)) => {
                self.propose(now, Purpose::Accept { request }, Token(0), Body::JobAccept(accept));
            }
            (
                Purpose::Accept { request },
                Reply::Applied { outcome: Some(Outcome::Accepted { job, is_repeat }), .. },
            ) => {
                if is_repeat {
                    let known = self.register().and_then(|register| register.job(job));
                    let leader = known.and_then(|known| known.leader);
                    respond(request, self.accepted(job, leader, is_repeat));
                } else {
                    let (leader, elapsed) = (self.options.node, Elapsed::default());
                    let lead = Body::JobLeader { job, leader, elapsed, reason: "accepted here".to_owned() };
                    self.propose(now, Purpose::Lead { request, job }, Token(0), lead);
                }
            }
            (Purpose::Lead { request, job }, reply) => {
                // Without leadership the job is accepted all the same: the cluster leader grants it to a manager.
                let leader = match reply {
                    Reply::Applied { outcome: Some(Outcome::Granted(token)), .. } => {
                        Some((self.options.node, token))
                    }
                    _ => None,
                };
                respond(request, self.accepted(job, leader, false));
            }
            (
                Purpose::Cancel { request },
                Reply::Applied { outcome: Some(Outcome::Done | Outcome::Repeated), .. },
            ) => respond(request, Response::CancelCommitted),
            (
                Purpose::StorePlan { request, .. }
                | Purpose::Accept { request }
                | Purpose::Cancel { request },
                reply,
            ) => respond(request, Response::Rejected(rejection(&reply))),
            _ => {}
        }
    }
}

fn moved(job: &Job) -> Response {
    match job.leader {
        Some((leader, token)) => Response::Moved { leader, token },
        None => Response::Starting,
    }
}

pub(super) fn rejection(reply: &Reply<Outcome>) -> Rejection {
    match reply {
        Reply::Applied { outcome: Some(Outcome::Refused(CommandRefusal::AlreadyEnded)), .. } => {
            Rejection::AlreadyEnded
        }
        Reply::Applied { outcome: Some(Outcome::Refused(CommandRefusal::UnknownJob)), .. } => {
            Rejection::UnknownJob
        }
        Reply::Applied { outcome: Some(Outcome::Refused(CommandRefusal::Limit(limit))), .. } => {
            limited(*limit)
        }
        Reply::Applied { outcome: Some(Outcome::Refused(refusal)), .. } => {
            Rejection::Refused(refusal.to_string())
        }
        Reply::Failed(error @ (ProposeError::Size | ProposeError::Change(_))) => {
            Rejection::Refused(error.to_string())
        }
        Reply::Failed(error @ ProposeError::Quorum(QuorumError::Timeout(_))) => {
            Rejection::QuorumTimeout(error.to_string())
        }
        Reply::Failed(error @ ProposeError::Quorum(QuorumError::CircuitOpen(_))) => {
            Rejection::QuorumCircuitOpen(error.to_string())
        }
        Reply::Failed(error) => Rejection::Unavailable(error.to_string()),
        other => Rejection::Unavailable(format!("the group answered {other:?}")),
    }
}
