//! What the commands print, as snapshots; ids, times and ports are masked.

use insta::assert_snapshot;

use super::CHAIN;
use super::node::TaskNode;
use crate::commands::{masked, shown, snapshot};
use crate::support::{Outcome, PlanFile, run};

fn compare(name: &str, outcome: &Outcome) {
    let mut settings = masked();
    settings.add_filter(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "TASK");
    settings.add_filter(r"\d{4}-\d{2}-\d{2}T[\d:.]+Z", "WHEN");
    settings.add_filter(r"/\S*tree\.yaml", "tree.yaml");
    settings.add_filter(r" {2,}", "  ");
    settings.bind(|| assert_snapshot!(name, shown(outcome)));
}

#[test]
fn help_of_the_task_plane_is_complete() {
    snapshot!("help_serve", run(&["serve", "--help"]));
    snapshot!("help_tasks", run(&["tasks", "--help"]));
    snapshot!("help_tasks_create", run(&["tasks", "create", "--help"]));
    snapshot!("help_tasks_list", run(&["tasks", "list", "--help"]));
    snapshot!("help_schedules", run(&["schedules", "--help"]));
    snapshot!("help_schedules_create", run(&["schedules", "create", "--help"]));
    snapshot!("help_nodes", run(&["nodes", "--help"]));
}

#[test]
fn commands_show_trees_tasks_and_nodes() {
    let node = TaskNode::start(&["--node-id", "n1"]);
    let file = PlanFile::named("tree.yaml", CHAIN);
    compare("tasks_list_empty", &node.run(&["tasks", "list"]));
    let created = node.run(&["tasks", "create", &file.path(), "--idempotency-key", "once"]);
    let tree = created.stdout.lines().next().unwrap().to_owned();
    let ended = node.run(&["tasks", "watch", &tree, "--quiet"]);
    compare("tasks_watch", &ended);
    compare(
        "tasks_create_again",
        &sorted(node.run(&["tasks", "create", &file.path(), "--idempotency-key", "once"])),
    );
    compare("tasks_get", &node.run(&["tasks", "get", &tree]));
    compare("tasks_list", &sorted(node.run(&["tasks", "list"])));
    compare("tasks_events", &node.run(&["tasks", "events", &tree]));
    compare("tasks_cancel_ended", &node.run(&["tasks", "cancel", &tree]));
    compare("nodes", &node.run(&["nodes"]));
}

#[test]
fn commands_show_schedules() {
    let node = TaskNode::start(&[]);
    let text = "name: nightly\ntrigger: { cron: { expression: '0 3 * * *', time_zone: Europe/Berlin } }\n\
                tasks: { check: { executor: wait, inputs: { duration: 0 } } }\n";
    let file = PlanFile::named("nightly.yaml", text);
    compare("schedules_list_empty", &node.run(&["schedules", "list"]));
    compare("schedules_create", &node.run(&["schedules", "create", &file.path()]));
    compare("schedules_pause", &node.run(&["schedules", "pause", "nightly"]));
    compare("schedules_trigger", &node.run(&["schedules", "trigger", "nightly"]));
    compare("schedules_delete", &node.run(&["schedules", "delete", "nightly"]));
    compare("schedules_unknown", &node.run(&["schedules", "pause", "weekly"]));
    let wrong = PlanFile::named("tree.yaml", "name: x\ntrigger: { cron: daily }\ntasks: {}\n");
    compare("schedules_bad_trigger", &node.run(&["schedules", "create", &wrong.path()]));
}

/// Lines in the order of their texts: tasks of one millisecond have ids in any order.
fn sorted(mut outcome: Outcome) -> Outcome {
    let mut lines: Vec<&str> = outcome.stdout.lines().collect();
    let key = |line: &&str| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
    lines.sort_by_key(key);
    outcome.stdout = lines.join("\n") + "\n";
    outcome
}
