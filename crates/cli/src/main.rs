//! The `hyperscale` binary.
fn main() {}
