//! What a plain scalar of YAML means.

use super::Kind;

/// The core schema (YAML 1.2.2, section 10.3.2).
pub(super) fn plain(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Kind::Null,
        "true" | "True" | "TRUE" => return Kind::Bool(true),
        "false" | "False" | "FALSE" => return Kind::Bool(false),
        _ => {}
    }
    let radix =
        |prefix, radix| text.strip_prefix(prefix).and_then(|digits| i128::from_str_radix(digits, radix).ok());
    if let Some(int) = radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| text.parse().ok()) {
        return Kind::Int(int, text.into());
    }
    let numeric = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    match text.parse::<f64>() {
        Ok(float) if numeric => Kind::Float(float, text.into()),
        _ => Kind::Str(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_core_schema_has_a_meaning() {
        for (text, wanted) in [
            ("~", "Null"),
            ("TRUE", "Bool(true)"),
            ("yes", "Str(\"yes\")"),
            ("0x1f", "Int(31, \"0x1f\")"),
            ("0o17", "Int(15, \"0o17\")"),
            ("-5", "Int(-5, \"-5\")"),
            ("1.10", "Float(1.1, \"1.10\")"),
            ("2e3", "Float(2000.0, \"2e3\")"),
            ("inf", "Str(\"inf\")"),
            ("nan", "Str(\"nan\")"),
            ("12:30", "Str(\"12:30\")"),
            ("1_000", "Str(\"1_000\")"),
            ("10s", "Str(\"10s\")"),
        ] {
            assert_eq!(format!("{:?}", plain(text)), wanted, "{text}");
        }
    }
}
