//! What makes a client remember or move: redirects and cookies.

use serde_json::{Map, Value};

use crate::reply::{Refusal, Reply};
use crate::request::{Request, parse_number};

/// Hops of one redirect chain.
const HOPS_MAX: u32 = 1_000;

/// `/redirect/N?status=CODE`: N hops, each to a relative location, the last to `/`.
pub(super) fn redirect(hops: &str, request: &Request) -> Result<Reply, Refusal> {
    let hops: u32 = parse_number("redirect", hops, HOPS_MAX)?;
    let suffix = if request.query.is_empty() { String::new() } else { format!("?{}", request.query) };
    let location = match hops {
        0 | 1 => "/".to_owned(),
        more => format!("/redirect/{}{suffix}", more - 1),
    };
    moved(request, location)
}

/// `/redirect-to?url=URL&status=CODE`: one hop to anywhere.
pub(super) fn redirect_to(request: &Request) -> Result<Reply, Refusal> {
    let url = request.param("url").ok_or_else(|| Refusal::bad("query parameter 'url' is missing"))?;
    moved(request, url)
}

fn moved(request: &Request, location: String) -> Result<Reply, Refusal> {
    let status = request.number("status", 302, 308)?;
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return Err(Refusal::bad(format!("status '{status}' is no redirect; use 301, 302, 303, 307 or 308")));
    }
    Ok(Reply::text(status, "").header("location", header_safe(location)?))
}

/// `/cookies/set?NAME=VALUE…`: sets them and redirects nowhere.
pub(super) fn set_cookies(request: &Request) -> Result<Reply, Refusal> {
    let mut reply = Reply::text(200, "cookies set\n");
    for (name, value) in request.query_pairs() {
        reply = reply.header("set-cookie", header_safe(format!("{name}={value}; Path=/"))?);
    }
    Ok(reply)
}

/// `/cookies`: those received, as JSON.
pub(super) fn cookies(request: &Request) -> Reply {
    let received: Map<String, Value> = request
        .headers
        .iter()
        .filter(|(name, _)| name == "cookie")
        .flat_map(|(_, value)| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    Reply::json(200, &Value::Object(received))
}

/// Text that came from the query must not end the header it is put into.
fn header_safe(text: String) -> Result<String, Refusal> {
    if text.chars().all(|c| (' '..='~').contains(&c)) {
        Ok(text)
    } else {
        Err(Refusal::bad("only visible ASCII characters can go into a header"))
    }
}
