//! A request as decoders see it, and the step it becomes. Texts are raw: holes are marked, braces are braces.

use serde_json::{Map, Value};

use super::Draft;
use crate::text::{has_holes, json_template, template};

/// Header fields that the client writes itself, or that belong to one connection of the original.
const OWN_FIELDS: [&str; 8] = [
    "content-length",
    "connection",
    "transfer-encoding",
    "keep-alive",
    "te",
    "upgrade",
    "http2-settings",
    "proxy-connection",
];

/// A request.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// What the step should be called.
    pub(crate) name: String,
    pub(crate) method: String,
    /// Absolute, without a fragment.
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) cookies: Vec<(String, String)>,
    pub(crate) body: Body,
    /// The value of `auth`, as a template already.
    pub(crate) auth: Option<Value>,
    /// Further keys of `http`, as they stand in a plan.
    pub(crate) http: Map<String, Value>,
    /// Further keys of the step, as they stand in a plan.
    pub(crate) step: Map<String, Value>,
}

/// What is sent.
#[derive(Debug, Default)]
pub(crate) enum Body {
    #[default]
    Empty,
    Json(Value),
    Form(Vec<(String, String)>),
    Multipart(Vec<Part>),
    Text(String),
    File(String),
}

/// A part of a multipart body.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) content: PartContent,
    pub(crate) content_type: Option<String>,
}

/// What a part has in it.
#[derive(Debug)]
pub(crate) enum PartContent {
    Text(String),
    File { path: String, filename: Option<String> },
}

impl Request {
    /// The media type that the header fields name, in lower case and without parameters.
    pub(crate) fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        Some(value.split(';').next().unwrap_or("").trim().to_ascii_lowercase())
    }

    /// A header field.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// A text body as what its media type says it is. The field goes where the body says it by itself.
    pub(crate) fn set_text(&mut self, text: String) {
        let media_type = self.media_type().unwrap_or_default();
        let is_json = media_type == "application/json";
        let is_form = media_type == "application/x-www-form-urlencoded";
        self.body = match serde_json::from_str(&text) {
            Ok(value) if is_json => Body::Json(value),
            _ if is_form && is_plain_form(&text) => Body::Form(crate::text::form_pairs(&text)),
            _ => Body::Text(text),
        };
        let says_it = match (&self.body, self.header("content-type")) {
            (Body::Json(_), Some(value)) => value.trim().eq_ignore_ascii_case("application/json"),
            (Body::Form(_), Some(_)) => true,
            _ => false,
        };
        if says_it {
            self.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
        }
    }
}

/// Whether a form is made of pairs, so that decoding and encoding it again changes nothing.
fn is_plain_form(text: &str) -> bool {
    !text.is_empty()
        && !has_holes(text)
        && text.split('&').all(|part| part.contains('=') && !part.starts_with('='))
}

impl Draft {
    /// The step of a request.
    pub(super) fn step(&mut self, place: &str, mut request: Request) -> Map<String, Value> {
        if !self.options.keep_secrets {
            self.hide_secrets(place, &mut request);
        }
        let mut http = Map::new();
        let default_method = if matches!(request.body, Body::Empty) { "GET" } else { "POST" };
        if !request.method.is_empty() && request.method != default_method {
            http.insert("method".into(), request.method.clone().into());
        }
        let url = self.with_base(&request.url);
        http.insert("url".into(), template(&url).into());
        let headers = Self::headers(&request);
        for (key, map) in [("headers", headers), ("cookies", pairs(&request.cookies))] {
            if !map.is_empty() {
                http.insert(key.into(), map.into());
            }
        }
        if let Some(auth) = request.auth.take() {
            http.insert("auth".into(), auth);
        }
        http.extend(std::mem::take(&mut request.http));
        self.body(place, request.body, &mut http);
        let mut step = Map::from_iter([("http".to_owned(), http.into())]);
        step.extend(request.step);
        step
    }

    /// The URL with a variable for its origin; the fragment, which is never sent, is gone.
    pub(crate) fn with_base(&mut self, url: &str) -> String {
        let url = url.split('#').next().unwrap_or_default();
        let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if has_holes(scheme) || has_holes(authority) {
            return url.to_owned();
        }
        format!("{}{path}", self.base(&format!("{scheme}://{authority}")))
    }

    fn headers(request: &Request) -> Map<String, Value> {
        let mut kept = Vec::new();
        for (name, value) in &request.headers {
            let lower = name.to_ascii_lowercase();
            let is_said_by_the_url = lower == "host" && names_host(&request.url, value.trim());
            if is_said_by_the_url || OWN_FIELDS.contains(&lower.as_str()) || lower.starts_with(':') {
                continue;
            }
            kept.push((name.clone(), value.clone()));
        }
        pairs(&kept)
    }

    fn body(&mut self, place: &str, body: Body, http: &mut Map<String, Value>) {
        let (key, value) = match body {
            Body::Empty => return,
            Body::Json(value) => ("json", json_template(&value)),
            Body::Form(fields) => ("form", pairs(&fields).into()),
            Body::Multipart(parts) => ("multipart", self.parts(place, parts).into()),
            Body::Text(text) => ("body", template(&text).into()),
            Body::File(path) => ("file", template(&path).into()),
        };
        http.insert(key.into(), value);
    }

    fn parts(&mut self, place: &str, parts: Vec<Part>) -> Map<String, Value> {
        let mut map = Map::new();
        for part in parts {
            let mut entry = Map::new();
            match part.content {
                PartContent::Text(text) => entry.insert("text".into(), template(&text).into()),
                PartContent::File { path, filename } => {
                    if let Some(filename) = filename {
                        entry.insert("filename".into(), template(&filename).into());
                    }
                    entry.insert("file".into(), template(&path).into())
                }
            };
            if let Some(media_type) = part.content_type {
                entry.insert("content_type".into(), template(&media_type).into());
            }
            let is_text = entry.len() == 1 && entry.contains_key("text");
            let value = if is_text { entry.remove("text").unwrap_or_default() } else { entry.into() };
            if map.contains_key(&part.name) {
                self.note(
                    place,
                    format!("a second part `{}` is left out: each part has a name of its own", part.name),
                );
            } else {
                map.insert(part.name, value);
            }
        }
        map
    }
}

/// Whether a URL says by itself what the field `Host` says.
fn names_host(url: &str, host: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let default_port = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let bare = |text: &str| text.strip_suffix(default_port).unwrap_or(text).to_ascii_lowercase();
    bare(authority) == bare(host)
}

/// Names and values; a name that is there several times gets a list.
fn pairs(list: &[(String, String)]) -> Map<String, Value> {
    let mut map = Map::new();
    for (name, value) in list {
        let value = Value::from(template(value));
        let same = map.keys().find(|known: &&String| known.eq_ignore_ascii_case(name)).cloned();
        match same.and_then(|name| map.get_mut(&name)) {
            None => drop(map.insert(template(name), value)),
            Some(Value::Array(values)) => values.push(value),
            Some(one) => *one = Value::from(vec![one.take(), value]),
        }
    }
    map
}
