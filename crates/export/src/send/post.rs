//! Readings as bodies of HTTP requests: remote write, OTLP, InfluxDB.
//!
//! A failure that may pass – no connection, no answer, 429, 5xx – is repeated a few times with growing pauses, within the
//! time of the reading. Everything else is the receiver's last word. What was repeated may arrive twice: readings are
//! sums with a time, so that changes nothing.

use std::sync::Arc;
use std::time::Duration;

use hyperscale_clients::http::url::UrlError;
use hyperscale_clients::http::{Answer, Post};
use hyperscale_types::Span;
use tokio::time::{Instant, sleep, timeout_at};

use crate::encode::{influx, otlp, remote_write};
use crate::place::PostFormat;
use crate::reading::Reading;

/// Requests for one reading.
const TRIES_MAX: u32 = 4;
/// The pause after the first failure; each further one is three times as long.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// Bytes of what a receiver says that are told.
const WORDS_MAX: usize = 120;
/// Time for one request.
const REQUEST_TIME: Span = Span::from_secs(2);

/// A receiver that bodies are posted to.
pub(super) struct PostSink {
    format: PostFormat,
    post: Post,
}

impl PostSink {
    /// Nothing is connected yet.
    pub(super) fn new(format: PostFormat, url: &str, given: &[(String, String)]) -> Result<Self, UrlError> {
        let fields: &[(&str, &str)] = match format {
            PostFormat::RemoteWrite => &remote_write::FIELDS,
            PostFormat::Otlp => &otlp::FIELDS,
            PostFormat::Influx => &influx::FIELDS,
        };
        let ours = fields.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let fields: Vec<_> = ours.chain(given.iter().cloned()).collect();
        Ok(Self { format, post: Post::new(url, &fields, REQUEST_TIME)? })
    }

    /// Delivers a reading, or says why not.
    pub(super) async fn send(&self, reading: &Reading, until: Instant) -> Result<(), String> {
        let body: Arc<[u8]> = self.encode(reading).into();
        let mut pause = PAUSE_FIRST;
        let mut tries = 1;
        loop {
            let outcome = timeout_at(until, self.post.send(Arc::clone(&body))).await;
            let why = match outcome {
                Ok(Ok(answer)) if (200..300).contains(&answer.status) => return self.accepted(&answer),
                Ok(Ok(answer)) if !may_pass(answer.status) => return Err(refusal(&answer)),
                Ok(Ok(answer)) => refusal(&answer),
                Ok(Err(error)) => error.to_string(),
                Err(_) => return Err("no answer in time".to_owned()),
            };
            if tries == TRIES_MAX || Instant::now() + pause >= until {
                return Err(why);
            }
            sleep(pause).await;
            (tries, pause) = (tries + 1, pause * 3);
        }
    }

    fn encode(&self, reading: &Reading) -> Vec<u8> {
        match self.format {
            PostFormat::RemoteWrite => remote_write::encode(reading),
            PostFormat::Otlp => otlp::encode(reading),
            PostFormat::Influx => influx::encode(reading).concat().into_bytes(),
        }
    }

    fn accepted(&self, answer: &Answer) -> Result<(), String> {
        if self.format == PostFormat::Otlp
            && let Some((points, why)) = otlp::rejected(&answer.body)
        {
            return Err(format!("the receiver rejected {points} points: {}", first_words(why.as_bytes())));
        }
        Ok(())
    }
}

/// Whether the same request may be accepted later.
fn may_pass(status: u16) -> bool {
    status == 429 || status >= 500
}

fn refusal(answer: &Answer) -> String {
    let words = first_words(&answer.body);
    let colon = if words.is_empty() { "" } else { ": " };
    format!("the receiver answered with status {}{colon}{words}", answer.status)
}

/// The beginning of what a receiver says.
fn first_words(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(&text[..text.len().min(WORDS_MAX)]);
    text.lines().next().unwrap_or_default().trim().to_owned()
}
