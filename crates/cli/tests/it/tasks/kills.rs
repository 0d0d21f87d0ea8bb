//! `kill -9` at many points of a tree: after the restart the rest is finished, and what had completed is not repeated.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::node::TaskNode;
use crate::support::{PATIENCE, Target};

/// Events of a tree of three tasks that nothing disturbs: created, assigned, started and completed each.
const EVENTS: usize = 12;
/// Milliseconds after the submission: before, between and after its events. The load test takes 300 ms of them.
const OFFSETS: [u64; 6] = [3, 17, 71, 139, 281, 397];
/// Nodes that are killed at the same time; more would only wait for a core.
const AT_A_TIME: usize = 6;

/// When a node is killed.
#[derive(Clone, Copy, Debug)]
enum Point {
    /// After so many events of the tree.
    Event(usize),
    /// After so many milliseconds.
    Offset(u64),
}

#[test]
fn tree_is_finished_after_a_kill_at_any_point_and_repeats_nothing_that_completed() {
    let target = Target::start(&[]);
    let events = (1..=EVENTS).map(Point::Event);
    let points: Vec<Point> = events.chain(OFFSETS.map(Point::Offset)).collect();
    thread::scope(|scope| {
        for first in 0..AT_A_TIME {
            let (points, target) = (&points, &target);
            scope.spawn(move || {
                for number in (first..points.len()).step_by(AT_A_TIME) {
                    kill_at(points[number], number, target);
                }
            });
        }
    });
}

/// Seed, load test and report; each can be told from those of other points by its path at the target.
fn tree(base: &str, number: usize) -> Value {
    let plan = format!(
        "workflows: {{ W: {{ vus: 1, duration: 300ms, steps: {{ call: {{ http: '{base}/load/{number}' }} }} }} }}"
    );
    let after = |names: &[&str]| names.iter().map(|name| json!({ "task": name })).collect::<Vec<_>>();
    json!({ "tasks": [
        { "name": "seed", "executor": "http", "inputs": { "url": format!("{base}/seed/{number}") } },
        { "name": "load", "executor": "load_test", "inputs": { "plan": plan }, "depends_on": after(&["seed"]) },
        { "name": "report", "executor": "webhook", "inputs": { "url": format!("{base}/report/{number}") },
          "depends_on": after(&["seed", "load"]) },
    ] })
}

fn kill_at(point: Point, number: usize, target: &Target) {
    let mut node = TaskNode::start(&[]);
    let created = node.result("tasks.create", &tree(&target.base, number));
    match point {
        Point::Event(count) => wait_for_events(&node, created["tree"].as_str().unwrap(), count),
        Point::Offset(ms) => thread::sleep(Duration::from_millis(ms)),
    }
    let before = tasks(&node, &created);
    node.restart();
    let last = created["tasks"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
    node.wait_for(&last, "completed");
    let after = tasks(&node, &created);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(after["status"], "completed", "{point:?}: {after}");
        if before["status"] == "completed" {
            assert_eq!(after, before, "{point:?}: completed before the kill");
        }
        let params = json!({ "task": after["id"] });
        let events = node.result("tasks.events", &params)["events"].as_array().unwrap().clone();
        let completed = events.iter().filter(|event| event["kind"] == "completed").count();
        let ended = events.last().unwrap()["kind"] == "completed";
        assert!(completed == 1 && ended, "{point:?}: completed once, and nothing after it: {events:?}");
    }
    let crashes: u64 = after.iter().map(|task| task["crashes"].as_u64().unwrap()).sum();
    assert!(crashes <= 1, "{point:?}: one ran when the node was killed: {after:?}");
    // The outside witness: an attempt sends one request, unless it is killed before it can.
    for (index, name) in [(0, "seed"), (2, "report")] {
        let requests = target.seen().at(&format!("/{name}/{number}"));
        let attempts = after[index]["attempt"].as_u64().unwrap();
        assert!((1..=attempts).contains(&requests), "{point:?}: {name} {requests} of {attempts}");
    }
}

/// The tasks of the tree in the order in which they were submitted.
fn tasks(node: &TaskNode, created: &Value) -> Vec<Value> {
    let ids = created["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone());
    ids.map(|id| node.result("tasks.get", &json!({ "task": id }))).collect()
}

/// Follows the stream of a tree until it has told so many events.
fn wait_for_events(node: &TaskNode, tree: &str, count: usize) {
    let mut stream = TcpStream::connect(&node.http).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /events/{tree} HTTP/1.1\r\nhost: {}\r\n\r\n", node.http).unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let events = lines.filter(|line| line.starts_with("event: "));
    assert_eq!(events.take(count).count(), count, "the stream ended early");
}
