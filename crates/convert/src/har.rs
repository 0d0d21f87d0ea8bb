//! HTTP archives (HAR 1.2): what a browser or proxy recorded, in the order in which it was sent.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::ConvertError;
use crate::plan::{Body, Draft, Part, PartContent, Request};
use crate::text::{clean, request_name};

/// Entries that are looked at; more than requests, because many are left out.
const ENTRIES_MAX: usize = 50_000;
/// Shortest pause worth keeping, and the longest: people leave their desks.
const THINK_MS_MIN: i64 = 100;
const THINK_MS_MAX: i64 = 60_000;

/// Media types, or their beginnings, of what browsers load by themselves.
const STATIC_TYPES: [&str; 9] = [
    "image/",
    "font/",
    "audio/",
    "video/",
    "text/css",
    "text/javascript",
    "application/javascript",
    "application/x-javascript",
    "application/font",
];
/// Ends of paths of the same.
const STATIC_ENDS: [&str; 17] = [
    ".js", ".mjs", ".css", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".ico", ".woff",
    ".woff2", ".ttf", ".mp4", ".map", ".wasm",
];

/// An entry and when it was sent.
struct Entry<'h> {
    value: &'h Value,
    /// Its number in the file, from 1.
    number: usize,
    started_ms: Option<i64>,
}

/// Adds a step for every recorded request.
pub(crate) fn decode(root: &Value, draft: &mut Draft) -> Result<(), ConvertError> {
    let log = root.get("log").ok_or(ConvertError::Missing("log"))?;
    let entries = log.get("entries").and_then(Value::as_array).ok_or(ConvertError::Missing("log.entries"))?;
    if entries.len() > ENTRIES_MAX {
        return Err(ConvertError::TooMany);
    }
    draft.name(first_title(log).unwrap_or("Recorded session"));
    let mut statics = 0;
    let mut hosts = Hosts::default();
    let mut left_cookies = false;
    let mut before_end: Option<i64> = None;
    let titles = titles(log);
    for entry in in_order(entries) {
        let place = format!("entry {}", entry.number);
        if draft.options().no_static && is_static(entry.value) {
            statics += 1;
            continue;
        }
        if !hosts.take(entry.value, &draft.options().only) {
            continue;
        }
        let Some(mut request) = request(&place, entry.value, draft) else { continue };
        left_cookies |= drop_cookies(&mut request, draft);
        if titles.len() > 1 {
            tag_page(entry.value, &titles, &mut request);
        }
        if draft.options().think {
            pause(draft, before_end, entry.started_ms);
        }
        let took_ms = entry.value.get("time").and_then(Value::as_f64).unwrap_or(0.0).clamp(0.0, 1e9) as i64;
        before_end = entry.started_ms.map(|started| started + took_ms).or(before_end);
        draft.push(&place, request)?;
    }
    if statics > 0 {
        draft.note(
            "log.entries",
            format!("{statics} static files are left out (images, styles, scripts, fonts)"),
        );
    }
    hosts.tell(draft);
    if left_cookies {
        draft.note(
            "log.entries",
            "recorded cookies are left out; answers set them anew (see --cookies recorded)",
        );
    }
    Ok(())
}

/// How many requests there are to which host, those that are left out apart.
#[derive(Default)]
struct Hosts {
    taken: BTreeMap<String, usize>,
    left: BTreeMap<String, usize>,
}

impl Hosts {
    /// Whether an entry is wanted: its host is one of these or below one of them, or none is named.
    fn take(&mut self, entry: &Value, only: &[String]) -> bool {
        let url = entry.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
        let host = host(url);
        let is_wanted = |wanted: &String| {
            let wanted = wanted.to_ascii_lowercase();
            host == wanted || host.strip_suffix(&wanted).is_some_and(|below| below.ends_with('.'))
        };
        let is_taken = only.is_empty() || only.iter().any(is_wanted);
        let counts = if is_taken { &mut self.taken } else { &mut self.left };
        *counts.entry(host).or_default() += 1;
        is_taken
    }

    fn tell(&self, draft: &mut Draft) {
        let listed = |hosts: &BTreeMap<String, usize>| {
            let mut hosts: Vec<(&String, &usize)> = hosts.iter().collect();
            hosts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let hosts: Vec<String> = hosts.iter().map(|(host, count)| format!("{host} ({count})")).collect();
            hosts.join(", ")
        };
        if !self.left.is_empty() {
            draft
                .note("log.entries", format!("requests to other hosts are left out: {}", listed(&self.left)));
        }
        if self.taken.len() > 1 {
            let hosts = listed(&self.taken);
            draft.note(
                "log.entries",
                format!(
                    "load goes to several hosts: {hosts}; whose are they? --only HOST takes those of one"
                ),
            );
        }
    }
}

/// The host of a URL, in lower case and without its port.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let end = if host.starts_with('[') { host.find(']').map(|at| at + 1) } else { host.find(':') };
    host[..end.unwrap_or(host.len())].to_ascii_lowercase()
}

/// Milliseconds since 1970 of a time as recordings write it (RFC 3339).
fn unix_ms(text: &str) -> Option<i64> {
    text.trim().parse().ok().map(Timestamp::as_millisecond)
}

fn in_order(entries: &[Value]) -> Vec<Entry<'_>> {
    let started = |value: &Value| text(value, "startedDateTime").and_then(unix_ms);
    let entry = |(at, value)| Entry { value, number: at + 1, started_ms: started(value) };
    let mut list: Vec<Entry<'_>> = entries.iter().enumerate().map(entry).collect();
    // Without a time an entry cannot be moved, and neither can the others.
    if list.iter().all(|entry| entry.started_ms.is_some()) {
        list.sort_by_key(|entry| entry.started_ms);
    }
    list
}

/// Ids and titles of the pages.
fn titles(log: &Value) -> Vec<(&str, &str)> {
    let pages = log.get("pages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    pages
        .iter()
        .filter_map(|page| Some((text(page, "id")?, text(page, "title").unwrap_or_default())))
        .collect()
}

fn first_title(log: &Value) -> Option<&str> {
    titles(log).first().map(|(_, title)| *title).filter(|title| !title.is_empty())
}

/// Says in a tag which page a request belongs to.
fn tag_page(entry: &Value, titles: &[(&str, &str)], request: &mut Request) {
    let page = text(entry, "pageref").and_then(|id| titles.iter().find(|(known, _)| *known == id));
    if let Some((id, title)) = page {
        let title: String = if title.is_empty() { *id } else { *title }
            .chars()
            .filter(|c| !c.is_control())
            .take(60)
            .collect();
        request.step.insert("tags".into(), json!({ "page": crate::text::template(&clean(&title)) }));
    }
}

fn pause(draft: &mut Draft, before_end: Option<i64>, started: Option<i64>) {
    let (Some(before), Some(started)) = (before_end, started) else { return };
    let pause = (started - before).min(THINK_MS_MAX);
    if pause >= THINK_MS_MIN
        && let Some(step) = draft.last_step()
    {
        step.insert("think".into(), format!("{pause}ms").into());
    }
}

fn is_static(entry: &Value) -> bool {
    let media_type = entry.pointer("/response/content/mimeType").and_then(Value::as_str).unwrap_or_default();
    let url = entry.pointer("/request/url").and_then(Value::as_str).unwrap_or_default();
    let path = url.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    STATIC_TYPES.iter().any(|known| media_type.to_ascii_lowercase().starts_with(known))
        || STATIC_ENDS.iter().any(|end| path.ends_with(end))
}

/// The request of an entry; `None` with a note if it cannot be sent again.
fn request(place: &str, entry: &Value, draft: &mut Draft) -> Option<Request> {
    let recorded = entry.get("request")?;
    let url = clean(text(recorded, "url").unwrap_or_default());
    if !url.starts_with("http://") && !url.starts_with("https://") {
        draft.note(place, format!("left out: `{}` is not HTTP", url.chars().take(60).collect::<String>()));
        return None;
    }
    let status = entry.pointer("/response/status").and_then(Value::as_u64).unwrap_or(200);
    if status == 0 {
        draft.note(place, "left out: it was blocked or cancelled when it was recorded");
        return None;
    }
    let method = text(recorded, "method").unwrap_or("GET").to_owned();
    let mut request = Request { name: request_name(&method, &url), method, url, ..Request::default() };
    request.headers = pairs(recorded.get("headers"));
    let asks_compressed = request.header("accept-encoding").is_some();
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("accept-encoding"));
    if asks_compressed {
        request.http.insert("compression".into(), true.into());
    }
    if (300..400).contains(&status) && status != 304 {
        // Where it led to is the next entry.
        request.http.insert("redirects".into(), false.into());
    }
    if status >= 400 {
        request.step.insert("expect".into(), json!({ "status": [status] }));
        draft.note(place, format!("status {status} was recorded, so status {status} is expected"));
    }
    body(place, recorded, &mut request, draft);
    Some(request)
}

/// Cookies are the jar's, unless those of the recording are wanted. Whether some were dropped.
fn drop_cookies(request: &mut Request, draft: &Draft) -> bool {
    let sent: Vec<String> = request
        .headers
        .extract_if(.., |(name, _)| name.eq_ignore_ascii_case("cookie"))
        .map(|(_, value)| value)
        .collect();
    if !draft.options().recorded_cookies {
        return !sent.is_empty();
    }
    request.http.insert("cookie_jar".into(), false.into());
    let cookies =
        sent.iter().flat_map(|field| field.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    request.cookies = cookies.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    false
}

fn body(place: &str, recorded: &Value, request: &mut Request, draft: &mut Draft) {
    let Some(data) = recorded.get("postData").filter(|data| data.is_object()) else { return };
    let media_type = text(data, "mimeType").unwrap_or_default().to_owned();
    let Some(content) = recorded_text(data) else {
        draft.note(place, "the body is not a text; it is sent without one (see `file` of a request)");
        return;
    };
    let params = data.get("params").and_then(Value::as_array).filter(|params| !params.is_empty());
    if media_type.starts_with("multipart/form-data") {
        request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        match params {
            Some(params) => {
                request.body =
                    Body::Multipart(params.iter().map(|param| part(place, param, draft)).collect());
            }
            // Some browsers write the body as it was sent, boundaries included.
            None if !content.is_empty() => {
                request.headers.push(("content-type".to_owned(), media_type));
                request.body = Body::Text(content);
            }
            None => draft
                .note(place, "the parts of the multipart body were not recorded; it is sent without a body"),
        }
        return;
    }
    if content.is_empty() {
        match params {
            Some(params) if media_type.starts_with("application/x-www-form-urlencoded") => {
                let decoded = |text: &str| crate::text::percent_decoded(&clean(text), true);
                let field = |param: &Value| {
                    (
                        decoded(text(param, "name").unwrap_or_default()),
                        decoded(text(param, "value").unwrap_or_default()),
                    )
                };
                request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                request.body = Body::Form(params.iter().map(field).collect());
            }
            _ if recorded.get("bodySize").and_then(Value::as_i64).unwrap_or(0) > 0 => {
                draft.note(place, "the body was not recorded; it is sent without one");
            }
            _ => {}
        }
        return;
    }
    if request.header("content-type").is_none() && !media_type.is_empty() {
        request.headers.push(("content-type".to_owned(), media_type));
    }
    request.set_text(content);
}

/// The body as text; `None` if it is something else.
fn recorded_text(data: &Value) -> Option<String> {
    let content = text(data, "text").unwrap_or_default();
    if !text(data, "encoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64")) {
        return Some(clean(content));
    }
    let bytes = BASE64_STANDARD.decode(content.trim()).ok()?;
    String::from_utf8(bytes).ok().map(|text| clean(&text))
}

fn part(place: &str, param: &Value, draft: &mut Draft) -> Part {
    let name = clean(text(param, "name").unwrap_or("part"));
    let content_type =
        text(param, "contentType").filter(|media_type| !media_type.is_empty()).map(str::to_owned);
    let content = match text(param, "fileName").filter(|file| !file.is_empty()) {
        Some(file) => {
            draft.note(
                place,
                format!("put the uploaded file `{file}` beside the plan: its content was not recorded"),
            );
            PartContent::File { path: clean(file), filename: None }
        }
        None => PartContent::Text(clean(text(param, "value").unwrap_or_default())),
    };
    Part { name, content, content_type }
}

fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

fn pairs(list: Option<&Value>) -> Vec<(String, String)> {
    let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let pair =
        |entry: &Value| Some((clean(text(entry, "name")?), clean(text(entry, "value").unwrap_or_default())));
    list.iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_recordings_are_read() {
        for (text, wanted) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00.5Z", Some(951_825_600_500)),
            ("2026-03-01T01:00:00.123456+01:00", Some(1_772_323_200_123)),
            ("2026-02-28T19:30:00-0430", Some(1_772_323_200_000)),
            ("2026-13-01T00:00:00Z", None),
            ("yesterday", None),
            ("2026-01-01T00:00:00", None),
            ("", None),
        ] {
            assert_eq!(unix_ms(text), wanted, "{text}");
        }
    }
}
