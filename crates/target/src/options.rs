//! What the target is told to do: addresses, injected latency, errors and stalls, TLS.
//!
//! Owns the text forms of the command-line options (`5ms`, `uniform:1ms..9ms`, `1%`, `10s,1s`). Reads no files and
//! no environment: certificates come in as PEM text.

use std::fmt;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use hyperscale_types::Span;
use hyperscale_types::duration::SpanError;

/// Largest body that `/` may be told to answer with. Bodies are generated, not stored; the limit only keeps a typing
/// error from turning every answer into a download without end.
pub const BODY_SIZE_MAX: u64 = 1 << 30;

/// Longest latency, stall or delay that can be injected; anything longer is indistinguishable from a dead server.
pub const DELAY_MAX: Duration = Duration::from_hours(1);

/// How the target listens and which faults it injects into every answer.
#[derive(Debug, Clone)]
pub struct Options {
    /// TCP address to listen on; port 0 picks a free one, see [`crate::Target::listen`].
    pub listen: SocketAddr,
    /// Also listen on this unix socket. The path must not exist; it is removed when the target stops.
    pub unix: Option<PathBuf>,
    /// Added before every answer except those of the `/__` routes.
    pub latency: Latency,
    /// Share of requests answered with status 500 instead of their route; drawn from `seed`.
    pub error_rate: ErrorRate,
    /// Global pauses in which requests are read and counted but nothing is answered.
    pub stall: Option<Stall>,
    /// Bytes in the body of `/` and of unknown paths; `None` is the 13 bytes `Hello, World!`.
    pub body_size: Option<u64>,
    /// Speak TLS (with ALPN `h2` and `http/1.1`) on the TCP address instead of clear text.
    pub tls: Option<TlsOptions>,
    /// Connections open at once; those beyond are reset right after being accepted.
    pub max_connections: Option<usize>,
    /// Threads that serve connections, each with a runtime of its own; connections are dealt out in turn.
    pub threads: NonZeroUsize,
    /// Start of the random sequence behind `latency` and `error_rate`; equal seeds give equal draws per thread.
    pub seed: u64,
}

impl Options {
    /// A clear-text target on `listen` with one thread and no faults.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            unix: None,
            latency: Latency::None,
            error_rate: ErrorRate::NEVER,
            stall: None,
            body_size: None,
            tls: None,
            max_connections: None,
            threads: NonZeroUsize::MIN,
            seed: 0,
        }
    }
}

/// How the target identifies itself over TLS and whom it lets in.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// The certificate it shows.
    pub identity: Identity,
    /// PEM of the authorities whose client certificates are required; `None` asks for none.
    pub client_ca_pem: Option<String>,
}

/// Where the server certificate comes from.
#[derive(Clone, Default)]
pub enum Identity {
    /// Made at start for `localhost`, the loopback addresses and the listen address, signed by an authority made for
    /// it; [`crate::Handle::ca_pem`] tells the authority.
    #[default]
    Generated,
    /// PEM texts of a certificate chain and its private key.
    Pem {
        /// Leaf first, then intermediates.
        chain: String,
        /// PKCS#8, SEC1 or PKCS#1.
        key: String,
    },
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated => f.write_str("Generated"),
            Self::Pem { .. } => f.write_str("Pem(..)"),
        }
    }
}

/// Why the text of an option was refused. The option keeps no partial value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// A duration inside the option is not one.
    #[error(transparent)]
    Duration(#[from] SpanError),
    /// The latency has no known form.
    #[error("unknown latency '{0}': expected a duration (5ms), uniform:MIN..MAX or lognormal:MEDIAN,SIGMA")]
    Latency(String),
    /// A uniform range whose start lies behind its end.
    #[error("empty latency range '{0}': the first duration must not exceed the second")]
    Range(String),
    /// The spread of a log-normal latency is no number in range.
    #[error("sigma '{0}' of a log-normal latency must be a number from 0 to 5")]
    Sigma(String),
    /// A rate outside of 0 to 100 %, or no number.
    #[error("error rate '{0}' must be a share such as 1% or 0.01, from 0 to 100%")]
    Rate(String),
    /// A stall without its two durations.
    #[error("stall '{0}' must be EVERY,FOR such as 10s,1s")]
    Stall(String),
    /// A stall that would never end.
    #[error("stall '{0}' must last longer than nothing and less than the time between two stalls")]
    StallOrder(String),
    /// A duration beyond [`DELAY_MAX`].
    #[error("'{0}' is longer than the limit of one hour")]
    TooLong(String),
}

/// Time added before an answer. Waits end on the millisecond tick of the runtime's timer, never early.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Latency {
    /// Answers leave as soon as they are ready.
    #[default]
    None,
    /// The same for every answer.
    Fixed(Duration),
    /// Evenly drawn from `min..=max`.
    Uniform {
        /// Shortest.
        min: Duration,
        /// Longest.
        max: Duration,
    },
    /// Log-normal: half of the answers are faster than `median`; `sigma` is the deviation of the logarithm. Draws are
    /// cut at [`DELAY_MAX`].
    LogNormal {
        /// The middle of the distribution.
        median: Duration,
        /// Deviation of the natural logarithm, 0 to 5.
        sigma: f64,
    },
}

impl FromStr for Latency {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        if let Some(range) = text.strip_prefix("uniform:") {
            let (min, max) = range.split_once("..").ok_or_else(|| OptionError::Latency(text.to_owned()))?;
            let (min, max) = (delay(min)?, delay(max)?);
            return if min <= max {
                Ok(Self::Uniform { min, max })
            } else {
                Err(OptionError::Range(text.to_owned()))
            };
        }
        if let Some(shape) = text.strip_prefix("lognormal:") {
            let (median, sigma) =
                shape.split_once(',').ok_or_else(|| OptionError::Latency(text.to_owned()))?;
            return Ok(Self::LogNormal { median: delay(median)?, sigma: parse_sigma(sigma.trim())? });
        }
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(OptionError::Latency(text.to_owned()));
        }
        Ok(match delay(text)? {
            Duration::ZERO => Self::None,
            fixed => Self::Fixed(fixed),
        })
    }
}

fn parse_sigma(text: &str) -> Result<f64, OptionError> {
    let sigma: f64 = text.parse().map_err(|_| OptionError::Sigma(text.to_owned()))?;
    if (0.0..=5.0).contains(&sigma) { Ok(sigma) } else { Err(OptionError::Sigma(text.to_owned())) }
}

fn delay(text: &str) -> Result<Duration, OptionError> {
    let duration = text.parse::<Span>()?.to_duration();
    if duration > DELAY_MAX { Err(OptionError::TooLong(text.trim().to_owned())) } else { Ok(duration) }
}

/// A share of requests, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ErrorRate(f64);

impl ErrorRate {
    /// No request fails.
    pub const NEVER: Self = Self(0.0);

    /// The share as a number from 0 to 1.
    pub fn share(self) -> f64 {
        self.0
    }
}

impl FromStr for ErrorRate {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = || OptionError::Rate(text.to_owned());
        let (number, scale) = match text.strip_suffix('%') {
            Some(percent) => (percent, 100.0),
            None => (text, 1.0),
        };
        let share = number.trim().parse::<f64>().map_err(|_| wrong())? / scale;
        if (0.0..=1.0).contains(&share) { Ok(Self(share)) } else { Err(wrong()) }
    }
}

/// Every `every` the target answers nothing for `length`. Time counts from the start of the target or from the last
/// `POST /__reset`; the first stall begins one `every` after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// From the start of one stall to the start of the next; longer than `length`.
    pub every: Duration,
    /// How long one stall lasts; not zero.
    pub length: Duration,
}

impl Stall {
    /// How long an answer that is ready at `elapsed` has to wait for the end of a stall.
    pub(crate) fn remaining(self, elapsed: Duration) -> Duration {
        if elapsed < self.every {
            return Duration::ZERO;
        }
        let phase = Duration::from_nanos((elapsed.as_nanos() % self.every.as_nanos()) as u64);
        self.length.saturating_sub(phase)
    }
}

impl FromStr for Stall {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let (every, length) = text.split_once(',').ok_or_else(|| OptionError::Stall(text.to_owned()))?;
        let (every, length) = (delay(every)?, delay(length)?);
        if length.is_zero() || length >= every {
            return Err(OptionError::StallOrder(text.to_owned()));
        }
        Ok(Self { every, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn latency_texts_name_their_distribution() {
        assert_eq!("5ms".parse(), Ok(Latency::Fixed(5 * MS)));
        assert_eq!("0s".parse(), Ok(Latency::None));
        assert_eq!("uniform:1ms..9ms".parse(), Ok(Latency::Uniform { min: MS, max: 9 * MS }));
        assert_eq!("lognormal:5ms,0.5".parse(), Ok(Latency::LogNormal { median: 5 * MS, sigma: 0.5 }));
    }

    #[test]
    fn wrong_latency_texts_say_what_is_wrong() {
        for (text, part) in [
            ("fast", "unknown latency 'fast'"),
            ("uniform:1ms", "unknown latency"),
            ("uniform:9ms..1ms", "empty latency range"),
            ("lognormal:5ms", "unknown latency"),
            ("lognormal:5ms,nan", "sigma 'nan'"),
            ("lognormal:5ms,9", "sigma '9'"),
            ("2h", "longer than the limit"),
            ("5", "no unit"),
        ] {
            let error = text.parse::<Latency>().expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn error_rate_takes_percent_and_share() {
        assert_eq!("1%".parse(), Ok(ErrorRate(0.01)));
        assert_eq!("0.25".parse(), Ok(ErrorRate(0.25)));
        assert_eq!("100%".parse(), Ok(ErrorRate(1.0)));
        for wrong in ["101%", "-1%", "x", "", "NaN", "2"] {
            assert!(wrong.parse::<ErrorRate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn stall_must_end_before_the_next_begins() {
        let stall: Stall = "10s,1s".parse().unwrap();
        assert_eq!(stall, Stall { every: Duration::from_secs(10), length: Duration::from_secs(1) });
        for wrong in ["10s", "1s,1s", "1s,2s", "1s,0s", "x,1s"] {
            assert!(wrong.parse::<Stall>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn stall_holds_answers_only_inside_its_windows() {
        let stall = Stall { every: 100 * MS, length: 30 * MS };
        for (elapsed, remaining) in
            [(0, 0), (29, 0), (99, 0), (100, 30), (110, 20), (130, 0), (199, 0), (205, 25)]
        {
            assert_eq!(stall.remaining(elapsed * MS), remaining * MS, "at {elapsed} ms");
        }
    }
}
