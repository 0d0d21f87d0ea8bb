//! Beginning and end of a target.

use hyperscale_target::{BODY_SIZE_MAX, Options, Target};

use crate::wire::{PATIENCE, site};

fn options() -> Options {
    Options::new(([127, 0, 0, 1], 0).into())
}

fn refusal(options: Options) -> String {
    Target::bind(options).err().expect("cannot be bound").to_string()
}

#[test]
fn run_serves_until_its_shutdown_resolves() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let target = Target::bind(options()).expect("loopback can be bound");
    let listen = target.listen();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let client = std::thread::spawn(move || {
        let connected = std::net::TcpStream::connect(listen);
        drop(stop);
        connected
    });
    let serve = target.run(async {
        // The sender is dropped, never used.
        let _ = stopped.await;
    });
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, serve).await })
        .expect("in time")
        .expect("served");
    client.join().expect("no panic").expect("the target accepted");
    assert!(std::net::TcpStream::connect(listen).is_err(), "nobody listens any more");
}

#[test]
fn taken_port_is_refused() {
    let site = site(|_| {});
    let mut taken = options();
    taken.listen = site.running.handle().listen();
    let message = refusal(taken);
    assert!(message.starts_with("cannot listen on 127.0.0.1:"), "{message}");
}

#[test]
fn port_is_free_again_after_the_end() {
    let first = site(|_| {});
    let listen = first.running.handle().listen();
    assert_eq!(first.get("/").status, 200);
    first.running.stop();
    let second = site(|options| options.listen = listen);
    assert_eq!(second.get("/").status, 200);
}

#[test]
fn existing_file_is_not_taken_for_a_unix_socket() {
    let mut options = options();
    options.unix = Some(env!("CARGO_MANIFEST_PATH").into());
    assert!(refusal(options).starts_with("cannot listen on unix socket"), "the path exists");
}

#[test]
fn body_size_has_a_limit() {
    let mut options = options();
    options.body_size = Some(BODY_SIZE_MAX + 1);
    assert!(refusal(options).contains("larger than the limit"));
}
