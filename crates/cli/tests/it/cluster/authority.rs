//! An authority that signs certificates of nodes and of their APIs, as files.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};
use tempfile::TempDir;

use crate::support::own_ip;

pub(super) struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder, issuer: Issuer::new(params, key) }
    }

    pub(super) fn ca(&self) -> String {
        self.path("ca.pem")
    }

    /// Flags of a node that uses mutual TLS.
    pub(super) fn node(&self, role: &str, node: u64) -> Vec<String> {
        let (certificate, key) = self.certify(role, Some(&format!("hyperscale://default/{role}/{node:x}")));
        let flags = ["--node-cert", &certificate, "--node-key", &key, "--node-ca", &self.ca()];
        flags.map(str::to_owned).to_vec()
    }

    /// Flags of an API that uses TLS.
    pub(super) fn api(&self) -> Vec<String> {
        let (certificate, key) = self.certify("api", None);
        ["--tls-cert", &certificate, "--tls-key", &key].map(str::to_owned).to_vec()
    }

    /// A certificate for this machine, with this URI among its names, and its key: files.
    pub(super) fn certify(&self, file: &str, uri: Option<&str>) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        let ips = [Ipv4Addr::LOCALHOST, own_ip()];
        params.subject_alt_names = ips.map(|ip| SanType::IpAddress(IpAddr::V4(ip))).into();
        params.subject_alt_names.extend(uri.map(|uri| SanType::URI(uri.try_into().unwrap())));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        // Files of earlier certificates stay as they are.
        let number = std::fs::read_dir(self.folder.path()).unwrap().count();
        let files = (format!("{file}-{number}.pem"), format!("{file}-{number}.key"));
        std::fs::write(self.folder.path().join(&files.0), certificate.pem()).unwrap();
        std::fs::write(self.folder.path().join(&files.1), key.serialize_pem()).unwrap();
        (self.path(&files.0), self.path(&files.1))
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }
}
