//! Plain content: statuses, sizes, echoes, the sample document and its compressed forms.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::Site;
use crate::options::{BODY_SIZE_MAX, DELAY_MAX};
use crate::reply::{Body, Refusal, Reply};
use crate::request::{Request, parse_number};

const SAMPLE: &[u8] = include_bytes!("../../assets/sample.json");
const SAMPLE_GZIP: &[u8] = include_bytes!("../../assets/sample.json.gz");
const SAMPLE_BROTLI: &[u8] = include_bytes!("../../assets/sample.json.br");
const SAMPLE_ZSTD: &[u8] = include_bytes!("../../assets/sample.json.zst");

/// `/status/CODE`: an empty-handed answer with that status.
pub(super) fn status(code: &str) -> Result<Reply, Refusal> {
    let status: u16 = parse_number("status", code, 999)?;
    if status < 200 {
        return Err(Refusal::bad(format!("status '{code}' is no final one; use 200 to 999")));
    }
    Ok(Reply::text(status, format!("status {status}\n")))
}

/// `/delay/MS`: the answer of `/`, later.
pub(super) fn delay(ms: &str, site: &Site) -> Result<Reply, Refusal> {
    let ms = parse_number("delay", ms, DELAY_MAX.as_millis() as u64)?;
    Ok(site.index().after(Duration::from_millis(ms)))
}

/// `/bytes/N`: a body of exactly N bytes.
pub(super) fn bytes(count: &str) -> Result<Reply, Refusal> {
    let count = parse_number("bytes", count, BODY_SIZE_MAX)?;
    Ok(Reply::new(200, Body::Fill(count)).header("content-type", "application/octet-stream"))
}

/// `/echo`: what was received, as JSON; with `?raw` only the body, under the type it came with.
pub(super) fn echo(request: &Request) -> Reply {
    if request.param("raw").is_some() {
        let kind = request.header("content-type").unwrap_or("application/octet-stream");
        return Reply::new(200, Body::Bytes(Bytes::copy_from_slice(&request.body)))
            .header("content-type", kind);
    }
    let mut headers = Map::new();
    for (name, value) in &request.headers {
        headers
            .entry(name)
            .and_modify(|earlier| *earlier = joined(earlier, value))
            .or_insert_with(|| Value::from(value.as_str()));
    }
    let query: Map<String, Value> = request.query_pairs().into_iter().map(|(n, v)| (n, v.into())).collect();
    let body = String::from_utf8_lossy(&request.body);
    Reply::json(
        200,
        &json!({
            "method": request.method, "path": request.path, "query": query, "version": request.version,
            "headers": headers, "body": body, "json": serde_json::from_slice::<Value>(&request.body).ok(),
        }),
    )
}

/// Headers that came several times are one list (RFC 9110, 5.3).
fn joined(earlier: &Value, value: &str) -> Value {
    format!("{}, {value}", earlier.as_str().unwrap_or_default()).into()
}

/// `/json`: the sample document.
pub(super) fn sample() -> Reply {
    Reply::new(200, Body::Bytes(Bytes::from_static(SAMPLE))).header("content-type", "application/json")
}

/// `/gzip`, `/br`, `/zstd`: the sample document in that encoding, whatever the request accepts.
pub(super) fn compressed(encoding: &'static str) -> Reply {
    let body = match encoding {
        "gzip" => SAMPLE_GZIP,
        "br" => SAMPLE_BROTLI,
        _ => SAMPLE_ZSTD,
    };
    Reply::new(200, Body::Bytes(Bytes::from_static(body)))
        .header("content-type", "application/json")
        .header("content-encoding", encoding)
}
