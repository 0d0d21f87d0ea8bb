//! The messages of all planes, generated from `proto/*.proto`.

use std::fmt;

pub use self::generated::*;

mod generated {
    #![expect(
        missing_docs,
        clippy::pedantic,
        reason = "generated code; the proto files are its documentation"
    )]

    include!(concat!(env!("OUT_DIR"), "/hyperscale.v1.rs"));
}

/// Values may be secret: only their size is shown.
impl fmt::Debug for ContextValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextValues")
            .field("job_id", &self.job_id)
            .field("workflow", &self.workflow)
            .field("version", &self.version)
            .field("inline_bytes", &self.inline.len())
            .field("blob", &self.blob)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_values_are_not_shown() {
        let context =
            ContextValues { inline: bytes::Bytes::from_static(b"hunter2"), ..ContextValues::default() };
        let dispatch = Dispatch { context: vec![context], ..Dispatch::default() };
        let shown = format!("{dispatch:?}");
        assert!(shown.contains("inline_bytes: 7") && !shown.contains("hunter2"), "{shown}");
    }
}
