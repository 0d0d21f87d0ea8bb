//! Receivers that are dead, slow, full or rude: what is lost is counted, and nobody waits longer than promised.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hyperscale_export::{Exporters, FLUSH_TIME, OpenError, Place};
use hyperscale_stats::Event;
use hyperscale_stats::result::ExportResult;

use crate::runs::{result, snapshot};

const PATIENCE: Duration = Duration::from_mins(1);

fn open(url: &str) -> Exporters {
    Exporters::open(&[Place::parse(url).unwrap()]).unwrap()
}

/// So many snapshots, then the result.
fn play(exporters: &mut Exporters, snapshots: u64) {
    for second in 1..=snapshots {
        exporters.event(&Event::Snapshot(Box::new(snapshot(second * 10, second))));
    }
    exporters.event(&Event::Finished(Box::new(result(snapshots * 10, snapshots + 1, true))));
}

fn closed(exporters: Exporters) -> ExportResult {
    exporters.close().remove(0)
}

/// Answers every request with this, and tells the bodies. Ends with the test.
fn receiver(status: &'static str, body: &'static [u8]) -> (SocketAddr, mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, bodies) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            thread::spawn(move || {
                while let Some(request) = read_request(&mut stream) {
                    let length = body.len();
                    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n");
                    drop(sender.send(request));
                    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
                }
            });
        }
    });
    (address, bodies)
}

/// The body of the next request; `None` when the peer has left.
fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    stream.read_exact(&mut body).ok()?;
    Some(body)
}

#[test]
fn dead_receiver_loses_every_state_and_nobody_waits() {
    // Bound and dropped: nobody listens there.
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut exporters = open(&format!("otlp+http://secret@{address}"));
    let began = Instant::now();
    play(&mut exporters, 20);
    assert!(began.elapsed() < FLUSH_TIME, "feeding never waits");
    let export = closed(exporters);
    assert_eq!((export.sent, export.lost), (0, 21));
    let why = export.error.unwrap();
    assert!(why.contains("refused") && !why.contains("secret"), "{why}");
}

#[test]
fn receiver_that_never_answers_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut exporters = open(&format!("prometheus+http://{}", listener.local_addr().unwrap()));
    play(&mut exporters, 20);
    let began = Instant::now();
    let export = closed(exporters);
    assert_eq!((export.sent, export.lost), (0, 21));
    assert!(began.elapsed() < FLUSH_TIME + Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn every_state_is_sent_or_lost_and_the_last_one_is_the_final() {
    let (address, bodies) = receiver("204 No Content", b"");
    let mut exporters = open(&format!("influx+http://{address}/write?db=x"));
    play(&mut exporters, 50);
    let export = closed(exporters);
    assert_eq!(export.sent + export.lost, 51, "{export:?}");
    let bodies: Vec<_> = bodies.try_iter().collect();
    assert_eq!(bodies.len() as u64, export.sent);
    let last = String::from_utf8(bodies[bodies.len() - 1].clone()).unwrap();
    assert!(last.contains("hyperscale_run_finished") && last.contains("value=500i"), "{last}");
}

#[test]
fn refusal_is_not_repeated_and_its_words_are_kept() {
    let (address, bodies) = receiver("404 Not Found", b"database not found: \"x\"\nmore");
    let mut exporters = open(&format!("influx+http://{address}/write?db=x"));
    play(&mut exporters, 0);
    let export = closed(exporters);
    assert_eq!((export.sent, export.lost), (0, 1));
    let why = "the receiver answered with status 404: database not found: \"x\"";
    assert_eq!(export.error.as_deref(), Some(why));
    assert_eq!(bodies.try_iter().count(), 1);
}

#[test]
fn failure_that_may_pass_is_repeated_a_few_times() {
    let (address, bodies) = receiver("503 Service Unavailable", b"");
    let mut exporters = open(&format!("otlp+http://{address}"));
    play(&mut exporters, 0);
    assert_eq!(closed(exporters).lost, 1);
    assert_eq!(bodies.try_iter().count(), 4);
}

#[test]
fn partial_success_is_a_loss() {
    // partial_success { rejected_data_points: 7, error_message: "full" }
    let (address, _bodies) = receiver("200 OK", b"\x0a\x08\x08\x07\x12\x04full");
    let mut exporters = open(&format!("otlp+http://{address}"));
    play(&mut exporters, 0);
    let export = closed(exporters);
    assert_eq!((export.sent, export.lost), (0, 1));
    assert_eq!(export.error.as_deref(), Some("the receiver rejected 7 points: full"));
}

#[test]
fn states_that_never_reached_the_exporters_are_lost_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut exporters = open(&format!("csv:{}", folder.path().join("run.csv").display()));
    let missed = hyperscale_stats::event::Snapshot { missed: 3, ..snapshot(10, 4) };
    exporters.event(&Event::Snapshot(Box::new(missed)));
    exporters.event(&Event::Finished(Box::new(result(10, 5, true))));
    let export = closed(exporters);
    assert_eq!(export.sent + export.lost, 5, "{export:?}");
    assert!(export.lost >= 3, "{export:?}");
}

#[test]
fn nobody_waits_for_a_scrape_that_nobody_made() {
    let mut exporters = open("prometheus://127.0.0.1:0");
    play(&mut exporters, 1);
    let began = Instant::now();
    let export = closed(exporters);
    assert!(began.elapsed() < FLUSH_TIME, "{:?}", began.elapsed());
    assert_eq!((export.sent, export.lost), (0, 1));
    assert_eq!(export.error.as_deref(), Some("nobody scraped the final numbers"));
}

#[test]
fn endpoint_waits_for_the_last_scrape_if_told_to() {
    let mut exporters = open("prometheus://127.0.0.1:0?linger=60s");
    let url = exporters.endpoints().next().unwrap().to_owned();
    let address = url.trim_start_matches("http://").trim_end_matches("/metrics").to_owned();
    play(&mut exporters, 1);
    let closing = thread::spawn(move || closed(exporters));
    // The final page may not be there at once.
    let end = Instant::now() + PATIENCE;
    while !closing.is_finished() && Instant::now() < end {
        let Ok(mut stream) = TcpStream::connect(&address) else { break };
        drop(stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n"));
        let mut answer = String::new();
        drop(stream.read_to_string(&mut answer));
        if answer.contains("hyperscale_run_finished{job=\"run-1\",name=\"check \\\"out\\\", v=2\\\\\"} 1") {
            break;
        }
    }
    let export = closing.join().unwrap();
    assert!(export.sent >= 1 && export.lost == 0, "{export:?}");
}

#[test]
fn what_cannot_be_opened_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let twice = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = |urls: &[&str]| {
        let places: Vec<_> = urls.iter().map(|url| Place::parse(url).unwrap()).collect();
        Exporters::open(&places).err().expect("it cannot be opened")
    };
    let listen = refused(&[&format!("prometheus://{}", taken.local_addr().unwrap())]);
    assert!(matches!(listen, OpenError::Listen { .. }), "{listen}");
    let file = refused(&["csv:nonexistent/folder/run.csv"]);
    assert!(matches!(file, OpenError::File { .. }), "{file}");
    let statsd = format!("statsd://{twice}");
    let twice = refused(&[&statsd, &format!("{statsd}?tags=datadog")]);
    assert!(matches!(twice, OpenError::Twice { .. }), "{twice}");
}
