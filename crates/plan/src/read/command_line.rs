//! `run URL`: the plan that stands for a command line without a plan file.

use std::path::Path;

use hyperscale_types::secret::masked;
use serde_json::{Map, Value, json};

use super::{Given, Loaded, Source, load};
use crate::document::Format;
use crate::model::Plan;
use crate::problem::Problem;

/// What problems call the command line.
pub(super) const COMMAND_LINE: &str = "command line";
/// The workflow of a URL.
pub const URL_WORKFLOW: &str = "main";
/// The step of a URL.
pub const URL_STEP: &str = "request";
/// Load of a URL when nothing is said.
const DURATION: &str = "10s";
const VUS: u32 = 10;

/// A URL and what was said about it. Texts as they were given: they are read like those of a plan.
#[derive(Clone, Debug, Default)]
pub struct UrlOptions {
    /// The URL.
    pub url: String,
    /// `-X`
    pub method: Option<String>,
    /// `-H 'name: value'`, as given.
    pub headers: Vec<String>,
    /// `-b`: the body.
    pub body: Option<String>,
    /// `-b @FILE`: the file whose bytes are the body, whatever they are.
    pub body_file: Option<String>,
    /// How often, for how long.
    pub load: UrlLoad,
    /// `--http2`
    pub http2: bool,
    /// Connections shared by the VUs of a core (HTTP/2).
    pub connections: Option<u32>,
    /// Bounds a call.
    pub timeout: Option<String>,
    /// How TLS is spoken.
    pub tls: UrlTls,
    /// How many redirects are followed; 0 for none.
    pub redirects: Option<u32>,
    /// A larger body fails the call.
    pub max_body: Option<String>,
    /// A new connection for every call.
    pub no_keepalive: bool,
    /// A proxy.
    pub proxy: Option<String>,
    /// A unix socket to connect to.
    pub unix: Option<String>,
}

/// TLS to a URL. Files are named as they were given.
#[derive(Clone, Debug, Default)]
pub struct UrlTls {
    /// Accept any certificate.
    pub insecure: bool,
    /// Which connections resume sessions.
    pub resume: Option<String>,
    /// Certificates of authorities to trust instead of the system's.
    pub ca: Option<String>,
    /// A client certificate.
    pub cert: Option<String>,
    /// Its private key.
    pub key: Option<String>,
}

/// The load on a URL.
#[derive(Clone, Debug, Default)]
pub struct UrlLoad {
    /// `-c`: virtual users; with `rate`, at most so many.
    pub vus: Option<u32>,
    /// `-d`
    pub duration: Option<String>,
    /// `-r`: starts per second; a bare number is per second.
    pub rate: Option<String>,
    /// `-n`: iterations, shared by the VUs.
    pub iterations: Option<u64>,
}

/// The document of a URL's plan: one workflow [`URL_WORKFLOW`] with one step [`URL_STEP`]. Headers and body are as they
/// are sent; whoever shows the document masks them.
pub fn url_document(options: &UrlOptions) -> Result<Value, Vec<Problem>> {
    let headers = headers(&options.headers)?;
    let shown = masked(&with_scheme(&options.url));
    Ok(json!({
        "name": shown.chars().filter(|c| !c.is_control()).take(200).collect::<String>(),
        "workflows": { URL_WORKFLOW: workflow(options, headers) },
    }))
}

/// The plan of a URL.
pub fn from_url(options: &UrlOptions) -> Result<Loaded, Vec<Problem>> {
    let plan = url_document(options)?;
    let bytes = serde_json::to_vec(&plan).map_err(|e| vec![Problem::general(COMMAND_LINE, e.to_string())])?;
    let source =
        Source { name: COMMAND_LINE, bytes: &bytes, format: Some(Format::Json), folder: Path::new("") };
    // The text was made here: lines and columns of it mean nothing to anybody.
    let general = |problem: Problem| Problem { line: 0, column: 0, snippet: None, ..problem };
    // Whoever names a file has opened it: here it only has to be there.
    let UrlTls { ca, cert, key, .. } = &options.tls;
    let files = options.body_file.iter().chain(ca).chain(cert).chain(key);
    let files = files.map(|path| (path.into(), Vec::new())).collect();
    match load(&source, &Given { files, ..Given::default() }) {
        Ok(Loaded { plan, warnings }) => Ok(Loaded {
            // Nobody wrote the text, and the headers in it may be secret.
            plan: Plan { source: None, ..plan },
            warnings: warnings.into_iter().map(general).collect(),
        }),
        Err(problems) => Err(problems.into_iter().map(general).collect()),
    }
}

fn workflow(options: &UrlOptions, headers: Map<String, Value>) -> Value {
    let mut workflow = load_keys(&options.load);
    workflow.insert("steps".to_owned(), json!({ URL_STEP: { "http": http(options, headers) } }));
    Value::Object(workflow)
}

fn load_keys(said: &UrlLoad) -> Map<String, Value> {
    let mut load = Map::new();
    let mut set = |key: &str, value: Value| load.insert(key.to_owned(), value);
    let duration = said.duration.clone().unwrap_or_else(|| DURATION.to_owned());
    match (&said.rate, said.iterations) {
        (Some(rate), iterations) => {
            let per_second = rate.parse::<f64>().is_ok();
            set("rate", if per_second { format!("{rate}/s") } else { rate.clone() }.into());
            set("duration", duration.into());
            if let Some(vus) = said.vus {
                set("max_vus", vus.into());
            }
            if let Some(iterations) = iterations {
                set("iterations", iterations.into()); // a contradiction, reported as one
            }
        }
        (None, Some(iterations)) => {
            set("vus", said.vus.unwrap_or(VUS).into());
            set("iterations", iterations.into());
            if let Some(duration) = &said.duration {
                set("max_duration", duration.clone().into());
            }
        }
        (None, None) => {
            set("vus", said.vus.unwrap_or(VUS).into());
            set("duration", duration.into());
        }
    }
    load
}

fn tls(said: &UrlTls) -> Option<Value> {
    let texts = [("resume", &said.resume), ("ca", &said.ca), ("cert", &said.cert), ("key", &said.key)];
    let texts = texts.into_iter().filter_map(|(key, text)| Some((key.to_owned(), text.clone()?.into())));
    let insecure = said.insecure.then(|| ("insecure".to_owned(), true.into()));
    let tls: Map<String, Value> = insecure.into_iter().chain(texts).collect();
    (!tls.is_empty()).then_some(Value::Object(tls))
}

fn http(options: &UrlOptions, headers: Map<String, Value>) -> Value {
    let mut http = Map::new();
    let mut set = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            http.insert(key.to_owned(), value);
        }
    };
    set("url", Some(with_scheme(&options.url).into()));
    set("method", options.method.clone().map(Value::from));
    set("headers", Some(Value::Object(headers)));
    set("body", options.body.clone().map(Value::from));
    set("file", options.body_file.clone().map(Value::from));
    set("version", options.http2.then(|| "2".into()));
    set("connections", options.connections.map(Value::from));
    set("timeout", options.timeout.clone().map(Value::from));
    set("tls", tls(&options.tls));
    set("redirects", options.redirects.map(Value::from));
    set("max_body", options.max_body.clone().map(Value::from));
    set("reuse", options.no_keepalive.then(|| "call".into()));
    set("proxy", options.proxy.clone().map(Value::from));
    set("unix", options.unix.clone().map(Value::from));
    set("cookie_jar", Some(false.into()));
    Value::Object(http)
}

/// `localhost:8080/x` is understood as HTTP, like other tools do.
pub fn with_scheme(url: &str) -> String {
    if url.contains("://") || url.starts_with("{{") { url.to_owned() } else { format!("http://{url}") }
}

fn headers(given: &[String]) -> Result<Map<String, Value>, Vec<Problem>> {
    let mut headers = Map::new();
    for header in given {
        let Some((name, value)) = header.split_once(':') else {
            let problem = Problem::general(COMMAND_LINE, format!("`{header}` is not a header"));
            return Err(vec![problem.with_hint("write `name: value`")]);
        };
        let (name, value) = (name.trim(), Value::from(value.trim()));
        // Names are the same in any case, and one name may come several times.
        let known = headers.keys().find(|known| known.eq_ignore_ascii_case(name)).cloned();
        match known.and_then(|known| headers.get_mut(&known)) {
            Some(Value::Array(values)) => values.push(value),
            _ => {
                headers.insert(name.to_owned(), Value::Array(vec![value]));
            }
        }
    }
    Ok(headers)
}
