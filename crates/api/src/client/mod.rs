//! The client: typed calls and event streams that survive the loss of servers and changes of leadership.
//!
//! ```text
//! call ─► known leader of the job, else the server that responded last, else the next one
//!           moved ─► the named leader, at once            (newer tokens only)
//!           unreachable ─► next server                    (nothing was sent)
//!           quorum errors, lost connection ─► next server (if repeating is harmless)
//!         all servers failed ─► pause, again; three rounds
//! ```
//! Requests that change something carry an id by which servers recognise a repetition; where the caller gives none, the
//! client makes one. A request without an id is never repeated after it was sent.

mod attempt;
mod calls;
mod endpoint;
mod error;
mod exchange;
mod leaders;
mod retry;
mod stream;
mod submit;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::rand;
use hyperscale_types::SplitMix64;
use serde::de::DeserializeOwned;

pub use endpoint::{ServerUrl, Servers, ServersError};
pub use error::CallError;
pub use stream::{Discarded, EventStream, StreamEvent};
pub use submit::FILE_MAX;

use endpoint::Endpoint;
use leaders::Leaders;
use retry::Work;

use crate::event::{EventId, TaskEvent};
use crate::method::{Method, RequestId};
use crate::tls::{ClientTls, TlsError};
use crate::token::ApiToken;

/// How a client reaches its servers.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Servers of one cluster; any of them will do.
    pub servers: Servers,
    /// The token of the servers, if they ask for one.
    pub token: Option<ApiToken>,
    /// Whom to trust with `https`; the authorities of the system if `None`.
    pub tls: Option<ClientTls>,
    /// How long things may take.
    pub timing: Timing,
    /// Seed of the jitter of pauses; from the operating system if `None`.
    pub seed: Option<u64>,
}

impl ClientOptions {
    /// Servers without a token, with the usual times.
    pub fn new(servers: Servers) -> Self {
        Self { servers, token: None, tls: None, timing: Timing::default(), seed: None }
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Time to connect, TLS included.
    pub connect: Duration,
    /// Time for a response, longer than a server gives its backend.
    pub call: Duration,
    /// The same for methods that wait for workers to stop, and for uploads.
    pub wait: Duration,
    /// Rounds over all servers before a call fails.
    pub rounds: u32,
    /// Pause after the first failed round; doubles with each.
    pub pause_min: Duration,
    /// Longest pause.
    pub pause_max: Duration,
    /// Silence after which a stream is taken for lost; longer than two keep-alives of a server.
    pub silence: Duration,
    /// Time without a stream from any server after which a job is reported as orphaned.
    pub orphaned: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            call: Duration::from_secs(15),
            wait: Duration::from_mins(5),
            rounds: 3,
            pause_min: Duration::from_millis(500),
            pause_max: Duration::from_secs(5),
            silence: Duration::from_secs(40),
            orphaned: Duration::from_secs(90),
        }
    }
}

/// Speaks to the servers of a cluster, or to one local run. Clones share what they know about leaders.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    endpoints: Vec<Endpoint>,
    token: Option<ApiToken>,
    tls: Option<ClientTls>,
    timing: Timing,
    jitter: Mutex<SplitMix64>,
    leaders: Mutex<Leaders>,
}

impl Client {
    /// A client for these servers. Nothing is opened yet.
    pub fn new(options: ClientOptions) -> Result<Self, TlsError> {
        let tls = match options.tls {
            None if options.servers.iter().any(ServerUrl::is_tls) => Some(ClientTls::system()?),
            given => given,
        };
        let endpoints = options.servers.iter().cloned().map(Endpoint::Tcp).collect();
        Ok(Self::over(endpoints, options.token, tls, options.timing, options.seed))
    }

    /// A client for the socket of a local run. Nothing is opened yet; a run that is gone does not return, so nothing is
    /// tried twice.
    pub fn unix(socket: &Path) -> Self {
        let timing = Timing { rounds: 1, ..Timing::default() };
        Self::over(vec![Endpoint::Unix(socket.to_owned())], None, None, timing, None)
    }

    fn over(
        endpoints: Vec<Endpoint>,
        token: Option<ApiToken>,
        tls: Option<ClientTls>,
        timing: Timing,
        seed: Option<u64>,
    ) -> Self {
        let jitter = Mutex::new(SplitMix64::new(seed.unwrap_or_else(random)));
        let leaders = Mutex::default();
        Self { shared: Arc::new(Shared { endpoints, token, tls, timing, jitter, leaders }) }
    }

    /// Calls a method and waits for its response.
    pub async fn call<T: DeserializeOwned>(&self, method: &Method) -> Result<T, CallError> {
        let mut method = method.clone();
        method.identify(RequestId::random);
        read(self.carry_out(Work::Call(&method)).await?)
    }

    /// Follows a job after this event, from its beginning if `None`. Nothing is opened until the first event is asked
    /// for.
    pub fn events(&self, job: impl Into<String>, after: Option<EventId>) -> EventStream {
        EventStream::new(self.clone(), job.into(), after)
    }

    /// Follows the tree of a task after this event, or the tasks of a node with `tasks`. Nothing is opened until the first event is
    /// asked for.
    pub fn task_events(&self, task: impl Into<String>, after: Option<EventId>) -> EventStream<TaskEvent> {
        EventStream::new(self.clone(), task.into(), after)
    }

    /// A pause around this one: at least half of it, so that clients that failed together do not return together.
    fn jittered(&self, pause: Duration) -> Duration {
        let mut jitter = self.shared.jitter.lock().unwrap_or_else(PoisonError::into_inner);
        let fraction = (jitter.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        pause.mul_f64(0.5 + 0.5 * fraction)
    }

    fn timing(&self) -> &Timing {
        &self.shared.timing
    }
}

fn read<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, CallError> {
    serde_json::from_value(value).map_err(|error| CallError::Malformed(error.to_string()))
}

fn random() -> u64 {
    let mut bytes = [0; 8];
    rand::fill(&mut bytes).expect("the system has randomness");
    u64::from_le_bytes(bytes)
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoints", &self.shared.endpoints).finish_non_exhaustive()
    }
}
