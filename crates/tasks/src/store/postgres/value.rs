//! Values and errors as the database and the store take them.

use std::time::Duration;

use serde_json::Value;
use tokio_postgres::error::SqlState;

use super::super::{Result, StoreError};

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(&(SqlState::T_R_DEADLOCK_DETECTED | SqlState::T_R_SERIALIZATION_FAILURE)) => {
                Self::Contended(error.to_string())
            }
            Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => Self::ReadOnly,
            _ => match error.as_db_error() {
                Some(db) => Self::Unavailable(format!("{}: {}", db.code().code(), db.message())),
                None => Self::Unavailable(error.to_string()),
            },
        }
    }
}

impl From<deadpool_postgres::PoolError> for StoreError {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

/// A duration as the database takes it.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A stored JSON value as a type of ours.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value).map_err(|error| StoreError::Corrupt(error.to_string()))
}

/// A type of ours as JSON.
pub(super) fn to_json(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// A count or number that the database keeps signed.
pub(super) fn unsigned(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// How many rows at most.
pub(super) fn rows_max(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
