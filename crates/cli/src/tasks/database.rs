//! Which database a node uses, and opening it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyperscale_tasks::store::postgres::{PostgresOptions, PostgresStore};
use hyperscale_tasks::store::sqlite::{SqliteOptions, SqliteStore};
use hyperscale_tasks::store::{Store, StoreError};
use hyperscale_types::secret::masked;

/// The file of the embedded database in the data directory.
const FILE: &str = "tasks.db";

/// Where tasks are stored.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    /// One file, for one host.
    Sqlite(PathBuf),
    /// A server, for many nodes.
    Postgres(Box<PostgresOptions>),
}

impl Database {
    /// The database of a URL: `postgres://user@host/name` or `sqlite:PATH`.
    pub(crate) fn parse(url: &str) -> Result<Self, String> {
        let path = url.strip_prefix("sqlite://").or_else(|| url.strip_prefix("sqlite:"));
        match path {
            Some("") => Err("it names no file".to_owned()),
            Some(path) => Ok(Self::Sqlite(path.into())),
            None if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                let options = PostgresOptions::new(url).map_err(|error| error.to_string())?;
                Ok(Self::Postgres(Box::new(options)))
            }
            None => Err(format!("`{}` begins with neither postgres:// nor sqlite:", masked(url))),
        }
    }

    /// The file in the data directory.
    pub(crate) fn embedded(data: &Path) -> Self {
        Self::Sqlite(data.join(FILE))
    }

    /// Whether several nodes are meant to use it.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Opens it, for reading only if that is asked for.
    pub(crate) async fn open(&self, read_only: bool) -> Result<Arc<dyn Store>, StoreError> {
        match self {
            Self::Sqlite(path) => {
                let options = SqliteOptions { read_only, ..SqliteOptions::new(path) };
                Ok(Arc::new(SqliteStore::open(options).await?))
            }
            Self::Postgres(options) => {
                let options = PostgresOptions { read_only, ..(**options).clone() };
                Ok(Arc::new(PostgresStore::open(options).await?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_urls() {
        assert!(
            matches!(Database::parse("sqlite:a/b.db"), Ok(Database::Sqlite(path)) if path == Path::new("a/b.db"))
        );
        assert!(
            matches!(Database::parse("sqlite:///a.db"), Ok(Database::Sqlite(path)) if path == Path::new("/a.db"))
        );
        assert!(Database::parse("postgres://me@127.0.0.1/tasks").is_ok_and(|database| database.is_shared()));
        for wrong in ["", "sqlite:", "mysql://h/d", "postgres://h:port/"] {
            assert!(Database::parse(wrong).is_err(), "{wrong}");
        }
    }
}
