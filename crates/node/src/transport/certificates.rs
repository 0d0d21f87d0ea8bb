//! Certificate, key and authorities of a node, from PEM texts that the caller has read. What cannot work is found out here, before
//! the first connection: a key of another certificate, a certificate of another authority, one that is out of date or names nobody.

use std::sync::Arc;

use hyperscale_types::{NodeId, Role};
use hyperscale_wire::counters::Counters;
use hyperscale_wire::identity::{CertificateIdentity, IdentityError};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{
    CertificateError as Rejected, ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig,
    SignatureScheme,
};

use super::tls::{Certificates, uri_names};

/// PEM texts of a node.
#[derive(Clone, Copy)]
pub struct CertificateFiles<'a> {
    /// Its certificate, then those between it and an authority.
    pub chain: &'a [u8],
    /// The key of its certificate.
    pub key: &'a [u8],
    /// Whoever signs certificates of nodes.
    pub authorities: &'a [u8],
}

/// Why files cannot be used for mutual TLS. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A text is broken, or has nothing of the kind in it.
    #[error("the {what} cannot be read: {source}")]
    Pem {
        /// Certificate, key or authorities.
        what: &'static str,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// The certificate does not say which node it is for.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// Certificate and key do not belong together, or are of no known kind.
    #[error("certificate and key cannot be used together: {0}")]
    Key(rustls::Error),
    /// An authority that is not a certificate.
    #[error("the authority cannot be used: {0}")]
    Authority(rustls::Error),
    /// The authorities cannot verify anything.
    #[error("the authorities cannot be used: {0}")]
    Authorities(#[from] VerifierBuilderError),
    /// No peer would accept the certificate.
    #[error("peers would not accept the certificate: {0}")]
    Rejected(rustls::Error),
}

/// A certificate of another cluster or role: peers would refuse its holder.
#[derive(Debug, thiserror::Error)]
#[error(
    "the certificate names {named}, and this node is a {role} of cluster '{cluster}'; pass a certificate for that"
)]
pub struct ForeignCertificate {
    /// Whom it names.
    pub named: CertificateIdentity,
    /// What this node is.
    pub role: Role,
    /// Its cluster.
    pub cluster: String,
}

impl Certificates {
    /// The node that the own certificate names, if it came from a file and is one of this cluster and role.
    pub fn names(&self, role: Role, cluster: &str) -> Result<Option<NodeId>, ForeignCertificate> {
        let Some(named) = self.identity.clone() else { return Ok(None) };
        if named.role != role || named.cluster != cluster {
            return Err(ForeignCertificate { named, role, cluster: cluster.to_owned() });
        }
        Ok(Some(named.node))
    }

    /// From the files of a node. Without `verifies_names` a peer may be reached under an address that its certificate does not
    /// name; which node it is, is proven either way.
    pub fn from_pem(files: CertificateFiles<'_>, verifies_names: bool) -> Result<Self, CertificateError> {
        let chain = certificates("certificate", files.chain)?;
        let key = || PrivateKeyDer::from_pem_slice(files.key).map_err(failed("key"));
        let identity = CertificateIdentity::from_uri_names(
            uri_names(&chain[0]).iter().map(String::as_str),
            &mut Counters::default(),
        )?;
        let mut roots = RootCertStore::empty();
        for authority in certificates("CA file", files.authorities)? {
            roots.add(authority).map_err(CertificateError::Authority)?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(default_provider()));
        let peers =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider)).build()?;
        // What this node would say of a peer, peers say of it.
        peers
            .verify_client_cert(&chain[0], &chain[1..], UnixTime::now())
            .map_err(CertificateError::Rejected)?;
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(CertificateError::Key)?
            .with_client_cert_verifier(peers)
            .with_single_cert(chain.clone(), key()?)
            .map_err(CertificateError::Key)?;
        let names = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build()?;
        let verifier: Arc<dyn ServerCertVerifier> =
            if verifies_names { names } else { Arc::new(AnyName(names)) };
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(CertificateError::Key)?
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_client_auth_cert(chain, key()?)
            .map_err(CertificateError::Key)?;
        let mut made = Self::new(&client, server);
        made.identity = Some(identity);
        Ok(made)
    }
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(failed(what))?;
    if all.is_empty() { Err(failed(what)(pem::Error::NoItemsFound)) } else { Ok(all) }
}

fn failed(what: &'static str) -> impl Fn(pem::Error) -> CertificateError {
    move |source| CertificateError::Pem { what, source }
}

/// Verifies everything but the name under which a peer was reached.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The name is checked last: a certificate that fails only there has passed all other checks.
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                Rejected::NotValidForName | Rejected::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, cert, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, cert, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
