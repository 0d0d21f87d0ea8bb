//! Following a job: resumption at other servers, duplicates, stale leaders, snapshots, orphans.

use std::time::Duration;

use hyperscale_api::error::Leader;
use hyperscale_api::{Access, CallError, Client, ErrorCode, EventStream, JobEvent, Limits, RpcError};
use hyperscale_types::{ExitCode, Token};
use tokio::time::timeout;

use crate::support::{Node, PATIENCE, Script, absent, client, event, final_event, options};

async fn next(stream: &mut EventStream) -> Result<Option<JobEvent>, CallError> {
    timeout(PATIENCE, stream.next()).await.unwrap()
}

/// The ids of all events until the end.
async fn ids(stream: &mut EventStream) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(event) = next(stream).await.unwrap() {
        ids.push(event.id().to_string());
    }
    ids
}

#[tokio::test]
async fn stream_resumes_at_another_server_without_duplicates_or_stale_events() {
    let (one, other) = (Node::start().await, Node::start().await);
    one.backend.stream(Script::Ends(vec![event(3, 1), event(3, 2)]));
    one.backend.stream(Script::Refuses(RpcError::new(ErrorCode::QuorumUnavailable, "no quorum")));
    other.backend.stream(Script::Stays(vec![
        event(3, 1),
        event(3, 2),
        event(4, 1),
        event(3, 3),
        final_event(4, 2),
    ]));
    let mut stream = client(&[one.url(), other.url()]).events("j", None);
    assert_eq!(ids(&mut stream).await, ["3.1", "3.2", "4.1", "4.2"]);
    let last = Some("3.2".parse().unwrap());
    assert_eq!(one.backend.opened_after(), [None, last]);
    assert_eq!(other.backend.opened_after(), [last]);
    assert_eq!((stream.discarded().duplicates, stream.discarded().stale), (2, 1));
    assert_eq!(stream.last(), Some("4.2".parse().unwrap()));
    assert!(next(&mut stream).await.unwrap().is_none(), "it stays over");
}

#[tokio::test]
async fn stream_begins_after_the_given_event() {
    let node = Node::start().await;
    node.backend.stream(Script::Stays(vec![event(3, 7), final_event(3, 8)]));
    let mut stream = client(&[node.url()]).events("j", Some("3.7".parse().unwrap()));
    assert_eq!(ids(&mut stream).await, ["3.8"]);
    assert_eq!(node.backend.opened_after(), [Some("3.7".parse().unwrap())]);
}

#[tokio::test]
async fn snapshot_that_replaces_lost_events_is_marked() {
    let node = Node::start().await;
    node.backend.stream(Script::Ends(vec![event(3, 1)]));
    let snapshot = JobEvent { resync: true, ..event(3, 90) };
    node.backend.stream(Script::Stays(vec![snapshot, final_event(3, 91)]));
    let mut stream = client(&[node.url()]).events("j", None);
    let mut seen = Vec::new();
    while let Some(event) = next(&mut stream).await.unwrap() {
        seen.push((event.seq, event.resync));
    }
    assert_eq!(seen, [(1, false), (90, true), (91, false)]);
}

#[tokio::test]
async fn stream_follows_the_leader() {
    let (one, leader) = (Node::start().await, Node::start().await);
    let named = Leader { node: "m2".into(), http: Some(leader.address.to_string()), token: Token(3) };
    one.backend.stream(Script::Refuses(RpcError::new(ErrorCode::Moved, "m2 leads the job").leader(&named)));
    leader.backend.stream(Script::Stays(vec![final_event(3, 1)]));
    assert_eq!(ids(&mut client(&[one.url()]).events("j", None)).await, ["3.1"]);
}

#[tokio::test]
async fn stream_survives_the_stop_of_its_server() {
    let (one, other) = (Node::start().await, Node::start().await);
    one.backend.stream(Script::Stays(vec![event(3, 1)]));
    other.backend.stream(Script::Stays(vec![final_event(4, 1)]));
    let mut stream = client(&[one.url(), other.url()]).events("j", None);
    assert_eq!(next(&mut stream).await.unwrap().unwrap().seq, 1);
    assert!(stream.is_connected());
    one.stop().await;
    assert_eq!(ids(&mut stream).await, ["4.1"]);
}

#[tokio::test]
async fn silent_stream_is_taken_for_lost() {
    let limits = Limits { keep_alive: Duration::from_hours(1), ..Limits::NODE };
    let node = Node::with(Access::Open, None, limits).await;
    node.backend.stream(Script::Stays(vec![]));
    for _ in 0..100 {
        node.backend.stream(Script::Stays(vec![event(3, 1), final_event(3, 2)]));
    }
    let mut options = options(&[node.url()]);
    options.timing.silence = Duration::from_millis(20);
    let mut stream = Client::new(options).unwrap().events("j", None);
    assert_eq!(ids(&mut stream).await, ["3.1", "3.2"]);
    assert!(node.backend.opened_after().len() >= 2, "the first one was given up");
}

#[tokio::test]
async fn job_without_any_server_is_orphaned() {
    let node = Node::start().await;
    node.backend.stream(Script::Stays(vec![event(3, 1)]));
    let mut options = options(&[node.url(), absent().await]);
    options.timing.orphaned = Duration::from_millis(50);
    let mut stream = Client::new(options).unwrap().events("j", None);
    assert_eq!(next(&mut stream).await.unwrap().unwrap().seq, 1);
    node.stop().await;
    let error = next(&mut stream).await.unwrap_err();
    let CallError::Orphaned { job, last, .. } = &error else { panic!("{error}") };
    assert_eq!((job.as_str(), *last), ("j", Some("3.1".parse().unwrap())));
    assert_eq!(error.exit_code(), ExitCode::Unreachable);
    assert!(error.fix().contains("hyperscale watch j"), "{}", error.fix());
}

#[tokio::test]
async fn job_that_no_server_knows_is_an_error_at_once() {
    let (one, other) = (Node::start().await, Node::start().await);
    let error = next(&mut client(&[one.url(), other.url()]).events("j", None)).await.unwrap_err();
    assert!(matches!(&error, CallError::Refused(error) if error.is(ErrorCode::UnknownJob)), "{error}");
    assert_eq!((one.backend.opened_after().len(), other.backend.opened_after().len()), (1, 1));
}

#[tokio::test]
async fn job_that_one_server_does_not_know_yet_is_found_at_another() {
    let (one, other) = (Node::start().await, Node::start().await);
    other.backend.stream(Script::Stays(vec![final_event(3, 1)]));
    assert_eq!(ids(&mut client(&[one.url(), other.url()]).events("j", None)).await, ["3.1"]);
}
