//! The target's TLS side: its certificate, generated or given, and whom it asks for one.

use std::net::SocketAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::TlsAcceptor;

use crate::options::{Identity, TlsOptions};

/// Why TLS could not be set up. The target does not start.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Making a certificate failed.
    #[error("cannot generate a certificate: {0}")]
    Generate(#[from] rcgen::Error),
    /// A PEM text is broken or lacks what was looked for.
    #[error("cannot read {what}: {source}")]
    Pem {
        /// Which of the texts.
        what: &'static str,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// Certificate and key do not fit, or are of no known kind.
    #[error("cannot use the certificate: {0}")]
    Config(#[from] rustls::Error),
    /// The authorities for client certificates are unusable.
    #[error("cannot use the client authorities: {0}")]
    ClientCa(#[from] VerifierBuilderError),
}

/// A ready TLS side.
pub(crate) struct Tls {
    pub(crate) acceptor: TlsAcceptor,
    /// What a client has to trust.
    pub(crate) ca_pem: String,
}

impl Tls {
    pub(crate) fn new(options: &TlsOptions, listen: SocketAddr) -> Result<Self, TlsError> {
        let Credentials { chain, key, ca_pem } = match &options.identity {
            Identity::Generated => generate(listen)?,
            Identity::Pem { chain, key } => read(chain, key)?,
        };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match &options.client_ca_pem {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let roots = Arc::new(client_roots(pem)?);
                builder.with_client_cert_verifier(
                    WebPkiClientVerifier::builder_with_provider(roots, provider).build()?,
                )
            }
        };
        let mut config = builder.with_single_cert(chain, key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), ca_pem })
    }
}

struct Credentials {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    ca_pem: String,
}

/// An authority of its own and a leaf signed by it: a leaf that is its own authority is refused by strict clients.
fn generate(listen: SocketAddr) -> Result<Credentials, TlsError> {
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    authority.distinguished_name.push(DnType::CommonName, "Hyperscale target authority");
    let authority_key = KeyPair::generate()?;
    let ca_pem = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);

    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !listen.ip().is_loopback() && !listen.ip().is_unspecified() {
        names.push(listen.ip().to_string());
    }
    let mut leaf = CertificateParams::new(names)?;
    leaf.distinguished_name.push(DnType::CommonName, "Hyperscale target");
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let leaf_key = KeyPair::generate()?;
    let chain = vec![leaf.signed_by(&leaf_key, &issuer)?.der().clone()];
    let key = PrivateKeyDer::Pkcs8(leaf_key.serialize_der().into());
    Ok(Credentials { chain, key, ca_pem })
}

fn read(chain_pem: &str, key_pem: &str) -> Result<Credentials, TlsError> {
    let chain = certificates(chain_pem, "the certificate")?;
    let key = PrivateKeyDer::from_pem_slice(key_pem.as_bytes())
        .map_err(|source| TlsError::Pem { what: "the private key", source })?;
    Ok(Credentials { chain, key, ca_pem: chain_pem.to_owned() })
}

fn client_roots(pem: &str) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for authority in certificates(pem, "the client authorities")? {
        roots.add(authority)?;
    }
    Ok(roots)
}

fn certificates(pem: &str, what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrap = |source| TlsError::Pem { what, source };
    let found =
        CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>().map_err(wrap)?;
    if found.is_empty() { Err(wrap(pem::Error::NoItemsFound)) } else { Ok(found) }
}
