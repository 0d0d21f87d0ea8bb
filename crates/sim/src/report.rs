//! A failure as text: what broke, how to repeat it, and what every node did last.

use std::fmt::Write;

use crate::run::{Options, Outcome, run};
use crate::world::Size;

/// Nodes whose last events are shown besides the one at which it broke.
const OTHERS_SHOWN: usize = 40;

/// The command that repeats a seed.
pub fn command(seed: u64, options: Options) -> String {
    let mut command = format!("cargo xtask sim --seed {seed}");
    if options.size == Size::Large {
        command.push_str(" --large");
    }
    if let Some(time) = options.faults_for {
        let _ = write!(command, " --minutes {}", time.as_secs() / 60);
    }
    if let Some(bug) = options.bug {
        let _ = write!(command, " --bug {bug}");
    }
    command
}

/// One line about a seed.
pub fn line(outcome: &Outcome) -> String {
    let shape = &outcome.shape;
    let faults: Vec<String> = outcome.kinds.iter().map(|kind| format!("{kind:?}")).collect();
    let verdict = match (&outcome.violation, outcome.converged) {
        (Some(violation), _) => {
            format!("BROKE {} at {}: {}", violation.invariant, violation.at, violation.what)
        }
        (None, Some(took)) => format!("held; converged after {:.1} s", took.as_secs_f64()),
        (None, None) => "held".to_owned(),
    };
    format!(
        "seed {}: {} dc × {} managers, {} gates, {} workers; {} events, trace {:016x}; faults [{}]; {verdict}",
        outcome.seed,
        shape.datacenters,
        shape.managers,
        shape.gates,
        shape.workers,
        outcome.events,
        outcome.trace,
        faults.join(" ")
    )
}

/// Runs a failed seed again with its events kept, and tells everything.
pub fn failure(seed: u64, options: Options) -> String {
    let outcome = run(seed, Options { record: true, ..options });
    let mut text = format!("{}\n  repeat: {}\n", line(&outcome), command(seed, options));
    let Some(violation) = &outcome.violation else {
        text.push_str("  it did not happen again: the run is not deterministic, which is a bug of its own\n");
        return text;
    };
    let world = &outcome.world;
    let first = violation.node;
    let others = (0..world.nodes.len()).filter(|node| Some(*node) != first).take(OTHERS_SHOWN);
    for node in first.into_iter().chain(others) {
        let _ = writeln!(
            text,
            "  last events of {} ({:?}):",
            world.name_of(node),
            world.truth.nodes[node].process
        );
        for (at, event) in world.recorder.last_of(node) {
            let _ = writeln!(text, "    {at:>14} {event}");
        }
    }
    text
}
