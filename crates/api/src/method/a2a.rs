//! Operations of A2A, the protocol between agents, in both versions that are spoken (<https://a2a-protocol.org>).
//!
//! | operation | 1.0 | 0.3 |
//! | --- | --- | --- |
//! | sends a message, which becomes a task | `SendMessage` | `message/send` |
//! | the same, and follows the task | `SendStreamingMessage` | `message/stream` |
//! | looks at a task | `GetTask` | `tasks/get` |
//! | lists tasks | `ListTasks` | – |
//! | cancels a task | `CancelTask` | `tasks/cancel` |
//! | follows a task | `SubscribeToTask` | `tasks/resubscribe` |
//! | push notifications | `CreateTaskPushNotificationConfig`, `Get…`, `List…s`, `Delete…` | `tasks/pushNotificationConfig/set`, `…/get`, `…/list`, `…/delete` |
//! | a card for those with a token | `GetExtendedAgentCard` | `agent/getAuthenticatedExtendedCard` |
//!
//! The version is that of the request's header `A2A-Version`, or of the same parameter of its address; none is 0.3. Parameters are read
//! by the node.

use serde_json::{Map, Value, json};

use crate::error::{ErrorCode, RpcError};

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum A2aVersion {
    /// 0.3: objects say their `kind`.
    V0_3,
    /// 1.0: objects as ProtoJSON writes them.
    V1_0,
}

/// What is asked of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A message becomes a task.
    Send,
    /// A message becomes a task, whose updates are the response.
    SendStreaming,
    /// One task.
    Get,
    /// Tasks, page by page.
    List,
    /// Stops a task.
    Cancel,
    /// Updates of a task.
    Subscribe,
    /// Anything about push notifications.
    PushNotifications,
    /// The card for those with a token.
    ExtendedCard,
}

/// An operation with parameters that only the node can check.
#[derive(Clone, Debug, PartialEq)]
pub struct A2aCall {
    /// How parameters and response are written.
    pub version: A2aVersion,
    /// What is asked for.
    pub operation: Operation,
    /// Its parameters by name.
    pub params: Map<String, Value>,
}

/// Every name, in both versions.
const NAMES: [(A2aVersion, &str, Operation); 21] = [
    (A2aVersion::V1_0, "SendMessage", Operation::Send),
    (A2aVersion::V1_0, "SendStreamingMessage", Operation::SendStreaming),
    (A2aVersion::V1_0, "GetTask", Operation::Get),
    (A2aVersion::V1_0, "ListTasks", Operation::List),
    (A2aVersion::V1_0, "CancelTask", Operation::Cancel),
    (A2aVersion::V1_0, "SubscribeToTask", Operation::Subscribe),
    (A2aVersion::V1_0, "CreateTaskPushNotificationConfig", Operation::PushNotifications),
    (A2aVersion::V1_0, "GetTaskPushNotificationConfig", Operation::PushNotifications),
    (A2aVersion::V1_0, "ListTaskPushNotificationConfigs", Operation::PushNotifications),
    (A2aVersion::V1_0, "DeleteTaskPushNotificationConfig", Operation::PushNotifications),
    (A2aVersion::V1_0, "GetExtendedAgentCard", Operation::ExtendedCard),
    (A2aVersion::V0_3, "message/send", Operation::Send),
    (A2aVersion::V0_3, "message/stream", Operation::SendStreaming),
    (A2aVersion::V0_3, "tasks/get", Operation::Get),
    (A2aVersion::V0_3, "tasks/cancel", Operation::Cancel),
    (A2aVersion::V0_3, "tasks/resubscribe", Operation::Subscribe),
    (A2aVersion::V0_3, "tasks/pushNotificationConfig/set", Operation::PushNotifications),
    (A2aVersion::V0_3, "tasks/pushNotificationConfig/get", Operation::PushNotifications),
    (A2aVersion::V0_3, "tasks/pushNotificationConfig/list", Operation::PushNotifications),
    (A2aVersion::V0_3, "tasks/pushNotificationConfig/delete", Operation::PushNotifications),
    (A2aVersion::V0_3, "agent/getAuthenticatedExtendedCard", Operation::ExtendedCard),
];

impl A2aVersion {
    /// The versions that are spoken, the preferred one first.
    pub const ALL: [Self; 2] = [Self::V1_0, Self::V0_3];

    /// Its number, as cards and requests have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// The version that a request names; 0.3 if it names none. The number of a patch says nothing about the protocol.
    pub fn read(named: Option<&str>) -> Result<Self, RpcError> {
        let named = named.map(str::trim).filter(|named| !named.is_empty());
        let Some(text) = named else { return Ok(Self::V0_3) };
        let is_it = |version: &Self| {
            let rest = text.strip_prefix(version.as_str());
            rest.is_some_and(|rest| rest.is_empty() || is_patch(rest))
        };
        Self::ALL.into_iter().find(is_it).ok_or_else(|| unsupported(text))
    }
}

fn is_patch(text: &str) -> bool {
    let digits = text.strip_prefix('.').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn unsupported(version: &str) -> RpcError {
    let shown: String = version.chars().take(32).collect();
    let spoken = A2aVersion::ALL.map(A2aVersion::as_str);
    RpcError::new(ErrorCode::VersionNotSupported, format!("A2A {shown} is not spoken here"))
        .with("supported_versions", json!(spoken.join(", ")))
        .fix("send the header `A2A-Version: 1.0`, or none for 0.3")
}

impl A2aCall {
    /// An operation of this version by its name.
    pub fn read(version: A2aVersion, name: &str, params: Map<String, Value>) -> Result<Self, RpcError> {
        let found = |wanted: A2aVersion| {
            let mut names = NAMES.iter();
            names.find(|(known, text, _)| *known == wanted && *text == name).map(|(.., operation)| *operation)
        };
        if let Some(operation) = found(version) {
            return Ok(Self { version, operation, params });
        }
        let other = A2aVersion::ALL.into_iter().find(|other| found(*other).is_some());
        Err(other.map_or_else(
            || RpcError::unsupported(name),
            |other| {
                let message =
                    format!("`{name}` is a method of A2A {}, not of {}", other.as_str(), version.as_str());
                let fix = format!("send the header `A2A-Version: {}`", other.as_str());
                RpcError::new(ErrorCode::MethodNotFound, message).fix(fix)
            },
        ))
    }

    /// Whether the response is a stream.
    pub fn streams(&self) -> bool {
        matches!(self.operation, Operation::SendStreaming | Operation::Subscribe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(version: Option<&str>, name: &str) -> Result<Operation, RpcError> {
        let call = A2aCall::read(A2aVersion::read(version)?, name, Map::new())?;
        Ok(call.operation)
    }

    #[test]
    fn version_is_that_of_the_header_and_none_is_the_old_one() {
        for text in [None, Some(""), Some(" "), Some("0.3"), Some("0.3.0"), Some(" 0.3 ")] {
            assert_eq!(A2aVersion::read(text), Ok(A2aVersion::V0_3), "{text:?}");
        }
        for text in ["1.0", "1.0.1"] {
            assert_eq!(A2aVersion::read(Some(text)), Ok(A2aVersion::V1_0), "{text}");
        }
        for text in ["0.5", "1.1", "1", "2.0", "1.0x", "1.0.", "1.0.x", "one"] {
            let error = A2aVersion::read(Some(text)).unwrap_err();
            assert!(error.is(ErrorCode::VersionNotSupported), "{text}: {error}");
            assert_eq!(error.detail("supported_versions"), Some("1.0, 0.3"));
        }
    }

    #[test]
    fn each_version_has_its_own_names() {
        for (version, name, expected) in NAMES {
            assert_eq!(operation(Some(version.as_str()), name), Ok(expected), "{name}");
            let other = A2aVersion::ALL.into_iter().find(|other| *other != version).unwrap();
            let error = operation(Some(other.as_str()), name).unwrap_err();
            assert!(error.is(ErrorCode::MethodNotFound), "{name}: {error}");
            let fix = error.detail("fix").unwrap();
            assert!(fix.contains(version.as_str()), "{name}: {fix}");
        }
        assert!(operation(None, "tasks/explode").unwrap_err().is(ErrorCode::MethodNotFound));
        assert!(operation(Some("3.0"), "tasks/get").unwrap_err().is(ErrorCode::VersionNotSupported));
    }
}
