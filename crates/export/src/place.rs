//! Where a run is exported to, as it is written: `SCHEME:…`.
//!
//! | written | what |
//! | --- | --- |
//! | `prometheus://HOST:PORT[?linger=20s]` | is scraped at `/metrics`; port 0 picks a free one |
//! | `prometheus+http[s]://HOST/api/v1/write` | remote write |
//! | `otlp+http[s]://HOST:4318` | OTLP metrics |
//! | `influx+http[s]://HOST:8086/write?db=NAME`, `…/api/v2/write?org=O&bucket=B`, `influx+udp://HOST:8089` | line protocol |
//! | `statsd://HOST:8125[?tags=datadog]` | StatsD |
//! | `csv:FILE` | a file that grows |
//!
//! Before the host of an HTTP place may stand `user:password@` or `token@`, behind everything `#name=text&…` with further
//! header fields. Both are secrets: no error and no result ever contains them, nor the query.

use std::path::PathBuf;
use std::time::Duration;

use hyperscale_clients::http::url::{Url, UrlError};
use hyperscale_plan::problem::nearest;
use hyperscale_plan::template::percent_decode;
use hyperscale_types::Span;

use crate::encode::{otlp, statsd::Tags};

/// What a place can begin with.
pub const SCHEMES: [&str; 10] = [
    "prometheus",
    "prometheus+http",
    "prometheus+https",
    "otlp+http",
    "otlp+https",
    "influx+http",
    "influx+https",
    "influx+udp",
    "statsd",
    "csv",
];

/// The longest time an endpoint waits for its final scrape: longer than almost every scrape interval.
pub const LINGER_MAX: Duration = Duration::from_mins(1);

/// Where remote write goes unless the URL says otherwise.
const REMOTE_WRITE_PATH: &str = "/api/v1/write";

/// Where a run is exported to.
#[derive(Clone, PartialEq, Eq)]
pub struct Place {
    pub(crate) destination: Destination,
    shown: String,
}

/// The kinds of places.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Somebody comes and reads.
    Scrape { listen: String, linger: Option<Duration> },
    /// A body per reading.
    Post { format: PostFormat, url: String, fields: Vec<(String, String)> },
    /// Datagrams with lines.
    Datagrams { format: LineFormat, to: String },
    /// A file.
    Csv(PathBuf),
}

/// What is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PostFormat {
    RemoteWrite,
    Otlp,
    Influx,
}

/// What datagrams contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineFormat {
    Influx,
    Statsd(Tags),
}

/// Why a text is no place. Contains nothing secret of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// No scheme, or one nobody knows.
    #[error("`{scheme}` is no kind of exporter")]
    Scheme {
        /// As it was written.
        scheme: String,
        /// The known one that is most like it.
        nearest: Option<&'static str>,
    },
    /// What follows the scheme is no URL.
    #[error("`{scheme}` is not followed by a URL: {source}")]
    Url {
        /// The scheme.
        scheme: String,
        /// What is wrong.
        source: UrlError,
    },
    /// What follows the scheme is no address.
    #[error("`{scheme}://` is not followed by host:port")]
    Address {
        /// The scheme.
        scheme: String,
    },
    /// No file is named.
    #[error("`csv:` names no file")]
    NoFile,
    /// The URL does not say what is written to.
    #[error(
        "`{shown}` does not name a database or bucket: /write?db=NAME or /api/v2/write?org=ORG&bucket=BUCKET"
    )]
    NoDatabase {
        /// Without secrets.
        shown: String,
    },
    /// An option nobody knows, or with a value that does not fit it.
    #[error("`{shown}` takes no `{option}`: {wanted}")]
    Option {
        /// Without secrets.
        shown: String,
        /// Its name.
        option: String,
        /// What would fit.
        wanted: &'static str,
    },
    /// A header field that cannot stand in a request.
    #[error("header field `{0}` cannot be sent: names are tokens, texts printable ASCII")]
    Field(String),
}

impl Place {
    /// Reads a place.
    pub fn parse(text: &str) -> Result<Self, PlaceError> {
        let scheme = text.split_once(':').map_or(text, |(scheme, _)| scheme);
        let Some(known) = SCHEMES.into_iter().find(|known| scheme.eq_ignore_ascii_case(known)) else {
            // Without a colon it may be anything, a password too.
            let scheme = scheme.split(['/', '@', '?', '#']).next().unwrap_or_default().to_owned();
            let nearest = nearest(&scheme, SCHEMES);
            return Err(PlaceError::Scheme { scheme, nearest });
        };
        let rest = &text[(scheme.len() + 1).min(text.len())..];
        match known {
            "csv" => csv(rest),
            "prometheus" => scrape(rest),
            "statsd" | "influx+udp" => datagrams(known, rest),
            "otlp+http" | "otlp+https" => post(PostFormat::Otlp, known, rest),
            "influx+http" | "influx+https" => post(PostFormat::Influx, known, rest),
            _ => post(PostFormat::RemoteWrite, known, rest),
        }
    }

    /// `prometheus`, `otlp`, …: what results call it.
    pub fn kind(&self) -> &'static str {
        match &self.destination {
            Destination::Scrape { .. } => "prometheus",
            Destination::Post { format: PostFormat::RemoteWrite, .. } => "prometheus_remote_write",
            Destination::Post { format: PostFormat::Otlp, .. } => "otlp",
            Destination::Post { format: PostFormat::Influx, .. }
            | Destination::Datagrams { format: LineFormat::Influx, .. } => "influx",
            Destination::Datagrams { format: LineFormat::Statsd(_), .. } => "statsd",
            Destination::Csv(_) => "csv",
        }
    }

    /// Where it is, without anything secret.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Place({} {})", self.kind(), self.shown)
    }
}

fn csv(file: &str) -> Result<Place, PlaceError> {
    if file.is_empty() {
        return Err(PlaceError::NoFile);
    }
    Ok(Place { destination: Destination::Csv(file.into()), shown: file.to_owned() })
}

fn scrape(rest: &str) -> Result<Place, PlaceError> {
    let Parts { listen, shown, options } = parts("prometheus", rest, true)?;
    let mut linger = None;
    for (option, value) in options {
        let wanted = "only linger, a time up to 60s, for example linger=20s";
        let time = value.parse::<Span>().map(Span::to_duration).ok();
        match time.filter(|time| option == "linger" && *time <= LINGER_MAX) {
            Some(time) => linger = Some(time),
            None => return Err(PlaceError::Option { shown, option, wanted }),
        }
    }
    Ok(Place { destination: Destination::Scrape { listen, linger }, shown })
}

fn datagrams(scheme: &'static str, rest: &str) -> Result<Place, PlaceError> {
    let Parts { listen: to, shown, options } = parts(scheme, rest, false)?;
    let mut tags = Tags::InName;
    for (option, value) in options {
        if scheme == "statsd" && option == "tags" && value == "datadog" {
            tags = Tags::Datadog;
        } else {
            let wanted = if scheme == "statsd" { "only tags=datadog" } else { "it has no options" };
            return Err(PlaceError::Option { shown, option, wanted });
        }
    }
    let format = if scheme == "statsd" { LineFormat::Statsd(tags) } else { LineFormat::Influx };
    Ok(Place { destination: Destination::Datagrams { format, to }, shown })
}

/// `host:port` and options.
struct Parts {
    listen: String,
    shown: String,
    options: Vec<(String, String)>,
}

/// Splits `//host:port[?name=value&…]`. `zero`: whether port 0 means any.
fn parts(scheme: &str, rest: &str, zero: bool) -> Result<Parts, PlaceError> {
    let wrong = || PlaceError::Address { scheme: scheme.to_owned() };
    let rest = rest.strip_prefix("//").ok_or_else(wrong)?;
    let (address, options) = rest.split_once('?').unwrap_or((rest, ""));
    let address = address.trim_end_matches("/metrics").trim_end_matches('/');
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
    if bare.is_empty() || !bare.chars().all(is_host) || (port == 0 && !zero) {
        return Err(wrong());
    }
    Ok(Parts { listen: address.to_owned(), shown: format!("{scheme}://{address}"), options: pairs(options) })
}

/// `name=text&…`, decoded.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        (percent_decode(name), percent_decode(text))
    };
    text.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

fn post(format: PostFormat, scheme: &str, rest: &str) -> Result<Place, PlaceError> {
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let protocol = if scheme.ends_with('s') { "https" } else { "http" };
    let written = format!("{protocol}:{rest}");
    let url = Url::parse(&written).map_err(|source| PlaceError::Url { scheme: scheme.to_owned(), source })?;
    let has_path = url.path() != "/";
    let path = match format {
        PostFormat::RemoteWrite if !has_path => REMOTE_WRITE_PATH,
        PostFormat::Otlp if !has_path => otlp::PATH,
        _ => url.path(),
    };
    let mut authority = Vec::new();
    url.write_authority(&mut authority);
    let origin = format!("{protocol}://{}", String::from_utf8_lossy(&authority));
    let shown = format!("{origin}{path}");
    if format == PostFormat::Influx && (!has_path || url.query().is_none()) {
        return Err(PlaceError::NoDatabase { shown });
    }
    let mut fields = pairs(fragment);
    let mut user = String::new();
    match url.userinfo {
        Some(pair) if pair.contains(':') => user = format!("{pair}@"),
        Some(token) => {
            let word = if format == PostFormat::Influx { "Token" } else { "Bearer" };
            fields.push(("authorization".to_owned(), format!("{word} {}", percent_decode(token))));
        }
        None => {}
    }
    fields.iter().try_for_each(sendable)?;
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let url = format!("{protocol}://{user}{}{path}{query}", String::from_utf8_lossy(&authority));
    Ok(Place { destination: Destination::Post { format, url, fields }, shown })
}

fn sendable((name, text): &(String, String)) -> Result<(), PlaceError> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let fits = !name.is_empty()
        && name.chars().all(is_token)
        && text.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    if fits { Ok(()) } else { Err(PlaceError::Field(name.clone())) }
}

#[cfg(test)]
mod tests;
