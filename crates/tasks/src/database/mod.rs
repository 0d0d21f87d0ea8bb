//! How a PostgreSQL server is reached: what its URL says, and TLS. Shared by the store and the `sql` executor.

mod parameters;
mod tls;

use std::fmt;
use std::path::Path;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Connection, Socket};

use self::parameters::Parameters;
pub(crate) use self::parameters::percent_decoded;
use self::tls::TlsSession;
pub use self::tls::{TlsMode, TlsSetup};

/// Where a database is, who asks, and whom the client trusts.
#[derive(Clone)]
pub struct Database {
    /// What the driver is told.
    pub config: Config,
    /// How connections are encrypted.
    pub tls: TlsSetup,
}

/// Why a text does not name a database. Never says the text itself: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    /// The driver does not understand it.
    #[error("bad database URL: {0}")]
    Malformed(String),
    /// No such mode.
    #[error("bad database URL: sslmode is {0}; known: disable, prefer, require, verify-ca, verify-full")]
    Mode(String),
    /// The certificates to trust cannot be read.
    #[error("sslrootcert: {0}")]
    Roots(String),
}

/// The driver of a connection: nothing is sent or received unless it is polled.
pub type DatabaseConnection = Connection<Socket, TlsSession>;

impl Database {
    /// Reads `postgres://user@host/database` or `host=… dbname=…`, with `sslmode` and `sslrootcert` as libpq knows them.
    /// Reads the file that `sslrootcert` names.
    pub fn new(text: &str) -> Result<Self, DatabaseUrlError> {
        let Parameters { rest, sslmode, sslrootcert } = Parameters::take(text);
        let mut config: Config = rest
            .parse()
            .map_err(|error: tokio_postgres::Error| DatabaseUrlError::Malformed(causes(&error)))?;
        let mode = match sslmode.as_deref() {
            // As libpq: authorities that are named are also asked.
            Some("require") if sslrootcert.is_some() => TlsMode::VerifyCa,
            Some(mode) => mode.parse().map_err(DatabaseUrlError::Mode)?,
            None => TlsMode::Prefer,
        };
        let is_local = config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        config.ssl_mode(match mode {
            TlsMode::Disable => SslMode::Disable,
            // A socket in a folder is not encrypted by any server.
            _ if is_local => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        let tls =
            TlsSetup::new(mode, sslrootcert.as_deref().map(Path::new)).map_err(DatabaseUrlError::Roots)?;
        Ok(Self { config, tls })
    }

    /// A server that is reached without TLS or over a local socket.
    pub fn plain(config: Config) -> Self {
        Self { config, tls: TlsSetup::disabled() }
    }

    /// Connects. The connection must be polled for the client to work.
    pub async fn connect(&self) -> Result<(Client, DatabaseConnection), tokio_postgres::Error> {
        self.config.connect(self.tls.clone()).await
    }

    /// The password, for masking it.
    pub(crate) fn password(&self) -> Option<String> {
        self.config.get_password().map(|password| String::from_utf8_lossy(password).into_owned())
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Hosts and name only: the driver may one day show more of its configuration.
        f.debug_struct("Database")
            .field("hosts", &self.config.get_hosts())
            .field("name", &self.config.get_dbname())
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

/// An error of the driver with its causes.
pub(crate) fn causes(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_libpq_are_known() {
        let mode = |text: &str| {
            Database::new(text).map(|database| (database.config.get_ssl_mode(), database.tls.mode()))
        };
        assert_eq!(mode("postgres://a@h/d"), Ok((SslMode::Prefer, TlsMode::Prefer)));
        assert_eq!(mode("postgres://a@h/d?sslmode=verify-full"), Ok((SslMode::Require, TlsMode::VerifyFull)));
        assert_eq!(mode("host=h user=a sslmode=disable"), Ok((SslMode::Disable, TlsMode::Disable)));
        assert_eq!(mode("host=/run/pg user=a"), Ok((SslMode::Disable, TlsMode::Prefer)));
        assert_eq!(mode("host=h sslmode=maybe"), Err(DatabaseUrlError::Mode("maybe".to_owned())));
        assert!(matches!(
            mode("host=h sslmode=require sslrootcert=/nowhere"),
            Err(DatabaseUrlError::Roots(_))
        ));
    }

    #[test]
    fn password_is_in_no_text() {
        let database = Database::new("postgres://a:hidden@h/d?sslmode=require").unwrap();
        assert_eq!(database.password().as_deref(), Some("hidden"));
        assert!(!format!("{database:?}").contains("hidden"));
        let error = Database::new("postgres://a:hidden@h:port/d").unwrap_err();
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
}
