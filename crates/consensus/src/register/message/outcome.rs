//! Outcomes as the message `ApplyOutcome`, on their way from the leader to whoever proposed through another node.

use bytes::Bytes;
use hyperscale_types::Token;
use hyperscale_wire::messages as wire;
use prost::Message;

use crate::register::command::JobId;
use crate::register::limits::Limit;
use crate::register::outcome::{Outcome, Refusal};
use crate::replica::WireOutcome;

impl WireOutcome for Outcome {
    fn to_bytes(&self) -> Bytes {
        use wire::ApplyStatus as Status;
        let said = |status: Status| wire::ApplyOutcome { status: status.into(), ..Default::default() };
        let message = match self {
            Self::Done => said(Status::Done),
            Self::Granted(token) => wire::ApplyOutcome { number: token.0, ..said(Status::Granted) },
            Self::Accepted { job, is_repeat } => wire::ApplyOutcome {
                job_id: Bytes::copy_from_slice(&job.0),
                is_repeat: *is_repeat,
                ..said(Status::Accepted)
            },
            Self::Controlled { index, is_repeat } => {
                wire::ApplyOutcome { number: *index, is_repeat: *is_repeat, ..said(Status::Controlled) }
            }
            Self::Repeated => said(Status::Repeated),
            Self::Refused(refusal) => {
                let (name, number) = refusal_out(refusal);
                let message = match refusal {
                    Refusal::Unreadable { reason } => reason.clone(),
                    Refusal::Newer { message } => message.clone(),
                    refusal => refusal.to_string(),
                };
                wire::ApplyOutcome { number, refusal: name.to_owned(), message, ..said(Status::Refused) }
            }
        };
        message.encode_to_vec().into()
    }

    fn from_bytes(bytes: &Bytes) -> Option<Self> {
        use wire::ApplyStatus as Status;
        let message = wire::ApplyOutcome::decode(bytes.clone()).ok()?;
        Some(match message.status() {
            Status::Unspecified => return None,
            Status::Done => Self::Done,
            Status::Granted => Self::Granted(Token(message.number)),
            Status::Accepted => Self::Accepted {
                job: JobId(message.job_id[..].try_into().ok()?),
                is_repeat: message.is_repeat,
            },
            Status::Controlled => Self::Controlled { index: message.number, is_repeat: message.is_repeat },
            Status::Repeated => Self::Repeated,
            Status::Refused => {
                let known = refusal_in(&message.refusal, message.number, &message.message);
                Self::Refused(known.unwrap_or(Refusal::Newer { message: message.message }))
            }
        })
    }
}

/// Every limit, by the name it has on the wire.
const LIMITS: [(&str, Limit); 16] = [
    ("jobs_open", Limit::JobsOpen),
    ("workers", Limit::Workers),
    ("datacenters", Limit::Datacenters),
    ("segments", Limit::Segments),
    ("workflows", Limit::Workflows),
    ("parts", Limit::Parts),
    ("controls", Limit::Controls),
    ("key_bytes", Limit::KeyBytes),
    ("name_bytes", Limit::NameBytes),
    ("options_bytes", Limit::OptionsBytes),
    ("capabilities_bytes", Limit::CapabilitiesBytes),
    ("job_bytes", Limit::JobBytes),
    ("open_bytes", Limit::OpenBytes),
    ("attempts", Limit::Attempts),
    ("ended_bytes", Limit::EndedBytes),
    ("logical_bytes", Limit::LogicalBytes),
];

/// Its name on the wire, and the number it names.
fn refusal_out(refusal: &Refusal) -> (&'static str, u64) {
    match refusal {
        Refusal::Unreadable { .. } => ("unreadable", 0),
        Refusal::Newer { .. } => ("newer", 0),
        Refusal::WrongGroup => ("wrong_group", 0),
        Refusal::NotInForce { needed } => ("not_in_force", u64::from(*needed)),
        Refusal::UnknownJob => ("unknown_job", 0),
        Refusal::JobKnown => ("job_known", 0),
        Refusal::KeyConflict => ("key_conflict", 0),
        Refusal::StaleGateToken { current } => ("stale_gate_token", current.0),
        Refusal::StalePart { current } => ("stale_part", current.0),
        Refusal::NotLed => ("not_led", 0),
        Refusal::UnknownToken { current } => ("unknown_token", current.0),
        Refusal::StaleToken { current } => ("stale_token", current.0),
        Refusal::AlreadyEnded => ("already_ended", 0),
        Refusal::NotEnded => ("not_ended", 0),
        Refusal::Cancelled => ("cancelled", 0),
        Refusal::Running => ("running", 0),
        Refusal::StaleGrant { current } => ("stale_grant", current.map_or(0, |token| token.0)),
        Refusal::OldBoot => ("old_boot", 0),
        Refusal::CoresNotFree { free } => ("cores_not_free", u64::from(*free)),
        Refusal::WrongAttempt { next } => ("wrong_attempt", u64::from(*next)),
        Refusal::Superseded => ("superseded", 0),
        Refusal::StaleContext { next } => ("stale_context", *next),
        Refusal::TooLarge => ("too_large", 0),
        Refusal::Paused => ("paused", 0),
        Refusal::NotPaused => ("not_paused", 0),
        Refusal::RequestConflict => ("request_conflict", 0),
        Refusal::NotLost => ("not_lost", 0),
        Refusal::EmptyBatch => ("empty_batch", 0),
        Refusal::Overtakes { claim } => ("overtakes", *claim),
        Refusal::GroupCores { cores } => ("group_cores", u64::from(*cores)),
        Refusal::WrongKind => ("wrong_kind", 0),
        Refusal::NotSetUp => ("not_set_up", 0),
        Refusal::StaleOwner { current } => ("stale_owner", current.0),
        Refusal::Limit(limit) => {
            (LIMITS.iter().find(|(_, it)| it == limit).map_or("limit", |(name, _)| *name), 0)
        }
        Refusal::OldVersion { current } => ("old_version", u64::from(*current)),
    }
}

/// `None`: a reason of a newer build.
fn refusal_in(name: &str, number: u64, message: &str) -> Option<Refusal> {
    let token = Token(number);
    let small = || u32::try_from(number).ok();
    if let Some((_, limit)) = LIMITS.iter().find(|(known, _)| *known == name) {
        return Some(Refusal::Limit(*limit));
    }
    Some(match name {
        "unreadable" => Refusal::Unreadable { reason: message.to_owned() },
        "wrong_group" => Refusal::WrongGroup,
        "not_in_force" => Refusal::NotInForce { needed: small()? },
        "unknown_job" => Refusal::UnknownJob,
        "job_known" => Refusal::JobKnown,
        "key_conflict" => Refusal::KeyConflict,
        "stale_gate_token" => Refusal::StaleGateToken { current: token },
        "stale_part" => Refusal::StalePart { current: token },
        "not_led" => Refusal::NotLed,
        "unknown_token" => Refusal::UnknownToken { current: token },
        "stale_token" => Refusal::StaleToken { current: token },
        "already_ended" => Refusal::AlreadyEnded,
        "not_ended" => Refusal::NotEnded,
        "cancelled" => Refusal::Cancelled,
        "running" => Refusal::Running,
        "stale_grant" => Refusal::StaleGrant { current: (number > 0).then_some(token) },
        "old_boot" => Refusal::OldBoot,
        "cores_not_free" => Refusal::CoresNotFree { free: small()? },
        "wrong_attempt" => Refusal::WrongAttempt { next: small()? },
        "superseded" => Refusal::Superseded,
        "stale_context" => Refusal::StaleContext { next: number },
        "too_large" => Refusal::TooLarge,
        "paused" => Refusal::Paused,
        "not_paused" => Refusal::NotPaused,
        "request_conflict" => Refusal::RequestConflict,
        "not_lost" => Refusal::NotLost,
        "empty_batch" => Refusal::EmptyBatch,
        "overtakes" => Refusal::Overtakes { claim: number },
        "group_cores" => Refusal::GroupCores { cores: small()? },
        "wrong_kind" => Refusal::WrongKind,
        "not_set_up" => Refusal::NotSetUp,
        "stale_owner" => Refusal::StaleOwner { current: token },
        "old_version" => Refusal::OldVersion { current: small()? },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_survive_the_wire() {
        let token = Token(77);
        let refusals = [
            Refusal::Unreadable { reason: "no body".to_owned() },
            Refusal::Newer { message: "out of fashion".to_owned() },
            Refusal::WrongGroup,
            Refusal::NotInForce { needed: 2 },
            Refusal::UnknownJob,
            Refusal::JobKnown,
            Refusal::KeyConflict,
            Refusal::StaleGateToken { current: token },
            Refusal::StalePart { current: token },
            Refusal::NotLed,
            Refusal::UnknownToken { current: token },
            Refusal::StaleToken { current: token },
            Refusal::AlreadyEnded,
            Refusal::NotEnded,
            Refusal::Cancelled,
            Refusal::Running,
            Refusal::StaleGrant { current: Some(token) },
            Refusal::StaleGrant { current: None },
            Refusal::OldBoot,
            Refusal::CoresNotFree { free: 3 },
            Refusal::WrongAttempt { next: 4 },
            Refusal::Superseded,
            Refusal::StaleContext { next: 5 },
            Refusal::TooLarge,
            Refusal::Paused,
            Refusal::NotPaused,
            Refusal::RequestConflict,
            Refusal::NotLost,
            Refusal::EmptyBatch,
            Refusal::Overtakes { claim: 6 },
            Refusal::GroupCores { cores: 7 },
            Refusal::WrongKind,
            Refusal::NotSetUp,
            Refusal::StaleOwner { current: token },
            Refusal::OldVersion { current: 1 },
        ];
        let limits = LIMITS.map(|(_, limit)| Refusal::Limit(limit));
        let job = JobId([7; 16]);
        let others = [
            Outcome::Done,
            Outcome::Granted(token),
            Outcome::Accepted { job, is_repeat: true },
            Outcome::Controlled { index: 9, is_repeat: true },
            Outcome::Repeated,
        ];
        for outcome in others.into_iter().chain(refusals.into_iter().chain(limits).map(Outcome::Refused)) {
            assert_eq!(Outcome::from_bytes(&outcome.to_bytes()), Some(outcome));
        }
    }

    #[test]
    fn reason_of_a_newer_build_reaches_the_caller_and_another_outcome_is_read_as_none() {
        let newer = wire::ApplyOutcome {
            status: wire::ApplyStatus::Refused.into(),
            refusal: "out_of_fashion".to_owned(),
            message: "went out of fashion".to_owned(),
            ..Default::default()
        };
        let read = Outcome::from_bytes(&newer.encode_to_vec().into());
        let message = "went out of fashion".to_owned();
        assert_eq!(read, Some(Outcome::Refused(Refusal::Newer { message })));
        assert_eq!(Outcome::from_bytes(&Bytes::new()), None);
    }
}
