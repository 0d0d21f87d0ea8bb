//! Runs of this user on this machine: how a run can be reached ([`steering`]) and how it is found ([`runs`]).

mod error;
pub(crate) mod runs;
pub(crate) mod steering;

use std::path::{Path, PathBuf};

pub(crate) use error::LocalError;
use hyperscale_api::folder;

/// The folder in which the runs of this user listen.
fn folder_path() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR");
    folder::path(runtime.as_deref().map(Path::new), &std::env::temp_dir(), folder::user())
}
