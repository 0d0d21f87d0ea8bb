//! The envelope: requests, batches, answers and errors of JSON-RPC 2.0 (<https://www.jsonrpc.org/specification>).
//!
//! Reading is total: whatever the bytes are, there is something to answer. What a method means is not known here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Requests in one batch. More than anybody asks for at once, and few enough to be answered within a second.
pub const BATCH_MAX: usize = 64;

/// Not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON, but not a request.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Parameters that the method does not take.
pub const INVALID_PARAMS: i64 = -32602;
/// A bug.
pub const INTERNAL_ERROR: i64 = -32603;
/// No such job here. The first of our own codes for jobs; tasks have those from -32040 on.
pub const UNKNOWN_JOB: i64 = -32050;
/// The job does not do that; `data.reason` says why in a word, `data.fix` what to do.
pub const REFUSED: i64 = -32051;

/// What the caller calls its request, given back with the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// The request could not be read so far as to know.
    #[default]
    Null,
    /// A number.
    Number(serde_json::Number),
    /// A text.
    Text(String),
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// `None`: a notification, which is not answered.
    pub id: Option<Id>,
    /// The method's name.
    pub method: String,
    /// Its parameters by name; empty if there are none.
    pub params: Map<String, Value>,
}

/// Something in the place of a request that is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Malformed {
    /// Its id, as far as it has one.
    pub id: Id,
    /// What is wrong.
    pub error: RpcError,
}

/// What one HTTP request asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Calls {
    /// One request.
    One(Result<Call, Malformed>),
    /// Several, answered together; never empty.
    Batch(Vec<Result<Call, Malformed>>),
}

/// Why a request got no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// Which kind.
    pub code: i64,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What programs need to know about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Box<Value>>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The job refuses, with a word for programs and advice for people.
    pub fn refused(message: impl Into<String>, reason: &str, fix: &str) -> Self {
        Self { data: Some(Box::new(json!({ "reason": reason, "fix": fix }))), ..Self::new(REFUSED, message) }
    }

    /// A text in its data.
    pub fn detail(&self, key: &str) -> Option<&str> {
        self.data.as_ref()?.get(key)?.as_str()
    }
}

/// Reads what an HTTP request brought.
pub fn read(body: &[u8]) -> Calls {
    match serde_json::from_slice(body) {
        Err(error) => Calls::One(Err(malformed(PARSE_ERROR, format!("not JSON: {error}")))),
        Ok(Value::Array(all)) if all.is_empty() => {
            Calls::One(Err(malformed(INVALID_REQUEST, "an empty batch asks for nothing")))
        }
        Ok(Value::Array(all)) if all.len() > BATCH_MAX => {
            let message = format!("a batch has at most {BATCH_MAX} requests");
            Calls::One(Err(malformed(INVALID_REQUEST, message)))
        }
        Ok(Value::Array(all)) => Calls::Batch(all.into_iter().map(read_call).collect()),
        Ok(one) => Calls::One(read_call(one)),
    }
}

fn read_call(value: Value) -> Result<Call, Malformed> {
    let Value::Object(mut members) = value else {
        return Err(malformed(INVALID_REQUEST, "a request is an object"));
    };
    let id = members.remove("id").map(serde_json::from_value::<Id>).transpose();
    let id = id.map_err(|_| malformed(INVALID_REQUEST, "`id` is a text, a number or null"))?;
    let wrong = |code, message: &str| Malformed {
        id: id.clone().unwrap_or_default(),
        error: RpcError::new(code, message),
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(wrong(INVALID_REQUEST, "`jsonrpc` must be \"2.0\""));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err(wrong(INVALID_REQUEST, "`method` must be a text"));
    };
    let params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(Value::Array(params)) if params.is_empty() => Map::new(),
        Some(Value::Array(_)) => return Err(wrong(INVALID_PARAMS, "parameters are given by name")),
        Some(_) => return Err(wrong(INVALID_REQUEST, "`params` must be an object")),
    };
    Ok(Call { id, method, params })
}

fn malformed(code: i64, message: impl Into<String>) -> Malformed {
    Malformed { id: Id::Null, error: RpcError::new(code, message) }
}

/// Writes a request.
pub fn write_call(call: &Call) -> Value {
    let mut value = json!({ "jsonrpc": "2.0", "method": call.method, "params": call.params });
    if let Some(id) = &call.id {
        value["id"] = json!(id);
    }
    value
}

/// Writes an answer.
pub fn write_answer(id: &Id, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
}

/// Reads the answer to one request; `None` if it is not one.
pub fn read_answer(body: &[u8]) -> Option<Result<Value, RpcError>> {
    let Ok(Value::Object(mut members)) = serde_json::from_slice(body) else { return None };
    match (members.remove("result"), members.remove("error")) {
        (Some(result), None) => Some(Ok(result)),
        (None, Some(error)) => Some(Err(serde_json::from_value(error).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(body: &str) -> i64 {
        match read(body.as_bytes()) {
            Calls::One(Err(malformed)) => malformed.error.code,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn request_has_id_method_and_named_parameters() {
        let body = br#"{"jsonrpc":"2.0","id":7,"method":"jobs.get","params":{"job":"run-1"}}"#;
        let Calls::One(Ok(call)) = read(body) else { panic!("refused") };
        assert_eq!((call.id, call.method.as_str()), (Some(Id::Number(7.into())), "jobs.get"));
        assert_eq!(call.params["job"], "run-1");
    }

    #[test]
    fn notification_has_no_id_and_null_is_an_id() {
        let id = |body: &str| match read(body.as_bytes()) {
            Calls::One(Ok(call)) => call.id,
            other => panic!("{other:?}"),
        };
        assert_eq!(id(r#"{"jsonrpc":"2.0","method":"m"}"#), None);
        assert_eq!(id(r#"{"jsonrpc":"2.0","method":"m","id":null}"#), Some(Id::Null));
    }

    #[test]
    fn what_is_no_request_says_why_by_its_code() {
        assert_eq!(code("{"), PARSE_ERROR);
        assert_eq!(code("7"), INVALID_REQUEST);
        assert_eq!(code("[]"), INVALID_REQUEST);
        assert_eq!(code(r#"{"method":"m"}"#), INVALID_REQUEST);
        assert_eq!(code(r#"{"jsonrpc":"1.0","method":"m"}"#), INVALID_REQUEST);
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":1}"#), INVALID_REQUEST);
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":"m","id":{}}"#), INVALID_REQUEST);
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#), INVALID_PARAMS);
        let batch = format!("[{}]", vec!["1"; BATCH_MAX + 1].join(","));
        assert_eq!(code(&batch), INVALID_REQUEST);
    }

    #[test]
    fn batch_keeps_good_requests_beside_bad_ones() {
        let Calls::Batch(all) = read(br#"[1,{"jsonrpc":"2.0","method":"m","id":"a"}]"#) else {
            panic!("no batch")
        };
        assert!(all[0].is_err());
        assert_eq!(all[1].as_ref().unwrap().id, Some(Id::Text("a".into())));
    }

    #[test]
    fn answers_are_read_as_they_were_written() {
        let error = RpcError::refused("no", "busy", "wait");
        for outcome in [Ok(json!({"a": 1})), Err(error)] {
            let body = write_answer(&Id::Null, outcome.clone()).to_string();
            assert_eq!(read_answer(body.as_bytes()), Some(outcome));
        }
        assert_eq!(read_answer(b"{}"), None);
        assert_eq!(read_answer(b"nothing"), None);
    }
}
