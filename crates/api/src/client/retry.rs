//! Which server is asked, and what happens after a failure.

use std::collections::VecDeque;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use hyperscale_types::Token;
use serde_json::Value;
use tokio::time::sleep;

use super::Client;
use super::endpoint::{Endpoint, ServerUrl};
use super::error::CallError;
use super::leaders::Leaders;
use crate::error::{ErrorCode, Retry, RpcError};
use crate::method::{Method, Submit};

/// Leaders that are followed in one round: a new one may be elected meanwhile, but not for ever.
const MOVES_MAX: u32 = 4;

/// What is to be done at one of the servers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work<'w> {
    Call(&'w Method),
    /// A submission whose files may have to be uploaded before, to the same server.
    Submit(&'w Submit),
}

impl Work<'_> {
    fn job(&self) -> Option<&str> {
        match self {
            Self::Call(method) => method.job(),
            Self::Submit(_) => None,
        }
    }

    fn is_repeatable(&self) -> bool {
        match self {
            Self::Call(method) => method.is_repeatable(),
            Self::Submit(submit) => submit.idempotency_key.is_some(),
        }
    }
}

/// What follows from the failure of an attempt.
#[derive(Debug, PartialEq)]
enum Step {
    /// The call has failed.
    Stop,
    /// Another server may be able to.
    Next,
    /// This server is.
    Leader(String, Token),
}

fn step(error: &CallError, is_repeatable: bool) -> Step {
    let repeated = if is_repeatable { Step::Next } else { Step::Stop };
    match error {
        CallError::Unreachable { .. } | CallError::Untrusted { .. } => Step::Next,
        CallError::Lost(_) => repeated,
        CallError::Malformed(_) | CallError::TooLarge { .. } | CallError::Orphaned { .. } => Step::Stop,
        CallError::Refused(error) => match error.kind() {
            Some(ErrorCode::UnknownBlob) => Step::Next,
            None => Step::Stop,
            Some(code) => match code.retry() {
                Retry::Never => Step::Stop,
                Retry::Elsewhere | Retry::Later => Step::Next,
                Retry::IfRepeatable => repeated,
                Retry::AtLeader => match error.details().leader {
                    Some(leader) => leader.http.map_or(Step::Next, |http| Step::Leader(http, leader.token)),
                    None => Step::Next,
                },
            },
        },
    }
}

/// The failure of a round.
enum Failed {
    /// The call has failed.
    Stop(CallError),
    /// It may be tried again, not before this time is over.
    Again(CallError, Duration),
}

impl Client {
    /// Does something at one of the servers, again if it fails and repeating is harmless.
    pub(super) async fn carry_out(&self, work: Work<'_>) -> Result<Value, CallError> {
        let timing = *self.timing();
        let mut pause = timing.pause_min;
        let mut round = 1;
        loop {
            match self.round(work).await {
                Ok(value) => return Ok(value),
                Err(Failed::Stop(error)) => return Err(error),
                Err(Failed::Again(error, _)) if round >= timing.rounds => return Err(error),
                Err(Failed::Again(_, after)) => {
                    sleep(self.jittered(pause).max(after.min(timing.pause_max))).await;
                }
            }
            pause = (pause * 2).min(timing.pause_max);
            round += 1;
        }
    }

    /// Asks every server once, and leaders that they name.
    async fn round(&self, work: Work<'_>) -> Result<Value, Failed> {
        let mut servers = self.order(work.job());
        let mut moves = 0;
        let mut worst: Option<CallError> = None;
        let mut after = Duration::ZERO;
        while let Some(endpoint) = servers.pop_front() {
            let error = match self.attempt(&endpoint, work).await.and_then(|value| self.fresh(work, value)) {
                Ok(value) => {
                    self.responded(&endpoint);
                    return Ok(value);
                }
                Err(error) => error,
            };
            match step(&error, work.is_repeatable()) {
                Step::Stop => return Err(Failed::Stop(error)),
                Step::Next => self.forget(work.job(), &endpoint),
                Step::Leader(http, token) => {
                    if moves < MOVES_MAX
                        && let Some(leader) = self.learn(work.job(), &endpoint, &http, token)
                    {
                        moves += 1;
                        servers.push_front(leader);
                    }
                }
            }
            if let CallError::Refused(error) = &error {
                let wait_ms = error.details().retry_after_ms.unwrap_or_default();
                after = after.max(Duration::from_millis(wait_ms));
            }
            worst = Some(merged(worst, error));
        }
        let error = worst.unwrap_or_else(|| CallError::Lost("there is no server to ask".to_owned()));
        Err(Failed::Again(error, after))
    }

    async fn attempt(&self, endpoint: &Endpoint, work: Work<'_>) -> Result<Value, CallError> {
        match work {
            Work::Call(method) => self.attempt_call(endpoint, method).await,
            Work::Submit(submit) => self.attempt_submit(endpoint, submit).await,
        }
    }

    /// All servers in the order in which they are asked: the leader of the job, the one that responded last, the others.
    pub(super) fn order(&self, job: Option<&str>) -> VecDeque<Endpoint> {
        let leaders = self.leaders();
        let mut order: VecDeque<Endpoint> = self.shared.endpoints.iter().cloned().collect();
        order.rotate_left(leaders.preferred.min(order.len().saturating_sub(1)));
        if let Some(leader) = job.and_then(|job| leaders.of(job)) {
            let leader = Endpoint::Tcp(leader.clone());
            order.retain(|endpoint| *endpoint != leader);
            order.push_front(leader);
        }
        order
    }

    /// Takes note of a leader that a server named; `None` if it is an old one, or cannot be reached from here.
    pub(super) fn learn(
        &self,
        job: Option<&str>,
        from: &Endpoint,
        http: &str,
        token: Token,
    ) -> Option<Endpoint> {
        let Endpoint::Tcp(from) = from else { return None };
        let leader: ServerUrl = from.beside(http)?;
        if let Some(job) = job
            && !self.leaders().moved(job, token, leader.clone())
        {
            return None;
        }
        Some(Endpoint::Tcp(leader))
    }

    /// Forgets a leader that could not do it.
    pub(super) fn forget(&self, job: Option<&str>, endpoint: &Endpoint) {
        let Some(job) = job else { return };
        let mut leaders = self.leaders();
        if leaders.of(job).is_some_and(|known| Endpoint::Tcp(known.clone()) == *endpoint) {
            leaders.lost(job);
        }
    }

    /// Discards a response of a leader that was replaced.
    fn fresh(&self, work: Work<'_>, value: Value) -> Result<Value, CallError> {
        let token = value.get("token").and_then(Value::as_u64).map(Token);
        if let (Some(job), Some(token)) = (work.job(), token)
            && !self.leaders().saw(job, token)
        {
            let message = "the response came from a job leader that was replaced";
            return Err(RpcError::new(ErrorCode::StaleToken, message).fix("try again").into());
        }
        Ok(value)
    }

    pub(super) fn responded(&self, endpoint: &Endpoint) {
        if let Some(at) = self.shared.endpoints.iter().position(|known| known == endpoint) {
            self.leaders().preferred = at;
        }
    }

    pub(super) fn leaders(&self) -> MutexGuard<'_, Leaders> {
        // What is known stays usable whatever happened to another holder.
        self.shared.leaders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of two errors of one round the one that says more; servers that are unreachable are named together.
fn merged(before: Option<CallError>, error: CallError) -> CallError {
    match (before, error) {
        (None, error) => error,
        (
            Some(CallError::Unreachable { server: mut servers, why: mut whys }),
            CallError::Unreachable { server, why },
        ) => {
            if !servers.split(", ").any(|known| known == server) {
                servers = format!("{servers}, {server}");
                whys = if whys == why { whys } else { format!("{whys}; {why}") };
            }
            CallError::Unreachable { server: servers, why: whys }
        }
        (Some(before), error) if error.weight() >= before.weight() => error,
        (Some(before), _) => before,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Leader;

    fn refused(code: ErrorCode) -> CallError {
        RpcError::new(code, "no").into()
    }

    #[test]
    fn only_what_was_not_done_or_is_repeatable_is_tried_elsewhere() {
        let unreachable = CallError::Unreachable { server: "a".into(), why: "refused".into() };
        for is_repeatable in [true, false] {
            let either = if is_repeatable { Step::Next } else { Step::Stop };
            assert_eq!(step(&unreachable, is_repeatable), Step::Next);
            assert_eq!(step(&refused(ErrorCode::QuorumUnavailable), is_repeatable), Step::Next);
            assert_eq!(step(&refused(ErrorCode::RateLimited), is_repeatable), Step::Next);
            assert_eq!(step(&refused(ErrorCode::QuorumTimeout), is_repeatable), either);
            assert_eq!(step(&CallError::Lost(String::new()), is_repeatable), either);
            for code in [ErrorCode::PlanInvalid, ErrorCode::UnknownJob, ErrorCode::Unauthorized] {
                assert_eq!(step(&refused(code), is_repeatable), Step::Stop);
            }
        }
    }

    #[test]
    fn leader_is_followed_if_its_address_is_known() {
        let moved = |http: Option<&str>| {
            let leader = Leader { node: "m2".into(), http: http.map(str::to_owned), token: Token(3) };
            step(&RpcError::new(ErrorCode::Moved, "").leader(&leader).into(), false)
        };
        assert_eq!(moved(Some("b:2")), Step::Leader("b:2".into(), Token(3)));
        assert_eq!(moved(None), Step::Next);
    }

    #[test]
    fn error_that_says_most_is_reported() {
        let unreachable = |server: &str| CallError::Unreachable { server: server.into(), why: "no".into() };
        let both = merged(Some(unreachable("a")), unreachable("b"));
        assert_eq!(both.to_string(), "a, b is unreachable: no");
        let quorum = merged(Some(refused(ErrorCode::QuorumUnavailable)), unreachable("b"));
        assert!(matches!(quorum, CallError::Refused(_)));
    }
}
