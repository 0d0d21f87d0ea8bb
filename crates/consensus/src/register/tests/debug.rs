//! What nobody may read in a log: values of contexts, and what carries them.

use super::*;
use crate::message::{Entry, EntryBody, Snapshot};
use crate::storage::{Batch, SnapshotWrite};

const SECRET: &str = "hunter2";

fn shows(what: &impl std::fmt::Debug) -> bool {
    let text = format!("{what:?} {what:#?}");
    let as_numbers = format!("{:?}", SECRET.as_bytes());
    text.contains(SECRET) || text.contains(as_numbers.trim_matches(['[', ']']))
}

#[test]
fn values_of_contexts_are_never_shown() {
    let values = Values::Inline(Bytes::from_static(SECRET.as_bytes()));
    assert_eq!(format!("{values:?}"), "Inline(7 bytes)");
    let mut log = Log::new();
    let token = log.led(1);
    let command = Command { token, body: context(1, values) };
    assert!(!shows(&command));
    assert_eq!(log.apply(token, command.body.clone()), Outcome::Done);
    assert!(!shows(log.register()), "nor by the register, its jobs and their contexts");
    let body = EntryBody::Command(command.encode());
    assert!(!shows(&body));
    let entries = vec![Entry { index: 1, term: 1, body }];
    let snapshot = Snapshot { state: log.register().snapshot(), ..Snapshot::default() };
    assert!(!shows(&snapshot));
    let snapshot = Some(SnapshotWrite { snapshot, drop_to: 0, replaces_log: false });
    assert!(!shows(&Batch { entries, snapshot, ..Batch::default() }));
}

#[test]
fn address_of_a_callback_is_never_shown() {
    let callback = format!("https://ci:{SECRET}@example.test/");
    let options = JobOptions { callback, ..JobOptions::default() };
    assert!(!shows(&Accept { options, ..accepted(1, "key", b"plan") }));
}
