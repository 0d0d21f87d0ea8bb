//! A manager: the production core with its replica, and what clients ask of it.

use std::collections::BTreeMap;

use bytes::Bytes;
use fastrand::Rng;
use hyperscale_cluster::manager::{
    Input, Manager, Options, Output, ReadNumber, Rejection, Request, RequestNumber, Response, ToPeer,
};
use hyperscale_cluster::message::ToManager;
use hyperscale_consensus::ReadId;
use hyperscale_consensus::register::{
    Assign, AssignSegment, Body, Job, JobId, Outcome, RequestId, SegmentKind,
};
use hyperscale_consensus::replica::{self, CallId, Replica, Reply};
use hyperscale_types::{Command, NodeId, Now, Token};

use super::plan;
use super::voter::{Answer, Deed, VoterOptions};
use crate::log::letter::{ClientLetter, Wish};
use crate::log::{Journal, Letter};

/// Calls of the host have numbers that no core uses.
const HOST_CALLS: u64 = 1 << 63;
/// One of so many requests of clients comes with a proposal of a leader that was replaced.
const GHOSTS: u8 = 8;

/// A manager in one life.
pub(super) struct ManagerHost {
    /// The production core.
    pub(super) core: Manager<Journal>,
    outputs: Vec<Output>,
    rng: Rng,
    last: u64,
    /// Clients that wait for a response of the core, and about which of their jobs.
    requests: BTreeMap<RequestNumber, usize>,
    /// Clients that wait for a state that is fresh enough to say how their job is.
    reads: BTreeMap<CallId, (usize, JobId)>,
    deeds: Vec<Deed>,
}

impl ManagerHost {
    pub(super) fn new(
        now: Now,
        options: VoterOptions,
        replica: Replica<Journal>,
        begun: Vec<replica::Output<Outcome>>,
    ) -> Self {
        let VoterOptions { me, first_number, seed, bugs } = options;
        let (mut outputs, last) = (Vec::new(), HOST_CALLS | first_number);
        let options = Options { bugs, ..Options::lan(me, first_number, seed) };
        Self {
            core: Manager::start(now, options, replica, begun, &mut outputs),
            outputs,
            rng: Rng::with_seed(seed ^ 1),
            last,
            requests: BTreeMap::new(),
            reads: BTreeMap::new(),
            deeds: Vec::new(),
        }
    }

    fn handle(&mut self, now: Now, input: Input) {
        self.core.handle(now, input, &mut self.outputs);
    }

    pub(super) fn replica_input(&mut self, now: Now, input: replica::Input) {
        self.handle(now, Input::Replica(input));
    }

    pub(super) fn timer(&mut self, now: Now) {
        self.handle(now, Input::Timer);
    }

    pub(super) fn gossip(&mut self, now: Now, node: NodeId, is_dead: bool) {
        self.handle(now, if is_dead { Input::Died(node) } else { Input::Alive(node) });
    }

    pub(super) fn peer(&mut self, now: Now, from: NodeId, message: ToPeer) {
        self.handle(now, Input::Peer { from, message });
    }

    pub(super) fn worker(&mut self, now: Now, from: NodeId, message: ToManager) {
        self.handle(now, Input::Worker { from, message });
    }

    pub(super) fn blob_read(&mut self, now: Now, read: ReadNumber, bytes: Option<Bytes>) {
        self.handle(now, Input::BlobRead { read, bytes });
    }

    pub(super) fn client(&mut self, now: Now, ClientLetter { client_job, wish }: ClientLetter) {
        self.last += 1;
        if self.rng.u8(..GHOSTS) == 0 {
            self.haunt(now);
        }
        let what = match wish {
            Wish::Submit { job, key } => Request::Submit {
                key,
                bundle: Box::new(plan::bundle(job)),
                options: Box::new(plan::options(job)),
                submitted_at_ms: 0,
                caller: String::new(),
            },
            Wish::Cancel(job) => Request::Cancel {
                job,
                workflows: Vec::new(),
                dependents: true,
                request: RequestId(job.0),
                reason: "asked".to_owned(),
                caller: String::new(),
            },
            Wish::CancelWorkflow(job, number) => Request::Cancel {
                job,
                workflows: vec![plan::name(number)],
                dependents: self.rng.bool(),
                request: RequestId(self.rng.u128(..).to_be_bytes()),
                reason: "asked".to_owned(),
                caller: String::new(),
            },
            Wish::Scale(job, vus) => {
                Request::Control { job, command: Command::SetVus { workflow: None, vus } }
            }
            Wish::Pause(job) => Request::Control { job, command: Command::Pause },
            Wish::Resume(job) => Request::Control { job, command: Command::Resume },
            // Half of the clients want to know what the group knows, not what this manager does.
            Wish::Status(job) if self.rng.bool() => return self.read(now, client_job, job),
            Wish::Status(job) => Request::Get { job },
        };
        let request = RequestNumber(self.last);
        self.requests.insert(request, client_job);
        self.handle(now, Input::Request { request, what });
    }

    /// An operator wants a worker to drain, and does not wait for the response.
    pub(super) fn drain(&mut self, now: Now, worker: NodeId) {
        self.last += 1;
        let what = Request::Drain { worker };
        self.handle(now, Input::Request { request: RequestNumber(self.last), what });
    }

    /// What a leader of a job that was replaced long ago had to say arrives at last: a segment that nothing runs of is given to a
    /// worker, under a token that is not in force.
    fn haunt(&mut self, now: Now) {
        let Some(group) = self.core.replica().group() else { return };
        let register = group.machine().register();
        let is_open = |(_, job): &(&JobId, &Job)| job.end.is_none() && job.leader.is_some();
        let Some((id, job)) = register.jobs().find(is_open) else { return };
        let Some((worker, known)) = register.workers().find(|(_, worker)| worker.free() > 0) else { return };
        let (workflow, number) = (plan::name(0), 0);
        let segment = AssignSegment {
            attempt: job.attempt(&workflow, number).map_or(1, |last| last.number + 1),
            workflow,
            number,
            kind: SegmentKind::Load,
            worker: *worker,
            boot: known.boot,
            grant: known.grant,
            group: 0,
            cores: 1,
            vus: 1,
            elapsed_ms: 0,
            iterations_left: None,
        };
        let token = Token(job.token().0.saturating_sub(1));
        let body = Body::Assign(Assign { job: *id, segments: vec![segment] });
        let command = hyperscale_consensus::register::Command { token, body }.encode();
        self.last += 1;
        let (call, request) = (CallId(self.last), replica::Request::Propose(command));
        self.replica_input(now, replica::Input::Call { call, request });
    }

    /// Asks for a state that is fresh enough to decide on.
    fn read(&mut self, now: Now, client_job: usize, job: JobId) {
        let call = CallId(self.last);
        self.reads.insert(call, (client_job, job));
        self.deeds.push(Deed::ReadAsked(ReadId(call.0)));
        self.replica_input(now, replica::Input::Call { call, request: replica::Request::Read });
    }

    pub(super) fn take(&mut self) -> Vec<Deed> {
        let mut deeds = std::mem::take(&mut self.deeds);
        for output in std::mem::take(&mut self.outputs) {
            match output {
                Output::Replica(output) => {
                    let answer = self.read_answer(&output);
                    deeds.push(Deed::Replica(output));
                    deeds.extend(answer);
                }
                Output::SendPeer { to, message } => {
                    deeds.push(Deed::Send { to, letter: Letter::Peer(message) });
                }
                Output::SendWorker { to, message } => {
                    deeds.push(Deed::Send { to, letter: Letter::ToWorker(Box::new(message)) });
                }
                Output::ReadBlob { read, blob } => deeds.push(Deed::ReadBlob { read, blob }),
                Output::Respond { request, response } => {
                    let client_job = self.requests.remove(&request);
                    let answered = client_job.zip(answer(response));
                    deeds.extend(answered.map(|(client_job, answer)| Deed::Answer { client_job, answer }));
                }
                // Nobody asks a manager of this world to leave.
                Output::Emit { .. } | Output::Left => {}
                Output::Timer(at) => deeds.push(Deed::Timer(at)),
            }
        }
        deeds
    }

    /// What a client is told once its read was answered.
    fn read_answer(&mut self, output: &replica::Output<Outcome>) -> Option<Deed> {
        let replica::Output::Reply { call, reply } = output else { return None };
        let (client_job, job) = self.reads.remove(call)?;
        let Reply::Readable { .. } = reply else { return None };
        let end = self.core.replica().group()?.machine().end_of(job)?;
        Some(Deed::Answer { client_job, answer: Answer::Ended(end) })
    }
}

/// What a response means for a client; nothing: it asks again.
fn answer(response: Response) -> Option<Answer> {
    match response {
        Response::Accepted { job, .. } => Some(Answer::Accepted(job)),
        Response::CancelCommitted | Response::Rejected(Rejection::AlreadyEnded) => Some(Answer::Cancelled),
        Response::Ended(end) => Some(Answer::Ended(*end)),
        _ => None,
    }
}
