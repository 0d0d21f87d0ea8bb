//! The guide lists every metric, and no other.

use std::collections::BTreeSet;

use hyperscale_export::names;

#[test]
fn guide_lists_every_metric() {
    let guide = include_str!("../../../../docs/guide/exporting.md");
    let listed: BTreeSet<&str> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| `hyperscale_").and_then(|rest| rest.split('`').next()))
        .collect();
    let known: BTreeSet<&str> =
        names::ALL.iter().map(|metric| metric.name.trim_start_matches("hyperscale_")).collect();
    assert_eq!(listed, known);
}
