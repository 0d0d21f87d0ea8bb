//! How peers are reached: addresses in turn, local addresses, client certificates, resumption.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hyperscale_clients::Protocol as _;
use hyperscale_clients::http::Session;
use hyperscale_clients::network::MemoryNetwork;
use hyperscale_plan::model::http::{Dns, HttpVersion, Resume, Reuse, Tls};
use hyperscale_target::{Options, Target, TlsOptions};
use hyperscale_types::ErrorKind;
use rcgen::{CertificateParams, KeyPair};
use rustls::HandshakeKind;
use socket2::Socket;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::support::{Client, Server, answer, get, ok, tls_server};

#[tokio::test]
async fn all_addresses_of_a_name_are_used_in_turn_and_those_that_refuse_are_passed_over() {
    for dns in [Dns::Once, Dns::PerConnection] {
        let addresses: Vec<IpAddr> = (1..=3).map(|last| Ipv4Addr::new(10, 0, 0, last).into()).collect();
        let refusing = vec![addresses[1]];
        let network = MemoryNetwork::answering(ok("x")).with_addresses(addresses, refusing);
        let client = Client::on(network.clone());
        let mut request = get("http://three.example:81/");
        request.transport.reuse = Reuse::Call;
        request.transport.dns = dns;
        let prepared = client.prepare(&request).await;
        for _ in 0..6 {
            assert_eq!(client.call(&prepared).await.error, None);
        }
        let count = |text: &str| network.asked().iter().filter(|entry| *entry == text).count();
        assert_eq!(count("three.example"), if dns == Dns::Once { 1 } else { 7 }, "{dns:?}");
        assert_eq!(count("10.0.0.2:81"), 2, "its turn came twice, and others took over");
        assert_eq!(count("10.0.0.1:81") + count("10.0.0.3:81"), 6);
        assert!(count("10.0.0.1:81") >= 2 && count("10.0.0.3:81") >= 2);
    }
}

#[tokio::test]
async fn local_addresses_are_used_in_turn() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let client = Client::new();
    let mut request = get(&format!("http://{address}/"));
    request.transport.reuse = Reuse::Call;
    request.transport.source =
        ["127.0.0.2", "::1", "127.0.0.3"].map(|text| text.parse().expect("an address")).into();
    request.limits.timeout = hyperscale_types::Span::from_secs(5);
    let prepared = client.prepare(&request).await;
    let mut seen = Vec::new();
    for _ in 0..4 {
        let accept = async {
            let (stream, peer) = listener.accept().await.expect("a connection");
            drop(stream);
            peer.ip().to_string()
        };
        let (peer, outcome) = tokio::join!(accept, client.call(&prepared));
        assert_ne!(outcome.error.expect("nobody answers").kind, ErrorKind::ConnectTimeout);
        seen.push(peer);
    }
    assert_eq!(seen, ["127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.3"]);
}

#[tokio::test]
async fn a_client_certificate_is_shown_to_a_server_that_asks() {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["client".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let file = |text: &str| {
        let mut file = NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("a file");
        file
    };
    let (cert_file, key_file) = (file(&certificate.pem()), file(&key.serialize_pem()));
    let mut options = Options::new(([127, 0, 0, 1], 0).into());
    options.tls = Some(TlsOptions { client_ca_pem: Some(certificate.pem()), ..TlsOptions::default() });
    let target = Target::bind(options).expect("a free port").spawn().expect("a thread");
    let mut request = get(&format!("https://{}/", target.handle().listen()));
    request.transport.version = HttpVersion::Http1;
    request.transport.tls = Tls { insecure: true, ..Tls::default() };
    let refused = Client::new().once(&request).await;
    assert_eq!(refused.error.expect("it fails").kind, ErrorKind::Tls);
    request.transport.tls.cert = Some(cert_file.path().to_owned());
    request.transport.tls.key = Some(key_file.path().to_owned());
    assert_eq!(Client::new().once(&request).await.error, None);
}

/// Answers two requests, each on a connection of its own, and says how their handshakes went.
async fn handshakes(listener: TcpListener) -> Vec<Option<HandshakeKind>> {
    let acceptor = TlsAcceptor::from(tls_server());
    let mut kinds = Vec::new();
    for _ in 0..4 {
        let (stream, _) = listener.accept().await.expect("a connection");
        let mut stream = acceptor.accept(stream).await.expect("a handshake");
        kinds.push(stream.get_ref().1.handshake_kind());
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut request).await.expect("a request");
        }
        stream.write_all(ok("x").as_bytes()).await.expect("the client reads");
        stream.shutdown().await.expect("the client reads");
    }
    kinds
}

#[tokio::test]
async fn tls_sessions_are_resumed_by_the_same_virtual_user_or_as_the_plan_says() {
    use HandshakeKind::{Full, Resumed};
    let expected = [
        (Resume::Off, [Full, Full, Full, Full]),
        (Resume::Vu, [Full, Resumed, Full, Resumed]),
        (Resume::Shared, [Full, Resumed, Resumed, Resumed]),
    ];
    for (resume, expected) in expected {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let mut request = get(&format!("https://{}/", listener.local_addr().expect("it is bound")));
        request.transport.reuse = Reuse::Call;
        request.transport.tls = Tls { insecure: true, resume, ..Tls::default() };
        let client = Client::new();
        let calls = async {
            let prepared = client.prepare(&request).await;
            for session in [Session::new(), Session::new()] {
                for _ in 0..2 {
                    let call = client.http.call(&session, &prepared, &client.scope, &client.progress);
                    assert_eq!(call.await.error, None);
                }
            }
        };
        let (kinds, ()) = tokio::join!(handshakes(listener), calls);
        assert_eq!(kinds, expected.map(Some), "{resume:?}");
    }
}

/// Sockets of this process that are connected to a peer.
#[cfg(target_os = "linux")]
fn sockets_to(peer: SocketAddr) -> Vec<Socket> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let own = pidfd_open(getpid(), PidfdFlags::empty()).expect("this process runs");
    let files = std::fs::read_dir("/proc/self/fd").expect("the files of this process");
    let numbers = files.filter_map(|file| file.ok()?.file_name().to_str()?.parse().ok());
    let sockets = numbers.filter_map(|number| pidfd_getfd(&own, number, PidfdGetfdFlags::empty()).ok());
    let leads_there =
        |socket: &Socket| socket.peer_addr().ok().and_then(|address| address.as_socket()) == Some(peer);
    sockets.map(Socket::from).filter(leads_there).collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_is_kept_does_not_hold_small_writes_back() {
    let server = Server::one([answer(&ok("first")), answer(&ok("second"))].concat()).await;
    let client = Client::new();
    let prepared = client.prepare(&get(&server.url("/"))).await;
    assert_eq!(client.call(&prepared).await.error, None);
    let peer = server.url("").trim_start_matches("http://").parse().expect("an address");
    let kept = sockets_to(peer);
    assert_eq!(kept.len(), 1);
    assert!(kept[0].tcp_nodelay().expect("a TCP socket"));
    assert_eq!(client.call(&prepared).await.error, None);
    assert_eq!(server.requests().await[0].len(), 2);
}
