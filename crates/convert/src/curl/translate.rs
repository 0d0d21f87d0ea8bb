//! One curl command as a request, with curl's own rules: what implies which method, what is sent as what.

use serde_json::{Map, Value, json};

use super::Command;
use super::flags::Effect;
use crate::ConvertError;
use crate::plan::{Body, Draft, Part, PartContent, Request};
use crate::text::{has_holes, percent_encoded, request_name, template};

const FROM_STDIN: &str =
    "the command reads its body from its standard input, which is not known here: it is left out";

/// Adds a step for each URL of the command.
pub(super) fn translate(place: &str, command: &Command, draft: &mut Draft) -> Result<(), ConvertError> {
    if command.urls.is_empty() {
        draft.note(place, "left out: it names no URL");
    }
    for url in &command.urls {
        let request = request(place, command, url, draft);
        draft.push(place, request)?;
    }
    Ok(())
}

fn request(place: &str, command: &Command, url: &str, draft: &mut Draft) -> Request {
    let mut request =
        Request { url: with_scheme(url), http: http_keys(place, command, draft), ..Request::default() };
    if !has_holes(url) && url.contains(['{', '[']) && !url.contains("://[") {
        draft.note(place, "curl expands `[…]` and `{…}` in a URL; here they are characters");
    }
    headers(place, command, &mut request, draft);
    cookies(place, command, &mut request, draft);
    auth(place, command, &mut request, draft);
    body(place, command, &mut request, draft);
    let implied = match &request.body {
        _ if command.has(Effect::Head) => "HEAD",
        _ if command.has(Effect::Upload) => "PUT",
        Body::Empty if !has_data(command) => "GET",
        _ => "POST",
    };
    command.last(Effect::Method).unwrap_or(implied).clone_into(&mut request.method);
    request.name = request_name(&request.method, &request.url);
    request
}

/// Whether something is sent, even if what it is stays unknown.
fn has_data(command: &Command) -> bool {
    let is_data = |effect: &Effect| {
        use Effect::{Data, DataBinary, DataRaw, DataUrlencode, Form, FormString, Json};
        matches!(effect, Data | DataBinary | DataRaw | DataUrlencode | Json | Form | FormString)
    };
    !command.has(Effect::Get) && command.flags.iter().any(|(effect, _)| is_data(effect))
}

fn with_scheme(url: &str) -> String {
    if url.contains("://") || has_holes(url.split('/').next().unwrap_or_default()) {
        url.to_owned()
    } else {
        format!("http://{url}")
    }
}

/// What stands beside the request: connection, limits, redirects.
fn http_keys(place: &str, command: &Command, draft: &mut Draft) -> Map<String, Value> {
    let mut http = Map::new();
    let mut set = |key: &str, value: Value| drop(http.insert(key.to_owned(), value));
    // curl neither follows redirects nor keeps cookies unless it is told to.
    match (
        command.has(Effect::Location),
        command.last(Effect::RedirectsMax).and_then(|n| n.parse::<u32>().ok()),
    ) {
        (false, _) => set("redirects", false.into()),
        (true, Some(most)) => set("redirects", most.min(100).into()),
        (true, None) => {}
    }
    set("cookie_jar", false.into());
    if command.has(Effect::Compressed) {
        set("compression", true.into());
    }
    for (effect, key) in [(Effect::Timeout, "timeout"), (Effect::ConnectTimeout, "connect_timeout")] {
        match command.last(effect).map(milliseconds) {
            Some(Some(ms)) => set(key, format!("{ms}ms").into()),
            Some(None) => draft.note(place, format!("the value of `{key}` is not a number of seconds")),
            None => {}
        }
    }
    if command.has(Effect::Http2) {
        set("version", "2".into());
    } else if command.has(Effect::Http11) {
        set("version", "1.1".into());
    }
    let tls = tls(command);
    if !tls.is_empty() {
        set("tls", tls.into());
    }
    if let Some(proxy) = command.last(Effect::Proxy) {
        let proxy = if proxy.contains("://") { proxy.to_owned() } else { format!("http://{proxy}") };
        set("proxy", template(&proxy).into());
    }
    if let Some(path) = command.last(Effect::Unix) {
        set("unix", template(path).into());
    }
    http
}

fn tls(command: &Command) -> Map<String, Value> {
    let mut tls = Map::new();
    if command.has(Effect::Insecure) {
        tls.insert("insecure".into(), true.into());
    }
    for (effect, key) in [(Effect::CaFile, "ca"), (Effect::CertFile, "cert"), (Effect::KeyFile, "key")] {
        if let Some(path) = command.last(effect) {
            tls.insert(key.into(), template(path).into());
        }
    }
    // One file can hold both.
    if let Some(cert) = tls.get("cert").cloned() {
        tls.entry("key").or_insert(cert);
    }
    tls
}

fn milliseconds(seconds: &str) -> Option<u64> {
    let seconds: f64 = seconds.parse().ok()?;
    (seconds > 0.0 && seconds < 1e6).then(|| ((seconds * 1e3) as u64).max(1))
}

fn headers(place: &str, command: &Command, request: &mut Request, draft: &mut Draft) {
    for header in command.all(Effect::Header) {
        if let Some(file) = header.strip_prefix('@') {
            draft.note(place, format!("header fields of the file `{file}` are left out"));
        } else if let Some((name, value)) = header.split_once(':') {
            match value.trim() {
                "" => draft.note(
                    place,
                    format!("`-H '{header}'` removes a field of curl; the plan does not send it"),
                ),
                value => request.headers.push((name.trim().to_owned(), value.to_owned())),
            }
        } else if let Some(name) = header.strip_suffix(';') {
            request.headers.push((name.to_owned(), String::new()));
        } else {
            draft.note(place, format!("`{header}` is not a header field"));
        }
    }
    for (effect, name) in [(Effect::UserAgent, "user-agent"), (Effect::Referer, "referer")] {
        if let Some(value) = command.last(effect) {
            request.headers.push((name.to_owned(), value.to_owned()));
        }
    }
    if let Some(range) = command.last(Effect::Range) {
        request.headers.push(("range".to_owned(), format!("bytes={range}")));
    }
}

/// `-b 'a=b; c=d'`, and the field that browsers copy.
fn cookies(place: &str, command: &Command, request: &mut Request, draft: &mut Draft) {
    let copied: Vec<String> = request
        .headers
        .extract_if(.., |(name, _)| name.eq_ignore_ascii_case("cookie"))
        .map(|(_, value)| value)
        .collect();
    for text in command.all(Effect::Cookie).map(str::to_owned).chain(copied) {
        if !text.contains('=') {
            draft.note(place, format!("cookies of the file `{text}` are left out"));
            continue;
        }
        for cookie in text.split(';').map(str::trim).filter(|cookie| !cookie.is_empty()) {
            let (name, value) = cookie.split_once('=').unwrap_or((cookie, ""));
            request.cookies.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
}

fn auth(place: &str, command: &Command, request: &mut Request, draft: &mut Draft) {
    if let Some(token) = command.last(Effect::Bearer) {
        let token = draft.secret(place, "token", token);
        request.auth = Some(json!({ "bearer": template(&token) }));
    } else if let Some(user) = command.last(Effect::User) {
        let (user, password) = user.split_once(':').unwrap_or((user, ""));
        if password.is_empty() {
            draft.note(place, "curl would ask for a password; here it is empty");
        }
        let password = draft.secret(place, "password", password);
        let kind = if command.has(Effect::Digest) { "digest" } else { "basic" };
        request.auth = Some(json!({ kind: { "user": template(user), "password": template(&password) } }));
    }
}

fn body(place: &str, command: &Command, request: &mut Request, draft: &mut Draft) {
    let parts = form_parts(place, command, draft);
    if !parts.is_empty() {
        request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        request.body = Body::Multipart(parts);
        return;
    }
    if let Some(path) = command.last(Effect::Upload) {
        match path {
            "-" | "." => draft.note(place, FROM_STDIN),
            path => request.body = Body::File(path.to_owned()),
        }
        return;
    }
    let data = data(place, command, draft);
    if command.has(Effect::Get) {
        for Data { text, .. } in data {
            let joint = if request.url.contains('?') { '&' } else { '?' };
            request.url = format!("{}{joint}{text}", request.url);
        }
        return;
    }
    match data.as_slice() {
        [] => {}
        [Data { text, file: true }] => {
            default_type(command, request);
            request.body = Body::File(text.clone());
        }
        several => {
            for Data { text, .. } in several.iter().filter(|data| data.file) {
                draft.note(place, format!("the file `{text}` is only a part of the body and left out"));
            }
            let texts: Vec<&str> =
                several.iter().filter(|data| !data.file).map(|data| data.text.as_str()).collect();
            let joint = if command.has(Effect::Json) { "" } else { "&" };
            default_type(command, request);
            request.set_text(texts.join(joint));
        }
    }
}

/// curl says what it sends, unless the command does.
fn default_type(command: &Command, request: &mut Request) {
    let is_json = command.has(Effect::Json);
    let media_type = if is_json { "application/json" } else { "application/x-www-form-urlencoded" };
    if request.header("content-type").is_none() {
        request.headers.push(("content-type".to_owned(), media_type.to_owned()));
    }
    if is_json && request.header("accept").is_none() {
        request.headers.push(("accept".to_owned(), "application/json".to_owned()));
    }
}

/// A piece of a body: a text, or the path of a file.
struct Data {
    text: String,
    file: bool,
}

/// All pieces, in the order of the command.
fn data(place: &str, command: &Command, draft: &mut Draft) -> Vec<Data> {
    let mut all = Vec::new();
    for (effect, value) in &command.flags {
        let file = value.strip_prefix('@').map(str::to_owned);
        let data = match (effect, file) {
            (Effect::DataRaw, _) => Data { text: value.clone(), file: false },
            (Effect::Data | Effect::DataBinary | Effect::Json, Some(path)) if path == "-" => {
                draft.note(place, FROM_STDIN);
                continue;
            }
            (Effect::Data | Effect::DataBinary | Effect::Json, Some(path)) => {
                if *effect == Effect::Data {
                    draft.note(
                        place,
                        format!("curl removes line breaks of `{path}`; the plan sends it as it is"),
                    );
                }
                Data { text: path, file: true }
            }
            (Effect::Data | Effect::DataBinary | Effect::Json, None) => {
                Data { text: value.clone(), file: false }
            }
            (Effect::DataUrlencode, _) => urlencoded(place, value, draft),
            _ => continue,
        };
        all.push(data);
    }
    all
}

/// `content`, `=content` or `name=content`; the file of `@file` and `name@file` is left out.
fn urlencoded(place: &str, value: &str, draft: &mut Draft) -> Data {
    let at = value.find(['=', '@']);
    let text = match at.map(|at| (&value[..at], &value[at..=at], &value[at + 1..])) {
        None => percent_encoded(value),
        Some(("", "=", content)) => percent_encoded(content),
        Some((name, "=", content)) => format!("{name}={}", percent_encoded(content)),
        Some((name, _, file)) => {
            draft.note(place, format!("the content of `{file}` is left out of `{name}`"));
            format!("{name}=")
        }
    };
    Data { text, file: false }
}

fn form_parts(place: &str, command: &Command, draft: &mut Draft) -> Vec<Part> {
    let mut parts = Vec::new();
    for (effect, value) in &command.flags {
        let is_string = *effect == Effect::FormString;
        if *effect != Effect::Form && !is_string {
            continue;
        }
        let Some((name, content)) = value.split_once('=') else {
            draft.note(place, format!("`-F {value}` is not name=content"));
            continue;
        };
        if !is_string && matches!(content.split(';').next(), Some("@-" | "<-")) {
            draft.note(place, format!("part `{name}`: {FROM_STDIN}"));
            continue;
        }
        parts.push(if is_string { text_part(name, content) } else { form_part(name, content) });
    }
    parts
}

fn text_part(name: &str, text: &str) -> Part {
    Part { name: name.to_owned(), content: PartContent::Text(text.to_owned()), content_type: None }
}

/// `content;type=…`, `@file;type=…;filename=…` or `<file`.
fn form_part(name: &str, content: &str) -> Part {
    let mut pieces = content.split(';');
    let first = pieces.next().unwrap_or_default();
    let (mut content_type, mut filename, mut text) = (None, None, first.to_owned());
    for piece in pieces {
        match piece.trim().split_once('=') {
            Some(("type", value)) => content_type = Some(value.to_owned()),
            Some(("filename", value)) => filename = Some(value.trim_matches('"').to_owned()),
            _ => text = format!("{text};{piece}"),
        }
    }
    let content = match first.strip_prefix(['@', '<']) {
        Some(path) => PartContent::File { path: path.trim_matches('"').to_owned(), filename },
        None => PartContent::Text(text),
    };
    Part { name: name.to_owned(), content, content_type }
}
