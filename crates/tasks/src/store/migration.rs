//! Migrations: forward only, numbered from 1, with checksums of what was applied. The stores apply them under a lock.

use super::StoreError;
use crate::domain::digest_of;

/// One step of a schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Migration {
    /// Its number.
    pub(super) version: i32,
    /// What it does.
    pub(super) sql: &'static str,
}

impl Migration {
    /// Tells an applied migration from one that was changed since.
    pub(super) fn checksum(&self) -> String {
        digest_of(self.sql.as_bytes())
    }
}

/// Those of `all` that are left to apply. `applied` are numbers and checksums, in order.
pub(super) fn pending<'a>(
    all: &'a [Migration],
    applied: &[(i32, String)],
) -> Result<&'a [Migration], StoreError> {
    for (index, (version, checksum)) in applied.iter().enumerate() {
        let Some(known) = all.get(index).filter(|known| known.version == *version) else {
            return Err(StoreError::Migration(format!(
                "the database has migration {version}, which is unknown"
            )));
        };
        if known.checksum() != *checksum {
            return Err(StoreError::Migration(format!("migration {version} of the database differs")));
        }
    }
    Ok(&all[applied.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Migration; 2] = [Migration { version: 1, sql: "a" }, Migration { version: 2, sql: "b" }];

    #[test]
    fn only_what_is_missing_is_applied() {
        let first = (1, ALL[0].checksum());
        assert_eq!(pending(&ALL, &[]).unwrap().len(), 2);
        assert_eq!(pending(&ALL, std::slice::from_ref(&first)).unwrap()[0].version, 2);
        assert!(pending(&ALL, &[first, (2, ALL[1].checksum())]).unwrap().is_empty());
    }

    #[test]
    fn changed_and_newer_migrations_are_refused() {
        let changed = pending(&ALL, &[(1, "other".to_owned())]).unwrap_err().to_string();
        assert!(changed.starts_with("migration 1 of the database differs"), "{changed}");
        let newer = pending(&ALL[..1], &[(1, ALL[0].checksum()), (2, "x".to_owned())]).unwrap_err();
        assert!(newer.to_string().starts_with("the database has migration 2, which is unknown"));
    }
}
