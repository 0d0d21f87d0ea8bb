//! The task plane of the binary: what the crate `tasks` cannot have, because it needs plans, the engine and the client of the API.

#[cfg_attr(not(test), expect(dead_code, reason = "used by `serve`"))]
pub(crate) mod load_test;
