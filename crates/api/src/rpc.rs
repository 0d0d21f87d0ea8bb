//! The envelope: requests, batches, responses and errors of JSON-RPC 2.0 (<https://www.jsonrpc.org/specification>).
//!
//! Reading is total: whatever the bytes are, there is a response. What a method means is not known here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{ErrorCode, RpcError};

/// Requests in one batch. More than any client of ours sends, and few enough to be processed within a second.
pub const BATCH_MAX: usize = 64;

/// What the caller calls its request, given back with the response.
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
    /// `None`: a notification, which gets no response.
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
    /// Several, with one response; never empty.
    Batch(Vec<Result<Call, Malformed>>),
}

/// Reads what an HTTP request brought.
pub fn read(body: &[u8]) -> Calls {
    match serde_json::from_slice(body) {
        Err(error) => Calls::One(Err(malformed(ErrorCode::ParseError, format!("not JSON: {error}")))),
        Ok(Value::Array(all)) if all.is_empty() => {
            Calls::One(Err(malformed(ErrorCode::InvalidRequest, "a batch has at least one request")))
        }
        Ok(Value::Array(all)) if all.len() > BATCH_MAX => {
            let message = format!("a batch has at most {BATCH_MAX} requests");
            Calls::One(Err(malformed(ErrorCode::InvalidRequest, message)))
        }
        Ok(Value::Array(all)) => Calls::Batch(all.into_iter().map(read_call).collect()),
        Ok(one) => Calls::One(read_call(one)),
    }
}

fn read_call(value: Value) -> Result<Call, Malformed> {
    let Value::Object(mut members) = value else {
        return Err(malformed(ErrorCode::InvalidRequest, "a request is an object"));
    };
    let id = members.remove("id").map(serde_json::from_value::<Id>).transpose();
    let id = id.map_err(|_| malformed(ErrorCode::InvalidRequest, "`id` is a text, a number or null"))?;
    let wrong = |code, message: &str| Malformed {
        id: id.clone().unwrap_or_default(),
        error: RpcError::new(code, message),
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(wrong(ErrorCode::InvalidRequest, "`jsonrpc` must be \"2.0\""));
    }
    let Some(Value::String(method)) = members.remove("method") else {
        return Err(wrong(ErrorCode::InvalidRequest, "`method` must be a text"));
    };
    let params = match members.remove("params") {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(Value::Array(params)) if params.is_empty() => Map::new(),
        Some(Value::Array(_)) => return Err(wrong(ErrorCode::InvalidParams, "parameters are given by name")),
        Some(_) => return Err(wrong(ErrorCode::InvalidRequest, "`params` must be an object")),
    };
    Ok(Call { id, method, params })
}

fn malformed(code: ErrorCode, message: impl Into<String>) -> Malformed {
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

/// Writes a response.
pub fn write_response(id: &Id, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
}

/// Reads the response to one request; `None` if it is not one.
pub fn read_response(body: &[u8]) -> Option<Result<Value, RpcError>> {
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

    fn code(body: &str) -> Option<ErrorCode> {
        match read(body.as_bytes()) {
            Calls::One(Err(malformed)) => malformed.error.kind(),
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
        assert_eq!(code("{"), Some(ErrorCode::ParseError));
        assert_eq!(code("7"), Some(ErrorCode::InvalidRequest));
        assert_eq!(code("[]"), Some(ErrorCode::InvalidRequest));
        assert_eq!(code(r#"{"method":"m"}"#), Some(ErrorCode::InvalidRequest));
        assert_eq!(code(r#"{"jsonrpc":"1.0","method":"m"}"#), Some(ErrorCode::InvalidRequest));
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":1}"#), Some(ErrorCode::InvalidRequest));
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":"m","id":{}}"#), Some(ErrorCode::InvalidRequest));
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":"m","params":[1]}"#), Some(ErrorCode::InvalidParams));
        let batch = format!("[{}]", vec!["1"; BATCH_MAX + 1].join(","));
        assert_eq!(code(&batch), Some(ErrorCode::InvalidRequest));
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
    fn responses_are_read_as_they_were_written() {
        let error = RpcError::refused("no", "busy", "wait");
        for outcome in [Ok(json!({"a": 1})), Err(error)] {
            let body = write_response(&Id::Null, outcome.clone()).to_string();
            assert_eq!(read_response(body.as_bytes()), Some(outcome));
        }
        assert_eq!(read_response(b"{}"), None);
        assert_eq!(read_response(b"nothing"), None);
    }
}
