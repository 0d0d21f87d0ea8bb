//! How errors of the system become error kinds and texts for people.

use std::io;

use hyperscale_types::ErrorKind;
use rustls::CertificateError;

use crate::outcome::CallError;

/// Opening a connection failed.
pub(crate) fn connect(error: &io::Error, to: &str) -> CallError {
    if let Some(limit) = local_limit(error) {
        return CallError::new(ErrorKind::LocalLimit, limit);
    }
    let kind = match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => ErrorKind::Reset,
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
            ErrorKind::ConnectRefused
        }
        _ => ErrorKind::ConnectTimeout,
    };
    let what = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset".to_owned(),
        io::ErrorKind::NotFound => "no such socket".to_owned(),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "no route to host".to_owned(),
        _ => error.to_string(),
    };
    CallError::new(kind, format!("{to}: {what}"))
}

/// No connection within the connect time-out.
pub(crate) fn connect_timeout(to: &str) -> CallError {
    CallError::new(ErrorKind::ConnectTimeout, format!("{to}: no connection within connect_timeout"))
}

/// The call took longer than its time-out.
pub(crate) fn timeout() -> CallError {
    CallError::new(ErrorKind::Timeout, "no complete answer within timeout")
}

/// A name did not resolve.
pub(crate) fn dns(host: &str, error: &io::Error) -> CallError {
    let text = error.to_string();
    let reason = text.strip_prefix("failed to lookup address information: ").unwrap_or(&text);
    CallError::new(ErrorKind::Dns, format!("cannot resolve {host}: {reason}"))
}

/// A name resolved to nothing.
pub(crate) fn dns_empty(host: &str) -> CallError {
    CallError::new(ErrorKind::Dns, format!("cannot resolve {host}: no address"))
}

/// An established connection failed.
pub(crate) fn exchange(error: &io::Error) -> CallError {
    if let Some(tls) = tls_error(error) {
        return CallError::new(ErrorKind::Tls, tls_text(tls));
    }
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => {
            CallError::new(ErrorKind::Reset, "the peer reset the connection")
        }
        io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected | io::ErrorKind::UnexpectedEof => {
            CallError::new(ErrorKind::Closed, "the peer closed the connection")
        }
        io::ErrorKind::TimedOut => CallError::new(ErrorKind::Timeout, "the peer stopped acknowledging"),
        _ => CallError::new(ErrorKind::Reset, error.to_string()),
    }
}

/// The connection ended before the first byte of the answer.
pub(crate) fn closed_before_answer() -> CallError {
    CallError::new(ErrorKind::Closed, "the peer closed the connection before answering")
}

/// The connection ended within the answer.
pub(crate) fn closed_within_answer() -> CallError {
    CallError::new(ErrorKind::Closed, "the peer closed the connection before the answer was complete")
}

/// The TLS handshake failed.
pub(crate) fn handshake(error: &io::Error) -> CallError {
    let text = match tls_error(error) {
        Some(tls) => tls_text(tls),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the peer closed the connection during the handshake".to_owned()
        }
        None => format!("handshake failed: {error}"),
    };
    CallError::new(ErrorKind::Tls, text)
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// A TLS error with what to do about it.
fn tls_text(error: &rustls::Error) -> String {
    const TRUST: &str = "set `ca:` to trust its issuer or `insecure: true` to accept any certificate";
    match error {
        rustls::Error::InvalidCertificate(problem) => match problem {
            CertificateError::UnknownIssuer => format!("the certificate's issuer is unknown; {TRUST}"),
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the certificate has expired".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "the certificate is not valid yet; is the clock right?".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the certificate is for another name; set `sni:` if that is meant".to_owned()
            }
            other => format!("bad certificate: {other}; {TRUST}"),
        },
        rustls::Error::AlertReceived(alert) => format!("the peer refused the handshake: alert {alert:?}"),
        rustls::Error::InvalidMessage(_) => "the peer does not speak TLS on this port".to_owned(),
        rustls::Error::NoApplicationProtocol => {
            "the peer speaks none of the protocols asked for (ALPN)".to_owned()
        }
        other => other.to_string(),
    }
}

/// A limit of this machine that was reached, and how to raise it.
fn local_limit(error: &io::Error) -> Option<&'static str> {
    match error.raw_os_error()? {
        libc::EMFILE => {
            Some("too many open files in this process; raise the limit with `ulimit -n` (RLIMIT_NOFILE)")
        }
        libc::ENFILE => Some("too many open files on this machine; raise the sysctl fs.file-max"),
        libc::EADDRNOTAVAIL => Some(
            "no local port or address left; widen the sysctl net.ipv4.ip_local_port_range, list more `source` \
             addresses, or keep connections alive",
        ),
        libc::ENOBUFS | libc::ENOMEM => Some("the system has no memory left for sockets"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_errors_become_kinds() {
        for (code, kind) in [
            (libc::ECONNREFUSED, ErrorKind::ConnectRefused),
            (libc::EHOSTUNREACH, ErrorKind::ConnectTimeout),
            (libc::ETIMEDOUT, ErrorKind::ConnectTimeout),
            (libc::EMFILE, ErrorKind::LocalLimit),
            (libc::ENFILE, ErrorKind::LocalLimit),
            (libc::EADDRNOTAVAIL, ErrorKind::LocalLimit),
            (libc::ECONNRESET, ErrorKind::Reset),
            (libc::ENOENT, ErrorKind::ConnectRefused),
        ] {
            assert_eq!(connect(&io::Error::from_raw_os_error(code), "h:1").kind, kind, "{code}");
        }
        for (code, kind) in [
            (libc::ECONNRESET, ErrorKind::Reset),
            (libc::EPIPE, ErrorKind::Closed),
            (libc::ETIMEDOUT, ErrorKind::Timeout),
        ] {
            assert_eq!(exchange(&io::Error::from_raw_os_error(code)).kind, kind, "{code}");
        }
    }

    #[test]
    fn limits_of_the_machine_are_named_with_their_remedy() {
        let text = |code| connect(&io::Error::from_raw_os_error(code), "h:1").message;
        assert!(text(libc::EMFILE).contains("ulimit -n"));
        assert!(text(libc::ENFILE).contains("fs.file-max"));
        assert!(text(libc::EADDRNOTAVAIL).contains("ip_local_port_range"));
    }
}
