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

/// A command may hold values of a context: only its size is shown.
impl fmt::Debug for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogEntry")
            .field("type", &self.r#type())
            .field("term", &self.term)
            .field("index", &self.index)
            .field("command_bytes", &self.command.len())
            .field("configuration", &self.configuration)
            .field("context", &self.context)
            .finish()
    }
}

/// The state holds values of contexts: only its size is shown.
impl fmt::Debug for RaftSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RaftSnapshot")
            .field("meta", &self.meta)
            .field("data_bytes", &self.data.len())
            .field("blob", &self.blob)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    fn secret_context() -> ContextValues {
        ContextValues { inline: bytes::Bytes::from_static(b"hunter2"), ..ContextValues::default() }
    }

    fn assert_hidden(shown: &str, size: &str) {
        // A list of bytes is shown as text or as numbers.
        let leaks = ["hunter2", "104, 117, 110"];
        assert!(shown.contains(size) && !leaks.iter().any(|leak| shown.contains(leak)), "{shown}");
    }

    #[test]
    fn context_values_are_not_shown() {
        let dispatch = Dispatch { context: vec![secret_context()], ..Dispatch::default() };
        assert_hidden(&format!("{dispatch:?}"), "inline_bytes: 7");
        let command = Command { body: Some(command::Body::Context(secret_context())), ..Command::default() };
        assert_hidden(&format!("{command:?}"), "inline_bytes: 7");
    }

    #[test]
    fn context_values_in_logs_and_snapshots_are_not_shown() {
        let body = Some(command::Body::Context(secret_context()));
        let command: bytes::Bytes = Command { body, ..Command::default() }.encode_to_vec().into();
        let size = command.len();
        let entry = LogEntry { command: command.clone(), ..LogEntry::default() };
        let snapshot = Some(RaftSnapshot { data: command, ..RaftSnapshot::default() });
        let message = RaftMessage { entries: vec![entry], snapshot, ..RaftMessage::default() };
        let batch = RaftBatch { messages: vec![message], ..RaftBatch::default() };
        let shown = format!("{batch:?} {batch:#?}");
        assert_hidden(&shown, &format!("command_bytes: {size}"));
        assert_hidden(&shown, &format!("data_bytes: {size}"));
    }
}
