//! How the peer of an HTTP call is reached.

use std::net::IpAddr;
use std::path::PathBuf;

use super::super::Reader;
use super::super::fields::Fields;
use super::super::view::View;
use crate::document::{Kind, Node};
use crate::model::http::{Dns, HttpVersion, Resume, Reuse, Tls, Transport};

/// HTTP/2 connections that the VUs of a core may share.
const CONNECTIONS_MAX: u32 = 10_000;
/// Local addresses of one call.
const SOURCES_MAX: usize = 1_000;
/// Bytes of a unix socket's path (`sun_path` without its end).
const UNIX_PATH_BYTES_MAX: usize = 107;

const VERSIONS: [(&str, HttpVersion); 5] = [
    ("auto", HttpVersion::Auto),
    ("1.1", HttpVersion::Http1),
    ("1", HttpVersion::Http1),
    ("2", HttpVersion::Http2),
    ("2.0", HttpVersion::Http2),
];
const REUSES: [(&str, Reuse); 3] =
    [("vu", Reuse::Vu), ("iteration", Reuse::Iteration), ("call", Reuse::Call)];
const DNS: [(&str, Dns); 2] = [("once", Dns::Once), ("per_connection", Dns::PerConnection)];

impl Reader<'_> {
    /// The transport keys of `http`.
    pub(super) fn transport(&self, fields: &Fields<'_>, view: View<'_>) -> Transport {
        let version = fields.take("version").and_then(|node| self.version(node)).unwrap_or_default();
        let reuse = fields.take("reuse").and_then(|node| self.word(node, &REUSES)).unwrap_or_default();
        let connections = fields.take("connections");
        if let (Some(node), HttpVersion::Http1 | HttpVersion::Auto) = (connections, version) {
            self.problems
                .error(node.place, "connections are shared in HTTP/2 only; in HTTP/1.1 each VU has its own")
                .hint("say `version: \"2\"` (`--http2`)");
        }
        if let (Some(node), Reuse::Iteration | Reuse::Call) = (connections, reuse) {
            self.problems
                .error(node.place, "shared connections outlive iterations; `connections` needs `reuse: vu`");
        }
        let dns = fields.take("dns").and_then(|node| self.word(node, &DNS)).unwrap_or_default();
        Transport {
            version,
            reuse,
            connections: connections.and_then(|node| self.integer(node, 1..=CONNECTIONS_MAX)),
            tls: fields.take("tls").and_then(|node| self.tls(node, view)).unwrap_or_default(),
            proxy: fields.take("proxy").and_then(|node| self.proxy(node, view)),
            unix: fields.take("unix").and_then(|node| self.unix(node, view)),
            dns,
            source: fields.take("source").map(|node| self.sources(node)).unwrap_or_default(),
        }
    }

    fn version(&self, node: &Node) -> Option<HttpVersion> {
        if matches!(node.scalar(), Some("3" | "3.0")) {
            self.problems.error(node.place, "HTTP/3 is not supported yet");
            return None;
        }
        self.word(node, &VERSIONS)
    }

    fn tls(&self, node: &Node, view: View<'_>) -> Option<Tls> {
        let fields = self.fields(node, "`tls`")?;
        let file = |key| fields.take(key).and_then(|node| self.file(node, &view));
        let tls = Tls {
            insecure: self.flag(&fields, "insecure", false),
            ca: file("ca"),
            cert: file("cert"),
            key: file("key"),
            sni: fields.take("sni").and_then(|node| self.constant(node, &view)),
            resume: fields
                .take("resume")
                .and_then(|node| self.word(node, &Resume::WORDS))
                .unwrap_or_default(),
        };
        fields.finish(self, "`tls`");
        if fields.take("cert").is_some() != fields.take("key").is_some() {
            self.problems.error(node.place, "a client certificate needs both `cert` and `key`");
        }
        if tls.insecure && fields.take("ca").is_some() {
            self.problems
                .warning(node.place, "with `insecure: true` nothing is verified; `ca` has no effect");
        }
        Some(tls)
    }

    fn proxy(&self, node: &Node, view: View<'_>) -> Option<String> {
        let url = self.constant_url(node, view)?;
        if !url.to_ascii_lowercase().starts_with("http://") {
            self.problems.error(node.place, "a proxy is reached over http://");
            return None;
        }
        Some(url)
    }

    fn unix(&self, node: &Node, view: View<'_>) -> Option<PathBuf> {
        let path = self.folder.join(self.constant(node, &view)?);
        let length = path.as_os_str().len();
        if length == 0 || length > UNIX_PATH_BYTES_MAX {
            let message = format!("the path of a unix socket has 1 … {UNIX_PATH_BYTES_MAX} bytes");
            self.problems.error(node.place, message);
            return None;
        }
        Some(path)
    }

    fn sources(&self, node: &Node) -> Vec<IpAddr> {
        let items = node.items();
        if items.len() > SOURCES_MAX || matches!(node.kind, Kind::Map(_)) {
            self.problems.error(node.place, format!("`source` is a list of at most {SOURCES_MAX} addresses"));
            return Vec::new();
        }
        let address = |item: &Node| {
            let text = self.text(item, "an IP address")?;
            let address = text.parse().ok();
            if address.is_none() {
                self.problems.error(item.place, format!("`{text}` is not an IP address"));
            }
            address
        };
        items.iter().filter_map(address).collect()
    }
}
