//! The steady state allocates nothing, and a waiting call is small.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hyperscale_clients::Progress;
use hyperscale_clients::Protocol as _;
use hyperscale_clients::http::{Prepared, Session};
use hyperscale_clients::network::MemoryNetwork;
use hyperscale_plan::model::http::Body;
use hyperscale_plan::model::step::Needs;

use super::support::{Client, get, template};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nServer: x\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Type: text/plain\r\nContent-Length: 13\r\nConnection: keep-alive\r\n\r\nHello, world!";
const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\nHello, world!\r\n0\r\n\r\n";
const WARM_UP: usize = 16;
const REQUESTS: usize = 10_000;
/// Bytes that a waiting call may take in the task of a virtual user.
const CALL_BYTES_MAX: usize = 1024;

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

#[expect(unsafe_code, reason = "counts, then hands over to the system's allocator unchanged")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Heap allocations of this thread for 10 000 calls after warming up.
async fn allocations(client: &Client, prepared: &Prepared) -> u64 {
    let mut before = 0;
    for at in 0..WARM_UP + REQUESTS {
        if at == WARM_UP {
            before = COUNT.with(Cell::get);
        }
        let outcome = client.call(prepared).await;
        assert_eq!((outcome.status.unwrap_or_default(), outcome.error), (200, None));
    }
    COUNT.with(Cell::get) - before
}

async fn prepare(client: &Client, request: &hyperscale_plan::model::HttpRequest) -> Prepared {
    client.prepare_for(request, Needs::default()).await.expect("it prepares")
}

#[tokio::test]
async fn a_prepared_request_on_a_kept_connection_allocates_nothing() {
    for (name, network) in [
        ("length", MemoryNetwork::answering(ANSWER)),
        ("chunked", MemoryNetwork::answering(CHUNKED)),
        ("waiting", MemoryNetwork::waiting(ANSWER)),
    ] {
        let client = Client::on(network);
        let prepared = prepare(&client, &get("http://h/")).await;
        assert_eq!(allocations(&client, &prepared).await, 0, "{name}");
        assert_eq!(client.progress.requests() as usize, WARM_UP + REQUESTS);
    }
}

#[tokio::test]
async fn filling_plain_holes_allocates_nothing() {
    let client = Client::on(MemoryNetwork::answering(ANSWER));
    let mut request = get("http://h/{{ id }}");
    request.method = "POST".to_owned();
    request.headers.push(("x-id".to_owned(), template("{{ id }}")));
    request.body = Body::Text(template("id={{ id }}"));
    let prepared = prepare(&client, &request).await;
    assert_eq!(allocations(&client, &prepared).await, 0);
}

#[tokio::test]
async fn a_waiting_call_is_small() {
    let client = Client::new();
    let prepared = prepare(&client, &get("http://127.0.0.1:1/")).await;
    let (session, progress) = (Session::new(), Progress::default());
    let future = client.http.call(&session, &prepared, &client.scope, &progress);
    let bytes = size_of_val(&future);
    assert!(bytes <= CALL_BYTES_MAX, "a call takes {bytes} bytes");
}
