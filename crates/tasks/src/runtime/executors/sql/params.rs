//! JSON values as parameters of statements. They are sent as texts, which PostgreSQL reads as the type it wants.

use std::error::Error;

use bytes::BytesMut;
use serde_json::Value;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type};

/// A parameter.
#[derive(Debug)]
pub(super) struct Param<'a>(pub(super) &'a Value);

impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let is_json = matches!(*ty, Type::JSON | Type::JSONB);
        // The null of JSON is a value only as part of another one.
        if self.0.is_null() {
            return Ok(IsNull::Yes);
        }
        let text = match self.0 {
            Value::String(text) if !is_json => text.clone(),
            Value::Array(items) if matches!(ty.kind(), Kind::Array(_)) => array(items),
            other => other.to_string(),
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    fn to_sql_checked(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.to_sql(ty, out)
    }
}

/// An array as PostgreSQL writes it.
fn array(items: &[Value]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let item = |item: &Value| match item {
        Value::Null => "NULL".to_owned(),
        Value::Array(items) => array(items),
        Value::String(text) => quoted(text),
        Value::Object(_) => quoted(&item.to_string()),
        other => other.to_string(),
    };
    format!("{{{}}}", items.iter().map(item).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_postgres_reads_them() {
        let text = |value: Value, ty: &Type| {
            let mut out = BytesMut::new();
            let is_null = matches!(Param(&value).to_sql(ty, &mut out).unwrap(), IsNull::Yes);
            (String::from_utf8(out.to_vec()).unwrap(), is_null)
        };
        assert_eq!(text(json!("a\"b"), &Type::TEXT), ("a\"b".to_owned(), false));
        assert_eq!(text(json!("a"), &Type::JSONB), ("\"a\"".to_owned(), false));
        assert_eq!(text(json!(1.5), &Type::NUMERIC), ("1.5".to_owned(), false));
        assert_eq!(text(json!(null), &Type::INT4), (String::new(), true));
        assert_eq!(
            text(json!(["a\"", null, 1]), &Type::TEXT_ARRAY),
            ("{\"a\\\"\",NULL,1}".to_owned(), false)
        );
        assert_eq!(text(json!([1]), &Type::JSONB), ("[1]".to_owned(), false));
    }
}
