//! The dashboard of task nodes in a real browser, as wide as a desktop and as a phone.

mod browser;
mod checks;

use std::cell::RefCell;

use serde_json::json;

use crate::support::Target;
use crate::tasks::node::TaskNode;
use browser::{Browser, Scheme};

const DESKTOP: (u32, Scheme) = (1_280, Scheme::Light);
const PHONE: (u32, Scheme) = (390, Scheme::Dark);
const TOKEN: &str = "a-token-that-only-this-test-knows";

#[test]
fn tasks_are_listed_followed_and_cancelled_on_a_desktop() {
    tasks(DESKTOP);
}

#[test]
fn tasks_are_listed_followed_and_cancelled_on_a_phone() {
    tasks(PHONE);
}

fn tasks((width, scheme): (u32, Scheme)) {
    let node = TaskNode::start(&[]);
    let (mut browser, base) = (Browser::open(width, scheme), node.server());
    checks::list_is_paged_and_filtered_by_the_server(&mut browser, &base);
    checks::new_tasks_are_announced_and_rows_stay(&mut browser, &base);
    checks::keyboard_opens_and_leaves_things(&mut browser, &base);
    checks::tree_is_followed_to_its_end(&mut browser, &base);
    checks::cancelling_asks_first_and_errors_are_shown(&mut browser, &base);
    checks::hostile_texts_are_not_run(&mut browser, &base);
}

#[test]
fn schedules_and_nodes_are_shown_and_operated() {
    let node = TaskNode::start(&[]);
    for (width, scheme) in [DESKTOP, PHONE] {
        let (mut browser, base) = (Browser::open(width, scheme), node.server());
        checks::schedule_is_paused_resumed_triggered_and_deleted(&mut browser, &base);
        checks::nodes_and_leader_are_shown(&mut browser, &base);
    }
}

#[test]
fn load_test_is_shown_with_what_it_measured() {
    let (target, node) = (Target::start(&[]), TaskNode::start(&[]));
    let plan = format!(
        "workflows:\n  Load: {{ vus: 2, duration: 3s, steps: {{ call: {{ http: '{}/json' }} }} }}\n",
        target.base
    );
    let task = json!({ "name": "load", "executor": "load_test", "inputs": { "plan": plan } });
    let created = node.result("tasks.create", &json!({ "task": task }));
    let id = created["tree"].as_str().unwrap();
    let ended = node.wait_for(id, "completed");
    assert_eq!(ended["result"]["totals"]["requests"], target.seen().requests);
    for (width, scheme) in [DESKTOP, PHONE] {
        let mut browser = Browser::open(width, scheme);
        checks::load_test_is_shown_with_its_charts(&mut browser, &node.server(), id);
    }
}

#[test]
fn token_is_asked_for_by_the_page() {
    let node = TaskNode::start(&["--token", TOKEN]);
    for (width, scheme) in [DESKTOP, PHONE] {
        checks::token_is_asked_for(&mut Browser::open(width, scheme), &node.server(), TOKEN);
    }
}

#[test]
fn connection_that_is_lost_is_shown_and_comes_back() {
    let node = RefCell::new(TaskNode::start(&[]));
    let base = node.borrow().server();
    let (width, scheme) = PHONE;
    checks::lost_connection_is_seen_and_comes_back(
        &mut Browser::open(width, scheme),
        &base,
        || node.borrow_mut().kill(),
        || node.borrow_mut().return_to_its_address(),
    );
}
