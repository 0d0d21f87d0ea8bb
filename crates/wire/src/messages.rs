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

/// What an attempt left may hold values of a context.
impl fmt::Debug for AttemptResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptResult")
            .field("attempt", &self.attempt)
            .field("worker", &self.worker)
            .field("job_leader_token", &self.job_leader_token)
            .field("how", &self.how())
            .field("left_bytes", &self.left.len())
            .finish()
    }
}

/// A decision may hold such values.
impl fmt::Debug for Decide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decide")
            .field("job_id", &self.job_id)
            .field("inline_bytes", &self.inline.len())
            .field("blob", &self.blob)
            .field("has_effect", &self.effect.is_some())
            .field("closes", &self.closes)
            .finish()
    }
}

/// Only its size is shown.
impl fmt::Debug for JsonValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonValue({} bytes)", self.json.len())
    }
}

/// Variables may be secret, and a plan may hold secrets literally.
impl fmt::Debug for PlanBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanBundle")
            .field("name", &self.name)
            .field("text_bytes", &self.text.len())
            .field("files", &self.files.len())
            .finish_non_exhaustive()
    }
}

/// Only its name is shown.
impl fmt::Debug for PlanVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlanVariable({})", self.name)
    }
}

/// Without the callback, whose address may carry a password.
impl fmt::Debug for JobOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobOptions")
            .field("on_isolation", &self.on_isolation())
            .field("on_worker_loss", &self.on_worker_loss())
            .field("timeout_ms", &self.timeout_ms)
            .field("max_retries", &self.max_retries)
            .field("datacenters", &self.datacenters)
            .field("split", &self.split())
            .field("callback_bytes", &self.callback.len())
            .field("retain_ms", &self.retain_ms)
            .finish_non_exhaustive()
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
    use hyperscale_types::Now;
    use prost::Message;

    use super::*;
    use crate::chunk::Chunk;
    use crate::class::{Class, Lane};
    use crate::domain::Domain;
    use crate::entropy::SeededEntropy;
    use crate::link::{Keys, Link};
    use crate::noise::Opened;
    use crate::secret::{Secret, Secrets};

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
        let value = JsonValue { json: bytes::Bytes::from_static(b"hunter2") };
        let dispatch = Dispatch { context: vec![value.clone()], setup: vec![value], ..Dispatch::default() };
        assert_hidden(&format!("{dispatch:?}"), "JsonValue(7 bytes)");
        let left = bytes::Bytes::from_static(b"hunter2");
        assert_hidden(&format!("{:?}", AttemptResult { left, ..AttemptResult::default() }), "left_bytes: 7");
        let command = Command { body: Some(command::Body::Context(secret_context())), ..Command::default() };
        assert_hidden(&format!("{command:?}"), "inline_bytes: 7");
    }

    #[test]
    fn callbacks_of_jobs_are_not_shown() {
        let options = JobOptions { callback: "hunter2".to_owned(), ..JobOptions::default() };
        let submit = JobSubmit { options: Some(options.clone()), ..JobSubmit::default() };
        let accept = JobAccept { options: Some(options), ..JobAccept::default() };
        assert_hidden(&format!("{submit:?}"), "callback_bytes: 7");
        assert_hidden(&format!("{accept:?}"), "callback_bytes: 7");
    }

    #[test]
    fn bytes_of_messages_are_not_shown_on_their_way() {
        let mut sender = Link::over_tls(Lane::Bulk);
        let mux = sender.mux().unwrap();
        mux.send(Class::Data, "hunter2".into()).unwrap();
        let transfer = mux.begin(Class::Data, "hunter2".into()).unwrap();
        mux.push(transfer, "hunter2".into()).unwrap();
        assert_hidden(&format!("{sender:?}"), "queued_bytes: 21");
        let mut bytes = Vec::new();
        while sender.transmit(Now::ZERO, &mut bytes) {}
        assert_hidden(&format!("{sender:?}"), "queued_bytes: 0");

        let (domain, current) = (Domain::new("default", "").unwrap(), Secret::development());
        let keys = Keys { domain, secrets: Secrets { current, previous: None } };
        let (mut receiver, mut events) = (Link::over_tls(Lane::Bulk), Vec::new());
        let (whole, cut) = bytes.split_at(bytes.len() - 1);
        for part in [whole, cut] {
            receiver.receive(Now::ZERO, &keys, part, &mut SeededEntropy::new(1), &mut events).unwrap();
            assert_hidden(&format!("{receiver:?} {events:?}"), "bytes: 7");
        }
        assert_eq!(events.len(), 3, "a message, a head and a piece");
        let chunk = Chunk::Data { stream: 1, first: None, last: false, payload: b"hunter2" };
        assert_hidden(&format!("{chunk:?} {:?}", Opened::Chunk(b"hunter2")), "payload_bytes: 7");
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
