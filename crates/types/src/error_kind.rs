//! The closed list of ways in which a call can fail.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+) => {
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
        }
    };
}

kinds! {
    /// The name could not be resolved.
    Dns = "dns",
    /// The peer refused the connection.
    ConnectRefused = "connect_refused",
    /// No connection within the connect time-out, or no route.
    ConnectTimeout = "connect_timeout",
    /// The TLS handshake or the certificate failed.
    Tls = "tls",
    /// The whole call took longer than its time-out.
    Timeout = "timeout",
    /// The peer reset the connection.
    Reset = "reset",
    /// The peer closed the connection before the answer was complete.
    Closed = "closed",
    /// What came back is not the protocol.
    Protocol = "protocol",
    /// The body is larger than `max_body`.
    TooLarge = "too_large",
    /// The status is not among the expected ones.
    Status = "status",
    /// A check with `stop` failed.
    Check = "check",
    /// An extraction found nothing.
    Extract = "extract",
    /// A template refers to nothing; the request was not sent.
    Template = "template",
    /// An expression failed.
    Expr = "expr",
    /// A script failed.
    Script = "script",
    /// The call was cut off by a stop or a cancel.
    Cancelled = "cancelled",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_is_the_position_in_all() {
        for (position, kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(kind.index(), position);
        }
    }
}
