//! Fuzz harnesses of what reads bytes from outside.
//!
//! As tests they replay `__fuzz__/<name>/corpus` and make a short random run; `cargo bolero test <test>` runs the same
//! harness for as long as one likes.

use crate::event::{EventId, JobEvent};
use crate::method::Method;
use crate::rpc::{self, Call, Calls, Id};
use crate::sse::Parser;

fn check(call: Call) {
    let written = rpc::write_call(&call).to_string();
    assert_eq!(rpc::read(written.as_bytes()), Calls::One(Ok(call.clone())), "what is written is read again");
    if let Ok(method) = Method::read(&call.method, call.params) {
        let again = method.to_call(Id::Null);
        assert_eq!(Method::read(&again.method, again.params), Ok(method));
    }
}

#[test]
fn fuzz_requests() {
    bolero::check!(name = "requests").for_each(|bytes: &[u8]| match rpc::read(bytes) {
        Calls::One(call) => call.into_iter().for_each(check),
        Calls::Batch(calls) => {
            assert!(!calls.is_empty() && calls.len() <= rpc::BATCH_MAX);
            calls.into_iter().flatten().for_each(check);
        }
    });
}

#[test]
fn fuzz_responses() {
    bolero::check!(name = "responses").for_each(|bytes: &[u8]| {
        if let Some(outcome) = rpc::read_response(bytes) {
            let written = rpc::write_response(&Id::Null, outcome.clone()).to_string();
            assert_eq!(rpc::read_response(written.as_bytes()), Some(outcome));
        }
    });
}

/// The parameters of a submission: everything a client can say about a plan.
#[test]
fn fuzz_submit() {
    bolero::check!(name = "submit").for_each(|bytes: &[u8]| {
        let Ok(serde_json::Value::Object(params)) = serde_json::from_slice(bytes) else { return };
        if let Ok(method) = Method::read("jobs.submit", params) {
            let written = method.to_call(Id::Null);
            assert_eq!(Method::read(&written.method, written.params), Ok(method), "it is read again");
        }
    });
}

/// The stream of a server that a client does not control: pieces make no difference, whatever they are.
#[test]
fn fuzz_events() {
    bolero::check!(name = "events").for_each(|bytes: &[u8]| {
        let (mut whole, mut all) = (Parser::default(), Vec::new());
        let read = whole.push(bytes, &mut all);
        let (mut parts, mut again) = (Parser::default(), Vec::new());
        let size = 1 + bytes.first().map_or(0, |first| usize::from(first % 7));
        let reread = bytes.chunks(size).try_for_each(|part| parts.push(part, &mut again));
        assert_eq!((read, &all), (reread, &again));
        for event in all {
            if let Ok(id) = event.id.parse::<EventId>() {
                assert_eq!(id.to_string().parse(), Ok(id));
            }
            if let Ok(event) = serde_json::from_str::<JobEvent>(&event.data) {
                assert_eq!(event.id().token, event.token);
            }
        }
    });
}
