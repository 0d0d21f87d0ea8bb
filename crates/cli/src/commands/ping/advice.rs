//! What to do about a request that got no answer.

use hyperscale_types::ErrorKind;

/// A line of advice.
pub(crate) fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Dns => "check the name, and which resolver this machine uses (/etc/resolv.conf)",
        ErrorKind::ConnectRefused => "nothing listens there: check the port, and that the server runs",
        ErrorKind::ConnectTimeout => "check address, routes and firewalls; a longer time: --timeout",
        ErrorKind::Tls => {
            "check that the port speaks TLS and whom its certificate is for; --insecure accepts any"
        }
        ErrorKind::Timeout => "the server was reached but is slow; a longer time: --timeout",
        ErrorKind::Reset | ErrorKind::Closed => {
            "the server hung up: check that the port speaks this protocol (https:// or http://, --http2)"
        }
        ErrorKind::Protocol => "check that the port speaks HTTP, and whether it wants https:// or --http2",
        ErrorKind::TooLarge => "ask for less: the answer is larger than a call may be",
        ErrorKind::Status => "the server answered; its logs know why with this status",
        _ => "check the flags of the request",
    }
}
