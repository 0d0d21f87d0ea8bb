//! A response as far as it is needed.

use crate::fields::Fields;

/// A final answer: the last one of a call with redirects.
#[derive(Debug, Default)]
pub struct Response {
    /// The decoded body; empty unless it is needed.
    pub body: Vec<u8>,
    /// Header fields or the like; empty unless they are needed.
    fields: Fields,
}

impl Response {
    /// Appends a header field.
    pub(crate) fn push(&mut self, name: &str, value: &[u8]) {
        self.fields.push(name, value);
    }

    /// Header fields in the order they came, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter()
    }

    /// The value of the first header field with this lower-case name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.header_all(name).next()
    }

    /// The values of all header fields with this lower-case name.
    pub fn header_all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.fields.all(name)
    }

    /// The value of a cookie that the answer sets, as written; the last one if it is set several times.
    pub fn cookie(&self, name: &str) -> Option<&[u8]> {
        let pairs = self.header_all("set-cookie").filter_map(|field| {
            let pair = field.split(|byte| *byte == b';').next()?;
            let at = memchr::memchr(b'=', pair)?;
            Some((pair[..at].trim_ascii(), pair[at + 1..].trim_ascii()))
        });
        pairs.filter(|(found, _)| *found == name.as_bytes()).map(|(_, value)| value).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(fields: &[(&str, &[u8])]) -> Response {
        let mut response = Response::default();
        for (name, value) in fields {
            response.push(name, value);
        }
        response
    }

    #[test]
    fn fields_are_found_by_lower_case_name() {
        let response = response(&[("X-Id", b"1"), ("Via", b"a"), ("x-ID", b"2"), ("Odd", b"\xe9")]);
        assert_eq!(response.header("x-id"), Some(&b"1"[..]));
        assert_eq!(response.header_all("x-id").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(response.header("odd"), Some(&b"\xe9"[..]));
        assert_eq!(response.header("nothing"), None);
        assert_eq!(response.headers().count(), 4);
    }

    #[test]
    fn the_last_of_several_cookies_of_a_name_counts() {
        let fields: [(&str, &[u8]); 3] =
            [("Set-Cookie", b"a=1; Path=/"), ("set-cookie", b"b=x=y"), ("set-cookie", b"a=2")];
        let response = response(&fields);
        assert_eq!(response.cookie("a"), Some(&b"2"[..]));
        assert_eq!(response.cookie("b"), Some(&b"x=y"[..]));
        assert_eq!(response.cookie("c"), None);
    }
}
