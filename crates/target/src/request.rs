//! A request as the routes see it, whichever version of HTTP it came over.

use std::str::FromStr;

use crate::reply::Refusal;

/// Head and kept body of one request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// Without the question mark; empty if there is none.
    pub(crate) query: String,
    pub(crate) version: &'static str,
    /// In the order they came; names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// Empty unless the route said that it reads bodies.
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The first header called `name` (lower case).
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Path and query as they stood in the request line.
    pub(crate) fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// Decoded pairs of the query.
    pub(crate) fn query_pairs(&self) -> Vec<(String, String)> {
        decode_form(&self.query)
    }

    /// The decoded value of a query parameter; empty for one without a value.
    pub(crate) fn param(&self, name: &str) -> Option<String> {
        self.query_pairs().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A number from the query, `default` if it is not there.
    pub(crate) fn number<T>(&self, name: &str, default: T, max: T) -> Result<T, Refusal>
    where
        T: FromStr + PartialOrd + Copy + std::fmt::Display,
    {
        self.param(name).map_or(Ok(default), |text| parse_number(name, &text, max))
    }
}

/// A number from a path or query, refused with a message if it is none or too large.
pub(crate) fn parse_number<T>(name: &str, text: &str, max: T) -> Result<T, Refusal>
where
    T: FromStr + PartialOrd + Copy + std::fmt::Display,
{
    match text.parse::<T>() {
        Ok(number) if number <= max => Ok(number),
        _ => Err(Refusal::bad(format!("{name} '{text}' must be a whole number up to {max}"))),
    }
}

/// Pairs of a query or of a form body (`application/x-www-form-urlencoded`).
pub(crate) fn decode_form(text: &str) -> Vec<(String, String)> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(name), percent_decode(value))
        })
        .collect()
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], escaped_byte(&bytes[at..])) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
                continue;
            }
            (b'+', _) => decoded.push(b' '),
            (byte, _) => decoded.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn escaped_byte(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| text.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    Some((digit(1)? * 16 + digit(2)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_pairs_are_decoded() {
        let pairs = decode_form("a=1&b=two+words&c=%C3%BC&flag&&broken=%zz%4");
        let expected = [("a", "1"), ("b", "two words"), ("c", "ü"), ("flag", ""), ("broken", "%zz%4")]
            .map(|(n, v)| (n.into(), v.into()));
        assert_eq!(pairs, expected);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        let request = Request { query: "n=5&m=x&k=101".into(), ..Request::default() };
        assert_eq!(request.number("n", 1, 100).ok(), Some(5));
        assert_eq!(request.number("absent", 1, 100).ok(), Some(1));
        assert!(request.number("m", 1, 100).is_err());
        assert!(request.number("k", 1, 100).is_err());
    }
}
