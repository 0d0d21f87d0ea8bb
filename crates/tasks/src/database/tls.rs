//! TLS to PostgreSQL, on rustls.
//!
//! The modes are those of libpq: `prefer` and `require` encrypt without asking who the server is, `verify-ca` asks an authority,
//! `verify-full` also compares the name. A server's certificate is not bound to the password exchange (SCRAM channel binding).

use std::fmt;
use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

/// What a client asks of a server before it sends anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// Nothing; no encryption.
    Disable,
    /// Encryption if the server can. Protects against nobody who can change packets.
    Prefer,
    /// Encryption without verification of the peer.
    Require,
    /// A certificate of a trusted authority, for any name.
    VerifyCa,
    /// A certificate of a trusted authority for the host's name.
    VerifyFull,
}

impl FromStr for TlsMode {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "disable" => Ok(Self::Disable),
            "prefer" => Ok(Self::Prefer),
            "require" => Ok(Self::Require),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-full" => Ok(Self::VerifyFull),
            other => Err(other.to_owned()),
        }
    }
}

/// How connections are encrypted.
#[derive(Clone)]
pub struct TlsSetup {
    mode: TlsMode,
    /// `None` where there is no TLS.
    config: Option<Arc<ClientConfig>>,
}

impl TlsSetup {
    /// No TLS.
    pub(super) fn disabled() -> Self {
        Self { mode: TlsMode::Disable, config: None }
    }

    /// Reads the authorities: those of the file, else those of the system where the mode asks any.
    pub(super) fn new(mode: TlsMode, roots: Option<&Path>) -> Result<Self, String> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider supports TLS 1.2 and 1.3");
        let config = match mode {
            TlsMode::Disable => return Ok(Self::disabled()),
            TlsMode::VerifyFull => builder.with_root_certificates(authorities(roots)?),
            TlsMode::VerifyCa => {
                let roots = Arc::new(authorities(roots)?);
                let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
                    .build()
                    .map_err(|error| error.to_string())?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName(inner)))
            }
            TlsMode::Prefer | TlsMode::Require => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider)))
            }
        };
        Ok(Self { mode, config: Some(Arc::new(config.with_no_client_auth())) })
    }

    /// What is asked of the server.
    pub fn mode(&self) -> TlsMode {
        self.mode
    }
}

impl fmt::Debug for TlsSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TlsSetup({:?})", self.mode)
    }
}

fn authorities(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    match file {
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        Some(path) if path == Path::new("system") => return authorities(None),
        Some(path) => {
            let wrong = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
            for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))? {
                let certificate = certificate.map_err(|error| wrong(&error))?;
                roots.add(certificate).map_err(|error| wrong(&error))?;
            }
        }
    }
    if roots.is_empty() {
        return Err("there is no certificate to trust; name a PEM file with sslrootcert".to_owned());
    }
    Ok(roots)
}

/// Makes the session of one connection.
pub struct TlsHandshake {
    config: Option<Arc<ClientConfig>>,
    name: ServerName<'static>,
}

impl MakeTlsConnect<Socket> for TlsSetup {
    type Stream = TlsSession;
    type TlsConnect = TlsHandshake;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<TlsHandshake, Self::Error> {
        // Nobody is asked for a name where there is none, as with a socket in a folder.
        let host = if self.config.is_none() || host.is_empty() { "localhost" } else { host };
        Ok(TlsHandshake { config: self.config.clone(), name: ServerName::try_from(host.to_owned())? })
    }
}

impl TlsConnect<Socket> for TlsHandshake {
    type Stream = TlsSession;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TlsSession>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or_else(|| io::Error::other("TLS is switched off"))?;
            Ok(TlsSession(Box::new(TlsConnector::from(config).connect(self.name, stream).await?)))
        })
    }
}

/// An encrypted connection.
pub struct TlsSession(Box<tokio_rustls::client::TlsStream<Socket>>);

impl TlsStream for TlsSession {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for TlsSession {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, to)
    }
}

impl AsyncWrite for TlsSession {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// Trusts anybody, as libpq does unless it is told to verify.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
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
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Trusts certificates of the authorities, whatever name they are for.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The name is compared last, after the chain.
        match self.0.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
