//! Sends one request on a connection of its own and reads the response.
//!
//! The protocol clients of the engine belong to one core and cannot move between threads, and the client of the API speaks only to
//! the API; so this one stands on the same HTTP library.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::inputs::{Inputs, Target};
use super::response::HttpResponse;

/// Bytes of a response body that are kept.
const BODY_MAX: usize = 256 << 10;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const AGENT: &str = concat!("hyperscale/", env!("CARGO_PKG_VERSION"));

/// Why an HTTP executor cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HttpSetupError {
    /// The PEM text is broken.
    #[error("the authorities cannot be read: {0}")]
    Pem(#[from] pem::Error),
    /// One of them is not a certificate.
    #[error("an authority cannot be used: {0}")]
    Authority(#[from] rustls::Error),
}

/// Why there is no response.
#[derive(Debug)]
pub(super) enum RequestError {
    /// The request can never be sent.
    Unusable(String),
    /// It may succeed another time. Whether it arrived is unknown.
    Failed(String),
}

/// Sends requests; clones share whom they trust.
#[derive(Clone)]
pub(super) struct HttpClient {
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl HttpClient {
    pub(super) fn system() -> Self {
        Self { tls: Arc::default() }
    }

    pub(super) fn with_authorities(pem: &[u8]) -> Result<Self, HttpSetupError> {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(pem) {
            roots.add(authority?)?;
        }
        Ok(Self { tls: Arc::new(OnceLock::from(config(roots))) })
    }

    /// Sends the request with its key and reads the response.
    pub(super) async fn send(&self, inputs: &Inputs, key: &str) -> Result<HttpResponse, RequestError> {
        let failed = |error: hyper::Error| RequestError::Failed(chain(&error));
        let request = build(inputs, key)?;
        let stream = self.connect(&inputs.target).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        // The connection ends with the set, that is when this call does or is dropped.
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        let response = sender.send_request(request).await.map_err(failed)?;
        read(response).await
    }

    async fn connect(&self, target: &Target) -> Result<Box<dyn Stream>, RequestError> {
        let failed = |what: &str, error: io::Error| RequestError::Failed(format!("{what}: {error}"));
        let stream = TcpStream::connect((target.host.as_str(), target.port)).await;
        let stream = stream.map_err(|error| failed("cannot connect", error))?;
        let _ = stream.set_nodelay(true);
        if !target.is_tls {
            return Ok(Box::new(stream));
        }
        let name = ServerName::try_from(target.host.clone());
        let name =
            name.map_err(|_| RequestError::Unusable(format!("no certificate can name {}", target.host)))?;
        let tls = TlsConnector::from(self.tls()).connect(name, stream).await;
        Ok(Box::new(tls.map_err(|error| failed("TLS", error))?))
    }

    fn tls(&self) -> Arc<ClientConfig> {
        let system = || {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            config(roots)
        };
        self.tls.get_or_init(system).clone()
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}

fn config(roots: RootCertStore) -> Arc<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider supports TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

fn build(inputs: &Inputs, key: &str) -> Result<Request<Full<bytes::Bytes>>, RequestError> {
    let mut request = Request::new(Full::new(inputs.body.clone()));
    *request.method_mut() = inputs.method.clone();
    let unusable = |what: &str| RequestError::Unusable(format!("the {what} cannot be sent"));
    *request.uri_mut() = inputs.target.path.parse().map_err(|_| unusable("path"))?;
    let headers = request.headers_mut();
    headers.clone_from(&inputs.headers);
    let host = HeaderValue::from_str(&inputs.target.authority).map_err(|_| unusable("host"))?;
    headers.entry(HOST).or_insert(host);
    headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
    headers.insert(IDEMPOTENCY_KEY, HeaderValue::from_str(key).map_err(|_| unusable("effect key"))?);
    Ok(request)
}

/// Reads the body as far as it is kept.
async fn read(response: Response<Incoming>) -> Result<HttpResponse, RequestError> {
    let (parts, mut incoming) = response.into_parts();
    let (mut body, mut truncated) = (Vec::new(), incoming.size_hint().lower() > BODY_MAX as u64);
    while let Some(frame) = incoming.frame().await {
        let frame = frame
            .map_err(|error| RequestError::Failed(format!("the response is cut off: {}", chain(&error))))?;
        let Ok(data) = frame.into_data() else { continue };
        let room = BODY_MAX - body.len();
        body.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            truncated = true;
            break;
        }
    }
    Ok(HttpResponse { status: parts.status.as_u16(), headers: parts.headers, body, truncated })
}

/// An error with its causes: the outermost alone says little.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
