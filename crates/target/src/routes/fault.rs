//! Misbehaviour by path.

use std::time::Duration;

use crate::options::DELAY_MAX;
use crate::reply::{Answer, Fault, Refusal, Reply};
use crate::request::Request;

/// Bytes of an oversized head: more than clients accept by default, little enough to send at once.
const HUGE_HEAD_BYTES: usize = 256 * 1024;

/// Largest head that can be asked for.
const HUGE_HEAD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// `/fault/NAME`.
pub(super) fn by_name(name: &str, request: &Request) -> Result<Answer, Refusal> {
    let fault = match name {
        "reset" => Fault::Reset,
        "close" => Fault::Close,
        "close-mid-body" => Fault::CloseMidBody,
        "garbage" => Fault::Garbage,
        "stall" => return Ok(Reply::text(200, "stalled\n").after(pause(request, 1_000)?).into()),
        "slow-head" => Fault::SlowHead(pause(request, 10)?),
        "huge-head" => Fault::HugeHead(request.number("bytes", HUGE_HEAD_BYTES, HUGE_HEAD_BYTES_MAX)?),
        "no-length" => Fault::NoLength,
        "close-after" => Fault::CloseAfter,
        unknown => {
            return Err(Refusal::bad(format!(
                "unknown fault '{unknown}': use reset, close, close-mid-body, garbage, stall, slow-head, huge-head, \
                 no-length or close-after"
            )));
        }
    };
    Ok(Answer::Fault(fault))
}

fn pause(request: &Request, default_ms: u64) -> Result<Duration, Refusal> {
    request.number("ms", default_ms, DELAY_MAX.as_millis() as u64).map(Duration::from_millis)
}
