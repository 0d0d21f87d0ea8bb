//! HTTP/2 by prior knowledge, with the client side of the crate `h2`.

use std::future::Future;

use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::{HeaderMap, Request, Response};
use tokio::net::TcpStream;

use crate::wire::{PATIENCE, Site, site};

fn with_client<F, T>(site: &Site, body: impl FnOnce(SendRequest<Bytes>) -> F) -> T
where
    F: Future<Output = T>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let listen = site.running.handle().listen();
    let work = async {
        let stream = TcpStream::connect(listen).await.expect("target accepts");
        let (client, connection) = h2::client::handshake(stream).await.expect("a handshake");
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(connection);
        body(client).await
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.expect("in time") })
}

async fn send(
    client: &SendRequest<Bytes>,
    method: &str,
    path: &str,
    body: Option<Bytes>,
) -> Result<Response<RecvStream>, h2::Error> {
    let uri = format!("http://test{path}");
    let request = Request::builder().method(method).uri(uri).body(()).expect("a request");
    let (response, mut stream) = client.clone().ready().await?.send_request(request, body.is_none())?;
    if let Some(body) = body {
        stream.send_data(body, true)?;
    }
    response.await
}

async fn read(body: &mut RecvStream) -> Result<(BytesMut, Option<HeaderMap>), h2::Error> {
    let mut bytes = BytesMut::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len())?;
        bytes.extend_from_slice(&data);
    }
    Ok((bytes, body.trailers().await?))
}

async fn get(client: &SendRequest<Bytes>, path: &str) -> (u16, BytesMut, Option<HeaderMap>) {
    let mut response = send(client, "GET", path, None).await.expect("an answer");
    let (body, trailers) = read(response.body_mut()).await.expect("a body");
    (response.status().as_u16(), body, trailers)
}

#[test]
fn streams_of_one_connection_are_counted_one_by_one() {
    let site = site(|_| {});
    with_client(&site, async |client| {
        for _ in 0..10 {
            assert_eq!(get(&client, "/").await.1, "Hello, World!");
        }
        assert_eq!(get(&client, "/status/404").await.0, 404);
    });
    let stats = site.settled_stats();
    assert_eq!((stats.requests, stats.by_status[&200], stats.by_status[&404]), (11, 10, 1));
    assert_eq!(stats.connections.opened, 1);
}

#[test]
fn bodies_go_both_ways_across_flow_control_windows() {
    let site = site(|_| {});
    with_client(&site, async |client| {
        let sent = Bytes::from(vec![b'x'; 300_000]);
        let mut response = send(&client, "POST", "/echo?raw", Some(sent.clone())).await.expect("an answer");
        assert_eq!(read(response.body_mut()).await.expect("a body").0, sent);
        assert_eq!(get(&client, "/bytes/500000").await.1.len(), 500_000);
    });
}

#[test]
fn pieces_and_trailers_arrive() {
    let site = site(|_| {});
    with_client(&site, async |client| {
        let (_, body, trailers) = get(&client, "/chunked/3?trailers").await;
        assert_eq!(body, "chunk 1\nchunk 2\nchunk 3\n");
        assert_eq!(trailers.expect("trailers")["x-pieces"], "3");
        assert_eq!(get(&client, "/drip?bytes=10&chunks=3").await.1.len(), 10);
        assert!(get(&client, "/sse?events=2").await.1.starts_with(b"id: 1\n"));
    });
}

#[test]
fn head_and_empty_answers_have_no_body() {
    let site = site(|_| {});
    with_client(&site, async |client| {
        for (method, path, length) in [("HEAD", "/", Some("13")), ("GET", "/status/204", None)] {
            let mut response = send(&client, method, path, None).await.expect("an answer");
            let given = response.headers().get("content-length").map(|value| value.to_str().expect("text"));
            assert_eq!(given, length, "{method} {path}");
            assert!(read(response.body_mut()).await.expect("a body").0.is_empty());
        }
    });
}

#[test]
fn reset_fault_resets_only_its_stream() {
    let site = site(|_| {});
    with_client(&site, async |client| {
        let error = send(&client, "GET", "/fault/reset", None).await.expect_err("reset");
        assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
        let mut response = send(&client, "GET", "/fault/close-mid-body", None).await.expect("a head");
        assert_eq!(response.headers()["content-length"], "1000");
        let error = read(response.body_mut()).await.expect_err("cut short");
        assert_eq!(error.reason(), Some(Reason::INTERNAL_ERROR));
        assert_eq!(get(&client, "/").await.0, 200, "the connection goes on");
    });
    assert_eq!(site.settled_stats().requests, 3);
}

#[test]
fn close_fault_ends_the_connection() {
    for path in ["/fault/close", "/fault/garbage"] {
        let site = site(|_| {});
        with_client(&site, async |client| {
            send(&client, "GET", path, None).await.expect_err("no answer");
            client.clone().ready().await.expect_err("the connection is over");
        });
        assert_eq!(site.settled_stats().requests, 1);
    }
}

#[test]
fn control_routes_work_and_are_not_counted() {
    let site = site(|_| {});
    with_client(&site, async |client| {
        let (status, body, _) = get(&client, "/__stats").await;
        let books: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(
            (status, &books["requests"], &books["connections"]["opened"]),
            (200, &0.into(), &0.into())
        );
    });
}

#[test]
fn injected_errors_hit_streams_too() {
    let site = site(|options| options.error_rate = "100%".parse().expect("a rate"));
    with_client(&site, async |client| assert_eq!(get(&client, "/").await.0, 500));
}
