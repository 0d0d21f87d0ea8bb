//! Plans from text, answers from memory.

use hyperscale_clients::network::MemoryNetwork;
use hyperscale_engine::memory;
use hyperscale_plan::model::Plan;
use hyperscale_plan::problem;
use hyperscale_plan::read::{Given, Source, load};
use hyperscale_stats::{StepStats, Totals};
use tokio::runtime::{self, LocalOptions};

/// A plan of one workflow `W` with these lines.
pub(crate) fn plan(workflow: &str) -> Plan {
    let body = workflow.lines().map(|line| ["    ", line, "\n"].concat()).collect::<Vec<_>>().concat();
    let text = format!("name: test\nworkflows:\n  W:\n{body}");
    let source = Source { name: "test.yaml", bytes: text.as_bytes(), format: None, folder: "".as_ref() };
    match load(&source, &Given::default()) {
        Ok(loaded) => loaded.plan,
        Err(problems) => panic!("{}", problem::render(&problems)),
    }
}

/// An answer with a body.
pub(crate) fn answer(status: u16, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Runs a workflow against one answer; the books must balance.
pub(crate) fn run(workflow: &str, answer: &str) -> Totals {
    let totals = memory::run(plan(workflow), MemoryNetwork::waiting(answer), 7).expect("the workflow runs");
    totals.balance().expect("the books balance");
    totals
}

/// Runs a workflow whose virtual users loop on a clock that is a model: it goes on when everybody waits, so that what
/// happens does not depend on the machine.
pub(crate) fn run_by_model_clock(workflow: &str, answer: &str) -> Totals {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime");
    let network = MemoryNetwork::waiting(answer);
    let totals = memory::run_in(&runtime, plan(workflow), network, 7).expect("the workflow runs");
    totals.balance().expect("the books balance");
    totals
}

/// The statistics of a step.
pub(crate) fn step<'a>(totals: &'a Totals, name: &str) -> &'a StepStats {
    totals.step(&name.parse().expect("a name")).expect("the step exists")
}
