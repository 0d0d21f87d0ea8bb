//! HTTP calls: the keys of `http:` on top of the defaults of workflow and plan.

mod auth;
mod body;
mod header;
mod retry;
mod transport;
mod url;

use hyperscale_types::{Span, limits};

use super::Reader;
use super::fields::Fields;
use super::view::View;
use crate::document::{Key, Kind, Node};
use crate::model::HttpRequest;
use crate::model::http::{Body, HttpVersion, Limits, StatusSet, Stream, StreamEvents};
use crate::template::Template;

/// Time to open a connection unless the plan says otherwise; never more than the call's.
const CONNECT_TIMEOUT: Span = Span::from_secs(10);
/// Redirects that a plan may allow.
const REDIRECTS_MAX: u32 = 100;
/// Header fields, query parameters, form fields or parts of one request.
const PAIRS_MAX: usize = 1_000;

/// Methods that RFC 9110 and 5789 define, and those of WebDAV. Others are allowed, but probably misspelt.
const METHODS: [&str; 15] = [
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "DELETE",
    "OPTIONS",
    "PATCH",
    "TRACE",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
];

impl Reader<'_> {
    /// A request with everything that belongs to it.
    pub(super) fn http(
        &self,
        node: &Node,
        expect: Option<&Node>,
        view: View<'_>,
        [workflow, plan]: [Option<&Node>; 2],
    ) -> Option<HttpRequest> {
        let short; // `http: https://…`
        let node = match &node.kind {
            Kind::Str(_) => {
                let key = Key { text: "url".into(), place: node.place };
                short = Node { place: node.place, kind: Kind::Map(vec![(key, node.clone())]) };
                &short
            }
            _ => node,
        };
        let fields = self.fields(node, "`http`")?.on_top_of(workflow).on_top_of(plan);
        let url = fields.take("url");
        if url.is_none() {
            self.problems.error(node.place, "an HTTP call needs a `url`");
        }
        let url = url.and_then(|node| self.url(node, view));
        let body = self.body(&fields, view);
        let method = self.method(fields.take("method"), &body);
        let headers = self.headers(&fields, view);
        let timeout =
            fields.take("timeout").and_then(|node| self.timeout(node)).unwrap_or(limits::CALL_TIMEOUT);
        let connect_timeout = fields.take("connect_timeout").and_then(|node| self.timeout(node));
        let request = HttpRequest {
            url: url.unwrap_or_else(empty),
            query: self.merged_pairs(&fields, "query", view),
            cookies: self.cookies(&fields, view),
            auth: fields.take("auth").and_then(|node| self.auth(node, view)),
            transport: self.transport(&fields, view),
            expect: self.expected(expect, &fields),
            limits: Limits {
                timeout,
                connect_timeout: connect_timeout.unwrap_or(CONNECT_TIMEOUT).min(timeout),
                redirects: fields
                    .take("redirects")
                    .and_then(|node| self.redirects(node))
                    .unwrap_or(limits::REDIRECTS_MAX),
                max_body: fields.take("max_body").and_then(|node| self.parsed(node, "a size")),
            },
            retry: fields.take("retry").and_then(|node| self.retry(node)),
            cookie_jar: self.flag(&fields, "cookie_jar", true),
            compression: self.flag(&fields, "compression", false),
            stream: fields.take("stream").and_then(|node| self.stream(node)),
            method,
            headers,
            body,
        };
        fields.finish(self, "`http`");
        if request.compression && request.stream.is_some() {
            self.problems
                .error(
                    fields.place,
                    "events of a stream are not decompressed: `compression` cannot stand with `stream`",
                )
                .hint("say `compression: false` here");
        }
        let is_plain = request.url.source().trim_start().to_ascii_lowercase().starts_with("http://");
        if is_plain && request.transport.version == HttpVersion::Http2 && request.transport.proxy.is_some() {
            self.problems
                .error(fields.place, "a proxy forwards requests to http:// URLs as HTTP/1.1, not as HTTP/2")
                .hint("leave `version` or `proxy` away; https:// URLs go through a proxy as HTTP/2");
        }
        Some(request)
    }

    pub(super) fn flag(&self, fields: &Fields<'_>, key: &'static str, default: bool) -> bool {
        fields.take(key).and_then(|node| self.boolean(node)).unwrap_or(default)
    }

    fn method(&self, node: Option<&Node>, body: &Body) -> String {
        let default = if matches!(body, Body::Empty) { "GET" } else { "POST" };
        let Some(node) = node else { return default.to_owned() };
        let Some(text) = self.text(node, "a method") else { return default.to_owned() };
        let method = text.to_ascii_uppercase();
        if !header::is_token(&method) || method.len() > 32 {
            self.problems.error(node.place, format!("`{text}` is not an HTTP method"));
        } else if method == "CONNECT" {
            self.problems.error(node.place, "CONNECT is for proxies; use `proxy`");
        } else if !METHODS.contains(&&*method) {
            let message = format!("`{method}` is not a usual HTTP method");
            let problem = self.problems.warning(node.place, message);
            if crate::problem::nearest(&method, METHODS).is_some() {
                problem.nearest(&method, METHODS);
            }
        }
        method
    }

    /// `expect` of the step, or of `http` (where defaults can give it).
    fn expected(&self, step: Option<&Node>, fields: &Fields<'_>) -> StatusSet {
        let call = fields.take("expect");
        step.or(call).and_then(|node| self.expect(node)).unwrap_or_else(StatusSet::success)
    }

    fn redirects(&self, node: &Node) -> Option<u32> {
        match node.kind {
            Kind::Bool(false) => Some(0),
            Kind::Bool(true) => Some(limits::REDIRECTS_MAX),
            _ => self.integer(node, 0..=REDIRECTS_MAX),
        }
    }

    /// `sse`, or `{ events: sse, max_events: 10, until: "[DONE]", max_time: 30s }`.
    fn stream(&self, node: &Node) -> Option<Stream> {
        let words =
            [("sse", StreamEvents::Sse), ("chunks", StreamEvents::Chunks), ("lines", StreamEvents::Lines)];
        if !matches!(node.kind, Kind::Map(_)) {
            let events = self.word(node, &words)?;
            return Some(Stream { events, max_events: None, until: None, max_time: None });
        }
        let fields = self.fields(node, "`stream`")?;
        let events = fields.take("events");
        let max_events =
            fields.take("max_events").and_then(|node| self.integer(node, 1..=u64::from(u32::MAX)));
        let until = fields.take("until").and_then(|node| self.text(node, "a text")).map(str::to_owned);
        let max_time = fields.take("max_time").and_then(|node| self.timeout(node));
        fields.finish(self, "`stream`");
        if events.is_none() {
            self.problems.error(node.place, "`stream` needs `events`: sse, chunks or lines");
        }
        if until.as_deref() == Some("") {
            self.problems
                .error(node.place, "every event contains an empty text; `until` would end at the first");
        }
        Some(Stream { events: self.word(events?, &words)?, max_events, until, max_time })
    }
}

/// Stands in for what could not be read; the problem is reported.
fn empty() -> Template {
    Template::constant("")
}
