//! The closed list of ways in which a call can fail.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $number:literal $word:literal,)+) => {
        /// Why a call failed. Closed on purpose: reports, thresholds and dashboards can rely on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        #[repr(u8)]
        pub enum ErrorKind { $($(#[doc = $doc])+ $variant,)+ }

        impl ErrorKind {
            /// Every kind, in order.
            pub const ALL: [ErrorKind; [$($word),+].len()] = [$(ErrorKind::$variant),+];

            /// The word used in results.
            pub const fn as_str(self) -> &'static str {
                match self { $(ErrorKind::$variant => $word,)+ }
            }

            /// The number it travels by. It never changes and is never given to another kind.
            pub const fn number(self) -> u8 {
                match self { $(ErrorKind::$variant => $number,)+ }
            }

            /// The kind of a number, unless this version does not know it.
            pub const fn of_number(number: u8) -> Option<ErrorKind> {
                match number { $($number => Some(ErrorKind::$variant),)+ _ => None }
            }
        }
    };
}

// A new kind gets the next free number, wherever it stands.
kinds! {
    /// The name could not be resolved.
    Dns = 1 "dns",
    /// The peer refused the connection.
    ConnectRefused = 2 "connect_refused",
    /// No connection within the connect timeout, or no route.
    ConnectTimeout = 3 "connect_timeout",
    /// This machine ran out of ports or open files.
    LocalLimit = 4 "local_limit",
    /// The TLS handshake or the certificate failed.
    Tls = 5 "tls",
    /// The server rejected the credentials before the first operation.
    Auth = 6 "auth",
    /// The whole call took longer than its timeout.
    Timeout = 7 "timeout",
    /// The peer reset the connection.
    Reset = 8 "reset",
    /// The peer closed the connection before the response was complete.
    Closed = 9 "closed",
    /// What came back is not the protocol.
    Protocol = 10 "protocol",
    /// The body is larger than `max_body`.
    TooLarge = 11 "too_large",
    /// The status is not among the expected ones.
    Status = 12 "status",
    /// The server sent an error instead of a result (SQL, Redis, brokers, GraphQL); its code is the status.
    RefusedByServer = 13 "refused_by_server",
    /// Nothing that came back in time matched.
    NoMatch = 14 "no_match",
    /// No datagram came back in time.
    Lost = 15 "lost",
    /// A check with `stop` failed.
    Check = 16 "check",
    /// An extraction found nothing.
    Extract = 17 "extract",
    /// A template refers to nothing; the request was not sent.
    Template = 18 "template",
    /// An expression failed.
    Expr = 19 "expr",
    /// A script failed.
    Script = 20 "script",
    /// The call was cut off by a stop or a cancel.
    Cancelled = 21 "cancelled",
}

impl ErrorKind {
    /// How many kinds there are.
    pub const COUNT: usize = Self::ALL.len();

    /// The position in [`ErrorKind::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A kind of error as other nodes and other versions report it: one of ours, or a number that this version does not
/// know. An unknown one is kept and shown as `unknown_37`, so that its calls are not missing from the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportedKind {
    /// A kind of this version.
    Known(ErrorKind),
    /// The number of another one.
    Unknown(u8),
}

impl ReportedKind {
    /// The kind of a number; a known one is always [`ReportedKind::Known`].
    pub fn of_number(number: u8) -> Self {
        ErrorKind::of_number(number).map_or(ReportedKind::Unknown(number), ReportedKind::Known)
    }

    /// The number it travels by.
    pub fn number(self) -> u8 {
        match self {
            ReportedKind::Known(kind) => kind.number(),
            ReportedKind::Unknown(number) => number,
        }
    }

    /// The word used in results.
    pub fn word(self) -> Cow<'static, str> {
        match self {
            ReportedKind::Known(kind) => Cow::Borrowed(kind.as_str()),
            ReportedKind::Unknown(number) => Cow::Owned(unknown_word(number)),
        }
    }
}

/// The word for a number that this version does not know.
pub fn unknown_word(number: u8) -> String {
    format!("{UNKNOWN}{number}")
}

const UNKNOWN: &str = "unknown_";

impl From<ErrorKind> for ReportedKind {
    fn from(kind: ErrorKind) -> Self {
        ReportedKind::Known(kind)
    }
}

impl fmt::Display for ReportedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word())
    }
}

/// The text is not the word of a kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of error")]
pub struct KindError(String);

impl FromStr for ReportedKind {
    type Err = KindError;

    fn from_str(word: &str) -> Result<Self, KindError> {
        let known = ErrorKind::ALL.into_iter().find(|kind| kind.as_str() == word);
        let unknown = || word.strip_prefix(UNKNOWN)?.parse().ok().map(ReportedKind::of_number);
        known.map(ReportedKind::Known).or_else(unknown).ok_or_else(|| KindError(word.to_owned()))
    }
}

impl Serialize for ReportedKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.word())
    }
}

impl<'de> Deserialize<'de> for ReportedKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        word.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for ReportedKind {
    fn schema_name() -> Cow<'static, str> {
        "ErrorKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        json_schema!({
            "description": "Why a call failed. A kind of a newer version is `unknown_` and its number.",
            "type": "string",
            "anyOf": [{ "enum": words }, { "pattern": "^unknown_[0-9]+$" }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_position_in_all() {
        for (position, kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(kind.index(), position);
        }
    }

    #[test]
    fn numbers_are_stable() {
        let numbered: Vec<String> =
            ErrorKind::ALL.iter().map(|kind| format!("{} {kind}", kind.number())).collect();
        let wanted = "1 dns,2 connect_refused,3 connect_timeout,4 local_limit,5 tls,6 auth,7 timeout,8 reset,9 closed,\
            10 protocol,11 too_large,12 status,13 refused_by_server,14 no_match,15 lost,16 check,17 extract,\
            18 template,19 expr,20 script,21 cancelled";
        assert_eq!(numbered.join(","), wanted, "a number that was sent once means the same for ever");
    }

    #[test]
    fn every_number_becomes_a_word_and_back() {
        for number in 0..=u8::MAX {
            let kind = ReportedKind::of_number(number);
            assert_eq!(kind.number(), number);
            assert_eq!(kind.word().parse(), Ok(kind));
        }
        assert_eq!(ReportedKind::of_number(37).to_string(), "unknown_37");
        assert_eq!("unknown_5".parse(), Ok(ReportedKind::Known(ErrorKind::Tls)), "it is known by now");
        assert!("unknown_300".parse::<ReportedKind>().is_err());
    }
}
