//! Messages and their parts, as both versions write them.
//!
//! | | 1.0 | 0.3 |
//! | --- | --- | --- |
//! | role | `ROLE_USER`, `ROLE_AGENT` | `user`, `agent` |
//! | text | `{"text": …}` | `{"kind": "text", "text": …}` |
//! | data | `{"data": …}`, any value | `{"kind": "data", "data": {…}}`, an object |
//! | file | `{"raw": …}`, `{"url": …}` | `{"kind": "file", "file": {…}}` |

use hyperscale_api::{A2aVersion, RpcError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::errors;

/// Parts of one message.
const PARTS_MAX: usize = 100;

/// A message that a client sent, or that the agent says about a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) role: Role,
    pub(super) parts: Vec<Part>,
    pub(super) context: Option<String>,
    pub(super) task: Option<String>,
    /// `metadata`, `extensions` and `referenceTaskIds`, which are given back as they came.
    pub(super) others: Map<String, Value>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Agent,
}

/// A part of a message or of an artifact.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) content: Content,
    pub(super) metadata: Option<Value>,
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Text(String),
    Data(Value),
}

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Self { content, metadata: None }
    }
}

/// A message as it is sent; what differs between versions is read from its values.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMessage {
    message_id: String,
    role: String,
    parts: Vec<Map<String, Value>>,
    context_id: Option<String>,
    task_id: Option<String>,
    metadata: Option<Value>,
    extensions: Option<Value>,
    reference_task_ids: Option<Value>,
}

impl Message {
    /// Something that the agent says about a task.
    pub(super) fn from_agent(id: String, text: String) -> Self {
        let parts = vec![Content::Text(text).into()];
        Self { id, role: Role::Agent, parts, context: None, task: None, others: Map::new() }
    }

    /// Reads a message. Members that are not known are left out, as the specification wants it (section 5.7).
    pub(super) fn read(version: A2aVersion, value: Value) -> Result<Self, RpcError> {
        let raw: RawMessage =
            serde_json::from_value(value).map_err(|error| errors::invalid(format!("`message`: {error}")))?;
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let names = [
            ("metadata", raw.metadata),
            ("extensions", raw.extensions),
            ("referenceTaskIds", raw.reference_task_ids),
        ];
        let others = names.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let parts = raw.parts.into_iter().enumerate();
        Ok(Self {
            id: raw.message_id,
            role: Role::read(version, &raw.role)?,
            parts: parts.map(|(at, part)| Part::read(version, at, part)).collect::<Result<_, _>>()?,
            context: given(raw.context_id),
            task: given(raw.task_id),
            others: others.collect(),
        })
    }

    /// What a message that becomes a task must have.
    pub(super) fn checked(self) -> Result<Self, RpcError> {
        if self.id.is_empty() {
            return Err(errors::invalid("`message.messageId` must not be empty"));
        }
        if self.role == Role::Agent {
            return Err(errors::invalid("`message.role` must be that of a user: this is the agent"));
        }
        if !(1..=PARTS_MAX).contains(&self.parts.len()) {
            return Err(errors::invalid(format!("`message.parts` must have 1 to {PARTS_MAX} entries")));
        }
        Ok(self)
    }

    pub(super) fn write(&self, version: A2aVersion) -> Value {
        let mut members = self.others.clone();
        let parts: Vec<Value> = self.parts.iter().map(|part| part.write(version)).collect();
        members.insert("messageId".to_owned(), json!(self.id));
        members.insert("role".to_owned(), json!(self.role.as_str(version)));
        members.insert("parts".to_owned(), parts.into());
        for (name, value) in [("contextId", &self.context), ("taskId", &self.task)] {
            if let Some(value) = value {
                members.insert(name.to_owned(), json!(value));
            }
        }
        if version == A2aVersion::V0_3 {
            members.insert("kind".to_owned(), json!("message"));
        }
        members.into()
    }
}

impl Role {
    fn as_str(self, version: A2aVersion) -> &'static str {
        match (version, self) {
            (A2aVersion::V1_0, Self::User) => "ROLE_USER",
            (A2aVersion::V1_0, Self::Agent) => "ROLE_AGENT",
            (A2aVersion::V0_3, Self::User) => "user",
            (A2aVersion::V0_3, Self::Agent) => "agent",
        }
    }

    fn read(version: A2aVersion, text: &str) -> Result<Self, RpcError> {
        let found = [Self::User, Self::Agent].into_iter().find(|role| role.as_str(version) == text);
        found.ok_or_else(|| {
            errors::invalid(format!("`message.role` must be `{}`", Self::User.as_str(version)))
        })
    }
}

impl Part {
    fn read(version: A2aVersion, at: usize, mut part: Map<String, Value>) -> Result<Self, RpcError> {
        let wrong = |what: &str| errors::invalid(format!("`message.parts[{at}]` {what}"));
        let kind = match version {
            A2aVersion::V0_3 => part.get("kind").and_then(Value::as_str).map(str::to_owned),
            A2aVersion::V1_0 => {
                let kinds =
                    ["text", "data", "raw", "url"].into_iter().filter(|kind| part.contains_key(*kind));
                let kinds: Vec<&str> = kinds.collect();
                if kinds.len() > 1 {
                    return Err(wrong("must have one of `text` and `data`"));
                }
                kinds.first().map(|kind| (*kind).to_owned())
            }
        };
        let content = match (kind.as_deref(), part.remove("text"), part.remove("data")) {
            (Some("text"), Some(Value::String(text)), _) => Content::Text(text),
            (Some("text"), ..) => return Err(wrong("must have a `text` that is a text")),
            (Some("data"), _, Some(data)) if version == A2aVersion::V1_0 => Content::Data(whole(data)),
            (Some("data"), _, Some(data @ Value::Object(_))) => Content::Data(data),
            (Some("data"), ..) => return Err(wrong("must have `data` that is an object")),
            (Some("file" | "raw" | "url"), ..) => return Err(errors::content_type(at)),
            _ if version == A2aVersion::V0_3 => return Err(wrong("must have the `kind` text or data")),
            _ => return Err(wrong("must have `text` or `data`")),
        };
        Ok(Self { content, metadata: part.remove("metadata").filter(|metadata| !metadata.is_null()) })
    }

    pub(super) fn write(&self, version: A2aVersion) -> Value {
        let mut part = match (&self.content, version) {
            (Content::Text(text), A2aVersion::V1_0) => json!({ "text": text }),
            (Content::Text(text), A2aVersion::V0_3) => json!({ "kind": "text", "text": text }),
            (Content::Data(data), A2aVersion::V1_0) => {
                json!({ "data": data, "mediaType": "application/json" })
            }
            (Content::Data(data @ Value::Object(_)), A2aVersion::V0_3) => {
                json!({ "kind": "data", "data": data })
            }
            // Data of 0.3 is an object.
            (Content::Data(data), A2aVersion::V0_3) => json!({ "kind": "data", "data": { "value": data } }),
        };
        if let Some(metadata) = &self.metadata {
            part["metadata"] = metadata.clone();
        }
        part
    }
}

/// The same with whole numbers as integers: data of 1.0 passes through `google.protobuf.Value`, whose numbers are all floating point.
fn whole(value: Value) -> Value {
    /// Above it not every whole number is a number of `google.protobuf.Value`.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT_MAX => {
                json!(float as i64)
            }
            _ => number.into(),
        },
        Value::Array(items) => items.into_iter().map(whole).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, whole(value))).collect::<Map<_, _>>().into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use hyperscale_api::ErrorCode;

    use super::*;

    fn sent(version: A2aVersion) -> Value {
        match version {
            A2aVersion::V1_0 => json!({
                "messageId": "m1", "role": "ROLE_USER", "contextId": "c1",
                "parts": [{ "text": "run it" }, { "data": { "a": 1 }, "mediaType": "application/json", "metadata": { "k": "v" } }],
                "metadata": { "who": "me" }, "referenceTaskIds": ["t0"],
            }),
            A2aVersion::V0_3 => json!({
                "kind": "message", "messageId": "m1", "role": "user", "contextId": "c1",
                "parts": [{ "kind": "text", "text": "run it" }, { "kind": "data", "data": { "a": 1 }, "metadata": { "k": "v" } }],
                "metadata": { "who": "me" }, "referenceTaskIds": ["t0"],
            }),
        }
    }

    #[test]
    fn message_is_read_and_written_the_same_in_both_versions() {
        let [new, old] = A2aVersion::ALL;
        let read = |version| Message::read(version, sent(version)).unwrap();
        assert_eq!(read(new), read(old));
        for version in A2aVersion::ALL {
            assert_eq!(read(version).write(version), sent(version), "{version:?}");
        }
        assert_eq!(read(old).write(new), sent(new), "what came in one version is shown in the other");
    }

    #[test]
    fn messages_that_are_none_are_refused_with_the_place() {
        let refused = |version, change: &dyn Fn(&mut Value)| {
            let mut message = sent(version);
            change(&mut message);
            Message::read(version, message).and_then(Message::checked).unwrap_err()
        };
        for version in A2aVersion::ALL {
            let told = |change: &dyn Fn(&mut Value)| refused(version, change).message;
            assert_eq!(
                told(&|message| drop(message.as_object_mut().unwrap().remove("messageId"))),
                "`message`: missing field `messageId`"
            );
            assert_eq!(
                told(&|message| message["messageId"] = json!("")),
                "`message.messageId` must not be empty"
            );
            assert!(told(&|message| message["role"] = json!("boss")).starts_with("`message.role` must be `"));
            assert_eq!(
                told(&|message| message["parts"] = json!([])),
                "`message.parts` must have 1 to 100 entries"
            );
            assert!(
                told(&|message| message["parts"][1] = json!({})).starts_with("`message.parts[1]` must have")
            );
            let agent = Role::Agent.as_str(version);
            assert!(told(&|message| message["role"] = json!(agent)).contains("this is the agent"));
        }
        let file = json!({ "kind": "file", "file": { "uri": "https://example.com/" } });
        let old = refused(A2aVersion::V0_3, &|message| message["parts"][0] = file.clone());
        let new = refused(A2aVersion::V1_0, &|message| message["parts"][0] = json!({ "raw": "AA==" }));
        assert!(old.is(ErrorCode::ContentTypeNotSupported) && new.is(ErrorCode::ContentTypeNotSupported));
        let both = refused(A2aVersion::V1_0, &|message| message["parts"][0]["data"] = json!({}));
        assert_eq!(both.message, "`message.parts[0]` must have one of `text` and `data`");
    }

    #[test]
    fn whole_numbers_of_the_new_version_are_integers() {
        let data = whole(json!({ "a": [1.0, 1.5, -2.0, 1e300], "b": { "c": 3 } }));
        assert_eq!(data.to_string(), "{\"a\":[1,1.5,-2,1e+300],\"b\":{\"c\":3}}");
    }

    #[test]
    fn data_that_is_no_object_is_wrapped_in_the_old_version() {
        let part: Part = Content::Data(json!([1])).into();
        assert_eq!(part.write(A2aVersion::V1_0)["data"], json!([1]));
        assert_eq!(part.write(A2aVersion::V0_3)["data"], json!({ "value": [1] }));
    }
}
