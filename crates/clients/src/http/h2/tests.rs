use std::future::Future;
use std::num::NonZeroUsize;

use crate::lease::LeaseDeadline;
use ::h2::server;
use hyperscale_types::ErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::{Notify, Semaphore};
use tokio::task::{LocalSet, spawn_local, yield_now};

use super::*;

const PIPE_BYTES: usize = 64 << 10;

/// Keeps everything.
#[derive(Default)]
struct Kept {
    status: u16,
    body: Vec<u8>,
    stop_at: Option<usize>,
    traffic: Option<Traffic>,
}

impl Answer for Kept {
    fn since(&self) -> Now {
        Now::NEVER
    }

    fn head(&mut self, status: StatusCode, _: &HeaderMap) -> Next {
        self.status = status.as_u16();
        Next::Read
    }

    fn body(&mut self, bytes: &[u8]) -> Next {
        self.body.extend_from_slice(bytes);
        if self.stop_at.is_some_and(|stop| self.body.len() >= stop) { Next::Stop } else { Next::Read }
    }

    fn account(&mut self, traffic: &Traffic) {
        assert!(self.traffic.replace(*traffic).is_none(), "accounted once");
    }
}

fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, test);
}

fn request(path: &str) -> Request<()> {
    let request = Request::builder().uri(format!("http://a.example{path}")).version(http::Version::HTTP_2);
    request.header("x", "y").body(()).expect("a valid head")
}

/// Lets the other tasks run until something is true.
async fn until(is_true: impl Fn() -> bool) {
    const TURNS_MAX: usize = 10_000;
    for _ in 0..TURNS_MAX {
        if is_true() {
            return;
        }
        yield_now().await;
    }
    panic!("never came true");
}

type Served = server::Connection<DuplexStream, Bytes>;

/// A connection to a peer that does what `serve` says.
async fn connect<S, F>(options: server::Builder, serve: S) -> H2Connection
where
    S: FnOnce(Served) -> F + 'static,
    F: Future<Output = ()>,
{
    let (client, peer) = duplex(PIPE_BYTES);
    spawn_local(async move {
        serve(options.handshake(peer).await.expect("a handshake")).await;
    });
    H2Connection::handshake(client, LeaseDeadline::none(), SpareBuffer::default()).await.expect("a handshake")
}

/// Answers every request with what it sent, its path in front.
async fn echo(mut peer: Served) {
    while let Some(accepted) = peer.accept().await {
        let Ok((request, mut respond)) = accepted else { return };
        spawn_local(async move {
            let (head, mut body) = request.into_parts();
            let Ok(mut send) = respond.send_response(http::Response::new(()), false) else { return };
            let _ = send.send_data(Bytes::copy_from_slice(head.uri.path().as_bytes()), false);
            while let Some(Ok(bytes)) = body.data().await {
                let _ = body.flow_control().release_capacity(bytes.len());
                let _ = send.send_data(bytes, false);
            }
            let _ = send.send_data(Bytes::new(), true);
        });
    }
}

#[test]
fn a_request_is_answered_and_accounted() {
    run(async {
        let connection = connect(server::Builder::new(), echo).await;
        let mut kept = Kept::default();
        let traffic = connection.exchange(request("/a"), Bytes::new(), &mut kept).await.expect("an answer");
        assert_eq!((kept.status, kept.body.as_slice()), (200, &b"/a"[..]));
        assert_eq!(kept.traffic, Some(traffic));
        assert!(traffic.bytes_sent > 9 && traffic.bytes_received > 3 * 9 + 2, "{traffic:?}");
        assert!(traffic.sent <= traffic.first && traffic.first <= traffic.ended && traffic.sent.is_some());
        assert_eq!(connection.load(), 0);
    });
}

#[test]
fn large_bodies_go_both_ways_at_once() {
    run(async {
        let connection = connect(server::Builder::new(), echo).await;
        let body = Bytes::from(vec![b'x'; 5 << 20]);
        let mut kept = Kept::default();
        let traffic = connection.exchange(request("/"), body.clone(), &mut kept).await.expect("an answer");
        assert_eq!(kept.body[1..], body);
        assert!(traffic.bytes_sent > body.len() as u64 && traffic.bytes_received > body.len() as u64);
    });
}

/// Answers so many requests with bodies of this size, a piece of each in turn.
async fn in_turn(mut peer: Served, requests: usize, bytes: usize) {
    const PIECE: usize = 16 << 10;
    let mut sending = Vec::new();
    while sending.len() < requests {
        let (_, mut respond) = peer.accept().await.expect("a request").expect("a request");
        let send = respond.send_response(http::Response::new(()), false).expect("it is open");
        sending.push((send, bytes));
    }
    let pieces = async move {
        while !sending.is_empty() {
            for (send, left) in &mut sending {
                let piece = PIECE.min(*left);
                send.reserve_capacity(piece);
                while send.capacity() < piece {
                    std::future::poll_fn(|cx| send.poll_capacity(cx))
                        .await
                        .expect("it is open")
                        .expect("room");
                }
                *left -= piece;
                send.send_data(vec![b'x'; piece].into(), *left == 0).expect("it is open");
            }
            sending.retain(|(_, left)| *left > 0);
        }
    };
    let drive = async { while peer.accept().await.is_some() {} };
    tokio::join!(pieces, drive);
}

#[test]
fn streams_that_are_served_in_turn_do_not_stall() {
    const STREAMS: usize = 100;
    const BYTES: usize = 900 << 10;
    run(async {
        let connection = connect(server::Builder::new(), |peer| in_turn(peer, STREAMS, BYTES)).await;
        let connection = Rc::new(connection);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..STREAMS {
            let connection = Rc::clone(&connection);
            tasks.spawn_local(async move {
                let mut kept = Kept::default();
                connection.exchange(request("/"), Bytes::new(), &mut kept).await.expect("an answer");
                kept.body.len()
            });
        }
        let all = tokio::time::timeout(Duration::from_mins(1), tasks.join_all()).await;
        assert_eq!(all.expect("no stream stalls"), vec![BYTES; STREAMS]);
    });
}

#[test]
fn no_stream_is_refused_before_the_peer_has_said_how_many_it_takes() {
    run(async {
        let (client, peer) = duplex(PIPE_BYTES);
        spawn_local(async move {
            // The client has written by now what it writes without having heard anything.
            tokio::time::sleep(Duration::from_secs(1)).await;
            echo(
                server::Builder::new().max_concurrent_streams(2).handshake(peer).await.expect("a handshake"),
            )
            .await;
        });
        let connection = H2Connection::handshake(client, LeaseDeadline::none(), SpareBuffer::default())
            .await
            .expect("a handshake");
        let connection = Rc::new(connection);
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..50 {
            let connection = Rc::clone(&connection);
            tasks.spawn_local(async move {
                let mut kept = Kept::default();
                connection.exchange(request("/"), Bytes::new(), &mut kept).await.map(|_| kept.status)
            });
        }
        assert_eq!(tasks.join_all().await, vec![Ok(200); 50]);
    });
}

#[test]
fn many_exchanges_share_a_connection() {
    run(async {
        let connection = Rc::new(connect(server::Builder::new(), echo).await);
        let tasks: Vec<_> = (0..150)
            .map(|at| {
                let connection = Rc::clone(&connection);
                spawn_local(async move {
                    for round in 0..3 {
                        let (path, mut kept) = (format!("/{at}/{round}"), Kept::default());
                        connection
                            .exchange(request(&path), Bytes::new(), &mut kept)
                            .await
                            .expect("an answer");
                        assert_eq!(kept.body, path.as_bytes());
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
        assert!(connection.is_open());
    });
}

#[test]
fn the_peers_stream_limit_is_waited_for() {
    run(async {
        let mut options = server::Builder::new();
        options.max_concurrent_streams(2);
        let (most, go) = (Rc::new(Cell::new(0)), Rc::new(Semaphore::new(0)));
        let (seen, wait) = (Rc::clone(&most), Rc::clone(&go));
        let connection = connect(options, async move |mut peer: Served| {
            let now = Rc::new(Cell::new(0));
            while let Some(Ok((_, mut respond))) = peer.accept().await {
                let (now, seen, wait) = (Rc::clone(&now), Rc::clone(&seen), Rc::clone(&wait));
                now.set(now.get() + 1);
                seen.set(seen.get().max(now.get()));
                spawn_local(async move {
                    wait.acquire().await.expect("open").forget();
                    now.set(now.get() - 1);
                    let _ = respond.send_response(http::Response::new(()), true);
                });
            }
        })
        .await;
        let connection = Rc::new(connection);
        until(|| connection.state.turns.limit() == 2).await;
        let tasks: Vec<_> = (0..7)
            .map(|_| {
                let connection = Rc::clone(&connection);
                spawn_local(async move {
                    connection
                        .exchange(request("/"), Bytes::new(), &mut Kept::default())
                        .await
                        .expect("an answer");
                })
            })
            .collect();
        until(|| most.get() == 2).await;
        assert_eq!(connection.load(), 7);
        go.add_permits(7);
        for task in tasks {
            task.await.expect("no panic");
        }
        assert_eq!(most.get(), 2);
    });
}

#[test]
fn a_reset_stream_fails_one_exchange_only() {
    run(async {
        let connection = connect(server::Builder::new(), async |mut peer: Served| {
            while let Some(Ok((request, mut respond))) = peer.accept().await {
                match request.uri().path() {
                    "/reset" => respond.send_reset(::h2::Reason::REFUSED_STREAM),
                    _ => drop(respond.send_response(http::Response::new(()), true)),
                }
            }
        })
        .await;
        let mut kept = Kept::default();
        let error = connection.exchange(request("/reset"), Bytes::new(), &mut kept).await.expect_err("reset");
        assert_eq!(error.kind, ErrorKind::Reset);
        assert!(kept.traffic.expect("accounted").sent.is_some());
        connection.exchange(request("/"), Bytes::new(), &mut Kept::default()).await.expect("an answer");
        assert!(connection.is_open());
    });
}

#[test]
fn a_peer_that_goes_away_finishes_what_runs_and_takes_nothing_new() {
    run(async {
        let connection = connect(server::Builder::new(), async |mut peer: Served| {
            let (_, mut respond) = peer.accept().await.expect("a request").expect("valid");
            peer.graceful_shutdown();
            let _ = respond.send_response(http::Response::new(()), true);
            let _ = std::future::poll_fn(|cx| peer.poll_closed(cx)).await;
        })
        .await;
        connection.exchange(request("/"), Bytes::new(), &mut Kept::default()).await.expect("an answer");
        until(|| !connection.is_open()).await;
        let refused = connection.exchange(request("/"), Bytes::new(), &mut Kept::default()).await;
        assert_eq!(refused.expect_err("gone").kind, ErrorKind::Closed);
    });
}

#[test]
fn a_peer_that_vanishes_closes_running_and_waiting_exchanges() {
    run(async {
        let connection = connect(server::Builder::new(), async |mut peer: Served| {
            let accepted = peer.accept().await;
            drop(peer);
            drop(accepted);
        })
        .await;
        let mut kept = Kept::default();
        let error = connection.exchange(request("/"), Bytes::new(), &mut kept).await.expect_err("closed");
        assert_eq!(error.kind, ErrorKind::Closed, "{error}");
        until(|| !connection.is_open()).await;
        let late = connection.exchange(request("/"), Bytes::new(), &mut Kept::default()).await;
        assert_eq!(late.expect_err("closed").kind, ErrorKind::Closed);
    });
}

#[test]
fn a_peer_that_does_not_speak_the_protocol_is_told_apart() {
    run(async {
        let (client, mut peer) = duplex(PIPE_BYTES);
        spawn_local(async move {
            peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nthis is not HTTP/2 at all, sorry")
                .await
                .expect("room");
            let _ = peer.read_to_end(&mut Vec::new()).await;
        });
        let connection = H2Connection::handshake(client, LeaseDeadline::none(), SpareBuffer::default())
            .await
            .expect("nothing read yet");
        let failed = connection.exchange(request("/"), Bytes::new(), &mut Kept::default()).await;
        assert_eq!(failed.expect_err("garbage").kind, ErrorKind::Protocol);
    });
}

#[test]
fn a_dropped_exchange_resets_its_stream_and_is_accounted() {
    run(async {
        let (held, told) = (Rc::new(Notify::new()), Rc::new(Notify::new()));
        let (arrived, reset) = (Rc::clone(&held), Rc::clone(&told));
        let connection = connect(server::Builder::new(), async move |mut peer: Served| {
            while let Some(Ok((_, mut respond))) = peer.accept().await {
                let (arrived, reset) = (Rc::clone(&arrived), Rc::clone(&reset));
                spawn_local(async move {
                    arrived.notify_one();
                    let reason = std::future::poll_fn(|cx| respond.poll_reset(cx)).await;
                    assert_eq!(reason.ok(), Some(::h2::Reason::CANCEL));
                    reset.notify_one();
                });
            }
        })
        .await;
        let mut kept = Kept::default();
        tokio::select! {
            _ = connection.exchange(request("/"), Bytes::new(), &mut kept) => panic!("nobody answers"),
            () = held.notified() => {}
        }
        told.notified().await;
        assert!(kept.traffic.expect("accounted").sent.is_some());
        assert!(connection.is_open());
        assert_eq!(connection.load(), 0);
    });
}

#[test]
fn an_answer_may_be_left_early() {
    run(async {
        let connection = connect(server::Builder::new(), echo).await;
        let mut kept = Kept { stop_at: Some(1), ..Kept::default() };
        let body = Bytes::from(vec![b'x'; 1 << 20]);
        connection.exchange(request("/"), body, &mut kept).await.expect("an answer");
        assert!(kept.body.len() < 1 << 20);
        connection.exchange(request("/"), Bytes::new(), &mut Kept::default()).await.expect("an answer");
    });
}

#[test]
fn the_driver_ends_with_its_last_handle_even_if_the_peer_is_stuck() {
    run(async {
        let (client, peer) = duplex(128);
        let connection = H2Connection::handshake(client, LeaseDeadline::none(), SpareBuffer::default())
            .await
            .expect("a handshake");
        let state = Rc::clone(&connection.state);
        drop(connection);
        // The clock is paused and only moves when everything waits: nothing but the time limit can end the driver.
        tokio::time::sleep(CLOSE_TIME_MAX * 2).await;
        assert_eq!(Rc::strong_count(&state), 1);
        drop(peer);
    });
}

#[test]
fn a_pool_opens_its_connections_and_uses_the_least_loaded() {
    run(async {
        let pool = H2Pool::new(NonZeroUsize::new(2).expect("not zero"));
        let opened = Cell::new(0);
        let open = async || {
            opened.set(opened.get() + 1);
            Ok::<_, ()>(connect(server::Builder::new(), echo).await)
        };
        let first = pool.connection(open).await.expect("opened");
        let second = pool.connection(open).await.expect("opened");
        assert!(!Rc::ptr_eq(&first, &second));
        let _busy = Load::new(&first.load);
        assert!(Rc::ptr_eq(&pool.connection(open).await.expect("open"), &second));
        first.state.close(H2Error::closed());
        let third = pool.connection(open).await.expect("opened");
        assert!(!Rc::ptr_eq(&third, &first) && !Rc::ptr_eq(&third, &second));
        assert_eq!(opened.get(), 3);
    });
}

#[test]
fn a_failed_opening_lets_the_next_in_line_try() {
    run(async {
        let pool = Rc::new(H2Pool::new(NonZeroUsize::MIN));
        let gate = Rc::new(Notify::new());
        let (first_pool, first_gate) = (Rc::clone(&pool), Rc::clone(&gate));
        let first = spawn_local(async move {
            first_pool
                .connection(async || {
                    first_gate.notified().await;
                    Err::<H2Connection, _>("refused")
                })
                .await
                .map(|_| ())
        });
        yield_now().await;
        let second_pool = Rc::clone(&pool);
        let second = spawn_local(async move {
            let open = async || Ok::<_, &str>(connect(server::Builder::new(), echo).await);
            second_pool.connection(open).await.map(|_| ())
        });
        yield_now().await;
        gate.notify_one();
        assert_eq!(first.await.expect("no panic"), Err("refused"));
        assert_eq!(second.await.expect("no panic"), Ok(()));
    });
}
