//! Mutual TLS in place of the shared secret: the certificate proves cluster, node and role of a peer.
//!
//! Whom to trust and which names to verify is in the configurations that are handed in. The lane of a connection is its
//! application protocol (ALPN), as it has to be known before the first message.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use hyperscale_wire::class::Lane;
use hyperscale_wire::counters::Counters;
use hyperscale_wire::identity::CertificateIdentity;
use hyperscale_wire::secret::Secret;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer as _, X509Certificate};

const CONTROL: &[u8] = b"hyperscale-control";
const BULK: &[u8] = b"hyperscale-bulk";
/// Label of the keys that both ends export for datagrams (RFC 5705).
const EXPORTER: &[u8] = b"EXPORTER-hyperscale-datagram";

/// Configurations of both sides.
#[derive(Clone)]
pub struct Certificates {
    control: TlsConnector,
    bulk: TlsConnector,
    acceptor: TlsAcceptor,
    /// Whom the own certificate names, where that is known.
    pub(super) identity: Option<CertificateIdentity>,
}

/// What a handshake has proven.
pub(super) struct Proof {
    pub(super) identity: CertificateIdentity,
    pub(super) lane: Lane,
    pub(super) exported: Secret,
}

/// Why a handshake proves nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum TlsError {
    #[error(transparent)]
    Handshake(#[from] io::Error),
    #[error(transparent)]
    Identity(#[from] hyperscale_wire::identity::IdentityError),
    #[error("the peer names no lane")]
    NoLane,
    #[error("no keys could be exported: {0}")]
    Export(#[from] rustls::Error),
}

impl Certificates {
    /// From a client configuration with a certificate of this node and a server configuration that demands one of peers.
    pub fn new(client: &ClientConfig, mut server: ServerConfig) -> Self {
        let connector = |protocol: &[u8]| {
            let mut config = client.clone();
            config.alpn_protocols = vec![protocol.to_vec()];
            TlsConnector::from(Arc::new(config))
        };
        server.alpn_protocols = vec![CONTROL.to_vec(), BULK.to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(server));
        Self { control: connector(CONTROL), bulk: connector(BULK), acceptor, identity: None }
    }

    pub(super) async fn connect(
        &self,
        address: SocketAddr,
        lane: Lane,
        stream: TcpStream,
        counters: &mut Counters,
    ) -> Result<(TlsStream<TcpStream>, Proof), TlsError> {
        let connector = match lane {
            Lane::Control => &self.control,
            Lane::Bulk => &self.bulk,
        };
        let stream = connector.connect(ServerName::from(address.ip()), stream).await?;
        let proof = proof(stream.get_ref().1, counters)?;
        let exported = stream.get_ref().1.export_keying_material([0; 32], EXPORTER, None)?;
        Ok((stream.into(), proof.with(exported)))
    }

    pub(super) async fn accept(
        &self,
        stream: TcpStream,
        counters: &mut Counters,
    ) -> Result<(TlsStream<TcpStream>, Proof), TlsError> {
        let stream = self.acceptor.accept(stream).await?;
        let proof = proof(stream.get_ref().1, counters)?;
        let exported = stream.get_ref().1.export_keying_material([0; 32], EXPORTER, None)?;
        Ok((stream.into(), proof.with(exported)))
    }
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificates")
    }
}

/// Who the peer is and what the connection is for.
struct Named(CertificateIdentity, Lane);

impl Named {
    fn with(self, exported: [u8; 32]) -> Proof {
        Proof { identity: self.0, lane: self.1, exported: Secret::exported(exported) }
    }
}

fn proof(connection: &rustls::CommonState, counters: &mut Counters) -> Result<Named, TlsError> {
    let chain = connection.peer_certificates().unwrap_or_default();
    let names = chain.first().map(uri_names).unwrap_or_default();
    let identity = CertificateIdentity::from_uri_names(names.iter().map(String::as_str), counters)?;
    let lane = match connection.alpn_protocol() {
        Some(CONTROL) => Lane::Control,
        Some(BULK) => Lane::Bulk,
        _ => return Err(TlsError::NoLane),
    };
    Ok(Named(identity, lane))
}

/// Names of a certificate that rustls has verified.
pub(super) fn uri_names(certificate: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let Ok(Some(extension)) = certificate.subject_alternative_name() else { return Vec::new() };
    let names = extension.value.general_names.iter();
    let uri = |name: &GeneralName<'_>| match name {
        GeneralName::URI(name) => Some((*name).to_owned()),
        _ => None,
    };
    names.filter_map(uri).collect()
}
