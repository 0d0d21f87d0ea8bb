//! TLS of server and client, from PEM texts that the caller has read.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The application protocol that both sides agree on.
const PROTOCOL: &[u8] = b"http/1.1";

/// Certificate and key of a server.
#[derive(Clone)]
pub struct ServerTls(pub(crate) Arc<ServerConfig>);

/// Whom a client trusts.
#[derive(Clone)]
pub struct ClientTls(pub(crate) Arc<ClientConfig>);

/// Why TLS cannot be set up. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A PEM text is broken, or has nothing of the kind in it.
    #[error("the {what} cannot be read: {source}")]
    Pem {
        /// Certificate, key or authorities.
        what: &'static str,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// Certificate and key do not belong together, or are of no known kind.
    #[error("the certificate cannot be used: {0}")]
    Certificate(rustls::Error),
    /// An authority that is not a certificate.
    #[error("the authority cannot be used: {0}")]
    Authority(rustls::Error),
    /// The system has no authorities.
    #[error("this system has no trusted certificates; name a CA file")]
    NoAuthorities,
}

impl ServerTls {
    /// From the certificate chain and its key.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = certificates("certificate", chain)?;
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|source| TlsError::Pem { what: "key", source })?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Certificate)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(TlsError::Certificate)?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

impl ClientTls {
    /// Trusts these authorities and no others.
    pub fn from_pem(authorities: &[u8]) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for authority in certificates("CA file", authorities)? {
            roots.add(authority).map_err(TlsError::Authority)?;
        }
        Self::new(roots)
    }

    /// Trusts the authorities of this system.
    pub fn system() -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() { Err(TlsError::NoAuthorities) } else { Self::new(roots) }
    }

    fn new(roots: RootCertStore) -> Result<Self, TlsError> {
        let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Authority)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|source| TlsError::Pem { what, source })?;
    if all.is_empty() { Err(TlsError::Pem { what, source: pem::Error::NoItemsFound }) } else { Ok(all) }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerTls")
    }
}

impl fmt::Debug for ClientTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientTls")
    }
}
