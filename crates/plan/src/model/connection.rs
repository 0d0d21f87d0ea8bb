//! Settings of connections that all protocols have.

use std::path::PathBuf;

/// How long a connection lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reuse {
    /// As long as the VU and the peer keep it.
    #[default]
    Vu,
    /// Until the iteration ends.
    Iteration,
    /// One call.
    Call,
}

/// TLS settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tls {
    /// Accept any certificate. Off unless the plan says so.
    pub insecure: bool,
    /// Trust these certificates (PEM) instead of the system's.
    pub ca: Option<PathBuf>,
    /// Client certificate chain (PEM).
    pub cert: Option<PathBuf>,
    /// Client key (PEM).
    pub key: Option<PathBuf>,
    /// Server name to ask for and to verify, instead of the URL's host.
    pub sni: Option<String>,
    /// Who resumes whose sessions.
    pub resume: Resume,
}

/// Which connections resume the TLS sessions of earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Resume {
    /// None: every connection makes a full handshake.
    Off,
    /// Those of the same VU, as those of one user would: a server has the cost of a full handshake per user.
    #[default]
    Vu,
    /// Those of all VUs of a core.
    Shared,
}

impl Resume {
    /// The words of a plan and of the command line.
    pub const WORDS: [(&'static str, Resume); 3] =
        [("off", Resume::Off), ("vu", Resume::Vu), ("shared", Resume::Shared)];
}

/// When names are resolved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dns {
    /// Once per run and core; all addresses are used in turn.
    #[default]
    Once,
    /// For every connection.
    PerConnection,
}
