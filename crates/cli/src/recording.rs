//! A recorded run: JSON lines, first a header, then every event with its time.
//!
//! ```text
//! {"recording":1,"events":1,"name":"shop","job":"run-…","started_at":"…","environment":{…}}
//! {"t_s":0.000,"event":{"type":"started",…}}
//! {"t_s":1.153,"event":{"type":"snapshot",…}}
//! …
//! {"t_s":31.002,"event":{"type":"finished",…}}
//! ```
//! A recording without `finished` was cut off. Readers refuse what is newer than they are instead of guessing.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use hyperscale_engine::Event;
use hyperscale_engine::event::{self, Started};
use serde::{Deserialize, Serialize};

/// The version of the lines; that of the events in them is counted apart.
pub(crate) const VERSION: u32 = 1;
/// Bytes of one line. The largest event is the result of a large plan after an hour: some megabytes.
const LINE_MAX: u64 = 64 << 20;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// [`VERSION`].
    pub(crate) recording: u32,
    /// Version of the events.
    pub(crate) events: u32,
    /// The plan's name.
    pub(crate) name: String,
    /// The job's id.
    pub(crate) job: String,
    /// When it began, RFC 3339.
    pub(crate) started_at: String,
    /// Facts about the machine and the program.
    pub(crate) environment: BTreeMap<String, String>,
}

impl Header {
    /// The header of a run that has just begun.
    pub(crate) fn of(started: &Started) -> Self {
        Self {
            recording: VERSION,
            events: event::VERSION,
            name: started.name.clone(),
            job: started.job.clone(),
            started_at: started.started_at.clone(),
            environment: started.environment.clone(),
        }
    }
}

/// An event and when it happened.
#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct Timed {
    /// Seconds since the recording began.
    pub(crate) t_s: f64,
    /// What happened.
    pub(crate) event: Event,
}

/// Why a file is not a recording that can be shown. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordingError {
    /// The file cannot be read any further.
    #[error("line {line} cannot be read: {source}")]
    Unreadable {
        /// Where.
        line: u64,
        /// What the system said.
        source: io::Error,
    },
    /// Its first line is not a header.
    #[error("line 1 is not the header of a recording")]
    Foreign,
    /// It was written by a newer version.
    #[error(
        "line 1 says that this is version {recording} of the format with events of version {events}; \
         this program knows {VERSION} and {known}",
        known = event::VERSION
    )]
    Newer {
        /// Version of the lines.
        recording: u32,
        /// Version of the events.
        events: u32,
    },
    /// A line is not an event.
    #[error("line {line} is not an event: {message}")]
    Line {
        /// Which.
        line: u64,
        /// What the reader said.
        message: String,
    },
    /// The last line is incomplete, or `finished` is missing.
    #[error("the recording ends after line {line} without a result: it was cut off")]
    Truncated {
        /// The last whole line.
        line: u64,
    },
}

/// Writes the first line.
pub(crate) fn write_header(out: &mut impl Write, header: &Header) -> io::Result<()> {
    serde_json::to_writer(&mut *out, header)?;
    out.write_all(b"\n")
}

/// Writes one event.
pub(crate) fn write_event(out: &mut impl Write, t_s: f64, event: &Event) -> io::Result<()> {
    write!(out, "{{\"t_s\":{t_s:.3},\"event\":")?;
    serde_json::to_writer(&mut *out, event)?;
    out.write_all(b"}\n")
}

/// Reads a recording line by line.
pub(crate) struct Reader<R> {
    input: R,
    line: u64,
    text: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    pub(crate) fn open(input: R) -> Result<(Header, Self), RecordingError> {
        /// What every version has.
        #[derive(Deserialize)]
        struct Versions {
            recording: u32,
            events: u32,
        }
        let mut reader = Self { input, line: 0, text: Vec::new() };
        if !reader.read_line()? {
            return Err(RecordingError::Foreign);
        }
        let Versions { recording, events } =
            serde_json::from_slice(&reader.text).map_err(|_| RecordingError::Foreign)?;
        if recording > VERSION || events > event::VERSION {
            return Err(RecordingError::Newer { recording, events });
        }
        let header = serde_json::from_slice(&reader.text).map_err(|_| RecordingError::Foreign)?;
        Ok((header, reader))
    }

    /// The next event. `finished` is the last; asking on is asking for what was cut off.
    pub(crate) fn next(&mut self) -> Result<Timed, RecordingError> {
        if !self.read_line()? {
            return Err(RecordingError::Truncated { line: self.line });
        }
        let whole = self.text.ends_with(b"\n");
        serde_json::from_slice(&self.text).map_err(|error| {
            if whole {
                RecordingError::Line { line: self.line, message: error.to_string() }
            } else {
                RecordingError::Truncated { line: self.line - 1 }
            }
        })
    }

    /// Takes the next line in; `false` at the end.
    fn read_line(&mut self) -> Result<bool, RecordingError> {
        self.text.clear();
        let line = self.line + 1;
        let unreadable = |source| RecordingError::Unreadable { line, source };
        let mut limited = io::Read::take(&mut self.input, LINE_MAX);
        let read = limited.read_until(b'\n', &mut self.text).map_err(unreadable)?;
        if read as u64 == LINE_MAX && !self.text.ends_with(b"\n") {
            return Err(unreadable(io::Error::other("the line is too long")));
        }
        self.line += u64::from(read > 0);
        Ok(read > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a file says: it is refused, or its events come one after the other until the file is over.
    #[test]
    fn fuzz_recording() {
        bolero::check!(name = "recording").for_each(|bytes: &[u8]| {
            let Ok((_, mut reader)) = Reader::open(bytes) else { return };
            let lines = bytes.split(|byte| *byte == b'\n').count();
            let events = std::iter::from_fn(|| reader.next().ok()).take(lines + 1).count();
            assert!(events < lines, "an event is a line, and the first line is none");
        });
    }

    const SNAPSHOT: &str = include_str!("faces/snapshot.test.json");

    fn started() -> Started {
        Started { name: "shop".into(), job: "run-1".into(), ..Started::default() }
    }

    fn recorded(events: &[Event]) -> Vec<u8> {
        let mut out = Vec::new();
        write_header(&mut out, &Header::of(&started())).unwrap();
        for (number, event) in events.iter().enumerate() {
            write_event(&mut out, number as f64, event).unwrap();
        }
        out
    }

    fn events() -> Vec<Event> {
        let snapshot: Event = serde_json::from_str(SNAPSHOT).unwrap();
        let Event::Snapshot(inner) = &snapshot else { panic!("not a snapshot") };
        let finished = Event::Finished(Box::new(inner.result.clone()));
        vec![Event::Started(Box::new(started())), snapshot, finished]
    }

    fn read_all(bytes: &[u8]) -> Result<Vec<Timed>, RecordingError> {
        let (_, mut reader) = Reader::open(bytes)?;
        let mut all = Vec::new();
        while !matches!(all.last(), Some(Timed { event: Event::Finished(_), .. })) {
            all.push(reader.next()?);
        }
        Ok(all)
    }

    #[test]
    fn what_was_written_is_read_again() {
        let events = events();
        let read = read_all(&recorded(&events)).unwrap();
        assert_eq!(read.iter().map(|timed| timed.t_s).collect::<Vec<_>>(), [0.0, 1.0, 2.0]);
        assert_eq!(read.into_iter().map(|timed| timed.event).collect::<Vec<_>>(), events);
    }

    #[test]
    fn cut_off_recordings_say_after_which_line() {
        let bytes = recorded(&events());
        let without_end = read_all(&recorded(&events()[..2])).unwrap_err();
        assert!(matches!(without_end, RecordingError::Truncated { line: 3 }), "{without_end}");
        let mid_line = read_all(&bytes[..bytes.len() - 10]).unwrap_err();
        assert!(matches!(mid_line, RecordingError::Truncated { line: 3 }), "{mid_line}");
    }

    #[test]
    fn foreign_and_newer_files_are_told_apart() {
        assert!(matches!(read_all(b"").unwrap_err(), RecordingError::Foreign));
        assert!(matches!(read_all(b"workflows:\n  A: {}\n").unwrap_err(), RecordingError::Foreign));
        assert!(matches!(read_all(b"{\"version\":1}\n").unwrap_err(), RecordingError::Foreign));
        let newer = b"{\"recording\":1,\"events\":9,\"more\":true}\n";
        assert!(matches!(read_all(newer).unwrap_err(), RecordingError::Newer { events: 9, .. }));
    }

    #[test]
    fn wrong_line_is_named() {
        let mut bytes = recorded(&events()[..1]);
        bytes.extend_from_slice(b"{\"t_s\":1,\"event\":{\"type\":\"exploded\"}}\n");
        let error = read_all(&bytes).unwrap_err();
        assert!(matches!(error, RecordingError::Line { line: 3, .. }), "{error}");
    }
}
