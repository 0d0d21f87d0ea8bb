//! TLS configurations: trust, client certificates, protocols, resumption.

mod certificate;
pub(crate) mod io;

pub use certificate::Certificate;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use hyperscale_plan::model::http::{HttpVersion, Resume, Tls};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// Why a TLS configuration cannot be made. Nothing was sent; the plan or the machine must change.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A PEM file cannot be read or contains nothing of the kind.
    #[error("{path}: {message}", path = path.display())]
    Pem {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The system has no certificates to trust.
    #[error("this system has no trusted certificates; set `ca:` or `insecure: true`")]
    NoRoots,
    /// A certificate without its key, or a key without its certificate.
    #[error("`cert` and `key` belong together: one of them is missing")]
    HalfIdentity,
    /// Key and certificate do not fit.
    #[error("client certificate: {0}")]
    Identity(rustls::Error),
    /// The name to verify is neither a host name nor an address.
    #[error("`{0}` is not a name that a certificate can have")]
    Name(String),
}

/// The system's roots, read once per process.
static SYSTEM_ROOTS: LazyLock<Arc<RootCertStore>> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Arc::new(roots)
});

/// TLS sessions that a virtual user keeps: tickets of a few servers.
const VU_SESSIONS: usize = 16;

/// A configuration for these settings.
pub(crate) fn config(settings: &Tls, version: HttpVersion) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider supports TLS 1.2 and 1.3");
    let builder = if settings.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
    } else {
        builder.with_root_certificates(roots(settings.ca.as_deref())?)
    };
    let mut config = match (&settings.cert, &settings.key) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| pem(key, &error))?;
            builder.with_client_auth_cert(certificates(cert)?, key).map_err(TlsError::Identity)?
        }
        _ => return Err(TlsError::HalfIdentity),
    };
    if settings.resume == Resume::Off {
        config.resumption = Resumption::disabled();
    }
    config.alpn_protocols = alpn(version).iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

/// The same configuration with sessions of its own.
pub(crate) fn with_own_sessions(config: &ClientConfig) -> ClientConfig {
    let mut own = config.clone();
    own.resumption = Resumption::in_memory_sessions(VU_SESSIONS);
    own
}

/// The name to ask for and to verify.
pub(crate) fn server_name(settings: &Tls, host: &str) -> Result<ServerName<'static>, TlsError> {
    let name = settings.sni.as_deref().unwrap_or(host);
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::Name(name.to_owned()))
}

fn alpn(version: HttpVersion) -> &'static [&'static [u8]] {
    match version {
        HttpVersion::Auto => &[b"h2", b"http/1.1"],
        HttpVersion::Http1 => &[b"http/1.1"],
        HttpVersion::Http2 => &[b"h2"],
    }
}

fn roots(ca: Option<&Path>) -> Result<Arc<RootCertStore>, TlsError> {
    let Some(path) = ca else {
        return if SYSTEM_ROOTS.is_empty() { Err(TlsError::NoRoots) } else { Ok(Arc::clone(&SYSTEM_ROOTS)) };
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots
            .add(certificate)
            .map_err(|error| TlsError::Pem { path: path.to_owned(), message: error.to_string() })?;
    }
    Ok(Arc::new(roots))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| pem(path, &error))?;
    if certificates.is_empty() {
        return Err(TlsError::Pem { path: path.to_owned(), message: "no certificate in it".to_owned() });
    }
    Ok(certificates)
}

fn pem(path: &Path, error: &rustls::pki_types::pem::Error) -> TlsError {
    TlsError::Pem { path: path.to_owned(), message: error.to_string() }
}

/// Accepts every certificate, but not a broken signature: the peer must own the key it shows.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
