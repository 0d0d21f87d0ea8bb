//! Fuzz harnesses of what reads bytes from outside.
//!
//! As tests they replay `__fuzz__/<name>/corpus` and make a short random run; `cargo bolero test <test>` runs the same
//! harness for as long as one likes.

use crate::method::Method;
use crate::rpc::{self, Call, Calls, Id};

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
