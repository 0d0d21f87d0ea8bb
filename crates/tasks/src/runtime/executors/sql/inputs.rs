//! Which statements, where.

use std::fmt;

use serde_json::{Value, json};

use crate::database::Database;
use crate::runtime::executors::check_inputs;
use crate::runtime::executors::secrets::Secrets;

/// Statements of one task.
const STATEMENTS_MAX: usize = 1_000;

/// Parameters of one statement; PostgreSQL has no more.
const PARAMS_MAX: usize = 65_535;

/// Statements that would end the transaction, or begin another.
const OF_TRANSACTIONS: [&str; 8] =
    ["BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "PREPARE", "SAVEPOINT"];

/// Statements and their database.
pub(super) struct Inputs {
    pub(super) database: Database,
    /// At least one.
    pub(super) statements: Vec<Statement>,
    /// Whether the task's effect key is written with them.
    pub(super) once: bool,
    pub(super) secrets: Secrets,
}

/// One statement.
#[derive(Debug, PartialEq)]
pub(super) struct Statement {
    pub(super) sql: String,
    pub(super) params: Vec<Value>,
}

/// The schema of the inputs.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "description": "Runs SQL statements in one transaction on PostgreSQL. The result has the rows of the last one.",
        "examples": [{"database": "postgres://user@host/name", "statements": ["SELECT count(*) FROM orders"]}],
        "properties": {
            "database": {
                "type": "string", "minLength": 1,
                "description": "postgres://user@host/name, with sslmode and sslrootcert where wanted"
            },
            "statements": {
                "type": "array", "minItems": 1, "maxItems": STATEMENTS_MAX,
                "items": {"anyOf": [
                    {"type": "string", "minLength": 1},
                    {
                        "type": "object",
                        "properties": {
                            "sql": {"type": "string", "minLength": 1},
                            "params": {"type": "array", "maxItems": PARAMS_MAX, "description": "values of $1, $2, …"}
                        },
                        "required": ["sql"],
                        "additionalProperties": false
                    }
                ]},
                "description": "run in one transaction; the rows of the last one are the result"
            },
            "once": {
                "type": "boolean", "default": true,
                "description": "write the task's key into the table hyperscale_task_effects, so that no attempt repeats another"
            }
        },
        "required": ["database", "statements"],
        "additionalProperties": false
    })
}

impl Inputs {
    /// Reads inputs; the error names the field. Reads the file that the URL names as `sslrootcert`.
    pub(super) fn read(inputs: &Value) -> Result<Self, String> {
        check_inputs(&schema(), inputs)?;
        let url = inputs["database"].as_str().unwrap_or_default();
        let database = Database::new(url).map_err(|error| format!("`database`: {error}"))?;
        let mut secrets = Secrets::default();
        if let Some(password) = database.password() {
            secrets.add(&password);
        }
        let all = inputs["statements"].as_array().into_iter().flatten().enumerate();
        let statements: Result<Vec<Statement>, String> =
            all.map(|(at, value)| read_statement(at, value)).collect();
        Ok(Self {
            database,
            statements: statements?,
            once: inputs["once"].as_bool().unwrap_or(true),
            secrets,
        })
    }
}

fn read_statement(at: usize, value: &Value) -> Result<Statement, String> {
    let (sql, params) = match value {
        Value::String(sql) => (sql.as_str(), Vec::new()),
        other => (
            other["sql"].as_str().unwrap_or_default(),
            other["params"].as_array().cloned().unwrap_or_default(),
        ),
    };
    let word: String = sql.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    if OF_TRANSACTIONS.contains(&word.to_ascii_uppercase().as_str()) {
        return Err(format!(
            "`statements[{at}]` is {word}, but all statements run in one transaction; leave it out"
        ));
    }
    Ok(Statement { sql: sql.to_owned(), params })
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inputs")
            .field("database", &self.database)
            .field("statements", &self.statements.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_statements_are_named_by_field() {
        for (inputs, message) in [
            (json!({"database": "host=h"}), "`statements` is missing"),
            (json!({"database": "host=h", "statements": []}), "`statements` must have at least 1 entries"),
            (
                json!({"database": "host=h", "statements": [1]}),
                "`statements[0]` must be string or object, not number",
            ),
            (json!({"database": "host=h", "statements": [{"params": []}]}), "`statements[0].sql` is missing"),
            (
                json!({"database": "host=h", "statements": ["SELECT 1", " commit"]}),
                "`statements[1]` is commit, but all statements run in one transaction; leave it out",
            ),
            (
                json!({"database": "host=h sslmode=no", "statements": ["x"]}),
                "`database`: bad database URL: sslmode is no; known: disable, prefer, require, verify-ca, verify-full",
            ),
        ] {
            assert_eq!(Inputs::read(&inputs).unwrap_err(), message);
        }
    }

    #[test]
    fn password_of_the_database_is_in_no_text() {
        let inputs = json!({"database": "postgres://me:hidden@h/d", "statements": ["SELECT 1"]});
        let read = Inputs::read(&inputs).unwrap();
        assert_eq!(read.secrets.mask("hidden"), "***");
        assert!(!format!("{read:?}").contains("hidden"));
        let broken = json!({"database": "postgres://me:hidden@h:x/d", "statements": ["SELECT 1"]});
        assert!(!Inputs::read(&broken).unwrap_err().contains("hidden"));
    }
}
