//! The whole path of a request on a network in memory, so that instructions can be counted:
//! `valgrind --tool=callgrind target/release/examples/hot_path 10000`. The budget stands in `instructions.budget`.

use hyperscale_clients::network::MemoryNetwork;
use hyperscale_engine::memory;
use hyperscale_plan::read::{Given, Source, load};

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 13\r\n\r\nHello, World!";

fn main() {
    let iterations: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).expect("how many requests");
    let text = format!(
        "name: hot\nworkflows:\n  W:\n    vus: 1\n    iterations: {iterations}\n    steps:\n      a: {{ http: http://x/ }}\n"
    );
    let source = Source { name: "hot.yaml", bytes: text.as_bytes(), format: None, folder: "".as_ref() };
    let plan = load(&source, &Given::default()).expect("the plan is valid").plan;
    let totals = memory::run(plan, MemoryNetwork::waiting(ANSWER), 1).expect("the workflow runs");
    assert_eq!(totals.iterations.completed, iterations);
}
