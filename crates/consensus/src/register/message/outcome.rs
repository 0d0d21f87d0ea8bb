//! Outcomes as the message `ApplyOutcome`, on their way from the leader to whoever proposed through another node.

use bytes::Bytes;
use hyperscale_types::Token;
use hyperscale_wire::messages as wire;
use prost::Message;

use crate::register::command::JobId;
use crate::register::limits::Limit;
use crate::register::outcome::{CommandRefusal, Outcome};
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
                    CommandRefusal::Unreadable { reason } => reason.clone(),
                    CommandRefusal::Newer { message } => message.clone(),
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
                Self::Refused(known.unwrap_or(CommandRefusal::Newer { message: message.message }))
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
fn refusal_out(refusal: &CommandRefusal) -> (&'static str, u64) {
    match refusal {
        CommandRefusal::Unreadable { .. } => ("unreadable", 0),
        CommandRefusal::Newer { .. } => ("newer", 0),
        CommandRefusal::WrongGroup => ("wrong_group", 0),
        CommandRefusal::NotInForce { needed } => ("not_in_force", u64::from(*needed)),
        CommandRefusal::UnknownJob => ("unknown_job", 0),
        CommandRefusal::JobKnown => ("job_known", 0),
        CommandRefusal::KeyConflict => ("key_conflict", 0),
        CommandRefusal::StaleGateToken { current } => ("stale_gate_token", current.0),
        CommandRefusal::StalePart { current } => ("stale_part", current.0),
        CommandRefusal::NotLed => ("not_led", 0),
        CommandRefusal::UnknownToken { current } => ("unknown_token", current.0),
        CommandRefusal::StaleToken { current } => ("stale_token", current.0),
        CommandRefusal::AlreadyEnded => ("already_ended", 0),
        CommandRefusal::NotEnded => ("not_ended", 0),
        CommandRefusal::Cancelled => ("cancelled", 0),
        CommandRefusal::Running => ("running", 0),
        CommandRefusal::StaleGrant { current } => ("stale_grant", current.map_or(0, |token| token.0)),
        CommandRefusal::OldBoot => ("old_boot", 0),
        CommandRefusal::CoresNotFree { free } => ("cores_not_free", u64::from(*free)),
        CommandRefusal::WrongAttempt { next } => ("wrong_attempt", u64::from(*next)),
        CommandRefusal::Superseded => ("superseded", 0),
        CommandRefusal::StaleContext { next } => ("stale_context", *next),
        CommandRefusal::TooLarge => ("too_large", 0),
        CommandRefusal::Paused => ("paused", 0),
        CommandRefusal::NotPaused => ("not_paused", 0),
        CommandRefusal::RequestConflict => ("request_conflict", 0),
        CommandRefusal::NotLost => ("not_lost", 0),
        CommandRefusal::EmptyBatch => ("empty_batch", 0),
        CommandRefusal::Overtakes { claim } => ("overtakes", *claim),
        CommandRefusal::GroupCores { cores } => ("group_cores", u64::from(*cores)),
        CommandRefusal::WrongKind => ("wrong_kind", 0),
        CommandRefusal::NotSetUp => ("not_set_up", 0),
        CommandRefusal::StaleOwner { current } => ("stale_owner", current.0),
        CommandRefusal::Draining => ("draining", 0),
        CommandRefusal::Limit(limit) => {
            (LIMITS.iter().find(|(_, it)| it == limit).map_or("limit", |(name, _)| *name), 0)
        }
        CommandRefusal::OldVersion { current } => ("old_version", u64::from(*current)),
    }
}

/// `None`: a reason of a newer build.
fn refusal_in(name: &str, number: u64, message: &str) -> Option<CommandRefusal> {
    let token = Token(number);
    let small = || u32::try_from(number).ok();
    if let Some((_, limit)) = LIMITS.iter().find(|(known, _)| *known == name) {
        return Some(CommandRefusal::Limit(*limit));
    }
    Some(match name {
        "unreadable" => CommandRefusal::Unreadable { reason: message.to_owned() },
        "wrong_group" => CommandRefusal::WrongGroup,
        "not_in_force" => CommandRefusal::NotInForce { needed: small()? },
        "unknown_job" => CommandRefusal::UnknownJob,
        "job_known" => CommandRefusal::JobKnown,
        "key_conflict" => CommandRefusal::KeyConflict,
        "stale_gate_token" => CommandRefusal::StaleGateToken { current: token },
        "stale_part" => CommandRefusal::StalePart { current: token },
        "not_led" => CommandRefusal::NotLed,
        "unknown_token" => CommandRefusal::UnknownToken { current: token },
        "stale_token" => CommandRefusal::StaleToken { current: token },
        "already_ended" => CommandRefusal::AlreadyEnded,
        "not_ended" => CommandRefusal::NotEnded,
        "cancelled" => CommandRefusal::Cancelled,
        "running" => CommandRefusal::Running,
        "stale_grant" => CommandRefusal::StaleGrant { current: (number > 0).then_some(token) },
        "old_boot" => CommandRefusal::OldBoot,
        "cores_not_free" => CommandRefusal::CoresNotFree { free: small()? },
        "wrong_attempt" => CommandRefusal::WrongAttempt { next: small()? },
        "superseded" => CommandRefusal::Superseded,
        "stale_context" => CommandRefusal::StaleContext { next: number },
        "too_large" => CommandRefusal::TooLarge,
        "paused" => CommandRefusal::Paused,
        "not_paused" => CommandRefusal::NotPaused,
        "request_conflict" => CommandRefusal::RequestConflict,
        "not_lost" => CommandRefusal::NotLost,
        "empty_batch" => CommandRefusal::EmptyBatch,
        "overtakes" => CommandRefusal::Overtakes { claim: number },
        "group_cores" => CommandRefusal::GroupCores { cores: small()? },
        "wrong_kind" => CommandRefusal::WrongKind,
        "not_set_up" => CommandRefusal::NotSetUp,
        "stale_owner" => CommandRefusal::StaleOwner { current: token },
        "draining" => CommandRefusal::Draining,
        "old_version" => CommandRefusal::OldVersion { current: small()? },
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
            CommandRefusal::Unreadable { reason: "no body".to_owned() },
            CommandRefusal::Newer { message: "out of fashion".to_owned() },
            CommandRefusal::WrongGroup,
            CommandRefusal::NotInForce { needed: 2 },
            CommandRefusal::UnknownJob,
            CommandRefusal::JobKnown,
            CommandRefusal::KeyConflict,
            CommandRefusal::StaleGateToken { current: token },
            CommandRefusal::StalePart { current: token },
            CommandRefusal::NotLed,
            CommandRefusal::UnknownToken { current: token },
            CommandRefusal::StaleToken { current: token },
            CommandRefusal::AlreadyEnded,
            CommandRefusal::NotEnded,
            CommandRefusal::Cancelled,
            CommandRefusal::Running,
            CommandRefusal::StaleGrant { current: Some(token) },
            CommandRefusal::StaleGrant { current: None },
            CommandRefusal::OldBoot,
            CommandRefusal::CoresNotFree { free: 3 },
            CommandRefusal::WrongAttempt { next: 4 },
            CommandRefusal::Superseded,
            CommandRefusal::StaleContext { next: 5 },
            CommandRefusal::TooLarge,
            CommandRefusal::Paused,
            CommandRefusal::NotPaused,
            CommandRefusal::RequestConflict,
            CommandRefusal::NotLost,
            CommandRefusal::EmptyBatch,
            CommandRefusal::Overtakes { claim: 6 },
            CommandRefusal::GroupCores { cores: 7 },
            CommandRefusal::WrongKind,
            CommandRefusal::NotSetUp,
            CommandRefusal::StaleOwner { current: token },
            CommandRefusal::OldVersion { current: 1 },
        ];
        let limits = LIMITS.map(|(_, limit)| CommandRefusal::Limit(limit));
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
        assert_eq!(read, Some(Outcome::Refused(CommandRefusal::Newer { message })));
        assert_eq!(Outcome::from_bytes(&Bytes::new()), None);
    }
}
