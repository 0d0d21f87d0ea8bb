//! Rows as JSON, of a bounded number and size.

use std::error::Error;
use std::fmt::Write as _;
use std::future::poll_fn;

use futures_core::Stream as _;
use serde_json::{Map, Value, json};
use tokio_postgres::types::{FromSql, Kind, Type};
use tokio_postgres::{Column, Row, RowStream};
use uuid::Uuid;

/// Rows that are kept.
const ROWS_MAX: usize = 1_000;

/// Bytes of JSON that are kept.
const BYTES_MAX: usize = 256 << 10;

/// What a statement returned.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) kept: Vec<Value>,
    /// Rows that it returned or changed.
    pub(super) count: u64,
    pub(super) truncated: bool,
}

/// Says which column has a type that cannot be shown.
pub(super) fn check(columns: &[Column]) -> Result<(), String> {
    let unknown = columns.iter().find(|column| !is_known(column.type_()));
    unknown.map_or(Ok(()), |column| {
        let (name, ty) = (column.name(), column.type_());
        Err(format!("column `{name}` has the type {ty}, which has no JSON form; select {name}::text or to_jsonb({name})"))
    })
}

/// Reads all rows and keeps the first of them.
pub(super) async fn read(stream: RowStream) -> Result<Rows, tokio_postgres::Error> {
    let mut stream = std::pin::pin!(stream);
    let (mut rows, mut bytes) = (Rows::default(), 0);
    while let Some(row) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        let row = row?;
        rows.count += 1;
        if rows.truncated || rows.kept.len() == ROWS_MAX {
            rows.truncated = true;
            continue;
        }
        let value = object(&row)?;
        bytes += value.to_string().len();
        rows.truncated = bytes > BYTES_MAX;
        if !rows.truncated {
            rows.kept.push(value);
        }
    }
    rows.count = stream.rows_affected().unwrap_or(rows.count);
    Ok(rows)
}

fn object(row: &Row) -> Result<Value, tokio_postgres::Error> {
    let mut fields = Map::new();
    for (at, column) in row.columns().iter().enumerate() {
        let cell: Option<Cell> = row.try_get(at)?;
        fields.insert(column.name().to_owned(), cell.map_or(Value::Null, |cell| cell.0));
    }
    Ok(Value::Object(fields))
}

/// A value of any type that has a form in JSON.
struct Cell(Value);

fn is_known(ty: &Type) -> bool {
    match ty.kind() {
        Kind::Enum(_) => true,
        Kind::Domain(inner) => is_known(inner),
        Kind::Pseudo => *ty == Type::VOID,
        _ => matches!(
            *ty,
            Type::BOOL
                | Type::INT2
                | Type::INT4
                | Type::INT8
                | Type::OID
                | Type::FLOAT4
                | Type::FLOAT8
                | Type::NUMERIC
                | Type::TEXT
                | Type::VARCHAR
                | Type::BPCHAR
                | Type::NAME
                | Type::UNKNOWN
                | Type::JSON
                | Type::JSONB
                | Type::UUID
                | Type::DATE
                | Type::TIMESTAMP
                | Type::TIMESTAMPTZ
        ),
    }
}

impl<'a> FromSql<'a> for Cell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let value = match *ty {
            Type::BOOL => json!(bool::from_sql(ty, raw)?),
            Type::INT2 => json!(i16::from_sql(ty, raw)?),
            Type::INT4 => json!(i32::from_sql(ty, raw)?),
            Type::INT8 => json!(i64::from_sql(ty, raw)?),
            Type::OID => json!(u32::from_sql(ty, raw)?),
            Type::FLOAT4 => float(f64::from(f32::from_sql(ty, raw)?)),
            Type::FLOAT8 => float(f64::from_sql(ty, raw)?),
            Type::NUMERIC => json!(numeric(raw)?),
            Type::JSON | Type::JSONB => Value::from_sql(ty, raw)?,
            Type::UUID => json!(Uuid::from_sql(ty, raw)?.to_string()),
            Type::VOID => Value::Null,
            Type::DATE => {
                let days = i32::from_be_bytes(raw.try_into()?);
                json!(time(i64::from(days).saturating_mul(86_400_000_000), "%Y-%m-%d"))
            }
            Type::TIMESTAMP => json!(time(i64::from_be_bytes(raw.try_into()?), "%Y-%m-%dT%H:%M:%S%.f")),
            Type::TIMESTAMPTZ => json!(time(i64::from_be_bytes(raw.try_into()?), "%Y-%m-%dT%H:%M:%S%.fZ")),
            _ => match ty.kind() {
                Kind::Domain(inner) => return Self::from_sql(inner, raw),
                // Enumerations and everything else that is known is text.
                _ => json!(std::str::from_utf8(raw)?),
            },
        };
        Ok(Self(value))
    }

    fn accepts(ty: &Type) -> bool {
        is_known(ty)
    }
}

/// JSON has no infinity: those are texts.
fn float(number: f64) -> Value {
    serde_json::Number::from_f64(number).map_or_else(|| json!(number.to_string()), Value::Number)
}

/// Microseconds since 2000 as text. Beyond the years of the calendar, and for infinity, the number.
fn time(micros: i64, format: &str) -> String {
    const EPOCH_2000: i64 = 946_684_800_000_000;
    let text = micros
        .checked_add(EPOCH_2000)
        .and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok())
        .map(|time| time.strftime(format).to_string());
    match micros {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        _ => text.unwrap_or_else(|| micros.to_string()),
    }
}

/// A decimal number as text, so that no digit is lost. Its digits are groups of four.
fn numeric(raw: &[u8]) -> Result<String, Box<dyn Error + Sync + Send>> {
    let word = |at: usize| raw.get(at * 2..at * 2 + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
    let (Some(count), Some(weight), Some(sign), Some(scale)) = (word(0), word(1), word(2), word(3)) else {
        return Err("a decimal number is cut off".into());
    };
    let (weight, scale) = (i32::from(weight.cast_signed()), usize::from(scale));
    match sign {
        0xC000 => return Ok("NaN".to_owned()),
        0xD000 => return Ok("Infinity".to_owned()),
        0xF000 => return Ok("-Infinity".to_owned()),
        _ => {}
    }
    let group = |at: i32| match usize::try_from(at) {
        Ok(at) if at < usize::from(count) => word(4 + at).ok_or("a decimal number is cut off"),
        _ => Ok(0),
    };
    let mut whole = String::new();
    for at in 0..=weight {
        write!(whole, "{:04}", group(at)?)?;
    }
    let mut fraction = String::new();
    let mut at = weight + 1;
    while fraction.len() < scale {
        write!(fraction, "{:04}", group(at)?)?;
        at += 1;
    }
    fraction.truncate(scale);
    let whole = whole.trim_start_matches('0');
    let (minus, whole) = (if sign == 0x4000 { "-" } else { "" }, if whole.is_empty() { "0" } else { whole });
    Ok(if scale == 0 { format!("{minus}{whole}") } else { format!("{minus}{whole}.{fraction}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(words: &[u16]) -> String {
        let raw: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        numeric(&raw).unwrap()
    }

    #[test]
    fn decimal_numbers_keep_all_digits() {
        assert_eq!(digits(&[0, 0, 0, 0]), "0");
        assert_eq!(digits(&[2, 1, 0, 0, 12, 3456]), "123456");
        assert_eq!(digits(&[2, 0, 0x4000, 2, 1, 2300]), "-1.23");
        assert_eq!(digits(&[1, u16::MAX, 0, 4, 5]), "0.0005");
        assert_eq!(digits(&[1, u16::MAX - 1, 0, 8, 5]), "0.00000005");
        assert_eq!(digits(&[1, 1, 0, 1, 7]), "70000.0");
        assert!(numeric(&[0, 1]).is_err());
    }

    #[test]
    fn times_are_iso_texts() {
        assert_eq!(time(0, "%Y-%m-%dT%H:%M:%S%.fZ"), "2000-01-01T00:00:00Z");
        assert_eq!(time(1_500_000, "%Y-%m-%dT%H:%M:%S%.f"), "2000-01-01T00:00:01.5");
        assert_eq!(time(i64::MAX, ""), "infinity");
    }
}
