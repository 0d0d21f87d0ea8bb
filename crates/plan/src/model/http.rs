//! An HTTP call as a plan describes it, defaults already merged in.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use hyperscale_types::{ByteSize, Span};

pub use super::connection::{Dns, Resume, Reuse, Tls};
use crate::template::{JsonTemplate, Template};

/// A request and how it is sent.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// The method, a valid token, upper case.
    pub method: String,
    /// Absolute URL. Its constant part is already percent-encoded; holes are encoded when filled, except a hole
    /// at the very start (`{{ base }}/users`), which is inserted as it is.
    pub url: Template,
    /// Added to the URL's query, percent-encoded.
    pub query: Vec<(Template, Template)>,
    /// Header fields in order; names are valid tokens in lower case.
    pub headers: Vec<(String, Template)>,
    /// Cookies sent beside those of the jar; names are valid tokens.
    pub cookies: Vec<(String, Template)>,
    /// The body.
    pub body: Body,
    /// Who we say we are.
    pub auth: Option<Auth>,
    /// How the peer is reached.
    pub transport: Transport,
    /// Statuses that make the call ok.
    pub expect: StatusSet,
    /// What bounds the call.
    pub limits: Limits,
    /// When a request that the server has not processed is sent again; `None`: never.
    pub retry: Option<Retry>,
    /// Whether cookies of answers are kept by the VU.
    pub cookie_jar: bool,
    /// Ask for these content codings (`accept-encoding`) and decode when the body is needed.
    pub compression: bool,
    /// Read the answer as a stream.
    pub stream: Option<Stream>,
}

/// What bounds a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bounds the whole call, redirects included.
    pub timeout: Span,
    /// Bounds opening a connection.
    pub connect_timeout: Span,
    /// How many redirects are followed.
    pub redirects: u32,
    /// A body larger than this fails the call with `too_large`. `None`: [`hyperscale_types::limits::BODY_MAX`] if anybody
    /// needs the body, else it may be of any size.
    pub max_body: Option<ByteSize>,
}

/// When a request is sent again within its call. Only one that provably was not processed is: no server sees the same
/// request twice, whatever its method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The causes that count; at least one, each once.
    pub on: Vec<Unprocessed>,
    /// How often within one call, all hops together; at least once.
    pub max: u32,
}

impl Retry {
    /// Retries that a plan may allow per call.
    pub const MAX: u32 = 10;
}

/// How it is known that the server has not processed a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unprocessed {
    /// The server has said which streams it still processes, and this was not one of them (RFC 9113, section 6.8).
    GoAway,
    /// The server has refused the stream before it did anything (RFC 9113, section 8.7).
    RefusedStream,
    /// The server had closed a kept connection before the request could reach it.
    Stale,
}

impl Unprocessed {
    /// The words of a plan.
    pub const WORDS: [(&'static str, Self); 3] = [
        (Self::GoAway.word(), Self::GoAway),
        (Self::RefusedStream.word(), Self::RefusedStream),
        (Self::Stale.word(), Self::Stale),
    ];

    /// The word of a plan.
    pub const fn word(self) -> &'static str {
        match self {
            Self::GoAway => "goaway",
            Self::RefusedStream => "refused_stream",
            Self::Stale => "stale",
        }
    }
}

/// How the peer is reached. Requests with equal transports to the same origin share connections.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Transport {
    /// Which protocol version.
    pub version: HttpVersion,
    /// How long a connection lives.
    pub reuse: Reuse,
    /// HTTP/2: connections shared by the VUs of a core; `None`: one per VU.
    pub connections: Option<u32>,
    /// TLS settings.
    pub tls: Tls,
    /// A proxy: `http://[user:pass@]host:port`. CONNECT for https, absolute form for http.
    pub proxy: Option<String>,
    /// A unix socket instead of the URL's host and port.
    pub unix: Option<PathBuf>,
    /// When names are resolved.
    pub dns: Dns,
    /// Local addresses to connect from, used in turn.
    pub source: Vec<IpAddr>,
}

/// Which protocol version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HttpVersion {
    /// HTTP/1.1 on plain connections, by ALPN (h2, http/1.1) on TLS.
    #[default]
    Auto,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only: ALPN `h2` on TLS, prior knowledge on plain connections.
    Http2,
}

/// A request body.
#[derive(Clone, Debug)]
pub enum Body {
    /// None.
    Empty,
    /// Text.
    Text(Template),
    /// JSON, with `content-type: application/json`.
    Json(JsonTemplate),
    /// `application/x-www-form-urlencoded`.
    Form(Vec<(Template, Template)>),
    /// `multipart/form-data`.
    Multipart(Vec<Part>),
    /// The bytes of a file, read in preparation.
    File(PathBuf),
    /// These bytes. No plan can say so: programs that send what they have just made do.
    Bytes(Arc<[u8]>),
}

/// A part of a multipart body.
#[derive(Clone, Debug)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// What it contains.
    pub content: PartContent,
    /// Its media type.
    pub content_type: Option<String>,
}

/// What a part contains.
#[derive(Clone, Debug)]
pub enum PartContent {
    /// Text.
    Text(Template),
    /// A file, read in preparation, and the name sent with it.
    File {
        /// Where it is.
        path: PathBuf,
        /// The name sent.
        filename: String,
    },
}

/// Who we say we are.
#[derive(Clone, Debug)]
pub enum Auth {
    /// User and password with every request.
    Basic {
        /// The user.
        user: Template,
        /// The password.
        password: Template,
    },
    /// A token with every request.
    Bearer(Template),
    /// RFC 7616; the first request of a VU and origin is answered with a challenge.
    Digest {
        /// The user.
        user: Template,
        /// The password.
        password: Template,
    },
    /// OAuth 2; the token is fetched in preparation and renewed outside measurement.
    OAuth2(Box<OAuth2>),
}

/// OAuth 2 client credentials, optionally starting from a refresh token. Constant for the run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OAuth2 {
    /// Where tokens are given out.
    pub token_url: String,
    /// Client id.
    pub client_id: String,
    /// Client secret.
    pub client_secret: String,
    /// Scopes asked for.
    pub scopes: Vec<String>,
    /// Use this refresh token instead of client credentials.
    pub refresh_token: Option<String>,
}

/// A set of status codes as inclusive ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusSet(pub Vec<(u16, u16)>);

impl StatusSet {
    /// Success unless the plan says otherwise: 200–399.
    pub fn success() -> Self {
        StatusSet(vec![(200, 399)])
    }

    /// Whether the status is in the set.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|(low, high)| (*low..=*high).contains(&status))
    }
}

/// Reading an answer as a stream.
#[derive(Clone, Debug)]
pub struct Stream {
    /// What counts as an event.
    pub events: StreamEvents,
    /// Stop after so many events.
    pub max_events: Option<u64>,
    /// Stop at the first event whose data contains this text.
    pub until: Option<String>,
    /// Stop after this time, counted from the start of the call. Not a failure.
    pub max_time: Option<Span>,
}

/// What counts as an event of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvents {
    /// Server-sent events.
    Sse,
    /// Every read of body bytes.
    Chunks,
    /// Lines.
    Lines,
}
