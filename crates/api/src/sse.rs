//! Reading server-sent events (WHATWG HTML, section 9.2.6) from bytes that come in any pieces.

/// Bytes of one event, with everything before its end: the final result of a large plan has some megabytes.
const EVENT_MAX: usize = 64 << 20;
/// What a text may begin with to say that it is UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event as it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawEvent {
    /// Its id; the one before, if it has none.
    pub id: String,
    /// Its kind; empty if it has none.
    pub event: String,
    /// Its data; lines are joined with line feeds.
    pub data: String,
}

/// An event beyond 64 MiB. The stream cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {EVENT_MAX} bytes")]
pub struct EventTooLarge;

/// Reads events from pieces of a stream.
#[derive(Clone, Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    /// The last byte was a carriage return, so that a line feed now belongs to it.
    after_return: bool,
    /// Whether a first line has been read.
    has_begun: bool,
    id: String,
    event: String,
    data: String,
    /// Whether the event has data, which may be empty.
    has_data: bool,
}

impl Parser {
    /// Reads on; complete events are added to `events`.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<RawEvent>) -> Result<(), EventTooLarge> {
        while let Some((&first, rest)) = bytes.split_first() {
            if std::mem::take(&mut self.after_return) && first == b'\n' {
                bytes = rest;
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() + self.data.len() > EVENT_MAX {
                return Err(EventTooLarge);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { break };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line());
        }
        Ok(())
    }

    fn end_line(&mut self) -> Option<RawEvent> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.has_begun, true) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            return self.end_event();
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            // Comments begin with a colon: their field is empty.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<RawEvent> {
        let (event, data) = (std::mem::take(&mut self.event), std::mem::take(&mut self.data));
        std::mem::take(&mut self.has_data).then(|| RawEvent { id: self.id.clone(), event, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pieces: &[&[u8]]) -> Vec<RawEvent> {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        for piece in pieces {
            parser.push(piece, &mut events).unwrap();
        }
        events
    }

    fn event(id: &str, event: &str, data: &str) -> RawEvent {
        RawEvent { id: id.into(), event: event.into(), data: data.into() }
    }

    #[test]
    fn fields_are_read_whatever_ends_the_lines() {
        let text = "id: 1.2\nevent: snapshot\ndata: {\"a\":1}\n\n";
        let wanted = [event("1.2", "snapshot", "{\"a\":1}")];
        for end in ["\n", "\r\n", "\r"] {
            assert_eq!(parse(&[text.replace('\n', end).as_bytes()]), wanted);
        }
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(parse(&bytes), wanted);
    }

    #[test]
    fn comments_events_without_data_and_unfinished_ones_are_none() {
        assert_eq!(parse(&[b": keep-alive\n\nid: 7\n\nretry: 5\n\ndata: x\n"]), []);
    }

    #[test]
    fn ids_last_and_data_lines_are_joined() {
        let events = parse(&[b"\xef\xbb\xbfid:7\ndata:a\ndata\ndata: b\n\ndata:  c\n\n"]);
        assert_eq!(events, [event("7", "", "a\n\nb"), event("7", "", " c")]);
    }

    #[test]
    fn event_without_end_is_refused() {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        let piece = vec![b'x'; 1 << 20];
        let refused = (0..=64).find_map(|_| parser.push(&piece, &mut events).err());
        assert_eq!(refused, Some(EventTooLarge));
    }
}
