//! Developer entry points.
fn main() {}
